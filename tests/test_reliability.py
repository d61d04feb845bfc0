"""``docs/reliability.md`` names a test for every promise, and each of them is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_promise_has_a_test_that_exists():
    rows = re.findall(r"^\| (.*) \| (`tests/.*) \|$", PAGE.partition("| Promise | Test |")[2], re.M)
    assert len(rows) >= 15
    for promise, cell in rows:
        tests = re.findall(r"`(tests/[^`:]+)(?:::(\w+))?`", cell)
        assert tests, promise
        for file, name in tests:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {name or 'test_'}" in text, f"{promise}: {file}::{name}"


def test_the_limits_of_the_page_are_those_of_the_readers():
    from ultrahyperbolic.graph.errors import (
        COLUMNS,
        DEPTH,
        ID,
        LINE,
        MATRIX_ROWS,
        most_bytes,
        most_rows,
    )

    table = PAGE.partition("### Limits")[2].partition("### Fuzzing")[0]
    assert f"a line of text | {LINE >> 20} MiB" in table
    assert f"columns | {COLUMNS:,}" in table
    assert f"an id | {ID >> 10} KiB" in table
    assert f"rows of a matrix | {MATRIX_ROWS:,} and" in table
    assert f"within each other | {DEPTH}" in table
    assert (
        f"{most_bytes(1 << 20) >> 20} MiB for a file of up to 1 MiB, else "
        f"{most_bytes(2 << 20) // (2 << 20)} times" in table
    )
    assert most_rows(5) == most_bytes(5) // 4
