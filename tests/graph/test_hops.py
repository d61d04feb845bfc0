"""Hops against networkx."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from ultrahyperbolic import as_graph, datasets
from ultrahyperbolic.graph import Graph, hops
from ultrahyperbolic.graph.hops import hops_from

GRAPHS = {
    "karate": datasets.karate,
    "tree": lambda: as_graph(nx.balanced_tree(3, 4)),
    "two components": lambda: as_graph(nx.disjoint_union(nx.path_graph(50), nx.cycle_graph(40))),
    "isolated nodes": lambda: Graph.from_arrays([0], [1], ids=4),
    "star": lambda: as_graph(nx.star_graph(300)),
    "random": lambda: as_graph(nx.gnm_random_graph(300, 500, seed=0)),
    "long path": lambda: as_graph(nx.path_graph(150)),
    "no edges": lambda: Graph.from_arrays([], [], ids=4),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize(
    "few", [hops._FEW, 0, 1 << 20], ids=["as it is", "edge by edge", "all edges of a level"]
)
def test_hops_are_shortest_paths(graph, few, monkeypatch):
    monkeypatch.setattr(hops, "_FEW", few)
    monkeypatch.setattr(hops, "_NODES", 7)
    graph = graph()
    known = nx.Graph()
    known.add_nodes_from(range(graph.n_nodes))
    known.add_edges_from(graph.edges.tolist())
    sources = np.arange(graph.n_nodes - 1, -1, -2)
    found = hops_from(graph, sources)
    assert found.dtype == np.int32
    assert found.shape == (len(sources), graph.n_nodes)
    for row, source in zip(found, sources.tolist(), strict=True):
        lengths = nx.single_source_shortest_path_length(known, source)
        assert row.tolist() == [lengths.get(node, -1) for node in range(graph.n_nodes)]


def test_a_source_may_be_given_twice():
    found = hops_from(datasets.karate(), np.array([3, 0, 3]))
    np.testing.assert_array_equal(found[0], found[2])
    assert found[0, 3] == found[1, 0] == 0


def test_long_paths_are_followed_by_their_ends_alone(monkeypatch):
    """Not all edges for each of 5,000 levels: no more than twice what a search from each source
    looks at.
    """
    seen, reduce = [], np.bitwise_or.reduceat
    spying = SimpleNamespace(
        reduceat=lambda *a: seen.append(len(a[0])) or reduce(*a), at=np.bitwise_or.at
    )
    monkeypatch.setattr(np, "bitwise_or", spying)
    graph = Graph.from_arrays(np.arange(4999), np.arange(1, 5000))
    found = hops_from(graph, np.arange(64))
    np.testing.assert_array_equal(found, np.abs(np.arange(64)[:, None] - np.arange(5000)))
    assert sum(seen) <= 2 * 64 * 2 * graph.n_edges


def test_no_sources_and_no_nodes():
    assert hops_from(datasets.karate(), np.empty(0, np.int64)).shape == (0, 34)
    assert hops_from(Graph.from_arrays([], [], ids=0), np.empty(0, np.int64)).shape == (0, 0)


@pytest.mark.parametrize(
    "edges", [np.stack((np.zeros(8000, int), np.arange(1, 8001))), None], ids=["star", "random"]
)
def test_memory_is_bounded(edges):
    if edges is None:
        edges = np.random.default_rng(0).integers(0, 4000, (2, 60_000))
    graph = Graph.from_arrays(*edges)
    assert graph.neighbor_lists
    tracemalloc.start()
    found = hops_from(graph, np.arange(512))
    peak = tracemalloc.get_traced_memory()[1] - found.nbytes
    tracemalloc.stop()
    assert peak < hops.SEARCH_BYTES
