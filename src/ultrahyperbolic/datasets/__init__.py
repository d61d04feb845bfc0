"""Known graphs, by name or by function."""

from collections.abc import Callable
from pathlib import Path

from ..graph import Graph, GraphError
from . import coauthors, nouns
from .coauthors import nips
from .nouns import wordnet
from .zachary import karate, karate_matrix

__all__ = [
    "available",
    "davis",
    "karate",
    "karate_matrix",
    "lesmis",
    "load",
    "names",
    "nips",
    "wordnet",
]


def lesmis() -> Graph:
    """Les Misérables: 77 characters, 254 ties, the weight being the chapters in which both appear
    (Knuth 1993).
    """
    import networkx

    return Graph.from_networkx(networkx.les_miserables_graph(), name="lesmis")


def davis() -> Graph:
    """Davis's Southern women: 18 women and the 14 events they attended, 89 ties (Davis, Gardner and
    Gardner 1941).

    The column ``kind`` of its nodes says which is which.
    """
    import networkx

    original = networkx.davis_southern_women_graph()
    graph = Graph.from_networkx(original, name="davis")
    kinds = ["event" if original.nodes[node]["bipartite"] else "woman" for node in graph.ids]
    return graph.with_nodes(graph.ids, attributes={"kind": kinds})


_KNOWN: dict[str, tuple[str, Callable[[], Graph]]] = {
    "karate": ("Zachary's karate club: 34 members, 78 friendships, weighted", karate),
    "lesmis": ("Les Misérables: 77 characters, 254 ties, weighted", lesmis),
    "davis": ("Davis's Southern women: 18 women at 14 events, 89 ties", davis),
    "wordnet-mammals": (
        "WordNet's mammals: 1,182 synsets, 6,542 hypernym pairs (needs WordNet's data.noun)",
        wordnet,
    ),
    "nips": ("NIPS 1988-2003: 2,715 co-authors, 4,733 ties, weighted (downloaded once)", nips),
}


def names() -> dict[str, str]:
    """The names that `load` knows, each with a line that says what it is.

    >>> list(names())
    ['karate', 'lesmis', 'davis', 'wordnet-mammals', 'nips']
    """
    return {name: line for name, (line, _) in _KNOWN.items()}


def load(name: str) -> Graph:
    """A known graph by its name.

    >>> load("karate")
    Graph(n_nodes=34, n_edges=78, source='karate')
    """
    _check(name)
    return _KNOWN[name][1]()


def available(name: str) -> bool:
    """Whether `load` can load a graph without a download.

    >>> available("karate")
    True
    """
    _check(name)
    needs = {
        "wordnet-mammals": nouns.places,
        "nips": coauthors.places,
    }  # a file, which may be there
    return name not in needs or any(map(Path.is_file, needs[name]()))


def _check(name: str) -> None:
    if name not in _KNOWN:
        raise GraphError(f"no data set {name!r}: there are {', '.join(_KNOWN)}")
