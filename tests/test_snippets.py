"""Every block of code in the pages runs, or is a command that exists with these options."""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
# Pages whose Python takes more than a few seconds.
SLOW = {
    "training.md",
    "training-loops.md",
    "howto-geometry.md",
    "layers.md",
    "figures.md",
    "report.md",
    "measures.md",
    "single-cell.md",
}
# Programs of others that pages mention.
FOREIGN = {"tensorboard", "embedding-atlas", "pip", "git", "cd"}


def blocks(page: Path, *languages: str) -> list[str]:
    return [
        body
        for language, body in FENCE.findall(page.read_text(encoding="utf-8"))
        if language in languages
    ]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def pages_with(*languages: str) -> list[object]:
    found = [page for page in PAGES if blocks(page, *languages)]
    return [
        pytest.param(p, id=name(p), marks=[pytest.mark.slow] if p.name in SLOW else [])
        for p in found
    ]


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_runs(page, tmp_path, monkeypatch):
    """The blocks of a page run one after another, in one folder and with one set of names."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, body in enumerate(blocks(page, "python")):
        if ">>> " in body:
            test = doctest.DocTestParser().get_doctest(
                body, names, f"{page.name} {number}", str(page), 0
            )
            result = doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
            assert result.failed == 0
            names = test.globs
        else:
            exec(compile(body, f"{page.name}, block {number}", "exec"), names)


def commands(page: Path) -> list[list[str]]:
    """The commands of the page's shell blocks, and of its console blocks, without their output."""
    lines = [line for body in blocks(page, "sh") for line in body.replace("\\\n", " ").splitlines()]
    lines += [
        line[2:]
        for body in blocks(page, "console")
        for line in body.splitlines()
        if line.startswith("$ ")
    ]
    split = [shlex.split(line, comments=True) for line in lines]
    return [words for words in split if words]


@pytest.mark.parametrize("page", pages_with("sh", "console"))
def test_commands_are_real(page):
    for words in commands(page):
        complaint = wrong(words)
        assert complaint is None, f"{name(page)}: {' '.join(words)}: {complaint}"


def wrong(words: list[str]) -> str | None:
    """What is wrong with a command, or None."""
    program, *arguments = words
    if program in ("python", ".venv/bin/python") and arguments[:2] == ["-m", "ultrahyperbolic"]:
        program, arguments = "ultrahyperbolic", arguments[2:]
    if program == "torchrun" and "ultrahyperbolic" in arguments:
        program, arguments = "ultrahyperbolic", arguments[arguments.index("ultrahyperbolic") + 1 :]
    if program == "ultrahyperbolic":
        return wrong_options(arguments)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
        unknown = [word for word in arguments if "=" not in word and word not in targets]
        return f"no target {unknown[0]}" if unknown else None
    if program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
            "optional-dependencies"
        ]
        asked = {
            extra
            for word in arguments
            for extra in ",".join(re.findall(r"\[(.*)\]", word)).split(",")
            if extra
        }
        return f"no extra {min(asked - set(extras))}" if asked - set(extras) else None
    if program in ("python", ".venv/bin/python"):
        script = arguments[0]
        return None if script == "-m" or (ROOT / script).exists() else f"no script {script}"
    return None if program in FOREIGN else f"what is {program}?"


def wrong_options(arguments: list[str]) -> str | None:
    """What the command says of its arguments, without doing anything."""
    import click
    from typer.main import get_command

    from ultrahyperbolic.cli import app

    group = get_command(app)
    if not arguments or arguments[0].startswith("-"):
        return None
    command = group.commands.get(arguments[0])
    if command is None:
        return f"no command {arguments[0]}"
    try:
        command.make_context(arguments[0], arguments[1:], resilient_parsing=False)
    except click.exceptions.Exit:
        return None
    except Exception as error:  # of click, or of typer's own copy of it
        return str(getattr(error, "message", error))
    return None


def test_wrong_commands_are_noticed():
    assert wrong(["ultrahyperbolic", "embed", "karate", "--nothing"])
    assert wrong(["ultrahyperbolic", "nothing"])
    assert wrong(["make", "nothing"])
    assert wrong(["pip", "install", "ultrahyperbolic[nothing]"])
    assert wrong(["python", "benchmarks/nothing.py"])
    assert wrong(["nothing"])
    assert wrong(["ultrahyperbolic", "embed", "karate", "--seeds", "20"]) is None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_say_what_they_are(page):
    known = {"python", "console", "sh", "text"} | (
        {""} if page.name == "architecture.md" else set()
    )
    languages = {language for language, _ in FENCE.findall(page.read_text(encoding="utf-8"))}
    assert languages <= known


def test_the_ten_tasks_are_those_that_are_timed():
    from snippets import examples, files

    text = (ROOT / "docs" / "ten-tasks.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## \d+\. (.*)$", text, re.M)) == len(examples(text)) == 10
    assert all(words.startswith("ultrahyperbolic ") for words, _ in examples(text))
    assert set(files(text)) == {"calls.csv", "flights.csv", "airports.csv"}


def test_the_times_of_the_tasks_go_into_the_page(monkeypatch, tmp_path):
    import start

    page = tmp_path / "page.md"
    task = (
        "## 1. Say hello\n\n`a.csv`:\n\n```text\nx,y\n```\n\n```console\n$ ultrahyperbolic rank "
        "a.csv\n```\n"
    )
    page.write_text(f"{task}<!-- times: by x -->\nold\n<!-- end of times -->\nafter\n")
    seen = []

    def seconds(command, folder, cache):
        seen.append((command[3:], (folder / "a.csv").read_text()))
        return 2.0

    monkeypatch.setattr(start, "seconds", seconds)
    assert start.tasks(page) == {"task1_cold_seconds": 2.0, "task1_warm_seconds": 2.0}
    assert seen == [(["rank", "a.csv"], "x,y\n")] * 2
    assert "| 1. Say hello | 2.0 | 2.0 |" in " ".join(page.read_text().split())
    assert "\nold\n" not in page.read_text()
