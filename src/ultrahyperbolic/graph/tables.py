"""Tables of Arrow as rows of a graph: ids become positions, in order of appearance."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..arrays import Ints, positions_in
from .columns import Wanted, choose_columns
from .errors import GraphError
from .ids import NodeIds
from .rows import EdgeRows

TEXTS = pa.dictionary(pa.int32(), pa.string())


def number_ends(first: pa.ChunkedArray, second: pa.ChunkedArray) -> tuple[Ints, Ints, pa.Array]:
    """[m] both ends as positions in the ids, which are in order of appearance, row by row.

    Both columns have one type and no nulls.
    """
    both = pa.chunked_array([*first.chunks, *second.chunks], first.type)
    if not len(both):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), pa.array([], pa.string())
    both = both.dictionary_encode().unify_dictionaries()
    ids = both.chunk(0).dictionary
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in both.chunks]).reshape(2, -1)
    appearance = np.empty(len(ids), dtype=np.int64)
    # Of repeated positions numpy keeps the last write, so running backwards keeps the first
    # appearance.
    appearance[codes.T.ravel()[::-1]] = np.arange(codes.size)[::-1]
    order = np.argsort(appearance)
    i, j = positions_in(order)[codes]
    return i, j, ids.take(pa.array(order))


def rows_of_table(table: pa.Table, where: str) -> EdgeRows:
    """The rows of a table whose columns are the ids of both ends and, if there is a third, the
    weights.
    """
    first, second = (_plain_column(column) for column in table.columns[:2])
    if first.type != second.type:
        raise GraphError(
            f"{where}: source ids are {first.type}, target ids {second.type}: give both one type"
        )
    missing = pc.or_(first.is_null(nan_is_null=True), second.is_null(nan_is_null=True))
    if row := pc.index(missing, True).as_py() + 1:
        what = "NaN" if first[row - 1].is_valid and second[row - 1].is_valid else "null"
        raise GraphError(f"{where}, row {row - 1} (from 0): an id is missing ({what})")
    weights = None
    if table.num_columns > 2:
        try:
            weights = table.column(2).cast(pa.float64()).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise GraphError(
                f"{where}: the weights are {table.column(2).type}, no numbers"
            ) from None
    i, j, ids = number_ends(first, second)
    return EdgeRows(
        i, j, weights, NodeIds(ids.to_pylist()), lambda row: f"{where}, row {row} (from 0)"
    )


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without dictionaries, and with one type for all text and one for all whole
    numbers.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        kind = pa.int64()
    return column if column.type == kind else column.cast(kind)


def choose_arrow_columns(
    schema: pa.Schema, values: Callable[[int], Sequence[object]], wanted: Wanted, where: str
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight in an Arrow schema; ``values`` are those of
    `choose_columns`.
    """

    def is_numeric(k: int) -> bool:
        kind = schema.field(k).type
        return bool(
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        )

    return choose_columns(schema.names, len(schema), is_numeric, values, wanted, where)


def distinct_values(column: pa.ChunkedArray) -> list[object]:
    """The distinct values of an Arrow column, as far as they can be compared."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (
        pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        return []
    return [value for value in column.unique().to_pylist() if value is not None]
