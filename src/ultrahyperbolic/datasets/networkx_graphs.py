"""Known graphs that networkx carries."""

from ..graph import Graph


def lesmis() -> Graph:
    """Les Misérables: 77 characters, 254 ties, the weight being the chapters in which both appear (Knuth 1993)."""
    import networkx

    return Graph.from_networkx(networkx.les_miserables_graph(), name="lesmis")


def davis() -> Graph:
    """Davis's Southern women: 18 women and the 14 events they attended, 89 ties (Davis, Gardner and Gardner 1941).

    The column ``kind`` of its nodes says which is which.
    """
    import networkx

    original = networkx.davis_southern_women_graph()
    graph = Graph.from_networkx(original, name="davis")
    kinds = ["event" if original.nodes[node]["bipartite"] else "woman" for node in graph.ids]
    return graph.with_nodes(graph.ids, attributes={"kind": kinds})
