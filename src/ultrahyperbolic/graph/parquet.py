"""Parquet, looked at before it is read: a small file may declare or unpack to more than the memory holds.

What a file says of itself in its footer may be wrong, but the header of a page bounds what the page can unpack to, so
the headers of all pages that will be read are added up first.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .errors import GraphError, need
from .limits import COLUMNS, most_bytes, most_rows

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")
# A value of Thrift's compact protocol; a structure is {field: value}.
Thrift = int | bytes | None | list["Thrift"] | dict[int, "Thrift"]
Structure = dict[int, Thrift]

_DELTA_BYTE_ARRAY = 7  # the encoding in which a value repeats the beginning of the one before
_DEEPEST = 16  # structures and lists within each other
_BATCH_BYTES = 256 << 20  # of the texts of some rows that are read together


class _Page(NamedTuple):
    unpacked: int  # bytes
    encoding: int


class UnevenError(Exception):
    """A file that has to be read as a whole."""


class _DamagedError(Exception):
    """Bytes that no Parquet file has."""


class _Plan(NamedTuple):
    """What is read of a file, after a look at its footer and the headers of its pages."""

    names: list[str]
    texts: list[str]  # those of them that hold text
    most: int  # bytes that may be unpacked
    largest: int  # bytes of the largest page
    repeats: bool  # whether values repeat the one before


def read_parquet(path: str, choose: Callable[[pyarrow.Schema], Sequence[str]]) -> pyarrow.Table:
    """The columns that ``choose`` names when it is shown the schema."""
    parquet = need("pyarrow.parquet", "reading Parquet")
    names, texts, most, largest, repeats = _plan(path, choose)
    with _named(path):
        with parquet.ParquetFile(path, read_dictionary=[] if repeats else texts) as file:
            if repeats:
                return _read_some(path, file, names, most, max(1, most // max(largest, 1)))
            table = file.read(columns=names)
        table.validate(full=True)
    _check_texts(path, table, most)
    return table


def parquet_batches(
    path: str, choose: Callable[[pyarrow.Schema], Sequence[str]], rows: int
) -> Iterator[pyarrow.RecordBatch]:
    """The same columns, so many rows at a time; `UnevenError` where a few rows might not fit into memory."""
    parquet = need("pyarrow.parquet", "reading Parquet")
    names, texts, most, _, repeats = _plan(path, choose)
    total = 0
    with _named(path):
        if repeats or rows * _longest_in_dictionaries(path, texts) > _BATCH_BYTES:
            raise UnevenError
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows, columns=names):
                batch.validate(full=True)
                total += batch.nbytes
                if total > most:
                    raise UnevenError
                yield batch


def _longest_in_dictionaries(path: str, texts: Sequence[str]) -> int:
    """The bytes of the longest text in a dictionary: a page of few bytes may hold many times as many rows of it."""
    parquet = need("pyarrow.parquet", "reading Parquet")
    longest = 0
    with parquet.ParquetFile(path, read_dictionary=list(texts)) as file:
        for group in range(file.num_row_groups if texts else 0):
            batches = file.iter_batches(batch_size=1, row_groups=[group], columns=list(texts), use_threads=False)
            for column in next(batches, ()):
                longest = max(longest, longest_text(column))
    return longest


def _plan(path: str, choose: Callable[[pyarrow.Schema], Sequence[str]]) -> _Plan:
    """Refuse a file that declares, or may unpack to, more than the memory holds."""
    parquet = need("pyarrow.parquet", "reading Parquet")
    with _named(path), parquet.ParquetFile(path) as file:
        schema, columns, rows = file.schema_arrow, file.metadata.num_columns, file.metadata.num_rows
    size = os.path.getsize(path)
    if columns > COLUMNS:
        raise GraphError(f"{path}: {columns} columns, and at most {COLUMNS} are read: no list of edges")
    if rows > most_rows(size):
        raise GraphError(
            f"{path}: {rows} rows in {size} bytes, and so small a file may have {most_rows(size)}: it is damaged, or "
            "write it again without compression"
        )
    names = list(choose(schema))
    texts = [name for name in names if _is_text(_type(path, schema, name, most_bytes(size) // max(rows, 1)))]
    with _named(path):
        return _Plan(names, texts, *_unpacked(path, names))


class FirstRows:
    """The first rows of columns of a file, looked at one by one: enough to tell what they hold."""

    def __init__(self, path: str, schema: pyarrow.Schema, rows: int) -> None:
        self._path, self._schema, self._rows = path, schema, rows
        self._footer: list[Structure] | None = None  # long in a file of many columns, so it is read once

    def __call__(self, name: str) -> pyarrow.ChunkedArray:
        """A column, of fewer rows where more might not fit into memory."""
        pa, parquet = need("pyarrow", "reading Parquet"), need("pyarrow.parquet", "reading Parquet")
        kind = _type(self._path, self._schema, name, most_bytes(os.path.getsize(self._path)) // self._rows)
        with _named(self._path):
            if self._footer is None:
                with _mapped(self._path) as data:
                    self._footer = list(_chunks(data))
            most, largest, repeats = _unpacked(self._path, [name], self._footer)
            rows = min(self._rows, max(1, most // max(largest, 1))) if repeats else self._rows
            texts = [name] if _is_text(kind) and not repeats else []
            with parquet.ParquetFile(self._path, read_dictionary=texts) as file:
                for batch in file.iter_batches(batch_size=rows, columns=[name], use_threads=False):
                    batch.validate(full=True)
                    return pa.chunked_array([batch.column(0)])
        return pa.chunked_array([], kind)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file where something is wrong with it; of a damaged one Arrow raises nearly anything."""
    try:
        yield
    except (GraphError, UnevenError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:
        reason = str(error).strip() or type(error).__name__
        raise GraphError(f"{path}: the Parquet file is damaged: {reason}") from None


def _type(path: str, schema: pyarrow.Schema, name: str, longest: int) -> pyarrow.DataType:
    """The type of a column that can be read."""
    types = need("pyarrow", "reading Parquet").types
    if schema.names.count(name) > 1:
        raise GraphError(f"{path}: {schema.names.count(name)} columns are named {name!r}: give each its own name")
    kind = schema.field(name).type
    if types.is_nested(kind):
        raise GraphError(f"{path}: the column {name!r} holds {kind}, and not one value a row")
    if types.is_fixed_size_binary(kind) and kind.byte_width > longest:
        raise GraphError(f"{path}: the column {name!r} holds {kind}, too long to be ids: shorten them")
    return kind


@contextmanager
def _mapped(path: str) -> Iterator[mmap.mmap]:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def _unpacked(path: str, names: Sequence[str], footer: Iterable[Structure] | None = None) -> tuple[int, int, bool]:
    """How many bytes may be unpacked, how many the largest page has, and whether values repeat the one before.

    The footer is read here and not by pyarrow, whose view of a damaged one can end the process.
    """
    size = os.path.getsize(path)
    most, total, largest, repeats = most_bytes(size), 0, 0, False
    with _mapped(path) as data:
        for chunk in _chunks(data) if footer is None else footer:
            if b".".join(_items(chunk.get(3), bytes)).decode(errors="replace") not in names or not chunk.get(5):
                continue
            for page in _pages(data, chunk):
                total += page.unpacked
                largest = max(largest, page.unpacked)
                repeats |= page.encoding == _DELTA_BYTE_ARRAY
                if total > most:
                    raise GraphError(
                        f"{path}: {size} bytes unpack to more than {most >> 20} MiB: write the file again without "
                        "compression if that is meant"
                    )
    return most, largest, repeats


def _chunks(data: mmap.mmap) -> Iterator[Structure]:
    """What the footer says of each column in each group of rows."""
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if begin < 4:
        raise _DamagedError("the footer is longer than the file")
    footer, _ = _structure(data, begin)
    for group in _items(footer.get(4), dict):
        for column in _items(group.get(1), dict):
            if not isinstance(described := column.get(3), dict):
                raise _DamagedError("the footer does not describe a column")
            yield described


def _items(values: Thrift, kind: type[T]) -> list[T]:
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise _DamagedError("the footer holds what no footer does")
    return [value for value in values if isinstance(value, kind)]


def _pages(data: mmap.mmap, chunk: Structure) -> Iterator[_Page]:
    """The pages of a column chunk, from their headers."""
    at, dictionary, length = (chunk.get(field, 0) for field in (9, 11, 7))
    if not (isinstance(at, int) and isinstance(dictionary, int) and isinstance(length, int)):
        raise _DamagedError("the footer does not say where a column lies")
    at = dictionary if 0 < dictionary < at else at
    end = at + length
    if at < 4 or length < 0 or end > len(data):
        raise _DamagedError("a column lies outside the file")
    while at < end:
        header, at = _structure(data, at)
        unpacked, packed = header.get(2, 0), header.get(3, 0)
        body = header.get(5) or header.get(8) or header.get(7) or {}
        if not isinstance(unpacked, int) or not isinstance(packed, int) or not isinstance(body, dict):
            raise _DamagedError("a page header says no sizes")
        if unpacked < 0 or packed < 0 or at + packed > end:
            raise _DamagedError("a page lies outside its column")
        encoding = body.get(4 if 8 in header else 2, 0)
        yield _Page(unpacked, encoding if isinstance(encoding, int) else 0)
        at += packed


def _structure(data: mmap.mmap, at: int, depth: int = 0) -> tuple[Structure, int]:
    """A structure of Thrift's compact protocol as {field: value}, and where it ends."""
    if depth > _DEEPEST:
        raise _DamagedError("its structures are nested too deeply")
    fields: Structure = {}
    field = 0
    while True:
        mark, at = _byte(data, at)
        if mark == 0:
            return fields, at
        if mark >> 4:
            field += mark >> 4
        else:
            field, at = _integer(data, at)
        if mark & 15 in (1, 2):  # true and false
            fields[field] = mark & 15 == 1
        else:
            fields[field], at = _value(data, at, mark & 15, depth)


def _value(data: mmap.mmap, at: int, kind: int, depth: int) -> tuple[Thrift, int]:
    if kind in (1, 2, 3):  # a truth value in a list, a byte
        return _byte(data, at)
    if kind in (4, 5, 6):
        return _integer(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        length, at = _unsigned(data, at)
        return data[at : at + length], at + length
    if kind in (9, 10):
        mark, at = _byte(data, at)
        count = mark >> 4
        if count == 15:
            count, at = _unsigned(data, at)
        values: list[Thrift] = []
        for _ in range(count):
            value, at = _value(data, at, mark & 15, depth + 1)
            values.append(value)
        return values, at
    if kind == 12:
        return _structure(data, at, depth + 1)
    raise _DamagedError("there is a value of no known kind")


def _unsigned(data: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = _byte(data, at)
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise _DamagedError("a number does not end")


def _integer(data: mmap.mmap, at: int) -> tuple[int, int]:
    value, at = _unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def _byte(data: mmap.mmap, at: int) -> tuple[int, int]:
    if at >= len(data):
        raise _DamagedError("it ends in the middle of a value")
    return data[at], at + 1


def _is_text(kind: pyarrow.DataType) -> bool:
    types = need("pyarrow", "reading Parquet").types
    return bool(types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind))


def _read_some(
    path: str, file: pyarrow.parquet.ParquetFile, names: Sequence[str], most: int, rows: int
) -> pyarrow.Table:
    """The columns, a few rows at a time, as long as they are not too large together."""
    pa = need("pyarrow", "reading Parquet")
    batches, total = [], 0
    for batch in file.iter_batches(batch_size=rows, columns=names, use_threads=False):
        batch.validate(full=True)
        batches.append(batch)
        total += batch.nbytes
        if total > most:
            raise GraphError(
                f"{path}: its rows are more than {most >> 20} MiB: write the file again without DELTA_BYTE_ARRAY"
            )
    return pa.Table.from_batches(batches, file.schema_arrow.empty_table().select(names).schema)


def _check_texts(path: str, table: pyarrow.Table, most: int) -> None:
    """Refuse texts that are too large together once each row has its own."""
    pc = need("pyarrow.compute", "reading Parquet")
    for name, column in zip(table.column_names, table.columns, strict=True):
        lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in _text_chunks(column, True))
        if sum(pc.sum(chunk).as_py() or 0 for chunk in lengths) > most:
            raise GraphError(
                f"{path}: the texts of the column {name!r} are more than {most >> 20} MiB, in a file too small for "
                "that: write it again without compression if that is meant"
            )


def longest_text(column: pyarrow.ChunkedArray | pyarrow.Array) -> int:
    """The bytes of the longest text of a column; 0 where it holds none."""
    pc = need("pyarrow.compute", "reading Parquet")
    plain = _text_chunks(column, False)
    plain += [chunk.dictionary for chunk in _text_chunks(column, True)]
    return max((pc.max(pc.binary_length(texts)).as_py() or 0 for texts in plain), default=0)


def _text_chunks(column: pyarrow.ChunkedArray | pyarrow.Array, is_dictionary: bool) -> list[pyarrow.Array]:
    """The chunks of a column of texts that have a dictionary, or have none; of another column none at all."""
    types = need("pyarrow", "reading Parquet").types
    if types.is_dictionary(column.type) != is_dictionary:
        return []
    kind = column.type.value_type if is_dictionary else column.type
    return list(getattr(column, "chunks", [column])) if _is_text(kind) else []
