"""One door for everything that can become a graph."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from .errors import GraphError
from .graph import Graph
from .readers import read_graph

_ADAPTERS: dict[str, Callable[..., Graph]] = {
    "networkx": Graph.from_networkx,
    "scipy": Graph.from_scipy,
    "pandas": Graph.from_pandas,
    "pyarrow": Graph.from_arrow,
    "torch_geometric": Graph.from_pyg,
    "igraph": Graph.from_igraph,
}


def as_graph(data: object, **options: object) -> Graph:
    """A :class:`Graph` from a file name, a networkx, igraph or PyG graph, a matrix, or a table with a row an edge.

    ``options`` go to the reader or constructor that the object needs; a ``Graph`` is returned as it is and takes none.

    >>> import numpy as np
    >>> as_graph(np.array([[0, 1], [1, 0]]))
    Graph(n_nodes=2, n_edges=1)
    """
    if isinstance(data, Graph):
        if options:
            raise GraphError(f"a Graph takes no options, got {', '.join(options)}")
        return data
    make = _constructor(data)
    if make is None:
        raise GraphError(
            f"cannot make a graph of {type(data).__name__}: give a file, a networkx, igraph or PyG graph, a matrix, a "
            "table of edges, or use Graph.from_edges"
        )
    return make(data, **options)


def _constructor(data: object) -> Callable[..., Graph] | None:
    """What makes a graph of such an object."""
    if isinstance(data, (str, os.PathLike)):
        return read_graph
    if isinstance(data, np.ndarray):
        return Graph.from_numpy
    libraries = (kind.__module__.partition(".")[0] for kind in type(data).__mro__)
    return next((_ADAPTERS[library] for library in libraries if library in _ADAPTERS), None)
