"""Parquet: before a file is read, the headers of its pages, which bound what it unpacks to, are
added up.
"""

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from .errors import COLUMNS, GraphError, most_bytes, most_rows, naming_damage

T = TypeVar("T")
# A value of Thrift's compact protocol; a structure is {field: value}.
Thrift = int | bytes | None | list["Thrift"] | dict[int, "Thrift"]
Structure = dict[int, Thrift]

_DELTA_BYTE_ARRAY = 7  # the encoding in which a value repeats the beginning of the one before
_DEEPEST = 16  # structures and lists within each other
_BATCH_ROWS, _BATCH_BYTES = 1 << 16, 64 << 20  # that are read at a time


def read_parquet(path: str, choose: Callable[[pa.Schema], Sequence[str]]) -> pa.Table:
    """The columns that ``choose`` names when it is shown the schema."""
    file = CheckedParquet(path)
    names = list(choose(file.schema))
    batches = list(file.batches(names))
    return pa.Table.from_batches(batches, pa.schema([file.schema.field(name) for name in names]))


class CheckedParquet:
    """A Parquet file, read in batches that fit into memory; `GraphError` where it declares or
    unpacks to too much.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        passed = FileNotFoundError, IsADirectoryError, PermissionError
        self._damage = partial(naming_damage, f"{path}: the Parquet file", passed)
        with self._damage(), parquet.ParquetFile(path) as file:
            self.schema, columns, self.rows = (
                file.schema_arrow,
                file.metadata.num_columns,
                file.metadata.num_rows,
            )
        self._size = os.path.getsize(path)
        self._most = most_bytes(self._size)
        if columns > COLUMNS:
            raise GraphError(
                f"{path}: {columns} columns, and at most {COLUMNS} are read: not an edge list"
            )
        if self.rows > most_rows(self._size):
            raise GraphError(
                f"{path}: {self.rows} rows in {self._size} bytes, and so small a file may have "
                f"{most_rows(self._size)}: it is damaged, or write it again without compression"
            )

    def batches(self, names: Sequence[str], rows: int = _BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Columns of the file, at most ``rows`` rows at a time, and fewer where their texts are
        long.
        """
        texts = [name for name in names if _is_text(self._type(name))]
        sizes = dict.fromkeys(texts, 0)
        with self._damage():
            largest, repeats = self._pages(names)
            with (
                parquet.ParquetFile(self.path) as file,
                parquet.ParquetFile(self.path, read_dictionary=texts) as packed,
            ):
                for group in range(file.num_row_groups):
                    longest = largest
                    if (
                        not repeats
                    ):  # of the dictionaries: few bytes of a page may mean many rows of a long text
                        rows_of_group = packed.iter_batches(
                            batch_size=1, row_groups=[group], columns=texts, use_threads=False
                        )
                        longest = max(
                            map(longest_text, next(rows_of_group, ()) if texts else ()), default=0
                        )
                    some = max(1, min(rows, _BATCH_BYTES // max(longest, 1)))
                    for batch in file.iter_batches(
                        batch_size=some, row_groups=[group], columns=names
                    ):
                        batch.validate(full=True)
                        for name in texts:
                            column = batch.column(name)
                            lengths = pc.binary_length(getattr(column, "dictionary", column))
                            if pa.types.is_dictionary(column.type):
                                lengths = lengths.take(column.indices)
                            sizes[name] += pc.sum(lengths).as_py() or 0
                            if sizes[name] > self._most:
                                raise GraphError(
                                    f"{self.path}: the texts of the column {name!r} are more than "
                                    f"{self._most >> 20} "
                                    "MiB, in a file too small for that: write it again without "
                                    "compression if that is "
                                    "meant"
                                )
                        yield batch.select(names)

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
        if pa.types.is_fixed_size_binary(kind) and kind.byte_width > self._most // max(
            self.rows, 1
        ):
            raise GraphError(
                f"{self.path}: the column {name!r} holds {kind}, too long to be ids: shorten them"
            )
        return kind

    def _pages(self, names: Sequence[str]) -> tuple[int, bool]:
        """Bytes that the largest page unpacks to, and whether values repeat the one before; refused
        if too many.
        """
        total, largest, repeats = 0, 0, False
        with (
            open(self.path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            for chunk in self._chunks:
                if b".".join(_items(chunk.get(3), bytes)).decode(
                    errors="replace"
                ) not in names or not chunk.get(5):
                    continue
                for unpacked, encoding in _pages_of(data, chunk):
                    total, largest = total + unpacked, max(largest, unpacked)
                    repeats = repeats or encoding == _DELTA_BYTE_ARRAY
                    if total > self._most:
                        raise GraphError(
                            f"{self.path}: {self._size} bytes unpack to more than "
                            f"{self._most >> 20} MiB: write the "
                            "file again without compression if that is meant"
                        )
        return largest, repeats

    @cached_property
    def _chunks(self) -> list[Structure]:
        """What the footer says of each column in each group of rows. pyarrow's view of a damaged
        footer can crash.
        """
        with (
            open(self.path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
            if begin < 4:
                raise ValueError("the footer is longer than the file")
            data.seek(begin)
            footer = _structure(data)
        columns = [
            column for group in _items(footer.get(4), dict) for column in _items(group.get(1), dict)
        ]
        return _items([column.get(3) for column in columns], dict)


def _items(values: Thrift, kind: type[T]) -> list[T]:
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise ValueError("a structure holds what no Parquet file has there")
    return [value for value in values if isinstance(value, kind)]


def _pages_of(data: mmap.mmap, chunk: Structure) -> Iterator[tuple[int, int]]:
    """From the header of each page of a column chunk, the bytes that it unpacks to and its
    encoding.
    """
    at, dictionary, length = (_whole(chunk, field) for field in (9, 11, 7))
    begin = dictionary if 0 < dictionary < at else at
    end = begin + length
    if begin < 4 or length < 0 or end > len(data):
        raise ValueError("a column lies outside the file")
    data.seek(begin)
    while data.tell() < end:
        header = _structure(data)
        unpacked, packed = _whole(header, 2), _whole(header, 3)
        if unpacked < 0 or packed < 0 or data.tell() + packed > end:
            raise ValueError("a page lies outside its column")
        (body,) = _items([header.get(5) or header.get(8) or header.get(7) or {}], dict)
        yield unpacked, _whole(body, 4 if 8 in header else 2)
        data.seek(packed, os.SEEK_CUR)


def _whole(structure: Structure, field: int) -> int:
    """A whole number of a structure; 0 where there is none."""
    value = structure.get(field, 0)
    if not isinstance(value, int):
        raise ValueError("a place, a size or an encoding is no number")
    return value


# Values of Thrift's compact protocol, read from where the file stands.


def _structure(data: mmap.mmap, depth: int = 0) -> Structure:
    """A structure as {field: value}."""
    if depth > _DEEPEST:
        raise ValueError("its structures are nested too deeply")
    fields: Structure = {}
    field = 0
    while mark := data.read_byte():
        field = field + (mark >> 4) if mark >> 4 else _integer(data)
        kind = mark & 15
        fields[field] = (
            kind == 1 if kind in (1, 2) else _value(data, kind, depth)
        )  # true and false have no bytes
    return fields


def _value(data: mmap.mmap, kind: int, depth: int) -> Thrift:
    if kind in (1, 2, 3):  # a truth value in a list, a byte
        return data.read_byte()
    if kind in (4, 5, 6):
        return _integer(data)
    if kind in (7, 8):  # a float, text
        length = 8 if kind == 7 else _unsigned(data)
        if length > len(data) - data.tell():
            raise ValueError("it ends in the middle of a value")
        return data.read(length)
    if kind in (9, 10):
        mark = data.read_byte()
        count = mark >> 4 if mark >> 4 < 15 else _unsigned(data)
        return [_value(data, mark & 15, depth + 1) for _ in range(count)]
    if kind == 12:
        return _structure(data, depth + 1)
    raise ValueError("there is a value of no known kind")


def _unsigned(data: mmap.mmap) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = data.read_byte()
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError("a number does not end")


def _integer(data: mmap.mmap) -> int:
    value = _unsigned(data)
    return (value >> 1) ^ -(value & 1)


def longest_text(column: pa.Array) -> int:
    """The bytes of the longest text of a column, or of its dictionary; 0 where it holds none."""
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    return (pc.max(pc.binary_length(texts)).as_py() or 0) if _is_text(texts.type) else 0


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind)
    )
