"""Columns of a table of Arrow from and to numpy.

They are made of what lies in memory: from arrays and lists, and for ``to_numpy``, pyarrow would
import pandas, to ask if they are series.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints

if TYPE_CHECKING:
    import pyarrow

Column = NDArray[Any]
"""[n] numbers, or texts as objects."""

_KINDS = {"double": np.float64, "int64": np.int64, "int32": np.int32}


def from_numbers(values: NDArray[np.generic]) -> pyarrow.Array:
    """An Arrow array in numpy's memory; whole numbers of 32 or 64 bits."""
    import pyarrow as pa

    kinds = {"f8": pa.float64(), "i4": pa.int32(), "i8": pa.int64()}
    plain = np.ascontiguousarray(values)
    return pa.Array.from_buffers(
        kinds[plain.dtype.str[1:]], len(plain), [None, pa.py_buffer(plain)]
    )


def from_texts(values: Iterable[object], errors: str = "replace") -> pyarrow.Array:
    """An Arrow array of texts; half a character becomes a question mark, unless ``errors`` are
    ``strict``.
    """
    import pyarrow as pa

    encoded = [str(value).encode("utf-8", errors) for value in values]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] > np.iinfo(np.int32).max:
        return pa.array([text.decode() for text in encoded])  # in several pieces
    return pa.StringArray.from_buffers(
        len(encoded), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))
    )


def column(table: pyarrow.Table, name: str, *kinds: str) -> Column:
    """A column without gaps of one of some kinds, copied; texts are objects."""
    import pyarrow as pa

    values = table.column(name)
    is_text = pa.types.is_dictionary(values.type) and str(values.type.value_type) == "string"
    kind = "string" if is_text else str(values.type)
    if kind not in kinds:
        raise ValueError(f"the column {name} holds {kind}, not {' or '.join(kinds)}")
    if values.null_count:
        raise ValueError("there are gaps in it")
    if not is_text:
        return _numbers(values.combine_chunks())
    found = [np.empty(0, dtype=object)]
    for chunk in values.chunks:
        words = np.empty(len(chunk.dictionary), dtype=object)
        words[:] = chunk.dictionary.to_pylist()
        found.append(words[_numbers(chunk.indices)])
    return np.concatenate(found)


def list_column(table: pyarrow.Table, name: str, kind: str) -> tuple[Ints, Column]:
    """The lengths [n] of the lists in a column, and all their values in one array."""
    import pyarrow as pa

    lists = table.column(name).combine_chunks()
    if not pa.types.is_list(lists.type) or str(lists.type.value_type) != kind:
        raise ValueError(f"the column {name} holds {lists.type}, not lists of {kind}")
    values = lists.flatten()
    if lists.null_count or values.null_count:
        raise ValueError("there are gaps in it")
    return np.diff(_numbers(lists.offsets)), _numbers(values)


def _numbers(values: pyarrow.Array) -> Column:
    dtype = np.dtype(_KINDS[str(values.type)])
    begin = values.offset * dtype.itemsize
    return np.frombuffer(values.buffers()[1] or b"", dtype, len(values), begin).copy()
