"""Parquet, read by Arrow; what a file declares, and the texts that come out of it, are bounded by
its size.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from .errors import COLUMNS, GraphError, most_bytes, most_rows, naming_damage

_BATCH_ROWS = 1 << 16  # that are decoded at a time
_BATCH_BYTES = 64 << 20  # of them, where texts may repeat the one before


def read_parquet(path: str, choose: Callable[[pa.Schema], Sequence[str]]) -> pa.Table:
    """The columns that ``choose`` names when it is shown the schema."""
    file = CheckedParquet(path)
    return file.read(choose(file.schema))


class CheckedParquet:
    """A Parquet file; `GraphError` where it is damaged, or declares or unpacks to too much."""

    def __init__(self, path: str) -> None:
        self.path, size = path, os.path.getsize(path)
        self._most = most_bytes(size)
        with self._damage(), parquet.ParquetFile(path) as file:
            about = file.metadata
            self.schema, self.rows = file.schema_arrow, about.num_rows
            groups = range(file.num_row_groups)
            self._declared = sum(about.row_group(k).total_byte_size for k in groups)
        if about.num_columns > COLUMNS:
            raise GraphError(
                f"{path}: {about.num_columns} columns, and at most {COLUMNS} are read: not an edge "
                "list"
            )
        if self.rows > most_rows(size):
            raise GraphError(
                f"{path}: {self.rows} rows in {size} bytes, and so small a file may have "
                f"{most_rows(size)}: it is damaged, or write it again without compression"
            )
        if self._declared > self._most:
            raise GraphError(
                f"{path}: {size} bytes unpack to more than {self._most >> 20} MiB: write the "
                "file again without compression if that is meant"
            )

    def read(self, names: Sequence[str], rows: int | None = None) -> pa.Table:
        """Columns of the file, all rows or the first."""
        texts = [name for name in names if _is_text(self._type(name))]
        with self._damage():
            try:
                # As dictionaries, in which one long text takes little memory however often it
                # stands there.
                return self._read(names, texts, _BATCH_ROWS, rows)
            except OSError as error:
                if "Not yet implemented" not in str(error):
                    raise
            # Texts may repeat the beginning of the one before, and a few bytes be many long ones.
            batch = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(self._declared, 1)))
            return self._read(names, [], batch, rows)

    def _read(
        self, names: Sequence[str], texts: list[str], batch_rows: int, rows: int | None
    ) -> pa.Table:
        schema = pa.schema([self.schema.field(name) for name in names])
        with parquet.ParquetFile(self.path, read_dictionary=texts) as file:
            batches = file.iter_batches(batch_size=batch_rows, columns=list(names))
            plain = self._plain(batches, schema, rows)
            return pa.Table.from_batches(plain, schema)

    def _plain(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, rows: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Batches without the dictionaries of their texts, which are counted before."""
        sizes = dict.fromkeys(schema.names, 0)
        left = self.rows if rows is None else rows
        while left > 0 and (batch := next(batches, None)) is not None:
            batch.validate(full=True)
            batch = batch[:left].select(schema.names)
            left -= len(batch)
            for name in schema.names:
                column = batch.column(name)
                if not _is_text(schema.field(name).type):
                    continue
                lengths = pc.binary_length(getattr(column, "dictionary", column))
                if pa.types.is_dictionary(column.type):
                    lengths = lengths.take(column.indices)
                sizes[name] += pc.sum(lengths).as_py() or 0
                if sizes[name] > self._most:
                    raise GraphError(
                        f"{self.path}: the texts of the column {name!r} are more than "
                        f"{self._most >> 20} MiB, in a file too small for that: write it again "
                        "without compression if that is meant"
                    )
            yield batch.cast(schema)

    def _damage(self) -> AbstractContextManager[None]:
        passed = FileNotFoundError, IsADirectoryError, PermissionError
        return naming_damage(f"{self.path}: the Parquet file", passed)

    def _type(self, name: str) -> pa.DataType:
        """The type of a column that can be read."""
        if (count := self.schema.names.count(name)) > 1:
            raise GraphError(
                f"{self.path}: {count} columns are named {name!r}: give each its own name"
            )
        kind = self.schema.field(name).type
        if pa.types.is_nested(kind):
            raise GraphError(
                f"{self.path}: the column {name!r} holds {kind}, and not one value a row"
            )
        if pa.types.is_fixed_size_binary(kind) and kind.byte_width * self.rows > self._most:
            raise GraphError(
                f"{self.path}: the column {name!r} holds {kind}, too long to be ids: shorten them"
            )
        return kind


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind)
    )
