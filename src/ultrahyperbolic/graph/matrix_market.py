"""Matrix Market. scipy's reader goes past the end of a damaged file and crashes, so the numbers are
read by numpy.
"""

import os
import warnings

import numpy as np

from ..arrays import Floats, Ints
from .columns import is_number
from .errors import MATRIX_ROWS, GraphError, most_rows
from .ids import NodeIds
from .rows import EdgeRows, Kind
from .streams import compression, open_bytes

_WIDTHS = {"real": 3, "double": 3, "integer": 3, "unsigned-integer": 3, "pattern": 2}


def read_matrix_market(path: str, *, weighted: bool) -> tuple[EdgeRows, Kind]:
    """The rows, and what their direction means. The ids are the numbers of the rows, as text."""
    with open_bytes(path) as stream:
        header = stream.readline(1000)
        before, sizes = 1, stream.readline(1 << 20)
        while sizes.startswith(b"%") or sizes.isspace():
            before, sizes = before + 1, stream.readline(1 << 20)
        is_array, is_symmetric, width = _kind(path, header)
        n, entries = _sizes(path, sizes.split(), is_array=is_array, is_symmetric=is_symmetric)
        body = stream.read()
    numbers = _numbers(path, body, before + 2, width)
    if len(numbers) != width * entries:
        raise GraphError(
            f"{path}: {entries} entries are announced and {len(numbers) // width} are there: "
            "correct the line of sizes"
        )
    weights: Floats | None
    if is_array:
        kept = np.flatnonzero(numbers)
        first, second = _places(kept, n, is_symmetric=is_symmetric)
        weights = numbers[kept]
    else:
        table = numbers.reshape(-1, width)
        ends = table[:, :2]
        wrong = ~((ends >= 1) & (ends <= n) & (ends == np.floor(ends))).all(1)
        if wrong.any():
            raise GraphError(
                f"{path}, line {before + 2 + int(wrong.argmax())}: row and column must be whole "
                f"numbers from 1 to {n}: correct them"
            )
        first, second = ends.T.astype(np.int64) - 1
        weights = table[:, 2] if width > 2 else None
    if not weighted and weights is not None:
        tied = weights != 0
        first, second, weights = first[tied], second[tied], None
    rows = EdgeRows(
        first,
        second,
        weights,
        NodeIds(str(k) for k in range(1, n + 1)),
        lambda row: path if is_array or not weighted else f"{path}, line {before + 2 + row}",
    )
    return rows, "undirected" if is_symmetric else "matrix"


def _kind(path: str, header: bytes) -> tuple[bool, bool, int]:
    """Whether all entries are listed, and whether those of one triangle are; numbers of a line."""
    words = header.decode(errors="replace").lower().split()[1:]
    if len(words) != 4 or words[0] != "matrix" or words[1] not in ("coordinate", "array"):
        raise GraphError(
            f"{path}, line 1: not 'matrix coordinate' or 'matrix array' with a kind and a symmetry"
        )
    is_array, width = words[1] == "array", _WIDTHS.get(words[2])
    if width is None or (is_array and words[2] == "pattern"):
        raise GraphError(f"{path}, line 1: the entries must be real numbers, not {words[2]}")
    if words[3] not in ("general", "symmetric", "hermitian"):
        raise GraphError(f"{path}, line 1: {words[3]}: give a general or a symmetric matrix")
    return is_array, words[3] != "general", 1 if is_array else width


def _sizes(path: str, words: list[bytes], *, is_array: bool, is_symmetric: bool) -> tuple[int, int]:
    """The numbers of nodes and of entries that are announced."""
    if len(words) != 3 - is_array or not all(w.isdigit() and len(w) < 19 for w in words):
        what = "rows and columns" if is_array else "rows, columns and entries"
        raise GraphError(f"{path}: after the comments a line of sizes is missing: {what}")
    n, columns = int(words[0]), int(words[1])
    if n != columns:
        raise GraphError(
            f"{path}: must be a square matrix, with one row and one column per node; got "
            f"{(n, columns)}"
        )
    entries = int(words[-1]) if not is_array else n * (n + 1) // 2 if is_symmetric else n * n
    size = os.path.getsize(path)
    # An entry has at least two bytes, a digit and the end of its line.
    most = most_rows(size) if compression(path) else size // 2 + 1
    if entries > most or n > MATRIX_ROWS + size:
        raise GraphError(
            f"{path}: so small a file cannot hold {entries} entries of {n} rows: correct the line "
            "of sizes"
        )
    return n, entries


def _numbers(path: str, body: bytes, line: int, width: int) -> Floats:
    """All numbers from this line on, ``width`` of them on each."""
    if not body.strip():
        return np.empty(0)
    try:
        with warnings.catch_warnings(action="error"):  # numpy before 2.3 warns of damage
            return np.fromstring(body, sep=" ")
    except (ValueError, DeprecationWarning):
        words = body.decode(errors="replace").split()
    k = next((k for k, word in enumerate(words) if not is_number(word)), len(words) - 1)
    raise GraphError(
        f"{path}, line {line + k // width}: {words[k]!r} is not a number: correct it"
    ) from None


def _places(kept: Ints, n: int, *, is_symmetric: bool) -> tuple[Ints, Ints]:
    """Row and column of the entries of an array, which is written column by column."""
    if not is_symmetric:
        second, first = np.divmod(kept, max(n, 1))
        return first, second
    ends = np.cumsum(np.arange(n, 0, -1))  # column k of the lower triangle has n - k entries
    second = np.searchsorted(ends, kept, side="right")
    return kept - ends[second] + n, second
