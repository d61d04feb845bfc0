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
    "pytorch.md",
    "howto-geometry.md",
    "layers.md",
    "figures.md",
    "measures.md",
    "howto-classify.md",
}


def blocks(page: Path, *languages: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [body for language, body in FENCE.findall(text) if language in languages]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def pages_with(*languages: str) -> list[object]:
    return [
        pytest.param(p, id=name(p), marks=[pytest.mark.slow] if p.name in SLOW else [])
        for p in PAGES
        if blocks(p, *languages)
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
    shown = [line for body in blocks(page, "console") for line in body.splitlines()]
    lines += [line[2:] for line in shown if line.startswith("$ ")]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize("page", pages_with("sh", "console"))
def test_commands_are_real(page):
    for words in commands(page):
        complaint = wrong(words)
        assert complaint is None, f"{name(page)}: {' '.join(words)}: {complaint}"


def wrong(words: list[str]) -> str | None:
    """What is wrong with a command, or None."""
    program, *arguments = words
    if program == "torchrun":
        program, arguments = "ultrahyperbolic", arguments[arguments.index("ultrahyperbolic") + 1 :]
    if program == "ultrahyperbolic":
        return wrong_options(arguments)
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
        unknown = [word for word in arguments if "=" not in word and word not in targets]
        return f"no target {unknown[0]}" if unknown else None
    if program == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        asked = set(re.findall(r"\w+", " ".join(re.findall(r"\[(.*)\]", " ".join(arguments)))))
        unknown = sorted(asked - set(project["optional-dependencies"]))
        return f"no extra {unknown[0]}" if unknown else None
    if program == "python":
        script = arguments[0]
        return None if script == "-m" or (ROOT / script).exists() else f"no script {script}"
    return f"what is {program}?"


def wrong_options(arguments: list[str]) -> str | None:
    """What the command says of its arguments, without doing anything."""
    import click
    from typer.main import get_command

    from ultrahyperbolic.cli import app

    command = get_command(app).commands.get(arguments[0])
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
    allowed = {"python", "console", "sh", "text"}
    allowed |= {""} if page.name == "architecture.md" else set()
    assert {language for language, _ in FENCE.findall(page.read_text(encoding="utf-8"))} <= allowed
