"""Graphs from files, whose first bytes say what they are, and from anything else that can become
one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, cast

from ..checks import users_line
from ..progress import bar
from .columns import Column, Wanted
from .errors import GraphError, need
from .graph import Graph
from .ids import Nodes, check_texts, said_of_names
from .rows import Asymmetric, Policies, Repeated

Path = str | os.PathLike[str]
_START = 4 << 10  # bytes in which a file must show its format


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
    skip_bad_rows: bool = False,
    nodes: Path | Nodes | None = None,
    repeated: Repeated = "sum",
    asymmetric: Asymmetric = "sum",
    weights_are_distances: bool = False,
    directed: bool = False,
    progress: bool = False,
) -> Graph:
    """A graph from a file: an edge list in text (CSV, TSV, whitespace), Parquet, GraphML or Matrix
    Market.

    GML, GEXF and JSON node-link files are read by networkx. The format is told by the content, and
    text may be compressed by gzip or zstd. Ids read from text stay text (``007`` stays ``007``),
    without the blanks around them; Parquet keeps the types of its columns. Nodes come in the order
    in which they first appear.

    **A weight is the strength of a tie**: the larger, the closer. Where the weights of a file are
    distances or costs, pass ``weights_are_distances=True``. A weight whose name speaks of a
    distance, a cost or a time is warned of.

    Parameters
    ----------
    path
        The file.
    delimiter
        Of text: one character, or ``"whitespace"`` for runs of spaces and tabs. Default: detected.
    header
        Of text: whether the first row names the columns. Default: detected, with a warning where it
        is doubtful.
    source, target
        The columns of the two ends, by name or by position from 0 (the command counts from 1).
        Default: columns of known names (source and target, src and dst, from and to, ...), else the
        first two; but where one of these holds numbers or dates, such as a year, the two columns of
        names that share the most values, if they share more.
    weight
        The column of weights (in GraphML, GML, GEXF and JSON the attribute of edges). Default: one
        named weight (or weights, strength, capacity), else the only one that holds numbers, with a
        warning; names of years, times and ids do not count. Where there are several, an error names
        them. ``False``: every weight is 1.
    comments
        Of text: lines that begin with one of these characters are skipped. ``""`` where ids begin
        with them.
    encoding
        Of text and GML, and of a text file of ``nodes``: such as ``"latin-1"`` or ``"utf-16"``.
        Default: UTF-8.
    skip_bad_rows
        Of text: leave out rows with too few or too many columns, without an id, or whose weight is
        no finite number above 0. They are counted, and a warning says where the first is. A row
        must be on one line. Slower; by default the first such row is an error.
    nodes
        All nodes in the order wanted: a file or a table with ids in its first column, a mapping
        from id to label, or a list of ids. The label is in the column named label, name or title,
        else in the second. All other columns are kept as ``Graph.attributes``. Nodes without a tie
        keep their row and are counted as isolated.
    repeated
        What rows that give one tie again, or reversed, become: ``"sum"``, ``"max"``, ``"first"`` or
        ``"error"``. A list that gives *every* tie both ways with equal weight holds each tie once.
    asymmetric
        What a matrix or a directed graph whose directions differ becomes: ``"sum"``, S = C + Cᵀ as
        in the paper, or ``"error"``. A symmetric one is taken as it is.
    weights_are_distances
        Whether the weights are distances d > 0, the smaller the closer: each tie gets the strength
        1/d first of all.
    directed
        Whether a row, an entry of a matrix or an edge of a directed graph is a tie from its first
        end to its second. Without it, directions are dropped.
    progress
        Whether to show a bar on a terminal.

    The ``columns`` of the graph are those that were taken from a table, and its ``policies`` count
    what was done: rows summed, self-loops dropped, and so on. Raises `GraphError` in one line, with
    the file and where known the line.
    """
    wanted, rules = (
        Wanted(source, target, weight),
        Policies(repeated, asymmetric, weights_are_distances, directed),
    )
    need("pyarrow", "reading a file")
    from . import formats
    from .dialect import sniff
    from .network_files import format_of
    from .streams import compression, open_bytes

    file = os.fspath(path)
    check_texts([file], "file name", "the graph")
    columns: dict[str, object] = {"source": source, "target": target}
    layout: dict[str, object] = {
        "delimiter": delimiter,
        "header": header,
        "skip_bad_rows": skip_bad_rows or None,
    }
    coded: dict[str, object] = {"encoding": encoding}
    try:
        formats.check_file(file)
        with open_bytes(file, encoding) as stream:
            start = stream.read(_START)
        if not start:
            raise GraphError(f"{file}: the file is empty")
        if start.startswith(b"PAR1"):
            if compression(file) is not None:
                raise GraphError(
                    f"{file}: a Parquet file that is compressed once more: decompress it first"
                )
            formats.refuse_options(file, "Parquet", layout | coded)
            graph = formats.read_table(file, wanted, rules)
        elif start.startswith(b"%%MatrixMarket"):
            formats.refuse_options(file, "Matrix Market", layout | columns | coded)
            graph = formats.read_matrix(file, weight, rules)
        elif (format := format_of(file, start)) is not None:
            formats.refuse_options(
                file, format, layout | columns | (coded if format != "GML" else {})
            )
            graph = formats.read_network(file, format, encoding, weight, rules)
        else:
            names = [column for column in wanted if isinstance(column, str)]
            dialect = sniff(
                file,
                delimiter=delimiter,
                header=header,
                comments=comments,
                encoding=encoding,
                names=names,
            )
            size = os.path.getsize(file) / (1 << 20) if compression(file) is None else None
            with bar(f"Reading {os.path.basename(file)}", size, show=progress) as update:
                graph = formats.read_text(
                    dialect, wanted, rules, update, skip_bad_rows=skip_bad_rows
                )
        if nodes is not None:
            graph = graph.with_nodes(*formats.read_nodes(nodes, comments, encoding))
        if graph.n_nodes == 0:
            raise GraphError(f"{file}: no nodes found")
        if words := said_of_names(graph.ids):
            warnings.warn(f"{file}: {words}", stacklevel=users_line())
        return graph
    except FileNotFoundError as error:
        raise GraphError(f"{error.filename or file}: no such file") from None
    except IsADirectoryError:
        raise GraphError(f"{file}: this is a folder; give a file") from None
    except OSError as error:
        raise GraphError(f"{file}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise GraphError(f"{file}: too large for the memory of this machine") from None


_ADAPTERS: dict[str, Callable[..., Graph]] = {
    "numpy": Graph.from_numpy,
    "networkx": Graph.from_networkx,
    "scipy": Graph.from_scipy,
    "pandas": Graph.from_pandas,
    "pyarrow": Graph.from_arrow,
    "torch_geometric": Graph.from_pyg,
    "igraph": Graph.from_igraph,
}


def is_anndata(data: object) -> bool:
    """Whether it has the parts of an ``AnnData`` that hold a graph."""
    return all(hasattr(data, part) for part in ("obs", "obs_names", "obsm", "obsp"))


def as_graph(data: object, **options: object) -> Graph:
    """A `Graph` from a file, a networkx, igraph or PyG graph, a matrix, a table, an AnnData, or a
    list of pairs.

    A table, of pandas, pyarrow, polars or DuckDB, has one row per tie. A list has pairs, or triples
    (id, id, weight). ``options`` go to the reader or constructor that the object needs, for example
    ``weight="calls"``; a ``Graph`` is returned as it is and takes none.

    >>> as_graph([("ann", "bob", 2), ("bob", "cid", 1)])
    Graph(n_nodes=3, n_edges=2)
    """
    if isinstance(data, Graph):
        if options:
            raise GraphError(f"a Graph takes no options, got {', '.join(options)}")
        return data
    if isinstance(data, (str, os.PathLike)):
        return read_graph(data, **cast("Any", options))
    if isinstance(data, (list, tuple, Iterator)):
        weight = options.pop("weight", None)
        if weight is not None and weight is not False:
            raise GraphError(
                "an edge list has no columns: its weights are the third of each triple, got "
                f"{weight!r}"
            )
        return Graph.from_edges(
            [edge[:2] for edge in data] if weight is False else data, **cast("Any", options)
        )
    libraries = (kind.__module__.partition(".")[0] for kind in type(data).__mro__)
    make = next((_ADAPTERS[library] for library in libraries if library in _ADAPTERS), None)
    if make is None and hasattr(data, "__arrow_c_stream__"):  # polars, DuckDB and others
        make = Graph.from_arrow
    if make is None and is_anndata(data):
        make = Graph.from_anndata
    if make is None:
        raise GraphError(
            f"cannot make a graph of {type(data).__name__}: give a file, a networkx, igraph or "
            "PyG graph, a matrix, "
            "an AnnData, a table with one row per tie (a lazy one: after collect()), or a list of "
            "pairs or triples"
        )
    return make(data, **options)
