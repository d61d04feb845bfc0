from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultrahyperbolic.export.tables import plain_cell, read_table, safe_cell, write_table

HOSTILE = [
    "=1+1",
    "@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "＝1",
    "'=1",
    "'",
    "=",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_formula_is_written_as_text(text):
    cell = safe_cell(text)
    assert cell == "'" + text
    assert plain_cell(cell) == text


@pytest.mark.parametrize("text", ["ann", "-1", "+2.5", "-1e-5", ".5", "", "a=1", "x@y", "7"])
def test_what_is_no_formula_is_left_alone(text):
    assert safe_cell(text) == text == plain_cell(text)


@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8")) | st.sampled_from(HOSTILE),
            st.floats(),
            st.integers(),
        ),
        max_size=6,
    )
)
def test_every_table_comes_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    write_table(path, ["=node", "delta", "rank"], rows)
    assert read_table(path) == [{"=node": a, "delta": str(b), "rank": str(c)} for a, b, c in rows]
    with open(path, encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    for cell in cells:
        begin = cell.lstrip()[:1]
        assert begin not in ("=", "@") or cell.startswith("'")
        assert begin not in ("+", "-") or cell in ("-inf", "-nan") or float(cell) is not None
