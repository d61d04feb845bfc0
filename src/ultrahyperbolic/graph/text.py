"""Tables in text files, parsed by Arrow; what Arrow cannot read is read row by row."""

import io
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from itertools import islice

import pyarrow as pa
from pyarrow import csv

from ..progress import Update
from .columns import is_number, is_strength
from .dialect import WHITESPACE, Dialect, comment_pattern, records
from .errors import ID, LINE, GraphError
from .streams import Blocks, open_bytes
from .tables import TEXTS

_AT_ONCE = 1 << 16  # rows that Python holds at a time
_SHOWN = 60  # characters of a row that a message shows


def no_update(completed: float, text: str) -> None:
    """Nobody hears how far reading is."""


def read_columns(
    dialect: Dialect,
    ids: Sequence[int],
    weight: int | None = None,
    update: Update = no_update,
    counts: Counter[str] | None = None,
) -> pa.Table:
    """The columns of ids as text and the column of weights as numbers.

    ``update`` hears how many MiB were read, and ``counts`` how many comment lines were skipped.
    """
    counts = Counter() if counts is None else counts
    if dialect.quoted and (dialect.delimiter == WHITESPACE or dialect.commented):
        return read_rows(dialect, ids, weight, counts)[0]
    names = [f"c{k}" for k in range(dialect.width)]
    types = {names[k]: TEXTS for k in ids}
    if weight is not None:
        types[names[weight]] = pa.float64()
    try:
        return csv.read_csv(
            io.BufferedReader(Blocks(_clean_blocks(dialect, update, counts)), LINE),
            read_options=csv.ReadOptions(
                column_names=names,
                block_size=LINE,
                skip_rows_after_names=int(dialect.header is not None),
            ),
            parse_options=csv.ParseOptions(
                delimiter=dialect.separator, newlines_in_values=dialect.quoted
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=[],
                strings_can_be_null=False,
                decimal_point=dialect.point,
            ),
        )
    except pa.ArrowInvalid as error:
        reason = str(error)
    read_rows(dialect, ids, weight, Counter())  # which says where and why
    raise GraphError(f"{dialect.path}: {reason}")


def read_rows(
    dialect: Dialect,
    ids: Sequence[int],
    weight: int | None,
    counts: Counter[str],
    *,
    skip_bad: bool = False,
) -> tuple[pa.Table, list[int], list[int]]:
    """The columns, the lines of the rows and those of rows that are left out, read by Python: slow.

    With ``skip_bad`` a row must be on one line; without it, the first that is not as the others is
    refused.
    """
    lines: list[int] = []
    bad: list[int] = []

    def good_rows() -> Iterator[list[str]]:
        rows = records(dialect, counts, single_lines=skip_bad)
        for line, row in islice(rows, int(dialect.header is not None), None):
            if not skip_bad:
                _check_row(dialect, line, row, ids, weight)
            elif not _is_good(dialect, row, ids, weight):
                bad.append(line)
                continue
            lines.append(line)
            yield row

    rows = good_rows()
    kinds = {str(k): pa.string() for k in ids}
    if weight is not None:
        kinds["weight"] = pa.float64()
    parts = []
    while some := list(islice(rows, _AT_ONCE)):
        columns: list[list[str] | list[float]] = [[row[k] for row in some] for k in ids]
        if weight is not None:
            columns.append([float(row[weight].replace(dialect.point, ".")) for row in some])
        parts.append(pa.table(columns, pa.schema(kinds)))
    return pa.concat_tables(parts or [pa.schema(kinds).empty_table()]), lines, bad


def _is_good(dialect: Dialect, row: Sequence[str], ids: Sequence[int], weight: int | None) -> bool:
    return (
        len(row) == dialect.width
        and all(0 < len(row[k].strip().encode()) <= ID for k in ids)
        and (weight is None or is_strength(row[weight], dialect.point))
    )


def _check_row(
    dialect: Dialect, line: int, row: Sequence[str], ids: Sequence[int], weight: int | None
) -> None:
    place = f"{dialect.path}, line {line}"
    advice = "correct it, or leave bad rows out with --skip-bad-rows (skip_bad_rows=True)"
    if len(row) != dialect.width:
        text = dialect.separator.join(row)
        shown = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
        hint = " (is a quote left open?)" if "\n" in text else ""
        counted = f"{len(row)} column{'s' * (len(row) != 1)}"
        raise GraphError(
            f"{place}: {counted} where {dialect.width} are expected: {shown}{hint}; {advice}"
        )
    if weight is not None and not is_number(row[weight], dialect.point):
        ends = " - ".join(repr(row[k].strip()) for k in ids)
        place += f" ({ends})" if ends else ""
        raise GraphError(f"{place}: the weight {row[weight]!r} is not a number: {advice}")


def _clean_blocks(dialect: Dialect, update: Update, counts: Counter[str]) -> Generator[bytes]:
    """The lines of the table, many at a time: without comments, and with one blank for a run of
    blanks where blanks divide. Where something is quoted, they are as they stand.
    """
    comment = comment_pattern(dialect.comments)
    done = 0
    with open_bytes(dialect.path, dialect.encoding) as stream:
        stream.read(dialect.start[0])
        for block in _whole_lines(stream, dialect.path):
            done += len(block)
            update(done / (1 << 20), "MiB")
            if not dialect.quoted and any(sign in block for sign in dialect.comments.encode()):
                block, dropped = comment.subn(b"", block)
                if dropped:
                    counts["comment_lines_skipped"] += dropped
            if dialect.delimiter == WHITESPACE:
                block = _squeezed(block)
            if block and (dialect.quoted or not block.isspace()):
                yield block


def _whole_lines(stream: io.BufferedReader, path: str) -> Iterator[bytes]:
    begun = b""  # a line whose end is not yet read
    while block := begun + stream.read(LINE - len(begun)):
        end = block.rfind(b"\n") + 1
        if not end and len(block) == LINE:
            raise GraphError(f"{path}: a line is longer than {LINE >> 20} MiB: not an edge list")
        end = end or len(block)  # the last line, which nothing ends
        yield block[:end]
        begun = block[end:]


def _squeezed(data: bytes) -> bytes:
    """One blank for each run of them, and none at the ends of lines."""
    data = data.replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        data = data.replace(b" " + end, end)
    return data.replace(b"\n ", b"\n").strip(b" ")
