"""The rows of a large Parquet file, in bounded memory: some of them at a time, and of those only their numbers stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from .encode import Block, encode_blocks, encode_integers, texts_of_arrow
from .errors import compiled_loops, need
from .ids import NodeIds
from .limits import ID
from .parquet import UnevenError, longest_text, parquet_batches
from .rows import EdgeRows

if TYPE_CHECKING:
    import pyarrow

BATCH = 1 << 16  # rows that are read at a time
Ends = tuple[str, str, str | None]  # the columns of both ends and of the weights


def stream_rows(
    path: str, choose: Callable[[pyarrow.Schema], Sequence[str]], taken: Callable[[], Ends], *, batch: int = BATCH
) -> EdgeRows | None:
    """The rows of a file whose ids are text or whole numbers, ``batch`` of them in memory at a time.

    ``choose`` names the columns when it is shown the schema, and ``taken`` says then what they are. Returns ``None``
    for what the careful reader should see as a whole: without numba, ids of other types, missing ones, weights that
    are no numbers, and everything else that it might refuse.
    """
    pa, loops = need("pyarrow", "reading Parquet"), compiled_loops()
    if loops is None:
        return None

    def texts(batch: pyarrow.RecordBatch) -> Block:
        first, second = (texts_of_arrow(batch.column(name).cast(pa.string())) for name in taken()[:2])
        return Block(first, second, _weights(batch, taken()))

    try:
        batches = parquet_batches(path, choose, batch)
        start = next(batches, None)
        if start is None:
            return None
        kinds = {_kind(start.schema.field(name).type) for name in taken()[:2]}
        every = (_checked(some, taken()) for some in chain([start], batches))
        if kinds == {"text"}:
            encoded = encode_blocks(loops, every, texts)
        elif kinds == {"integer"}:
            encoded = encode_integers(loops, _integers(every, taken()))
        else:
            return None
    except (UnevenError, pa.ArrowException, OverflowError):
        return None
    if encoded is None:
        return None
    i, j, weights, ids = encoded
    return EdgeRows(i, j, weights, NodeIds(ids), lambda row: f"{path}, row {row} (from 0)")


def _kind(kind: pyarrow.DataType) -> str:
    types = need("pyarrow", "reading Parquet").types
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "integer" if types.is_integer(kind) and not types.is_uint64(kind) else "other"


def _checked(batch: pyarrow.RecordBatch, names: Ends) -> pyarrow.RecordBatch:
    """The batch, unless an id is missing or too long: which row that is, the careful reader says."""
    ends = [batch.column(name) for name in names[:2]]
    if any(column.null_count or longest_text(column) > ID for column in ends):
        raise UnevenError
    return batch


def _weights(batch: pyarrow.RecordBatch, names: Ends) -> Floats | None:
    if names[2] is None:
        return None
    pa = need("pyarrow", "reading Parquet")
    found: Floats = batch.column(names[2]).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _integers(batches: Iterator[pyarrow.RecordBatch], names: Ends) -> Iterator[tuple[Ints, Floats | None]]:
    for batch in batches:
        ends = [batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in names[:2]]
        yield np.stack(ends, axis=1), _weights(batch, names)
