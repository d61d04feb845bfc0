"""A graph from anything that can become one."""

import os
from collections.abc import Callable, Iterator
from typing import Any, cast

from .errors import GraphError
from .graph import Graph
from .readers import read_graph

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
    """A `Graph` from a file, a networkx, igraph or PyG graph, a matrix, a table, an AnnData, or a list of pairs.

    A table, of pandas, pyarrow, polars or DuckDB, has one row per edge. A list has pairs, or triples (id, id, weight).
    ``options`` go to the reader or constructor that the object needs, for example ``weight="calls"``; a ``Graph`` is
    returned as it is and takes none.

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
                f"a list of edges has no columns: its weights are the third of each triple, got {weight!r}"
            )
        return Graph.from_edges([edge[:2] for edge in data] if weight is False else data, **cast("Any", options))
    libraries = (kind.__module__.partition(".")[0] for kind in type(data).__mro__)
    make = next((_ADAPTERS[library] for library in libraries if library in _ADAPTERS), None)
    if make is None and hasattr(data, "__arrow_c_stream__"):  # polars, DuckDB and others
        make = Graph.from_arrow
    if make is None and is_anndata(data):
        make = Graph.from_anndata
    if make is None:
        raise GraphError(
            f"cannot make a graph of {type(data).__name__}: give a file, a networkx, igraph or PyG graph, a matrix, "
            "an AnnData, a table with one row per edge, or a list of pairs or triples"
        )
    return make(data, **options)
