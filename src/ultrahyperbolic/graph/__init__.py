"""The data: undirected weighted graphs with any ids, read from files or taken from other libraries'
objects.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import GraphError
    from .graph import Graph
    from .ids import NodeIds
    from .readers import as_graph, read_graph

__all__ = ["Graph", "GraphError", "NodeIds", "as_graph", "read_graph"]

_HOMES = {
    "Graph": ".graph",
    "GraphError": ".errors",
    "NodeIds": ".ids",
    "as_graph": ".readers",
    "read_graph": ".readers",
}


def __getattr__(name: str) -> object:
    """What is asked for, imported only then: reading an embedding needs a small part of this
    room.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
