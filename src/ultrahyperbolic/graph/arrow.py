"""EdgeRows from tables of Arrow, read from a file or given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from .columns import Wanted, choose_columns
from .encode import encode_ends
from .errors import GraphError, need
from .ids import NodeIds
from .rows import EdgeRows

if TYPE_CHECKING:
    import pyarrow


def choose_arrow_columns(
    schema: pyarrow.Schema, values: Callable[[int], Sequence[object]], wanted: Wanted, where: str
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight in an Arrow schema; ``values`` are those of `choose_columns`."""
    types = need("pyarrow", "reading a table").types

    def is_numeric(k: int) -> bool:
        kind = schema.field(k).type
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))

    return choose_columns(schema.names, len(schema), is_numeric, values, wanted, where)


def arrow_values(column: pyarrow.ChunkedArray) -> list[object]:
    """The distinct values of an Arrow column, as far as they can be compared."""
    types = need("pyarrow", "reading a table").types
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_primitive(kind) or types.is_string(kind) or types.is_large_string(kind)):
        return []
    return [value for value in column.unique().to_pylist() if value is not None]


def rows_of_arrow(
    first: pyarrow.ChunkedArray, second: pyarrow.ChunkedArray, weights: pyarrow.ChunkedArray | None, *, where: str
) -> EdgeRows:
    """EdgeRows from columns of ids and, or ``None``, of weights."""
    pa = need("pyarrow", "reading a table")
    for column in (first, second):
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            raise GraphError(f"{where}, row {row} (from 0): an id is missing (null)")
    first, second = _plain_column(pa, first), _plain_column(pa, second)
    if pa.types.is_floating(first.type):
        for column in (first, second):
            if np.isnan(values := column.to_numpy()).any():
                row = int(np.flatnonzero(np.isnan(values))[0])
                raise GraphError(f"{where}, row {row} (from 0): an id is missing (NaN)")
    if first.type != second.type:
        raise GraphError(f"{where}: source ids are {first.type}, target ids {second.type}: give both one type")
    if weights is not None:
        try:
            weights = weights.cast(pa.float64()).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # values, or a type, that Arrow makes no numbers of
            raise GraphError(f"{where}: the weights are {weights.type}, no numbers") from None
    i, j, ids = encode_ends(first, second)
    is_lazy = pa.types.is_string(ids.type) or pa.types.is_int64(ids.type)
    node_ids = NodeIds(ids if is_lazy else ids.to_pylist())
    return EdgeRows(i, j, weights, node_ids, lambda row: f"{where}, row {row} (from 0)")


def _plain_column(pa: ModuleType, column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """A column without dictionaries, and with one type for all text and one for all whole numbers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        kind = pa.int64()
    return column if column.type == kind else column.cast(kind)
