"""Files of every format, each read to a graph by its own function, and lists of nodes."""

import os
import stat
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from ..checks import users_line
from ..progress import Update
from .attributes import from_texts
from .columns import (
    SAMPLE_ROWS,
    Column,
    Wanted,
    choose_columns,
    columns_taken,
    decimal_point,
    distinct_texts,
    fold_name,
    mostly_numbers,
)
from .dialect import LABEL_NAMES, Dialect, place_of_row, sniff
from .errors import ID, TOO_LONG, GraphError
from .graph import Graph
from .ids import NodeIds, Nodes, check_lengths
from .matrix_market import read_matrix_market
from .network_files import Format, label_attribute, read_networkx_file
from .parquet import CheckedParquet, read_parquet
from .rows import EdgeRows, Policies
from .tables import choose_arrow_columns, distinct_values, number_ends, rows_of_table
from .text import read_columns, read_rows

# What ``Graph.with_nodes`` takes: nodes, and further columns, where there is a table.
NodeList = tuple[Nodes, Mapping[str, ArrayLike] | None]


def check_file(path: str) -> None:
    """Refuse what is no plain file: it is read more than once, and a pipe or a device need not
    end.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise GraphError(
            f"{path}: not a regular file: graphs are read more than once, so save it to a file "
            "first"
        )


def refuse_options(path: str, format: str, options: Mapping[str, object]) -> None:
    """Refuse options that a format does not have."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise GraphError(f"{path}: {given[0]} does not apply to {format}: leave it out")


def read_text(
    dialect: Dialect, wanted: Wanted, rules: Policies, update: Update, *, skip_bad_rows: bool
) -> Graph:
    """An edge list in text; ``update`` hears how many MiB were read."""
    is_numeric, values = (
        partial(mostly_numbers, dialect.sample),
        partial(distinct_texts, dialect.sample),
    )
    chosen = first, second, third = choose_columns(
        dialect.header, dialect.width, is_numeric, values, wanted, dialect.path
    )
    if third is not None:
        dialect = replace(dialect, point=decimal_point(dialect.sample, third))
    counts: Counter[str] = Counter()
    lines: list[int] = []  # of the rows, where some are left out
    if skip_bad_rows:
        table, lines, bad = read_rows(dialect, (first, second), third, Counter(), skip_bad=True)
        if bad:
            counts["bad_rows_skipped"] = len(bad)
            left = f"{len(bad)} bad row{'s' * (len(bad) != 1)} of {len(lines) + len(bad)}"
            warnings.warn(
                f"{dialect.path}: {left} left out, the first on line {bad[0]}",
                stacklevel=users_line(),
            )
    else:
        table = read_columns(dialect, (first, second), third, update, counts)
    i, j, ids = number_ends(*table.columns[:2])
    weights = None if third is None else table.column(2).to_numpy()
    del table  # which is as large as all that follows
    trimmed = pc.utf8_trim_whitespace(ids)
    if not trimmed.equals(ids):  # those that are then equal become one
        distinct = trimmed.dictionary_encode()
        codes, ids = distinct.indices.to_numpy().astype(np.int64), distinct.dictionary
        i, j = codes[i], codes[j]
    if (names := dialect.first_row) is not None and weights is None:
        once = np.bincount(i, minlength=len(ids)) + np.bincount(j, minlength=len(ids)) == 1
        alone = once[i] & once[j]
        if (
            alone[0] and 2 * int(alone[1:].sum()) < len(i) - 1
        ):  # a header, whose names few ties are like
            dialect = replace(dialect, header=names)
            i, j, ids, lines = i[1:] - 2, j[1:] - 2, ids[2:], lines[1:]
            warnings.warn(
                f"{dialect.path}: the first row, {names[first]!r} – {names[second]!r}, is taken "
                "for a header, as both "
                "names occur in no other row; if it is a tie, say so (header=False, --no-header)",
                stacklevel=users_line(),
            )

    def place(row: int) -> str:
        return f"{dialect.path}, line {lines[row]}" if lines else place_of_row(dialect, row)

    lengths = pc.binary_length(ids).to_numpy()
    wrong = (lengths == 0) | (lengths > ID)
    if wrong.any():
        row = int((wrong[i] | wrong[j]).argmax())
        is_empty = min(lengths[i[row]], lengths[j[row]]) == 0
        why = "empty: give both ends of the tie" if is_empty else TOO_LONG
        raise GraphError(f"{place(row)}: an id is {why}")
    rows = EdgeRows(i, j, weights, NodeIds(ids.to_pylist()), place, dict(counts))
    columns = columns_taken(dialect.header, chosen)
    return Graph.from_rows(rows, kind="list", rules=rules, columns=columns, name=dialect.path)


def read_table(path: str, wanted: Wanted, rules: Policies) -> Graph:
    """A table of edges in Parquet."""
    file = CheckedParquet(path)
    names = file.schema.names

    def values(k: int) -> Sequence[object]:
        try:
            return distinct_values(file.read([names[k]], SAMPLE_ROWS).column(0))
        except GraphError:
            return []  # a column that cannot be read is looked at only if it is chosen

    chosen = choose_arrow_columns(file.schema, values, wanted, path)
    if file.rows == 0:
        raise GraphError(f"{path}: nothing in it but a header")
    taken = [names[k] for k in chosen if k is not None]
    try:
        rows = rows_of_table(file.read(list(dict.fromkeys(taken))).select(taken), path)
    except (pa.ArrowException, OverflowError) as error:
        raise GraphError(f"{path}: the columns cannot be ids: {error}") from None
    check_lengths(rows.ids, path)
    return Graph.from_rows(
        rows, kind="list", rules=rules, columns=columns_taken(names, chosen), name=path
    )


def read_matrix(path: str, weight: Column | Literal[False] | None, rules: Policies) -> Graph:
    """Matrix Market."""
    if weight not in (None, False):
        raise GraphError(
            f"{path}: Matrix Market has no columns to name as weight: leave it out, or pass False"
        )
    rows, kind = read_matrix_market(path, weighted=weight is None)
    # A position that is given again is summed, as the format has it.
    return Graph.from_rows(rows, kind=kind, rules=replace(rules, repeated="sum"), name=path)


def read_network(
    path: str,
    format: Format,
    encoding: str | None,
    weight: Column | Literal[False] | None,
    rules: Policies,
) -> Graph:
    """GraphML, GML, GEXF and JSON, in which the weight is an attribute of edges."""
    if weight is not None and weight is not False and not isinstance(weight, str):
        raise GraphError(
            f"{path}: in {format} weight is the name of an attribute, not a position: name it"
        )
    graph = read_networkx_file(path, format, encoding)
    return Graph.from_networkx(
        graph, weight=weight, label=label_attribute(graph), name=path, **asdict(rules)
    )


def read_nodes(
    nodes: str | os.PathLike[str] | Nodes, comments: str, encoding: str | None
) -> NodeList:
    """Nodes from whatever a list of them may be given as."""
    if isinstance(nodes, (str, os.PathLike)):
        path = os.fspath(nodes)
        check_file(path)
        with open(path, "rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        if is_parquet:
            table = read_parquet(path, lambda schema: schema.names)
            return _of_columns(table.column_names, [column.to_pylist() for column in table.columns])
        dialect = sniff(
            path, delimiter=None, header=None, comments=comments, encoding=encoding, nodes=True
        )
        table = read_columns(dialect, range(dialect.width))
        trimmed = [
            pc.utf8_trim_whitespace(column.cast(pa.string())).to_pylist()
            for column in table.columns
        ]
        return _of_columns(dialect.header, trimmed, from_texts)
    if hasattr(nodes, "to_pandas"):
        table = cast("pa.Table", nodes)
        return _of_columns(table.column_names, [column.to_pylist() for column in table.columns])
    if hasattr(nodes, "iloc"):
        frame = cast("Any", nodes)
        columns = [
            frame.iloc[:, k].astype(object).where(frame.iloc[:, k].notna(), None)
            for k in range(frame.shape[1])
        ]
        return _of_columns(
            [str(name) for name in frame.columns], [column.tolist() for column in columns]
        )
    return nodes, None


def _of_columns(
    names: Sequence[str] | None,
    columns: Sequence[Sequence[Any]],
    as_attribute: Callable[[Sequence[Any]], ArrayLike] = list,
) -> NodeList:
    """The nodes of a table: ids first, labels in the column of such a name, else in the second; the
    rest attributes.
    """
    if not columns:
        return [], None
    ids, *others = columns
    titles = [f"column {k + 1}" for k in range(len(columns))] if names is None else list(names)
    known = [fold_name(name) for name in titles[1:]]
    at = next((known.index(word) for word in LABEL_NAMES if word in known), 0)
    attributes = {titles[k + 1]: as_attribute(column) for k, column in enumerate(others) if k != at}
    try:
        is_repeated = len(set(ids)) < len(ids)
    except TypeError:
        raise GraphError("the node list: ids must be hashable") from None
    if not others or is_repeated:  # a repeated id is refused by with_nodes, which names it
        return ids, attributes
    return dict(zip(ids, others[at], strict=True)), attributes
