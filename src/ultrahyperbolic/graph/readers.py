"""Graphs from files: what a file is, its first bytes say."""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from ..arrays import Ints
from ..progress import bar
from .arrow import arrow_values, choose_arrow_columns, rows_of_arrow
from .columns import SAMPLE_ROWS, Column, Columns, Wanted, choose_columns, columns_taken
from .dialect import Dialect, place_of_row, sniff
from .encode import encode_ends
from .errors import GraphError, need
from .graph import Graph
from .graphml import read_graphml
from .ids import NodeIds, check_texts
from .limits import ID
from .matrix_market import read_matrix_market
from .networkx_files import Format, format_of, label_attribute, read_networkx_file, weight_attribute
from .nodes import Nodes, read_nodes
from .parquet import FirstRows, longest_text, read_parquet
from .parquet_rows import Ends, stream_rows
from .prepared import is_prepared
from .rows import Asymmetric, EdgeRows, Policies, Repeated, check_option
from .streams import compression, open_bytes
from .text import read_columns, read_encoded

if TYPE_CHECKING:
    import pyarrow

Path = str | os.PathLike[str]
_START = 4 << 10  # bytes in which a file must show its format
_LARGE, _LARGE_PARQUET = 16 << 20, 4 << 20  # bytes from which loading the compiled loops pays
_TOO_LONG = f"longer than {ID >> 10} KiB: shorten it, or name the columns of the ids"

# How an XML file can begin; in a file of no such name, an id that begins with "<" is no sign of one.
_XML_SUFFIX = re.compile(r"\.(graphml|gexf|xml)(\.gz)?$", re.IGNORECASE)
_GRAPHML = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml\s|!--|!DOCTYPE\s|([\w.-]+:)?graphml[\s/>])", re.IGNORECASE)


def read_graph(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    source: Column | None = None,
    target: Column | None = None,
    weight: Column | Literal[False] | None = None,
    comments: str = "#%",
    encoding: str | None = None,
    nodes: Nodes | None = None,
    repeated: Repeated = "sum",
    asymmetric: Asymmetric = "sum",
    weights_are_distances: bool = False,
    progress: bool = False,
) -> Graph:
    """A graph from a file: an edge list in text (CSV, TSV, whitespace), Parquet, GraphML or Matrix Market.

    GML, GEXF and JSON node-link files are read where networkx is installed. The format is told by the content, and text
    may be compressed by gzip or zstd. A folder that `Graph.save` wrote is a graph, too. Ids read from text stay text
    (``007`` stays ``007``), without the blanks around them; Parquet keeps the types of its columns. Nodes come in the
    order in which they first appear.

    **A weight is the strength of a tie**: the larger, the closer. Where the weights of a file are distances or costs,
    pass ``weights_are_distances=True``, which takes 1/d. A weight whose name speaks of a distance, a length, a cost or
    a time is warned of.

    Parameters
    ----------
    path
        The file, or the folder of a prepared graph, which takes no options.
    delimiter
        Of text: one character, or ``"whitespace"`` for runs of spaces and tabs. Found where not given.
    header
        Of text: whether the first row names the columns. Found where not given. A row of words that only the whole
        file shows to be a header, as its ends occur in no other row, is warned of.
    source, target
        The columns of the two ends, by name or by position from 0. Where not given: columns of known names
        (source and target, src and dst, from and to, ...), else the first two; but where one of these holds numbers or
        dates, such as a year, the two columns of names that share the most values, if they share more.
    weight
        The column of weights (in GraphML, GML, GEXF and JSON the attribute of edges). Where not given: a column named
        weight, else the third if it holds numbers; after ends that were found elsewhere, the one that follows the first
        of them, past the other. ``False``: every weight is 1.
    comments
        Of text: lines that begin with one of these characters are skipped. ``""`` where ids begin with them.
    encoding
        Of text and GML, and of a text file of ``nodes``: how it is encoded, such as ``"latin-1"``, ``"cp1252"`` or
        ``"utf-16"``. UTF-8 where not given.
    nodes
        All nodes in the order wanted: a file or a table with ids in its first column, a mapping from id to label, or a
        list of ids. The label is in the column named label, name or title, else in the second. All other columns are
        kept as ``Graph.attributes``. Nodes without an edge keep their row and are counted as isolated.
    repeated
        What rows that give one edge again become: ``"sum"``, ``"max"``, ``"first"`` or ``"error"``; rows that give it
        reversed, too. A list that gives *every* edge both ways with equal weight holds each edge once.
    asymmetric
        What a matrix or a directed graph whose directions differ becomes: ``"sum"``, S = C + Cᵀ as in the paper, or
        ``"error"``. A symmetric one is taken as it is.
    weights_are_distances
        Whether the weights are distances d, the smaller the closer: each tie gets the strength 1/d, and then the
        policies apply. A distance must be above 0.
    progress
        Whether to show a bar on a terminal.

    Returns
    -------
    Graph
        Its ``columns`` are those that were taken from a table, and its ``policies`` count what was done: rows summed,
        self-loops dropped, and so on.

    Raises
    ------
    GraphError
        In one line, with the file, and where it is known the line and the nodes.
    """
    check_option("repeated", repeated, Repeated)
    check_option("asymmetric", asymmetric, Asymmetric)
    file = os.fspath(path)
    check_texts([file], "file name", "the graph")
    if is_prepared(file):
        usual = {"comments": comments == "#%", "repeated": repeated == "sum", "asymmetric": asymmetric == "sum"}
        usual["weights_are_distances"] = not weights_are_distances
        given = {"delimiter": delimiter, "header": header, "source": source, "target": target, "encoding": encoding}
        usual |= {name: value is None for name, value in (given | {"weight": weight, "nodes": nodes}).items()}
        return _load_prepared(file, [name for name, is_usual in usual.items() if not is_usual])
    wanted, rules = Wanted(source, target, weight), Policies(repeated, asymmetric, weights_are_distances)
    columns: dict[str, object] = {"source": source, "target": target}
    layout: dict[str, object] = {"delimiter": delimiter, "header": header}
    coded: dict[str, object] = {"encoding": encoding}
    try:
        _check_file(file)
        start = _first_bytes(file, encoding)
        if not start:
            raise GraphError(f"{file}: the file is empty")
        if start.startswith(b"PAR1"):
            if compression(file) is not None:
                raise GraphError(f"{file}: a Parquet file that is compressed once more: decompress it first")
            _refuse_options(file, "Parquet", layout | coded)
            graph = _read_parquet(file, wanted, rules)
        elif start.startswith(b"%%MatrixMarket"):
            _refuse_options(file, "Matrix Market", layout | columns | coded)
            graph = _read_matrix_market(file, weight, rules)
        elif (format := format_of(file, start)) is not None:
            _refuse_options(file, format, layout | columns | (coded if format != "GML" else {}))
            graph = _read_by_networkx(file, format, encoding, weight, rules)
        elif _GRAPHML.match(start) or (_XML_SUFFIX.search(file) and start.lstrip().startswith(b"<")):
            _refuse_options(file, "GraphML", layout | columns | coded)
            graph = _read_graphml(file, weight, rules)
        else:
            names = [column for column in wanted if isinstance(column, str)]
            dialect = sniff(file, delimiter=delimiter, header=header, comments=comments, encoding=encoding, names=names)
            with _progress(file, progress) as advance:
                graph = _read_text(dialect, wanted, rules, advance)
        if nodes is not None:
            graph = graph.with_nodes(*read_nodes(nodes, comments, encoding, _check_file))
        if graph.n_nodes == 0:
            raise GraphError(f"{file}: no nodes found")
        return graph
    except FileNotFoundError as error:
        raise GraphError(f"{error.filename or file}: no such file") from None
    except IsADirectoryError:
        raise GraphError(f"{file}: this is a folder; give a file") from None
    except OSError as error:
        raise GraphError(f"{file}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise GraphError(f"{file}: too large for the memory of this machine") from None


def _load_prepared(path: str, given: Sequence[str]) -> Graph:
    if given:
        raise GraphError(
            f"{path}: {given[0]} says how a file is read, and this graph is prepared: leave it out, or prepare the "
            "file again with it"
        )
    return Graph.load(path)


def _check_file(path: str) -> None:
    """Refuse what is no plain file: it is read more than once, and a pipe or a device need not end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise GraphError(f"{path}: not a regular file: graphs are read more than once, so save it to a file first")


def _first_bytes(path: str, encoding: str | None) -> bytes:
    if encoding is not None or compression(path) is not None:
        with open_bytes(path, encoding) as stream:
            return bytes(stream.read(_START))
    with open(path, "rb") as file:
        return file.read(_START)


def _refuse_options(path: str, format: str, options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise GraphError(f"{path}: {given[0]} does not apply to {format}: leave it out")


def _read_text(dialect: Dialect, wanted: Wanted, rules: Policies, advance: Callable[[int], object]) -> Graph:
    chosen = first, second, third = choose_columns(
        dialect.header, dialect.width, dialect.is_numeric, dialect.values, wanted, dialect.path
    )
    dialect = dialect.with_weight(third)
    is_large = os.path.getsize(dialect.path) >= _LARGE
    encoded = read_encoded(dialect, (first, second), third, advance=advance) if is_large else None
    if encoded is None:
        columns, comment_lines = read_columns(dialect, (first, second), third, advance=advance)
        weights = columns[2].to_numpy() if third is not None else None
        i, j, ids = encode_ends(columns[0], columns[1])
        del columns
    else:
        i, j, weights, ids, comment_lines = encoded
    i, j, ids = _trim(i, j, ids)
    if dialect.first_row is not None and weights is None and _is_header(i, j, len(ids)):
        first_row = dialect.first_row
        dialect = replace(dialect, header=first_row)
        i, j, ids = i[1:] - 2, j[1:] - 2, ids[2:]
        warnings.warn(
            f"{dialect.path}: the first row, {first_row[first]!r} – {first_row[second]!r}, is taken for a header, as "
            "both names occur in no other row; if it is a tie, say so (header=False, --no-header)",
            stacklevel=3,
        )
    counts = {"comment_lines_skipped": comment_lines} if comment_lines else {}
    rows = EdgeRows(i, j, weights, NodeIds(ids), lambda row: place_of_row(dialect, row), counts)
    _check_ids(rows, ids)
    columns_named = columns_taken(dialect.header, chosen)
    return Graph.from_rows(rows, kind="list", rules=rules, columns=columns_named, name=dialect.path)


def _is_header(i: Ints, j: Ints, n_nodes: int) -> bool:
    """Whether the first row of a table of texts is a header: its ends are in no other row, as those of few ties are."""
    once = np.bincount(i, minlength=n_nodes) + np.bincount(j, minlength=n_nodes) == 1
    alone = once[i] & once[j]
    return bool(alone[0]) and 2 * int(alone[1:].sum()) < len(i) - 1


def _check_ids(rows: EdgeRows, ids: pyarrow.StringArray) -> None:
    """Refuse an id that is empty or far too long."""
    lengths = need("pyarrow.compute", "reading a text file").binary_length(ids).to_numpy()
    for wrong, why in ((lengths == 0, "empty: give both ends of the edge"), (lengths > ID, _TOO_LONG)):
        if wrong.any():
            row = int(np.flatnonzero(wrong[rows.first] | wrong[rows.second])[0])
            raise GraphError(f"{rows.place(row)}: an id is {why}")


def _trim(i: Ints, j: Ints, ids: pyarrow.StringArray) -> tuple[Ints, Ints, pyarrow.StringArray]:
    """Ids without the blanks around them; those that are then equal become one."""
    pc = need("pyarrow.compute", "reading a text file")
    trimmed = pc.utf8_trim_whitespace(ids)
    if trimmed.equals(ids):
        return i, j, ids
    table = trimmed.dictionary_encode()
    codes = table.indices.to_numpy().astype(np.int64)
    return codes[i], codes[j], table.dictionary


def _read_parquet(path: str, wanted: Wanted, rules: Policies) -> Graph:
    pa = need("pyarrow", "reading Parquet")
    taken: list[Columns] = []

    def choose(schema: pyarrow.Schema) -> list[str]:
        first_rows = FirstRows(path, schema, SAMPLE_ROWS)

        def values(k: int) -> Sequence[object]:
            try:
                return arrow_values(first_rows(schema.names[k]))
            except GraphError:
                return []  # a column that cannot be read is looked at only if it is chosen

        chosen = choose_arrow_columns(schema, values, wanted, path)
        taken.append(columns_taken(schema.names, chosen))
        return [schema.names[k] for k in dict.fromkeys(chosen) if k is not None]

    if os.path.getsize(path) >= _LARGE_PARQUET:
        streamed = stream_rows(path, choose, lambda: cast("Ends", tuple(taken[0])))
        if streamed is not None:
            return Graph.from_rows(streamed, kind="list", rules=rules, columns=taken[0], name=path)
        taken.clear()
    table = read_parquet(path, choose)
    if table.num_rows == 0:
        raise GraphError(f"{path}: nothing in it but a header")
    if max(longest_text(column) for column in table.columns) > ID:
        raise GraphError(f"{path}: an id is {_TOO_LONG}")
    try:
        rows = rows_of_arrow(*(None if name is None else table.column(name) for name in taken[0]), where=path)
    except (pa.ArrowException, OverflowError) as error:
        raise GraphError(f"{path}: the columns cannot be ids: {error}") from None
    return Graph.from_rows(rows, kind="list", rules=rules, columns=taken[0], name=path)


def _read_matrix_market(path: str, weight: Column | Literal[False] | None, rules: Policies) -> Graph:
    if weight not in (None, False):
        raise GraphError(f"{path}: Matrix Market has no columns to name as weight: leave it out, or pass False")
    rows, kind = read_matrix_market(path, weighted=weight is None, is_large=os.path.getsize(path) >= _LARGE)
    # A position that is given again is summed, as the format has it.
    return Graph.from_rows(rows, kind=kind, rules=rules._replace(repeated="sum"), name=path)


def _read_graphml(path: str, weight: Column | Literal[False] | None, rules: Policies) -> Graph:
    attribute = _attribute(path, "GraphML", weight)
    with open_bytes(path) as stream:
        rows, kind, labels = read_graphml(stream, path, attribute)
    return Graph.from_rows(rows, kind=kind, rules=rules, weight_name=attribute or None, labels=labels, name=path)


def _read_by_networkx(
    path: str, format: Format, encoding: str | None, weight: Column | Literal[False] | None, rules: Policies
) -> Graph:
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
def _progress(path: str, show: bool) -> Iterator[Callable[[int], object]]:
    """A bar over the MiB of a file; what it yields is told how many bytes more were read."""
    size = os.path.getsize(path) / (1 << 20) if compression(path) is None else None
    with bar(f"Reading {os.path.basename(path)}", size, show=show) as update:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            update(done / (1 << 20), "MiB")

        yield advance
