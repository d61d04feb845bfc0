"""What the commands print: tables and plain lines for people, JSON for scripts."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from .errors import refusing

if TYPE_CHECKING:
    from ..embedding.answers import Columns

_RIGHT = ("rank", "delta", "strength", "by degree", "by strength", "by PageRank", "distance", "weight", "score")


def print_json(data: Mapping[str, object]) -> None:
    """One object on stdout, of strict JSON: what is not finite is null."""
    from ..files import as_json_data  # which waits for numpy

    print(json.dumps(as_json_data(data), indent=2, allow_nan=False))


def json_id(node: Hashable) -> object:
    """An id as strict JSON can hold it: of an infinite number the text that ``embedding.parquet`` has.

    >>> json_id(7.5), json_id(float("-inf")), json_id(("a", float("inf")))
    (7.5, '-Infinity', ['a', 'Infinity'])
    """
    if isinstance(node, tuple):
        return [json_id(part) for part in node]
    return json.dumps(node) if isinstance(node, float) and math.isinf(node) else node


def json_rows(table: Columns) -> list[dict[str, object]]:
    """The rows of a table with a column of nodes."""
    from ..embedding.answers import rows_of

    return [row | {"node": json_id(row["node"])} for row in rows_of(table)]


def write_csv(path: Path | None, table: Columns) -> None:
    """Write a table as CSV, where a file is named for it."""
    if path is None:
        return
    from ..embedding.answers import rows_of
    from ..export.tables import write_table

    with refusing(OSError, about="cannot write the table: "):
        write_table(path, list(table), (tuple(row.values()) for row in rows_of(table)))


def print_columns(columns: Mapping[str, Sequence[str]]) -> None:
    """Columns by their headers; those of numbers to the right."""
    print_table(tuple(columns), zip(*columns.values(), strict=True), right=_RIGHT)


def names(table: Columns) -> dict[str, list[str]]:
    """The nodes of a table, and their labels, as a terminal may see them."""
    found = {"node": [shown(node) for node in cast("Sequence[Hashable]", table["node"])]}
    if "label" in table:
        found["label"] = [shown(str(label)) if label else "" for label in table["label"]]
    return found


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Columns with headers, those named in ``right`` to the right; nothing is folded or cut."""
    from rich.cells import cell_len

    # Rich's own tables take a millisecond a row, and a ranking may have a million.
    table = [tuple(headers), *map(tuple, rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = []
        for header, width, text in zip(headers, widths, row, strict=True):
            blanks = " " * (width - cell_len(text))
            cells.append(blanks + text if header in right else text + blanks)
        return "  ".join(cells).rstrip()

    typer.secho(line(table[0]), bold=True)
    for row in table[1:]:
        print(line(row))


class _OnStderr(logging.Handler):
    """Messages of the library as they are, on what is stderr when they come."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


def show_log() -> None:
    """Show on stderr what the library has to say, once however often this is called."""
    logger = logging.getLogger("ultrahyperbolic")
    if not any(isinstance(handler, _OnStderr) for handler in logger.handlers):
        logger.addHandler(_OnStderr())


def note(text: str) -> None:
    """A remark that is no result: on stderr, at once, so that it stands before what follows."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def shown(node: Hashable) -> str:
    r"""An id as a terminal may see it.

    >>> print(shown("34"), shown(34), shown("a\tb"))
    34 34 'a\tb'
    """
    text = node if isinstance(node, str) else repr(node)
    return text if text.isprintable() and text else repr(text)


def number(value: float) -> str:
    """A number with the digits that people compare.

    >>> number(0.5), number(1234.5678)
    ('0.5000', '1235')
    """
    return f"{value:.4f}" if abs(value) < 100 else f"{value:.4g}" if abs(value) < 1e4 else f"{value:.6g}"


def percent(share: float) -> str:
    """A share in per cent, 100 and 0 only where it is so.

    >>> percent(1.0), percent(0.999999), percent(0.25)
    ('100 %', '99.99 %', '25.00 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return f"{min(max(100 * share, 0.01), 99.99):.2f} %"
