"""Reading the tables that the package writes as CSV."""

from __future__ import annotations

import csv
from pathlib import Path


def plain_cell(cell: str) -> str:
    """The text that ``safe_cell`` made safe."""
    return cell.removeprefix("'")


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows that ``write_table`` wrote, as text, by the names of their columns."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = ([plain_cell(cell) for cell in row] for row in csv.reader(file))
    return [dict(zip(header, row, strict=True)) for row in rows]
