"""Tables in CSV, safe to open in a spreadsheet: formulas are escaped."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..files import replace_file

# What begins a formula, in its narrow and its wide form, after blanks or after one of the
# characters that are dropped.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]|'")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def safe_cell(value: object) -> str:
    """The text of a cell, with an apostrophe before what a spreadsheet would run; `plain_cell`
    removes it.

    >>> [safe_cell(value) for value in ("=1+1", "@x", "-3.5", "-x", "it's", "'x", 7)]
    ["'=1+1", "'@x", '-3.5', "'-x", "it's", "''x", '7']
    """
    text = str(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def plain_cell(cell: str) -> str:
    """The text that `safe_cell` made safe."""
    return cell.removeprefix("'")


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV in UTF-8, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(safe_cell, header))
    writer.writerows(map(safe_cell, row) for row in rows)
    replace_file(path, text.getvalue())


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows that `write_table` wrote, as text, by the names of their columns."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = ([plain_cell(cell) for cell in row] for row in csv.reader(file))
    return [dict(zip(header, row, strict=True)) for row in rows]
