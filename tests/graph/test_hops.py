"""Hops against networkx, by scipy and by numpy alone."""

from __future__ import annotations

import tracemalloc

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


@pytest.fixture(params=["scipy", "numpy"])
def by(request, monkeypatch):
    """Which of the two counts."""
    if request.param == "scipy":
        pytest.importorskip("scipy")
    monkeypatch.setattr(hops, "find_spec", lambda name: name if request.param == "scipy" else None)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("block", [None, 7, "together"])
def test_hops_are_shortest_paths(graph, block, by, monkeypatch):
    if block == "together":  # as in a large graph
        monkeypatch.setattr(hops, "_LARGE", 0)
        block = None
    if block is not None:  # some sources at a time, and some edges
        monkeypatch.setattr(hops, "_ENTRIES", 7 * graph().n_nodes)
        monkeypatch.setattr(hops, "_EDGES", 5)
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


def test_no_sources_and_no_nodes(by):
    assert hops_from(datasets.karate(), np.empty(0, np.int64)).shape == (0, 34)
    assert hops_from(Graph.from_arrays([], [], ids=0), np.empty(0, np.int64)).shape == (0, 0)


@pytest.mark.parametrize("edges", [np.stack((np.zeros(8000, int), np.arange(1, 8001))), None], ids=["star", "random"])
def test_memory_is_bounded(edges, by):
    if edges is None:
        edges = np.random.default_rng(0).integers(0, 4000, (2, 60_000))
    graph = Graph.from_arrays(*edges)
    assert graph.neighbor_lists
    tracemalloc.start()
    found = hops_from(graph, np.arange(512))
    peak = tracemalloc.get_traced_memory()[1] - found.nbytes
    tracemalloc.stop()
    assert peak < hops.SEARCH_BYTES
