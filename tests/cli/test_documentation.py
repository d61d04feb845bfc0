"""``docs/command.md`` shows what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")


def examples() -> list[tuple[str, str]]:
    """The commands of the page, and what it says they print."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.S)
    return [
        (words, output)
        for block in blocks
        for words, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    ]


def same(shown: str, printed: str) -> bool:
    """Whether two outputs are equal, but for the time taken, what is installed, and the last digits of numbers."""
    first, second = ([word.strip("(),") for word in text.split()] for text in (shown, printed))
    return len(first) == len(second) and all(map(alike, first, second, ["", *first]))


def alike(a: str, b: str, before: str) -> bool:
    if is_decimal(a) and is_decimal(b):
        return before == "in" or float(a) == pytest.approx(float(b), rel=0.02)
    return a == b or {a, b} == {"yes", "no"}


def is_decimal(word: str) -> bool:
    return re.fullmatch(r"\d+\.\d+", word) is not None


def test_the_page_is_true(call):
    for name, text in re.findall(r"`([\w.]+)`:\n\n```text\n(.*?)```", PAGE, re.S):
        Path(name).write_text(text)
    assert len(examples()) == 14
    for words, shown in examples():
        printed = call(words.removeprefix("ultrahyperbolic ")).output
        assert same(shown, printed), f"$ {words}\n{printed}"


def test_every_option_of_embed_is_on_the_page(call):
    options = set(re.findall(r"--[a-z-]+", call("embed --help").stdout)) - {"--help"}
    assert {"--signature", "--repeated", "--json"} <= options
    assert [option for option in options if f"`{option}" not in PAGE and f"/`{option}" not in PAGE] == []


def test_differences_are_seen():
    assert same("in 0.1 s: 1.000, yes", "in 7.3 s: 1.001, no")
    assert not same("1.0 a", "1.2 a")
    assert not same("a", "b")
    assert not same("a", "a b")
