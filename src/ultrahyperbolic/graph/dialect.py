"""How a text file writes its table: delimiter and header are found, comments skipped."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from .columns import SAMPLE_ROWS, Table, fold_name, has_decimal_commas, has_header, may_be_header
from .errors import COLUMNS, GraphError
from .streams import not_decoded, open_bytes, raw_lines

WHITESPACE = "whitespace"
BYTE_ORDER_MARK = codecs.BOM_UTF8

_SAMPLE = 256 << 10  # bytes
_DELIMITERS = ("\t", ",", ";", "|")
LABEL_NAMES = ("label", "name", "title")
_NODE_NAMES = ("id", "node", "node_id", "nodeid", "name")
# What is quoted, which stays as it is, or a run of blanks.
_BLANKS = re.compile(rb'("[^"]*")|[ \t]+')


@dataclass(frozen=True)
class Dialect:
    """How a text file writes its table."""

    path: str
    delimiter: str  # one character, or "whitespace": runs of spaces and tabs
    comments: str  # a line that begins with one of these characters is skipped
    width: int
    quoted: bool = False  # whether quotes occur: then fields may hold delimiters and line breaks
    commented: bool = False  # whether the characters of comments occur, wherever
    header: Sequence[str] | None = None
    sample: Table = ()  # the first rows, without the header
    start: tuple[int, int] = (0, 0)  # bytes and lines before the table
    point: str = "."  # before the decimals of weights
    encoding: str | None = None  # of the file, where it is not UTF-8
    first_row: Sequence[str] | None = (
        None  # where it may be a header, which only the whole file can tell
    )

    @property
    def separator(self) -> str:
        """The delimiter of the cleaned lines."""
        return " " if self.delimiter == WHITESPACE else self.delimiter


def sniff(
    path: str,
    *,
    delimiter: str | None,
    header: bool | None,
    comments: str,
    encoding: str | None = None,
    names: Collection[object] = (),
    nodes: bool = False,
) -> Dialect:
    """How the file writes its table, from its first lines and what the caller says.

    A first row that has all ``names`` of columns which the caller gives is a header. In a list of
    ``nodes`` whitespace does not divide, and one column is enough.
    """
    is_character = delimiter is None or (
        len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'
    )
    if not is_character and delimiter != WHITESPACE:
        raise GraphError(
            f"delimiter must be one character or {WHITESPACE!r}, got {delimiter!r}; one of ASCII, "
            "no quote"
        )
    with open_bytes(path, encoding) as stream:
        sample = stream.read(_SAMPLE)
        signs = [b'"', *(sign.encode() for sign in comments)]
        seen = [sign in sample for sign in signs]
        whole = True
        while block := stream.read(_SAMPLE):
            whole = False
            seen = [before or sign in block for before, sign in zip(seen, signs, strict=True)]
            if b"\0" in block:
                raise GraphError(f"{path}: not a text file in UTF-8 (it holds zero bytes)")
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
    if not tables and any("\r" in line for line in lines):
        raise GraphError(
            f"{path}: lines end in carriage returns alone: save it with line feeds (LF or CRLF)"
        )
    if not tables:
        raise GraphError(f"{path}: not an edge list: {reason}")
    delimiter = max(tables, key=lambda candidate: _regularity(candidate, tables[candidate]))
    if delimiter == "," and has_decimal_commas(tables.get(WHITESPACE, [])):
        delimiter = WHITESPACE
    table = tables[delimiter]
    if not whole and len(table) > 1:
        table.pop()  # a quoted field may go on
    if (widest := max(map(len, table))) > COLUMNS:
        raise GraphError(
            f"{path}: {widest} columns or more, and at most {COLUMNS} are read: not an edge list"
        )
    first_row = [cell.strip() for cell in table[0]]
    is_open = False
    if header is None:
        first, *rest = (fold_name(cell) for cell in table[0])
        names_nodes = first in _NODE_NAMES or any(name in LABEL_NAMES for name in rest)
        is_named = bool(names) and all(name in first_row for name in names)
        header = is_named or has_header(table) or (nodes and names_nodes)
        is_open = not header and not nodes and may_be_header(table)
    body = table[1:] if header else table
    if not body:
        raise GraphError(f"{path}: nothing in it but a header")
    widths = Counter(map(len, body))
    dialect = Dialect(
        path,
        delimiter,
        comments,
        width=len(first_row)
        if header and len(first_row) in widths
        else widths.most_common(1)[0][0],
        quoted=seen[0],
        commented=any(seen[1:]),
        header=first_row if header else None,
        sample=body,
        start=(len(BYTE_ORDER_MARK) if sample.startswith(BYTE_ORDER_MARK) else 0, 0),
        encoding=encoding,
        first_row=first_row if is_open else None,
    )
    if header and len(table[0]) != dialect.width:
        line, names = next(records(dialect))
        raise GraphError(
            f"{path}, line {line}: the header has {len(names)} columns, the rows have "
            f"{dialect.width}"
        )
    return dialect


def _sample_lines(sample: bytes, whole: bool, path: str, comments: str) -> list[str]:
    """The lines of the sample that are no comments and not empty; the last only if it is
    complete.
    """
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise GraphError(
            f"{path}: the text is UTF-16: say so (encoding='utf-16', --encoding utf-16)"
        )
    if b"\0" in sample:
        raise GraphError(f"{path}: not a text file, nor Parquet, GraphML or Matrix Market")
    lines = sample.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    if not whole and len(lines) > 1:
        lines.pop()
    pattern = comment_pattern(comments)
    kept = [line.rstrip(b"\r") for line in lines if line.strip() and not pattern.match(line)]
    return [line.decode(errors="replace") for line in kept]


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if delimiter == WHITESPACE:
        lines = [squeeze_blanks(line.encode()).decode() for line in lines]
    separator = " " if delimiter == WHITESPACE else delimiter
    return [row for row in csv.reader(lines, delimiter=separator) if row]


def _regularity(delimiter: str, table: Table) -> tuple[float, bool, bool, int]:
    """What speaks for a delimiter: most lines have one number of columns; then a tab, then a sign,
    then columns.
    """
    widths = Counter(len(row) for row in table if len(row) > 1)
    if not widths:
        return (0.0, False, False, 0)
    width, count = widths.most_common(1)[0]
    return (count / len(table), delimiter == "\t", delimiter != WHITESPACE, width)


def place_of_row(dialect: Dialect, row: int) -> str:
    """The file and the line, counted from 1, on which a row of the table begins. Slow, for
    messages.
    """
    first = 0 if dialect.header is None else -1
    line = next((line for k, (line, _) in enumerate(records(dialect), first) if k == row), None)
    return dialect.path if line is None else f"{dialect.path}, line {line}"


def records(
    dialect: Dialect, counts: Counter[str] | None = None, *, single_lines: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The rows of the file, header included, each with the line on which it begins. Slow.

    With ``single_lines`` a row ends with its line, so that a quote that is left open spoils no
    other. ``counts`` hears how many comment lines were skipped.
    """
    pattern = comment_pattern(dialect.comments)
    pulled: list[int] = []  # the lines of a row that goes on, as a quote is open

    def lines() -> Iterator[str]:
        for number, line in enumerate(raw_lines(dialect.path, dialect.encoding), 1):
            if number <= dialect.start[1]:
                continue
            line = line.removeprefix(BYTE_ORDER_MARK if number == 1 else b"").rstrip(b"\r\n")
            if not pulled and pattern.match(line):
                if counts is not None:
                    counts["comment_lines_skipped"] += 1
                continue
            if dialect.delimiter == WHITESPACE:
                inside, quote, line = line.partition(b'"') if pulled else (b"", b"", line)
                line = inside + quote + squeeze_blanks(line)
            if line or pulled:
                pulled.append(number)
                try:
                    yield line.decode() + "\n"
                except UnicodeDecodeError:
                    raise not_decoded(dialect.path, number, "UTF-8") from None

    try:
        for part in ([line] for line in lines()) if single_lines else [lines()]:
            for row in csv.reader(part, delimiter=dialect.separator):
                yield pulled[0], row
                pulled.clear()
    except csv.Error as error:
        raise GraphError(f"{dialect.path}, line {pulled[0]}: not an edge list: {error}") from None


def squeeze_blanks(line: bytes) -> bytes:
    """One blank for each run of them, outside quotes, and none at the ends of the line."""
    return _BLANKS.sub(lambda match: match[1] or b" ", line).strip(b" ")


def comment_pattern(comments: str) -> re.Pattern[bytes]:
    """Matches a line that is a comment, its end included."""
    signs = b"[" + re.escape(comments.encode()) + b"]" if comments else b"(?!)"
    return re.compile(b"^[ \t]*" + signs + b"[^\n]*\n?", re.MULTILINE)
