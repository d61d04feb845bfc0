"""Tables in text files, parsed by Arrow or, where they are large and plain, by compiled loops."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa
from pyarrow import csv

from ..progress import Update
from .columns import is_number, is_strength
from .dialect import (
    BYTE_ORDER_MARK,
    WHITESPACE,
    Dialect,
    comment_begin,
    comment_pattern,
    records,
    squeeze_blanks,
)
from .encode import Block, Encoded, Texts, encode_ends, number_blocks, texts_of_arrow
from .errors import ID, LINE, GraphError
from .streams import open_bytes

_LARGE = 16 << 20  # bytes from which loading the compiled loops pays
_BLOCK = LINE  # bytes that are cleaned and parsed at a time; no line may be longer
_SQUEEZED = 1 << 20  # bytes of a file with quotes whose blanks are looked at a time


class _QuoteFoundError(Exception):
    """A quote stands beyond the first lines, so the file must be read again with quotes in mind."""


def read_ends(
    dialect: Dialect,
    ids: tuple[int, int],
    weight: int | None,
    update: Update = lambda completed, text: None,
) -> tuple[Encoded, int]:
    """The rows of an edge list, and how many comment lines were skipped; ``update`` hears how many
    MiB were read.

    Compiled loops on all cores split and number a large file without quotes; blocks that are not
    plain go to Arrow.
    """
    if not dialect.quoted and os.path.getsize(dialect.path) >= _LARGE:
        lines = _CleanLines(dialect, update)
        try:
            return _number_lines(dialect, lines, ids, weight), lines.comment_lines
        except _QuoteFoundError:
            dialect = replace(dialect, quoted=True)
        except (pa.ArrowInvalid, OSError) as error:
            # a cycle through futures, which would keep the blocks until they are collected
            error.__traceback__ = None
            raise _diagnosis(dialect, ids, weight, error) from None
    table, comment_lines = read_columns(dialect, ids, weight, update)
    parts = (
        (*batch.columns[:2], batch[2].to_numpy() if weight is not None else None)
        for batch in table.to_batches()
    )
    return encode_ends(parts), comment_lines


def read_good_rows(
    dialect: Dialect, ids: tuple[int, int], weight: int | None
) -> tuple[Encoded, list[int], list[int]]:
    """The rows of an edge list that can be read, their lines, and the lines of all others. It is
    slow.
    """
    good: list[tuple[str, ...]] = []
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
            good.append(
                (
                    row[ids[0]],
                    row[ids[1]],
                    "" if weight is None else row[weight].replace(dialect.point, "."),
                )
            )
    first, second, weights = zip(*good, strict=True) if good else ((), (), ())
    numbers = None if weight is None else np.array(weights, dtype=np.float64)
    return (
        encode_ends([(pa.array(first, pa.string()), pa.array(second, pa.string()), numbers)]),
        lines,
        bad,
    )


def read_columns(
    dialect: Dialect,
    ids: Sequence[int],
    weight: int | None = None,
    update: Update = lambda completed, text: None,
) -> tuple[pa.Table, int]:
    """The columns of ids as text and the column of weights as numbers, and how many comment lines
    were skipped.
    """
    lines = _CleanLines(dialect, update)
    try:
        blocks = [lines.read_all_quoted()] if dialect.quoted else lines.blocks()
        has_header = dialect.header is not None
        tables = [
            _parse(dialect, block, has_header and k == 0, ids, weight)
            for k, block in enumerate(blocks)
        ]
        if not tables:
            raise pa.ArrowInvalid("Empty CSV file")
    except _QuoteFoundError:
        return read_columns(replace(dialect, quoted=True), ids, weight, update)
    except (pa.ArrowInvalid, OSError) as error:
        raise _diagnosis(dialect, ids, weight, error) from None
    return pa.concat_tables(tables), lines.comment_lines


def _number_lines(
    dialect: Dialect, lines: _CleanLines, ids: tuple[int, int], weight: int | None
) -> Encoded:
    from .compiled import split_lines

    def split(data: bytes) -> Block | None:
        """Rows of lines with nothing special in them; ``None`` where there is."""
        try:
            data.isascii() or data.decode()
        except UnicodeDecodeError:
            return None
        text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", dtype=np.uint8)
        rows = np.count_nonzero(text == ord("\n"))
        spans, weights = (
            np.empty((2, 2, rows), dtype=np.int32),
            np.empty(rows if weight is not None else 0),
        )
        third, point = -1 if weight is None else weight, ord(dialect.point)
        rows = split_lines(
            text, ord(dialect.separator), dialect.width, *ids, third, point, spans, weights
        )
        if rows < 0:
            return None
        spans.flags.writeable = False
        first, second = (Texts(text, *ends[:, :rows]) for ends in spans)
        return Block(first, second, None if weight is None else weights[:rows])

    def load(numbered: tuple[int, bytes]) -> Block:
        number, data = numbered
        has_header = number == 0 and dialect.header is not None
        if not has_header and (block := split(data)) is not None:
            return block
        table = _parse(dialect, data, has_header, ids, weight)
        first, second, *weights = (column.combine_chunks() for column in table.columns)
        return Block(
            texts_of_arrow(first),
            texts_of_arrow(second),
            weights[0].to_numpy() if weights else None,
        )

    return number_blocks(enumerate(lines.blocks()), load)


def _parse(
    dialect: Dialect, data: bytes, has_header: bool, ids: Sequence[int], weight: int | None
) -> pa.Table:
    """The columns of clean lines, by Arrow: those of ids in their order, and then that of the
    weights.
    """
    names = [f"c{k}" for k in range(dialect.width)]
    types = {names[k]: pa.string() for k in ids} | (
        {} if weight is None else {names[weight]: pa.float64()}
    )
    return csv.read_csv(
        pa.BufferReader(data),
        read_options=csv.ReadOptions(
            column_names=names, block_size=_BLOCK, skip_rows_after_names=int(has_header)
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


class _CleanLines:
    """The lines of a file as Arrow wants them: no byte order mark, no comments, one blank for a run
    of blanks.
    """

    def __init__(self, dialect: Dialect, update: Update) -> None:
        self.comment_lines = 0
        self._dialect, self._update = dialect, update
        self._comment = comment_pattern(dialect.comments)
        self._at_start = True

    def blocks(self) -> Iterator[bytes]:
        """All clean lines, many at a time; those that are only blanks are left out."""
        return (block for block in self._cleaned() if block and not block.isspace())

    def _cleaned(self) -> Iterator[bytes]:
        rest, done = b"", 0  # the beginning of a line whose end is not yet read; bytes
        with open_bytes(self._dialect.path, self._dialect.encoding) as stream:
            stream.read(self._dialect.start[0])
            while block := stream.read(_BLOCK - len(rest)):
                done += len(block)
                self._update(done / (1 << 20), "MiB")
                end = block.rfind(b"\n") + 1
                if end == 0 and len(rest) + len(block) >= _BLOCK:
                    raise GraphError(
                        f"{self._dialect.path}: a line is longer than {_BLOCK >> 20} MiB: not an "
                        "edge list"
                    )
                if end:
                    yield self._clean(b"".join((rest, memoryview(block)[:end])))
                rest = block[end:] if end else rest + block
        yield self._clean(rest)

    def read_all_quoted(self) -> bytes:
        """All clean bytes of a file with quotes, inside which nothing is cleaned."""
        with open_bytes(self._dialect.path, self._dialect.encoding) as stream:
            stream.read(self._dialect.start[0])
            data = self._checked(stream.read())
        self._update(len(data) / (1 << 20), "MiB")
        if any(byte in data for byte in self._dialect.comments.encode()):

            def drop(match: re.Match[bytes]) -> bytes:
                self.comment_lines += match[1] is None
                return match[1] or b""

            # A comment, or all there is up to the next one.
            other = b'((?:"[^"]*"|[^"\n]+|\n(?!' + comment_begin(self._dialect.comments) + b"))++)"
            data = re.sub(self._comment.pattern + b"|" + other, drop, data, flags=re.MULTILINE)
        return (
            b"".join(map(squeeze_blanks, _whole_fields(data)))
            if self._dialect.delimiter == WHITESPACE
            else data
        )

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
            data = (
                data.replace(b" \n", b"\n")
                .replace(b" \r", b"\r")
                .replace(b"\n ", b"\n")
                .strip(b" ")
            )
        return data

    def _checked(self, data: bytes) -> bytes:
        if self._at_start:
            self._at_start = False
            data = data.removeprefix(BYTE_ORDER_MARK)
        if b"\0" in data:
            raise GraphError(
                f"{self._dialect.path}: not a text file in UTF-8 (it holds zero bytes)"
            )
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
                shown = repr(text if len(text) <= 60 else text[:57] + "...")
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
    except GraphError as found:
        return found
    except OSError:
        pass
    return GraphError(f"{dialect.path}: {error}")
