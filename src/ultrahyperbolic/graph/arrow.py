"""Rows from tables of Arrow, read from a file or given."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from .columns import Wanted, choose_columns
from .encode import Part, encode_ends
from .errors import GraphError
from .ids import NodeIds
from .rows import EdgeRows


def choose_arrow_columns(
    schema: pa.Schema, values: Callable[[int], Sequence[object]], wanted: Wanted, where: str
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight in an Arrow schema; ``values`` are those of `choose_columns`."""

    def is_numeric(k: int) -> bool:
        kind = schema.field(k).type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    return choose_columns(schema.names, len(schema), is_numeric, values, wanted, where)


def arrow_values(column: pa.ChunkedArray) -> list[object]:
    """The distinct values of an Arrow column, as far as they can be compared."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return []
    return [value for value in column.unique().to_pylist() if value is not None]


def rows_of_arrow(batches: Iterable[pa.RecordBatch], where: str) -> EdgeRows:
    """Rows from batches of a table whose columns are the ids of both ends and, if there is a third, the weights."""
    i, j, weights, ids = encode_ends(_checked(batches, where))
    is_lazy = pa.types.is_string(ids.type) or pa.types.is_int64(ids.type)
    return EdgeRows(
        i, j, weights, NodeIds(ids if is_lazy else ids.to_pylist()), lambda row: f"{where}, row {row} (from 0)"
    )


def _checked(batches: Iterable[pa.RecordBatch], where: str) -> Iterator[Part]:
    rows = 0
    for batch in batches:
        first, second = _plain_column(batch.column(0)), _plain_column(batch.column(1))
        if first.type != second.type:
            raise GraphError(f"{where}: source ids are {first.type}, target ids {second.type}: give both one type")
        missing = pc.or_(first.is_null(nan_is_null=True), second.is_null(nan_is_null=True))
        if missing.true_count:
            row = pc.index(missing, True).as_py()
            what = "NaN" if first[row].is_valid and second[row].is_valid else "null"
            raise GraphError(f"{where}, row {rows + row} (from 0): an id is missing ({what})")
        weights = None
        if batch.num_columns > 2:
            try:
                weights = batch.column(2).cast(pa.float64()).to_numpy(zero_copy_only=False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # values, or a type, that Arrow makes no numbers of
                raise GraphError(f"{where}: the weights are {batch.column(2).type}, no numbers") from None
        rows += len(first)
        yield first, second, weights


def _plain_column(column: pa.Array) -> pa.Array:
    """A column without dictionaries, and with one type for all text and one for all whole numbers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        kind = pa.int64()
    return column if column.type == kind else column.cast(kind)
