"""The pages show what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")


def shows_commands() -> list[object]:
    """The pages that show what commands print; those that train for long are for ``make
    test-all``.
    """
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    shown = [page for page in pages if "```console" in page.read_text(encoding="utf-8")]
    return [
        pytest.param(
            p,
            id=p.name,
            marks=[pytest.mark.slow] if p.name in {"command.md", "start.md"} else [],
        )
        for p in shown
    ]


def examples(text: str) -> list[tuple[str, str]]:
    """The commands of a page, and what it says they print."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.S)
    return [
        (words, output)
        for block in blocks
        for words, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    ]


def same(shown: str, printed: str) -> bool:
    """Whether two outputs are alike: the same lines, with the same words, and numbers where there
    are numbers.

    Training near the light cone is chaotic, so another processor prints other digits and another
    order of equals; words are compared line by line, whole lists of ids as sets.
    """
    first, second = (text.strip().splitlines() for text in (shown, printed))
    if len(first) != len(second):
        return False
    spoken = [[words(line) for line in lines] for lines in (first, second)]
    counts = [[len(line.split()) for line in lines] for lines in (first, second)]
    return counts[0] == counts[1] and sorted(spoken[0]) == sorted(spoken[1])


def words(line: str) -> list[str]:
    """The words of a line that are not numbers; what is installed here may differ."""
    plain = [word.strip("(),:%") for word in line.split()]
    return [word for word in plain if not is_number(word) and word not in ("yes", "no")]


def is_number(word: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", word) is not None


@pytest.mark.parametrize("page", shows_commands())
def test_the_page_is_true(call, page):
    text = page.read_text(encoding="utf-8")
    for name, content in re.findall(r"`([\w.-]+)`:\n\n```text\n(.*?)```", text, re.S):
        Path(name).write_text(content, encoding="utf-8")
    assert examples(text)
    for words, shown in examples(text):
        printed = call(words.removeprefix("ultrahyperbolic ")).output
        assert same(shown, printed), f"$ {words}\n{printed}"


def test_every_command_is_in_the_table():
    from typer.main import get_command

    from ultrahyperbolic.cli import app

    table = re.findall(r"^\| \[`(\w+)[^`]*`\]\(#(\w+)\) \|", PAGE, re.M)
    headings = re.findall(r"^## `?(\w+)`?$", PAGE, re.M)
    assert [name for name, _ in table] == list(get_command(app).commands)
    assert all(name == anchor and name in headings for name, anchor in table)


def test_every_option_of_embed_is_on_the_page(call):
    options = set(re.findall(r"--[a-z-]+", call("embed --help-all").stdout)) - {"--help"}
    assert {"--signature", "--repeated", "--json"} <= options
    assert [
        option for option in options if f"`{option}" not in PAGE and f"/`{option}" not in PAGE
    ] == []


def test_differences_are_seen():
    assert same("in 0.1 s: 1.000, yes", "in 7.3 s: 1.001, no")
    assert same("1 ann 2.0\n2 bob 3.0", "1 bob 2.5\n2 ann 2.6")
    assert not same("1.0 a", "1.0 b")
    assert not same("a", "a b")
    assert not same("a 1.0", "a")
    assert not same("a\nb", "a")
