"""Tables in text files: lines are cleaned as Arrow wants them, Arrow parses them, and Python says
what is wrong with those that it refuses.
"""

import io
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice

import pyarrow as pa
from pyarrow import csv

from ..progress import Update
from .columns import is_number, is_strength
from .dialect import (
    WHITESPACE,
    Dialect,
    comment_begin,
    comment_pattern,
    records,
    squeeze_blanks,
)
from .errors import ID, LINE, GraphError
from .streams import Blocks, open_bytes
from .tables import TEXTS

_SQUEEZED = 1 << 20  # bytes of a file with quotes whose blanks are looked at a time
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
    """The columns of ids as text, each as a dictionary, and the column of weights as numbers.

    ``update`` hears how many MiB were read, and ``counts`` how many comment lines were skipped.
    """
    blocks = _clean_blocks(dialect, update, Counter() if counts is None else counts)
    names = [f"c{k}" for k in range(dialect.width)]
    types = {names[k]: TEXTS for k in ids}
    if weight is not None:
        types[names[weight]] = pa.float64()
    try:
        return csv.read_csv(
            io.BufferedReader(Blocks(blocks), LINE),
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
    except (pa.ArrowInvalid, OSError) as error:
        raise _diagnosis(dialect, ids, weight, error) from None


def read_good_rows(
    dialect: Dialect, ids: tuple[int, int], weight: int | None
) -> tuple[pa.Table, list[int], list[int]]:
    """The columns of the rows that can be read, their lines, and the lines of all others. It is
    slow.
    """
    good: list[list[str]] = []
    lines: list[int] = []
    bad: list[int] = []
    for line, row in islice(
        records(dialect, single_lines=True), int(dialect.header is not None), None
    ):
        is_good = (
            len(row) == dialect.width
            and all(0 < len(row[column].strip().encode()) <= ID for column in ids)
            and (weight is None or is_strength(row[weight], dialect.point))
        )
        (lines if is_good else bad).append(line)
        if is_good:
            good.append(row)
    columns = [pa.array([row[column] for row in good], pa.string()) for column in ids]
    if weight is not None:
        numbers = [float(row[weight].replace(dialect.point, ".")) for row in good]
        columns.append(pa.array(numbers, pa.float64()))
    return pa.table(columns, names=["source", "target", "weight"][: len(columns)]), lines, bad


def _clean_blocks(dialect: Dialect, update: Update, counts: Counter[str]) -> Generator[bytes]:
    """The lines of the table, many at a time: without comments, and with one blank for a run of
    blanks where blanks divide.
    """
    comment = comment_pattern(dialect.comments)
    done = 0
    with open_bytes(dialect.path, dialect.encoding) as stream:
        stream.read(dialect.start[0])
        for block in [stream.read()] if dialect.quoted else _whole_lines(stream, dialect.path):
            done += len(block)
            update(done / (1 << 20), "MiB")
            if any(sign in block for sign in dialect.comments.encode()):
                if dialect.quoted:
                    block, dropped = _without_comments(block, dialect.comments)
                else:
                    block, dropped = comment.subn(b"", block)
                if dropped:
                    counts["comment_lines_skipped"] += dropped
            if dialect.delimiter == WHITESPACE:
                block = _squeezed(block, quoted=dialect.quoted)
            if block and not block.isspace():
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


def _without_comments(data: bytes, comments: str) -> tuple[bytes, int]:
    """Text with quotes without its comments, and how many there were; in quotes there are none."""
    # A comment, or all there is up to the next one.
    other = b'((?:"[^"]*"|[^"\n]+|\n(?!' + comment_begin(comments) + b"))++)"
    pattern = re.compile(comment_pattern(comments).pattern + b"|" + other, re.MULTILINE)
    dropped = 0

    def drop(match: re.Match[bytes]) -> bytes:
        nonlocal dropped
        dropped += match[1] is None
        return match[1] or b""

    return pattern.sub(drop, data), dropped


def _squeezed(data: bytes, *, quoted: bool) -> bytes:
    """`squeeze_blanks`, faster where nothing is quoted, and in parts where something is."""
    if quoted:
        return b"".join(map(squeeze_blanks, _whole_fields(data)))
    data = data.replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        data = data.replace(b" " + end, end)
    return data.replace(b"\n ", b"\n").strip(b" ")


def _whole_fields(data: bytes) -> Iterable[bytes]:
    """Lines, many at a time, cut where no quote is open."""
    start = end = quotes = 0
    while end < len(data):
        begun, end = end, data.find(b"\n", end + _SQUEEZED) + 1 or len(data)
        quotes += data.count(b'"', begun, end)
        if quotes % 2 == 0 or end == len(data):
            yield data[start:end]
            start = end


def _diagnosis(
    dialect: Dialect, ids: Sequence[int], weight: int | None, error: Exception
) -> GraphError:
    """Why Arrow could not parse the file: the first row that is not as the others."""
    advice = "correct it, or leave bad rows out with --skip-bad-rows (skip_bad_rows=True)"
    try:
        for k, (line, row) in enumerate(records(dialect)):
            place = f"{dialect.path}, line {line}"
            if len(row) != dialect.width:
                text = dialect.separator.join(row)
                shown = repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
                hint = " (is a quote left open?)" if "\n" in text else ""
                counted = f"{len(row)} column{'s' * (len(row) != 1)}"
                return GraphError(
                    f"{place}: {counted} where {dialect.width} are expected: {shown}{hint}; "
                    f"{advice}"
                )
            if (
                weight is not None
                and (k or dialect.header is None)
                and not is_number(row[weight], dialect.point)
            ):
                ends = " - ".join(repr(row[column].strip()) for column in ids)
                place += f" ({ends})" if ends else ""
                return GraphError(f"{place}: the weight {row[weight]!r} is not a number: {advice}")
    except GraphError as reason:
        return reason
    except OSError:
        return GraphError(f"{dialect.path}: cannot be read: {error}")
    return GraphError(f"{dialect.path}: {error}")
