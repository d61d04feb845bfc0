"""The index of the paper leaves nothing out, and every name in it is there."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest
from quadrics import OWN

from ultrahyperbolic.paper import TARGETS
from ultrahyperbolic.testing import properties

PAGE = (Path(__file__).parent.parent / "docs" / "paper.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("| ")]
CELLS = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in LINES]
ROWS = [row for row in CELLS if row[0] != "what"]


def exists(name: str) -> bool:
    """Whether a command, a method of ``M``, or a path below the package is there."""
    if name.startswith("ultrahyperbolic reproduce "):
        return name.split()[-1] in TARGETS
    try:
        resolve_name("ultrahyperbolic." + re.sub(r"^M\b", "PseudoHyperboloid", name))
    except (ImportError, AttributeError):
        return False
    return True


def test_names_that_are_not_there_are_noticed():
    assert len(ROWS) > 60
    assert not exists("M.nothing")
    assert not exists("optim.nothing")
    assert not exists("ultrahyperbolic reproduce table4")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_name_is_there(row):
    code, tested = (re.findall(r"`([^`]+)`", cell) for cell in row[1:])
    assert code
    assert [name for name in code if not exists(name)] == []
    assert set(tested) <= {*properties(), *OWN}


def test_nothing_is_left_out():
    numbers = []
    for first, last in re.findall(r"^\| Eq\. (\d+)(?:–(\d+))?:", PAGE, re.M):
        numbers += range(int(first), int(last or first) + 1)
    assert sorted(numbers) == list(range(1, 41))
    for name in ("Table 1", "Table 2", "Table 3", "Figure 1", "Figure 2", "Figure 3"):
        assert f"| {name}: " in PAGE
    assert "| Theorem 4.1: " in PAGE
    assert "| Algorithm 1: " in PAGE
