"""Tables in text files, parsed by Arrow or, where they are large and plain, by compiled loops."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from .cells import is_number
from .dialect import (
    BYTE_ORDER_MARK,
    WHITESPACE,
    Dialect,
    comment_begin,
    comment_pattern,
    records,
    squeeze_blanks,
)
from .encode import Block, Texts, encode_blocks, texts_of_arrow
from .errors import GraphError, compiled_loops, need
from .limits import LINE
from .streams import open_bytes

if TYPE_CHECKING:
    import pyarrow

_BLOCK = LINE  # bytes that are cleaned and parsed at a time; no line may be longer
_SQUEEZED = 1 << 20  # bytes of a file with quotes whose blanks are looked at a time


class _QuoteFoundError(Exception):
    """A quote stands beyond the first lines, so the file must be read again with quotes in mind."""


def read_columns(
    dialect: Dialect,
    ids: Sequence[int],
    weight: int | None = None,
    *,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[list[pyarrow.ChunkedArray], int]:
    """The columns of ids as text, then the column of weights as numbers, and how many comment lines were skipped.

    ``advance`` is told how many bytes were read, for a progress bar.
    """
    pa = need("pyarrow", "reading a text file")
    lines = _CleanLines(dialect, advance)
    try:
        source = pa.BufferReader(lines.read_all_quoted()) if dialect.quoted else pa.PythonFile(lines, mode="r")
        columns = _parse(dialect, source, ids, weight, has_header=dialect.header is not None)
    except _QuoteFoundError:
        return read_columns(replace(dialect, quoted=True), ids, weight, advance=advance)
    except (pa.ArrowInvalid, OSError) as error:
        raise _diagnosis(dialect, ids, weight, error) from None
    return columns, lines.comment_lines


def read_encoded(
    dialect: Dialect,
    ids: tuple[int, int],
    weight: int | None = None,
    *,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[Ints, Ints, Floats | None, pyarrow.StringArray, int] | None:
    """Positions of both ends, weights, distinct ids, and how many comment lines were skipped, of a large file.

    Blocks of lines are split and their ids numbered by compiled loops on all cores; a block that is not plain goes
    through Arrow. Returns ``None`` for what needs `read_columns`: a file with quotes, or without numba.
    """
    pa, loops = need("pyarrow", "reading a text file"), compiled_loops()
    if dialect.quoted or loops is None:
        return None
    lines = _CleanLines(dialect, advance)

    def load(numbered: tuple[int, bytes]) -> Block:
        number, data = numbered
        has_header = number == 0 and dialect.header is not None
        block = None if has_header else _split_plain(loops, dialect, data, ids, weight)
        if block is not None:
            return block
        columns = _parse(dialect, pa.BufferReader(data), ids, weight, has_header=has_header)
        first, second = (texts_of_arrow(pa.concat_arrays(column.chunks)) for column in columns[:2])
        return Block(first, second, None if weight is None else columns[2].to_numpy())

    try:
        encoded = encode_blocks(
            loops, enumerate(block for block in lines.blocks() if block and not block.isspace()), load
        )
    except _QuoteFoundError:
        return None
    except (pa.ArrowInvalid, OSError) as error:
        raise _diagnosis(dialect, ids, weight, error) from None
    return None if encoded is None else (*encoded, lines.comment_lines)


def _parse(
    dialect: Dialect, source: pyarrow.NativeFile, ids: Sequence[int], weight: int | None, *, has_header: bool
) -> list[pyarrow.ChunkedArray]:
    """The columns of clean lines, by Arrow."""
    pa, csv_ = need("pyarrow", "reading a text file"), need("pyarrow.csv", "reading a text file")
    names = [f"c{k}" for k in range(dialect.width)]
    types = {names[k]: pa.string() for k in ids} | ({} if weight is None else {names[weight]: pa.float64()})
    table = csv_.read_csv(
        source,
        read_options=csv_.ReadOptions(column_names=names, block_size=_BLOCK, skip_rows_after_names=int(has_header)),
        parse_options=csv_.ParseOptions(delimiter=dialect.separator, newlines_in_values=dialect.quoted),
        convert_options=csv_.ConvertOptions(
            include_columns=list(types),
            column_types=types,
            null_values=[],
            strings_can_be_null=False,
            decimal_point=dialect.point,
        ),
    )
    columns: list[pyarrow.ChunkedArray] = table.columns
    return columns


def _split_plain(
    loops: ModuleType, dialect: Dialect, data: bytes, ids: tuple[int, int], weight: int | None
) -> Block | None:
    """Rows of lines with nothing special in them; ``None`` where there is."""
    if not dialect.separator.isascii() or not _is_utf8(data):
        return None
    text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", dtype=np.uint8)
    rows = np.count_nonzero(text == ord("\n"))
    spans, weights = np.empty((2, 2, rows), dtype=np.int32), np.empty(rows if weight is not None else 0)
    third, point = -1 if weight is None else weight, ord(dialect.point)
    rows = loops.split_lines(text, ord(dialect.separator), dialect.width, *ids, third, point, spans, weights)
    if rows < 0:
        return None
    spans.flags.writeable = False
    first, second = (Texts(text, *ends[:, :rows]) for ends in spans)
    return Block(first, second, None if weight is None else weights[:rows])


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


class _CleanLines(io.RawIOBase):
    """The lines of a file as Arrow wants them: no byte order mark, no comments, one blank for a run of blanks."""

    def __init__(self, dialect: Dialect, advance: Callable[[int], object]) -> None:
        super().__init__()
        self.comment_lines = 0
        self._dialect = dialect
        self._advance = advance
        self._stream = open_bytes(dialect.path, dialect.encoding)
        self._stream.read(dialect.start[0])
        self._comment = comment_pattern(dialect.comments)
        self._blocks = self.blocks()
        self._ready = b""
        self._at_start = True

    def readable(self) -> bool:
        return True

    def blocks(self) -> Iterator[bytes]:
        """All clean lines, many at a time."""
        rest = b""  # the beginning of a line whose end is not yet read
        while block := self._stream.read(_BLOCK - len(rest)):
            self._advance(len(block))
            end = block.rfind(b"\n") + 1
            if end == 0 and len(rest) + len(block) >= _BLOCK:
                raise GraphError(f"{self._dialect.path}: a line is longer than {_BLOCK >> 20} MiB: no list of edges")
            if end:
                yield self._clean(b"".join((rest, memoryview(block)[:end])))
            rest = block[end:] if end else rest + block
        yield self._clean(rest)

    def read(self, size: int = -1) -> bytes:
        """The next clean bytes, at most ``size``; none at the end of the file."""
        while not self._ready and (block := next(self._blocks, None)) is not None:
            self._ready = block
        size = len(self._ready) if size < 0 else size
        ready, self._ready = self._ready[:size], self._ready[size:]
        return ready

    def read_all_quoted(self) -> bytes:
        """All clean bytes of a file with quotes, inside which nothing is cleaned."""
        data: bytes = self._stream.read()
        self._advance(len(data))
        data = self._checked(data)
        if any(byte in data for byte in self._dialect.comments.encode()):

            def drop(match: re.Match[bytes]) -> bytes:
                self.comment_lines += match[1] is None
                return match[1] or b""

            # A comment, or all there is up to the next one.
            begin = comment_begin(self._dialect.comments)
            other = b'((?:"[^"]*"|[^"\n]+|\n(?!' + begin + b"))++)"
            data = re.sub(self._comment.pattern + b"|" + other, drop, data, flags=re.MULTILINE)
        return b"".join(map(squeeze_blanks, _whole_fields(data))) if self._dialect.delimiter == WHITESPACE else data

    def _clean(self, data: bytes) -> bytes:
        if b'"' in data:
            raise _QuoteFoundError
        data = self._checked(data)
        if any(byte in data for byte in self._dialect.comments.encode()):
            data, dropped = self._comment.subn(b"", data)
            self.comment_lines += dropped
        if self._dialect.delimiter == WHITESPACE:
            data = data.replace(b"\t", b" ")
            while b"  " in data:
                data = data.replace(b"  ", b" ")
            data = data.replace(b" \n", b"\n").replace(b" \r", b"\r").replace(b"\n ", b"\n").strip(b" ")
        return data

    def _checked(self, data: bytes) -> bytes:
        if self._at_start:
            self._at_start = False
            data = data.removeprefix(BYTE_ORDER_MARK)
        if b"\0" in data:
            raise GraphError(f"{self._dialect.path}: not a text file in UTF-8 (it holds zero bytes)")
        return data


def _whole_fields(data: bytes) -> Iterator[bytes]:
    """Lines, many at a time, cut where no quote is open."""
    start = end = quotes = 0
    while end < len(data):
        begun, end = end, data.find(b"\n", end + _SQUEEZED) + 1 or len(data)
        quotes += data.count(b'"', begun, end)
        if quotes % 2 == 0 or end == len(data):
            yield data[start:end]
            start = end


def _diagnosis(dialect: Dialect, ids: Sequence[int], weight: int | None, error: Exception) -> GraphError:
    """Why Arrow could not parse the file: the first row that is not as the others."""
    try:
        for k, (line, row) in enumerate(records(dialect)):
            place = f"{dialect.path}, line {line}"
            if len(row) != dialect.width:
                text = dialect.separator.join(row)
                shown = repr(text if len(text) <= 60 else text[:57] + "...")
                hint = " (is a quote left open?)" if "\n" in text else ""
                counted = f"{len(row)} column{'s' * (len(row) != 1)}"
                return GraphError(f"{place}: {counted} where {dialect.width} are expected: {shown}{hint}")
            if weight is not None and (k or dialect.header is None) and not is_number(row[weight], dialect.point):
                ends = " - ".join(repr(row[column].strip()) for column in ids)
                place += f" ({ends})" if ends else ""
                return GraphError(f"{place}: the weight {row[weight]!r} is not a number: correct it")
    except GraphError as found:
        return found
    except OSError:
        pass
    return GraphError(f"{dialect.path}: {error}")
