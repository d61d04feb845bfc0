"""Files of every format, each read to a graph by its own function."""

import os
import re
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..progress import bar
from .columns import SAMPLE_ROWS, Column, Wanted, choose_columns, columns_taken, decimal_point
from .dialect import Dialect, place_of_row
from .encode import arrow_values, choose_arrow_columns, rows_of_arrow
from .errors import ID, GraphError
from .graph import Graph
from .graphml import read_graphml
from .ids import NodeIds
from .matrix_market import read_matrix_market
from .networkx_files import Format, label_attribute, read_networkx_file, weight_attribute
from .parquet import CheckedParquet, longest_text
from .rows import EdgeRows, Policies
from .streams import compression, open_bytes
from .text import read_ends, read_good_rows

_START = 4 << 10  # bytes in which a file must show its format
_TOO_LONG = f"longer than {ID >> 10} KiB: shorten it, or name the columns of the ids"

# How an XML file can begin; in a file of no such name, an id that begins with "<" is no sign of one.
_XML_SUFFIX = re.compile(r"\.(graphml|gexf|xml)(\.gz)?$", re.IGNORECASE)
_GRAPHML = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml\s|!--|!DOCTYPE\s|([\w.-]+:)?graphml[\s/>])", re.IGNORECASE)


def is_xml(path: str, start: bytes) -> bool:
    """Whether a file that begins with these bytes is XML."""
    return bool(_GRAPHML.match(start) or (_XML_SUFFIX.search(path) and start.lstrip().startswith(b"<")))


def check_file(path: str) -> None:
    """Refuse what is no plain file: it is read more than once, and a pipe or a device need not end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise GraphError(f"{path}: not a regular file: graphs are read more than once, so save it to a file first")


def first_bytes(path: str, encoding: str | None) -> bytes:
    """The beginning of a file, decompressed and in UTF-8."""
    with open_bytes(path, encoding) as stream:
        return bytes(stream.read(_START))


def refuse_options(path: str, format: str, options: Mapping[str, object]) -> None:
    """Refuse options that a format does not have."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise GraphError(f"{path}: {given[0]} does not apply to {format}: leave it out")


def read_text(
    dialect: Dialect, wanted: Wanted, rules: Policies, advance: Callable[[int], object], *, skip_bad_rows: bool
) -> Graph:
    """An edge list in text."""
    chosen = first, second, third = choose_columns(
        dialect.header, dialect.width, dialect.is_numeric, dialect.values, wanted, dialect.path
    )
    if third is not None:
        dialect = replace(dialect, point=decimal_point(dialect.sample, third))
    counts: dict[str, int] = {}
    lines: list[int] = []  # of the rows, where some are left out
    if skip_bad_rows:
        (i, j, weights, ids), lines, bad = read_good_rows(dialect, (first, second), third)
        if bad:
            counts["bad_rows_skipped"] = len(bad)
            warnings.warn(f"{dialect.path}: {len(bad)} bad rows left out, the first on line {bad[0]}", stacklevel=3)
    else:
        (i, j, weights, ids), comment_lines = read_ends(dialect, (first, second), third, advance=advance)
        counts |= {"comment_lines_skipped": comment_lines} if comment_lines else {}
    trimmed = pc.utf8_trim_whitespace(ids)
    if not trimmed.equals(ids):  # those that are then equal become one
        table = trimmed.dictionary_encode()
        codes, ids = table.indices.to_numpy().astype(np.int64), table.dictionary
        i, j = codes[i], codes[j]
    if (names := dialect.first_row) is not None and weights is None:
        once = np.bincount(i, minlength=len(ids)) + np.bincount(j, minlength=len(ids)) == 1
        alone = once[i] & once[j]
        if alone[0] and 2 * int(alone[1:].sum()) < len(i) - 1:  # a header, whose names few ties are like
            dialect = replace(dialect, header=names)
            i, j, ids, lines = i[1:] - 2, j[1:] - 2, ids[2:], lines[1:]
            warnings.warn(
                f"{dialect.path}: the first row, {names[first]!r} – {names[second]!r}, is taken for a header, as both "
                "names occur in no other row; if it is a tie, say so (header=False, --no-header)",
                stacklevel=3,
            )

    def place(row: int) -> str:
        return f"{dialect.path}, line {lines[row]}" if lines else place_of_row(dialect, row)

    rows = EdgeRows(i, j, weights, NodeIds(ids), place, counts)
    _check_ids(rows, ids)
    columns_named = columns_taken(dialect.header, chosen)
    return Graph.from_rows(rows, kind="list", rules=rules, columns=columns_named, name=dialect.path)


def _check_ids(rows: EdgeRows, ids: pa.StringArray) -> None:
    """Refuse an id that is empty or far too long."""
    lengths = pc.binary_length(ids).to_numpy()
    for wrong, why in ((lengths == 0, "empty: give both ends of the tie"), (lengths > ID, _TOO_LONG)):
        if wrong.any():
            row = int(np.flatnonzero(wrong[rows.first] | wrong[rows.second])[0])
            raise GraphError(f"{rows.place(row)}: an id is {why}")


def read_parquet(path: str, wanted: Wanted, rules: Policies) -> Graph:
    """A table of edges in Parquet."""
    file = CheckedParquet(path)
    names = file.schema.names

    def values(k: int) -> Sequence[object]:
        try:
            start = next(file.batches([names[k]], SAMPLE_ROWS), None)
            return [] if start is None else arrow_values(start.column(0))
        except GraphError:
            return []  # a column that cannot be read is looked at only if it is chosen

    chosen = choose_arrow_columns(file.schema, values, wanted, path)
    if file.rows == 0:
        raise GraphError(f"{path}: nothing in it but a header")
    taken = [names[k] for k in chosen if k is not None]

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in file.batches(list(dict.fromkeys(taken))):
            if max(map(longest_text, batch.columns)) > ID:
                raise GraphError(f"{path}: an id is {_TOO_LONG}")
            yield batch.select(taken)

    try:
        rows = rows_of_arrow(batches(), path)
    except (pa.ArrowException, OverflowError) as error:
        raise GraphError(f"{path}: the columns cannot be ids: {error}") from None
    return Graph.from_rows(rows, kind="list", rules=rules, columns=columns_taken(names, chosen), name=path)


def read_matrix(path: str, weight: Column | Literal[False] | None, rules: Policies) -> Graph:
    """Matrix Market."""
    if weight not in (None, False):
        raise GraphError(f"{path}: Matrix Market has no columns to name as weight: leave it out, or pass False")
    rows, kind = read_matrix_market(path, weighted=weight is None)
    # A position that is given again is summed, as the format has it.
    return Graph.from_rows(rows, kind=kind, rules=rules._replace(repeated="sum"), name=path)


def read_xml(path: str, weight: Column | Literal[False] | None, rules: Policies) -> Graph:
    """GraphML."""
    attribute = _attribute(path, "GraphML", weight)
    with open_bytes(path) as stream:
        rows, kind, labels = read_graphml(stream, path, attribute)
    return Graph.from_rows(rows, kind=kind, rules=rules, weight_name=attribute or None, labels=labels, name=path)


def read_by_networkx(
    path: str, format: Format, encoding: str | None, weight: Column | Literal[False] | None, rules: Policies
) -> Graph:
    """GML, GEXF and JSON, which networkx reads."""
    attribute = _attribute(path, format, weight)
    graph = read_networkx_file(path, format, encoding)
    return Graph.from_networkx(
        graph,
        weight=attribute if attribute is False else weight_attribute(graph, path, attribute),
        label=label_attribute(graph),
        name=path,
        **rules._asdict(),
    )


def _attribute(path: str, format: str, weight: Column | Literal[False] | None) -> str | Literal[False] | None:
    """The weight as formats have it that name attributes of edges."""
    if weight is not None and weight is not False and not isinstance(weight, str):
        raise GraphError(f"{path}: in {format} weight is the name of an attribute, got {weight!r}")
    return weight


@contextmanager
def progress_of(path: str, show: bool) -> Iterator[Callable[[int], object]]:
    """A bar over the MiB of a file; what it yields is told how many bytes more were read."""
    size = os.path.getsize(path) / (1 << 20) if compression(path) is None else None
    with bar(f"Reading {os.path.basename(path)}", size, show=show) as update:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            update(done / (1 << 20), "MiB")

        yield advance
