"""The data: undirected weighted graphs with any ids, read from files or taken from other libraries' objects."""

from .convert import as_graph
from .errors import GraphError
from .graph import Graph
from .ids import NodeIds
from .readers import read_graph

__all__ = ["Graph", "GraphError", "NodeIds", "as_graph", "read_graph"]
