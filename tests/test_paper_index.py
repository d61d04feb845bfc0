"""The index of the paper leaves nothing out, and every name in it is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest
from quadrics import OWN

from ultrahyperbolic.paper import TARGETS
from ultrahyperbolic.testing import properties

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "paper.md").read_text(encoding="utf-8")


def rows() -> Iterator[list[str]]:
    """Where, what, code and test of every row of the two tables."""
    for line in PAGE.splitlines():
        if line.startswith("|") and not line.startswith(("| where |", "|---")):
            yield [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


ROWS = list(rows())


def found(name: str) -> bool:
    """Whether a name of the code is there: a command, a method of ``M``, or a path below the
    package.
    """
    if name.startswith("ultrahyperbolic reproduce "):
        return name.split()[-1] in TARGETS
    try:
        resolve_name("ultrahyperbolic." + re.sub(r"^M\b", "PseudoHyperboloid", name))
    except (ImportError, AttributeError):
        return False
    return True


@cache
def functions(path: str) -> set[str]:
    """The functions of a file of tests."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def is_tested(name: str) -> bool:
    """Whether a test, or a property of the battery, is there."""
    path, _, function = name.partition("::")
    return function in functions(path) if function else name in {*properties(), *OWN}


def test_names_that_are_not_there_are_noticed():
    assert len(ROWS) > 100
    assert not found("M.nothing")
    assert not found("optim.nothing")
    assert not found("ultrahyperbolic reproduce table4")
    assert not is_tested("nothing")
    assert not is_tested("test_testing.py::test_nothing")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0] or row[1])
def test_every_name_is_there(row):
    assert len(row) == 4
    *_, code, test = (re.findall(r"`([^`]+)`", cell) for cell in row)
    assert all(found(name) for name in code), code
    assert all(is_tested(name) for name in test), test
    assert bool(code) == bool(test)
    assert code or row[2:] == ["–", "–"]


def test_nothing_is_left_out():
    sections = [
        "1",
        "2",
        "3",
        "4",
        "4.1",
        "4.2",
        "5",
        "6",
        "A",
        "B",
        "C",
        *(f"C.{n}" for n in range(1, 7)),
        "D",
    ]
    expected = [
        *(f"Eq. {n}" for n in range(1, 41)),
        *(f"Section {name}" for name in (*sections, "D.1", "D.2")),
        *(f"{kind} {n}" for kind in ("Table", "Figure") for n in (1, 2, 3)),
        "Theorem 4.1",
        "Algorithm 1",
    ]
    assert sorted(where for where, *_ in ROWS if where) == sorted(expected)
