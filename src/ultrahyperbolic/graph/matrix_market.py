"""Matrix Market, read as any table of text is: scipy's reader goes past the end of a damaged file
and crashes.
"""

import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..arrays import Floats, Ints
from .dialect import WHITESPACE, Dialect, place_of_row
from .errors import MATRIX_ROWS, GraphError, most_rows
from .ids import NodeIds
from .rows import EdgeRows, Kind
from .streams import compression, open_bytes
from .tables import number_ends
from .text import read_columns

_SAMPLE = 1 << 20  # bytes in which a file must come to its line of sizes
_WIDTHS = {"real": 3, "double": 3, "integer": 3, "unsigned-integer": 3, "pattern": 2}


def read_matrix_market(path: str, *, weighted: bool) -> tuple[EdgeRows, Kind]:
    """The rows, and what their direction means. The ids are the numbers of the rows, as text."""
    body, kind, n, entries = _layout(path)
    is_array, ids = body.width == 1, NodeIds([str(k) for k in range(1, n + 1)])
    found = _array(body, kind, n, entries) if is_array else _coordinates(body, n, entries)
    rows = EdgeRows(*found, ids, lambda row: path if is_array else place_of_row(body, row))
    if not weighted and rows.weights is not None:
        kept = np.flatnonzero(rows.weights != 0)
        rows = replace(rows, first=rows.first[kept], second=rows.second[kept], weights=None)
    return rows, kind


def _layout(path: str) -> tuple[Dialect, Kind, int, int]:
    """The lines of the entries, what a row means, and the numbers of nodes and of entries that are
    announced.
    """
    with open_bytes(path) as stream:
        start = stream.read(_SAMPLE)
    header, *lines = start.split(b"\n")
    words = header.decode(errors="replace").lower().split()[1:]
    if len(words) != 4 or words[0] != "matrix" or words[1] not in ("coordinate", "array"):
        raise GraphError(
            f"{path}, line 1: not 'matrix coordinate' or 'matrix array' with a kind and a symmetry"
        )
    if words[2] not in _WIDTHS or (words[1] == "array" and words[2] == "pattern"):
        raise GraphError(f"{path}, line 1: the entries must be real numbers, not {words[2]}")
    if words[3] not in ("general", "symmetric", "hermitian"):
        raise GraphError(f"{path}, line 1: {words[3]}: give a general or a symmetric matrix")
    is_array, is_symmetric = words[1] == "array", words[3] != "general"
    number = next(
        (k for k, line in enumerate(lines) if line.strip() and not line.startswith(b"%")), None
    )
    sizes = [] if number is None else lines[number].split()
    if (
        number is None
        or len(sizes) != 3 - is_array
        or not all(word.isdigit() and len(word) < 19 for word in sizes)
    ):
        what = "rows and columns" if is_array else "rows, columns and entries"
        raise GraphError(f"{path}: after the comments a line of sizes is missing: {what}")
    n, columns, entries = [int(word) for word in sizes] + [0] * is_array
    if n != columns:
        raise GraphError(
            f"{path}: must be a square matrix, with one row and one column per node; got "
            f"{(n, columns)}"
        )
    if is_array:
        entries = n * (n + 1) // 2 if is_symmetric else n * n
    size = os.path.getsize(path)
    # An entry has at least two bytes, a digit and the end of its line.
    most = most_rows(size) if compression(path) else size // 2 + 1
    if entries > most or n > MATRIX_ROWS + size:
        raise GraphError(
            f"{path}: so small a file cannot hold {entries} entries of {n} rows: correct the line "
            "of sizes"
        )
    skipped = header, *lines[: number + 1]
    before = sum(map(len, skipped)) + len(skipped), len(skipped)
    body = Dialect(path, WHITESPACE, "%", 1 if is_array else _WIDTHS[words[2]], start=before)
    return body, "undirected" if is_symmetric else "matrix", n, entries


def _array(body: Dialect, kind: Kind, n: int, entries: int) -> tuple[Ints, Ints, Floats]:
    """The entries that are not 0, column by column as they are written."""
    values = read_columns(body, (), 0).column(0).to_numpy() if entries else np.empty(0)
    _check_count(body.path, len(values), entries)
    kept = np.flatnonzero(values)
    if kind == "matrix":
        second, first = np.divmod(kept, max(n, 1))
    else:
        ends = np.cumsum(np.arange(n, 0, -1))  # column k of the lower triangle has n - k entries
        second = np.searchsorted(ends, kept, side="right")
        first = kept - ends[second] + n
    return first, second, values[kept]


def _coordinates(body: Dialect, n: int, entries: int) -> tuple[Ints, Ints, Floats | None]:
    if not entries:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    table = read_columns(body, (0, 1), None if body.width == 2 else 2)
    i, j, texts = number_ends(*table.columns[:2])
    weights = None if body.width == 2 else table.column(2).to_numpy()
    _check_count(body.path, len(i), entries)
    plain = pc.match_substring_regex(texts, "^[0-9]{1,18}$")
    numbers: Ints = pc.if_else(plain, texts, "0").cast(pa.int64()).to_numpy()
    wrong = (numbers < 1) | (numbers > n)
    if wrong.any():
        place = place_of_row(body, int((wrong[i] | wrong[j]).argmax()))
        raise GraphError(
            f"{place}: row and column must be whole numbers from 1 to {n}: correct them"
        )
    return numbers[i] - 1, numbers[j] - 1, weights


def _check_count(path: str, found: int, announced: int) -> None:
    if found != announced:
        raise GraphError(
            f"{path}: {announced} entries are announced and {found} are there: correct the line "
            "of sizes"
        )
