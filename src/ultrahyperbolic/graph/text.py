"""Tables in text files: delimiter and header are found, comments skipped, and Arrow parses."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .columns import ENDS, SAMPLE_ROWS, find_ends, fold_name, holds_quantities
from .encode import Block, Texts, encode_blocks, texts_of_arrow
from .errors import GraphError, compiled_loops, need
from .limits import COLUMNS, LINE, most_bytes
from .rows import Floats, Ints

WHITESPACE = "whitespace"

_BLOCK = LINE  # bytes that are cleaned and parsed at a time; no line may be longer
_SAMPLE = 256 << 10  # bytes
_SQUEEZED = 1 << 20  # bytes of a file with quotes whose blanks are looked at a time
_DELIMITERS = ("\t", ",", ";", "|")
_NODE_NAMES = ("id", "node", "node_id", "nodeid", "name")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What Arrow reads as a number, by the sign before its decimals.
_NUMBERS = {
    point: re.compile(
        rf"\s*[+-]?((\d+{re.escape(point)}?\d*|{re.escape(point)}\d+)(e[+-]?\d+)?|nan|inf|infinity)\s*",
        re.IGNORECASE | re.ASCII,
    )
    for point in ".,"
}
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)
# What has nothing to squeeze, as much as there is; a line break with the blanks around it; or a run of blanks. The
# first is matched too so that blanks in quotes are left alone, and at length, for each match takes time and memory.
_BLANKS = re.compile(rb'((?:"[^"]*"|[^ \t\r\n"]+|\r?\n(?![ \t])| (?![ \t\r\n]))++)|[ \t]*(\r?\n)[ \t]*|[ \t]+')


@dataclass(frozen=True)
class Dialect:
    """How a text file writes its table."""

    path: str
    delimiter: str  # one letter, or "whitespace": runs of spaces and tabs
    comments: str  # a line that begins with one of these letters is skipped
    quoted: bool  # whether quotes occur: then fields may hold delimiters and line breaks
    header: Sequence[str] | None
    width: int
    sample: Sequence[Sequence[str]]  # the first rows, without the header
    start: tuple[int, int] = (0, 0)  # bytes and lines before the table
    point: str = "."  # before the decimals of weights

    @property
    def letter(self) -> str:
        """The delimiter of the cleaned lines."""
        return " " if self.delimiter == WHITESPACE else self.delimiter

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds numbers in most of the first rows."""
        return _mostly_numbers(self.sample, column)

    def with_weight(self, column: int | None) -> Dialect:
        """The same with a dot or a comma before decimals, as the column of weights has it."""
        return self if column is None else replace(self, point=_point(_cells(self.sample, column)))

    def values(self, column: int) -> Sequence[str]:
        """The distinct values of a column in the first rows."""
        return _distinct(self.sample, column)


class _QuoteFoundError(Exception):
    """A quote stands beyond the first lines, so the file must be read again with quotes in mind."""


def compression(path: str) -> str | None:
    """How a file is compressed, as its first bytes say: ``"gzip"``, ``"zstd"`` or not at all."""
    with open(path, "rb") as file:
        magic = file.read(4)
    return "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def open_bytes(path: str, *, part: int = 1) -> Any:
    """The bytes of a file, decompressed; of what a compressed file may hold, this part (a half for 2) is allowed."""
    pa = need("pyarrow", "reading a file")
    codec = compression(path)
    raw = pa.OSFile(path)
    if codec is None:
        return raw
    return _Decompressed(path, raw.size(), most_bytes(raw.size()) // part, pa.CompressedInputStream(raw, codec))


class _Decompressed:
    """What a compressed file holds, as far as it is not suspiciously more than the file."""

    def __init__(self, path: str, size: int, most: int, stream: Any) -> None:
        self._path, self._size, self._stream = path, size, stream
        self._most = self._left = most

    def __enter__(self) -> _Decompressed:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``, all of them where it is negative; none at the end."""
        wanted = self._left + 1 if size < 0 else min(size, self._left + 1)
        data: bytes = self._stream.read(wanted)
        self._left -= len(data)
        if self._left < 0:
            raise GraphError(
                f"{self._path}: {self._size} compressed bytes hold more than {self._most >> 20} MiB: decompress the "
                "file first if that is meant"
            )
        return data


def sniff(path: str, *, delimiter: str | None, header: bool | None, comments: str, nodes: bool = False) -> Dialect:
    """How the file writes its table, from its first lines and what the caller says.

    In a list of ``nodes`` whitespace does not divide, and one column is enough.
    """
    is_letter = delimiter is None or (len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0')
    if not is_letter and delimiter != WHITESPACE:
        raise GraphError(f"delimiter must be one letter or {WHITESPACE!r}, got {delimiter!r}; one of ASCII, no quote")
    with open_bytes(path) as stream:
        sample = stream.read(_SAMPLE)
        whole = not stream.read(1)
    lines = _sample_lines(sample, whole, path, comments)
    if not lines:
        raise GraphError(f"{path}: nothing in it: the file is empty, or all of it is comments")
    if len(lines) > SAMPLE_ROWS:
        lines, whole = lines[:SAMPLE_ROWS], False
    candidates = [delimiter] if delimiter else [*_DELIMITERS, *([] if nodes else [WHITESPACE])]
    tables: dict[str, list[list[str]]] = {}
    reason: Exception | None = None
    for candidate in candidates:
        try:
            tables[candidate] = _split(lines, candidate)
        except csv.Error as error:
            reason = error
            continue
        if _regularity(candidate, tables[candidate])[:2] == (1, True):
            break  # nothing is more regular than a tab in every line
    if not tables:
        raise GraphError(f"{path}: not a table of edges: {reason}")
    delimiter = max(tables, key=lambda candidate: _regularity(candidate, tables[candidate]))
    if delimiter == "," and _has_decimal_commas(tables.get(WHITESPACE, [])):
        delimiter = WHITESPACE
    table = tables[delimiter]
    if not whole and len(table) > 1:
        table.pop()  # a quoted field may go on
    if (widest := max(map(len, table))) > COLUMNS:
        raise GraphError(f"{path}: {widest} columns or more, and at most {COLUMNS} are read: no list of edges")
    if header is None:
        header = _has_header(table) or (nodes and fold_name(table[0][0]) in _NODE_NAMES)
    body = table[1:] if header else table
    if not body:
        raise GraphError(f"{path}: nothing in it but a header")
    dialect = Dialect(
        path,
        delimiter,
        comments,
        quoted=b'"' in sample,
        header=[name.strip() for name in table[0]] if header else None,
        width=Counter(map(len, body)).most_common(1)[0][0],
        sample=body,
    )
    if header and len(table[0]) != dialect.width:
        line, names = next(_records(dialect))
        raise GraphError(f"{path}, line {line}: the header has {len(names)} columns, the rows have {dialect.width}")
    return dialect


def read_columns(
    dialect: Dialect,
    ids: Sequence[int],
    weight: int | None = None,
    *,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[list[Any], int]:
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
) -> tuple[Ints, Ints, Floats | None, Any, int] | None:
    """Positions of both ends, weights, distinct ids, and how many comment lines were skipped, of a large file.

    Blocks of lines are split and their ids numbered by compiled loops on all cores; a block that is not plain goes
    through Arrow. Returns ``None`` for what needs :func:`read_columns`: a file with quotes, or without numba.
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
        encoded = encode_blocks(enumerate(block for block in lines.blocks() if block and not block.isspace()), load)
    except _QuoteFoundError:
        return None
    except (pa.ArrowInvalid, OSError) as error:
        raise _diagnosis(dialect, ids, weight, error) from None
    return None if encoded is None else (*encoded, lines.comment_lines)


def _parse(dialect: Dialect, source: Any, ids: Sequence[int], weight: int | None, *, has_header: bool) -> list[Any]:
    """The columns of clean lines, by Arrow."""
    pa, csv_ = need("pyarrow", "reading a text file"), need("pyarrow.csv", "reading a text file")
    names = [f"c{k}" for k in range(dialect.width)]
    types = {names[k]: pa.string() for k in ids} | ({} if weight is None else {names[weight]: pa.float64()})
    table = csv_.read_csv(
        source,
        read_options=csv_.ReadOptions(column_names=names, block_size=_BLOCK, skip_rows_after_names=int(has_header)),
        parse_options=csv_.ParseOptions(delimiter=dialect.letter, newlines_in_values=dialect.quoted),
        convert_options=csv_.ConvertOptions(
            include_columns=list(types),
            column_types=types,
            null_values=[],
            strings_can_be_null=False,
            decimal_point=dialect.point,
        ),
    )
    columns: list[Any] = table.columns
    return columns


def _split_plain(loops: Any, dialect: Dialect, data: bytes, ids: tuple[int, int], weight: int | None) -> Block | None:
    """Rows of lines with nothing special in them; ``None`` where there is."""
    if not dialect.letter.isascii() or not _is_utf8(data):
        return None
    letters = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", dtype=np.uint8)
    rows = np.count_nonzero(letters == ord("\n"))
    spans, weights = np.empty((2, 2, rows), dtype=np.int32), np.empty(rows if weight is not None else 0)
    third, point = -1 if weight is None else weight, ord(dialect.point)
    rows = loops.split_lines(letters, ord(dialect.letter), dialect.width, *ids, third, point, spans, weights)
    if rows < 0:
        return None
    spans.flags.writeable = False
    first, second = (Texts(letters, *ends[:, :rows]) for ends in spans)
    return Block(first, second, None if weight is None else weights[:rows])


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def place_of_row(dialect: Dialect, row: int) -> str:
    """The file and the line, counted from 1, on which a row of the table begins. Slow, for messages."""
    first = 0 if dialect.header is None else -1
    line = next((line for k, (line, _) in enumerate(_records(dialect), first) if k == row), None)
    return dialect.path if line is None else f"{dialect.path}, line {line}"


class _CleanLines(io.RawIOBase):
    """The lines of a file as Arrow wants them: no byte order mark, no comments, one blank for a run of blanks."""

    def __init__(self, dialect: Dialect, advance: Callable[[int], object]) -> None:
        super().__init__()
        self.comment_lines = 0
        self._dialect = dialect
        self._advance = advance
        self._stream = open_bytes(dialect.path)
        self._stream.read(dialect.start[0])
        self._comment = _comment_pattern(dialect.comments)
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
        if any(letter in data for letter in self._dialect.comments.encode()):

            def drop(match: re.Match[bytes]) -> bytes:
                self.comment_lines += match[1] is None
                return match[1] or b""

            # A comment, or all there is up to the next one.
            begin = _comment_begin(self._dialect.comments)
            other = b'((?:"[^"]*"|[^"\n]+|\n(?!' + begin + b"))++)"
            data = re.sub(self._comment.pattern + b"|" + other, drop, data, flags=re.MULTILINE)
        return b"".join(map(_squeeze, _whole_fields(data))) if self._dialect.delimiter == WHITESPACE else data

    def _clean(self, data: bytes) -> bytes:
        if b'"' in data:
            raise _QuoteFoundError
        data = self._checked(data)
        if any(letter in data for letter in self._dialect.comments.encode()):
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
            data = data.removeprefix(_BYTE_ORDER_MARK)
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


def _squeeze(data: bytes) -> bytes:
    """One blank for each run of them, outside quotes, and none at the ends of lines."""
    return _BLANKS.sub(lambda match: match[1] or match[2] or b" ", data).strip(b" ")


def _comment_begin(comments: str) -> bytes:
    letters = re.escape(comments.encode()) if comments else b"^\\w\\W"
    return b"[ \t]*[" + letters + b"]"


def _comment_pattern(comments: str) -> re.Pattern[bytes]:
    return re.compile(b"^" + _comment_begin(comments) + b"[^\n]*\n?", re.MULTILINE)


def _sample_lines(sample: bytes, whole: bool, path: str, comments: str) -> list[str]:
    """The lines of the sample that are no comments and not empty; the last only if it is complete."""
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise GraphError(f"{path}: the text is UTF-16: convert it to UTF-8")
    if b"\0" in sample:
        raise GraphError(f"{path}: not a text file, nor Parquet, GraphML or Matrix Market")
    lines = sample.removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    if not whole and len(lines) > 1:
        lines.pop()
    pattern = _comment_pattern(comments)
    kept = [line.rstrip(b"\r") for line in lines if line.strip() and not pattern.match(line)]
    return [line.decode(errors="replace") for line in kept]


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if delimiter == WHITESPACE:
        lines = [_squeeze(line.encode()).decode() for line in lines]
    letter = " " if delimiter == WHITESPACE else delimiter
    return [row for row in csv.reader(lines, delimiter=letter) if row]


def _regularity(delimiter: str, table: Sequence[Sequence[str]]) -> tuple[float, bool, bool, int]:
    """What speaks for a delimiter: most lines have one number of columns; then a tab, then a sign, then columns."""
    widths = Counter(len(row) for row in table if len(row) > 1)
    if not widths:
        return (0.0, False, False, 0)
    width, count = widths.most_common(1)[0]
    return (count / len(table), delimiter == "\t", delimiter != WHITESPACE, width)


def _has_decimal_commas(table: Sequence[Sequence[str]]) -> bool:
    """Whether columns divided by blanks are regular, and each comma stands in a number beside the first two."""
    if not table or len({len(row) for row in table}) > 1 or len(table[0]) < 3:
        return False
    with_comma = [(k, cell) for row in table for k, cell in enumerate(row) if "," in cell]
    return bool(with_comma) and all(k > 1 and _is_number(cell, ",") for k, cell in with_comma)


def _is_number(cell: str, point: str = ".") -> bool:
    """Whether a cell is a number as Arrow reads one, NaN and infinities included."""
    return _NUMBERS[point].fullmatch(cell) is not None


def _cells(table: Sequence[Sequence[str]], column: int) -> list[str]:
    return [row[column] for row in table if column < len(row)]


def _distinct(table: Sequence[Sequence[str]], column: int) -> list[str]:
    return list({text for cell in _cells(table, column) if (text := cell.strip())})


def _point(cells: Sequence[str]) -> str:
    """A comma where it makes more of the cells numbers than a dot does.

    Not where each comma may stand before thousands: 1,234 is 1.234 in one country and 1234 in another.
    """
    with_comma = [cell for cell in cells if "," in cell and _is_number(cell, ",")]
    with_dot = sum("." in cell and _is_number(cell) for cell in cells)
    is_plain = all(_THOUSANDS.fullmatch(cell) for cell in with_comma)
    return "." if is_plain or with_dot >= len(with_comma) else ","


def _mostly_numbers(table: Sequence[Sequence[str]], column: int) -> bool:
    cells = _cells(table, column)
    point = _point(cells)
    return 2 * sum(_is_number(cell, point) for cell in cells) > len(cells)


def _has_header(table: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: by known names, or by words above numbers, or beside the ends dates."""
    first, rest = table[0], table[1:]
    if any(map(_is_number, first)):
        return False
    names = [fold_name(cell) for cell in first]
    if any(source in names and target in names for source, target in ENDS):
        return True
    words = [k for k, cell in enumerate(first) if cell.strip()[:1].isalpha()]
    ends = find_ends(len(first), lambda column: _distinct(rest, column))
    if any(_mostly_numbers(rest, k) or holds_quantities(_distinct(rest, k)) for k in words if k not in ends):
        return True
    return len(first) > 1 and all(k in words and _mostly_numbers(rest, k) for k in ends)


def _records(dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows of the file, header included, each with the line on which it begins. Slow, for messages."""
    pulled: list[int] = []
    pattern = _comment_pattern(dialect.comments)

    def lines() -> Iterator[str]:
        for number, line in enumerate(raw_lines(dialect.path), 1):
            if number <= dialect.start[1]:
                continue
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            line = line.rstrip(b"\r\n")
            if dialect.delimiter == WHITESPACE:
                line = _squeeze(line)
            if line and not pattern.match(line):
                pulled.append(number)
                try:
                    yield line.decode() + "\n"
                except UnicodeDecodeError:
                    raise GraphError(f"{dialect.path}, line {number}: not UTF-8: convert the file to UTF-8") from None

    try:
        for row in csv.reader(lines(), delimiter=dialect.letter):
            yield pulled[0], row
            pulled.clear()
    except csv.Error as error:
        raise GraphError(f"{dialect.path}, line {pulled[0]}: not a table of edges: {error}") from None


def raw_lines(path: str) -> Iterator[bytes]:
    """The lines of a file, decompressed."""
    rest = b""
    with open_bytes(path) as stream:
        while block := stream.read(_BLOCK):
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            if len(rest) > LINE:
                return  # of such a file nothing is said by line
    if rest:
        yield rest


def _diagnosis(dialect: Dialect, ids: Sequence[int], weight: int | None, error: Exception) -> GraphError:
    """Why Arrow could not parse the file: the first row that is not as the others."""
    try:
        for k, (line, row) in enumerate(_records(dialect)):
            place = f"{dialect.path}, line {line}"
            if len(row) != dialect.width:
                text = dialect.letter.join(row)
                shown = repr(text if len(text) <= 60 else text[:57] + "...")
                hint = " (is a quote left open?)" if "\n" in text else ""
                counted = f"{len(row)} column{'s' * (len(row) != 1)}"
                return GraphError(f"{place}: {counted} where {dialect.width} are expected: {shown}{hint}")
            if weight is not None and (k or dialect.header is None) and not _is_number(row[weight], dialect.point):
                ends = " - ".join(repr(row[column].strip()) for column in ids)
                place += f" ({ends})" if ends else ""
                return GraphError(f"{place}: the weight {row[weight]!r} is not a number: correct it")
    except GraphError as found:
        return found
    except OSError:
        pass
    return GraphError(f"{dialect.path}: {error}")
