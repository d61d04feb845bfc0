"""Components, and δ where there are several, against loops over all pairs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from ultrahyperbolic import Embedding, Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.evaluation import (
    component_delta,
    components,
    delta,
    evaluate,
    over_pairs,
    strength_spearman,
)
from ultrahyperbolic.evaluation import hierarchy as room
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.flow import current_flow


def delta_by_loop(graph, table):
    """δ from networkx's components and a table of all distances."""
    joined = nx.Graph()
    joined.add_nodes_from(range(graph.n_nodes))
    joined.add_edges_from(graph.edges.tolist())
    parts = list(nx.connected_components(joined))
    far = max((table[i][j] for part in parts for i in part for j in part if i != j), default=0.0)
    found = np.zeros(graph.n_nodes)
    for part in parts:
        for i in part:
            found[i] = sum(table[i][j] for j in part if j != i) + (graph.n_nodes - len(part)) * far
    return found


def scattered(n=40, edges=26, seed=0):
    """Components of many sizes, among them nodes alone and pairs."""
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, edges))
    return Graph.from_arrays(
        i[i != j], j[i != j], rng.integers(1, 4, (i != j).sum()).astype(float), ids=n
    )


@pytest.mark.parametrize("seed", range(5))
def test_components_are_networkx_s(seed):
    graph = scattered(60, 40 + 5 * seed, seed)
    joined = nx.Graph(graph.edges.tolist())
    joined.add_nodes_from(range(60))
    found = components(graph)
    assert {
        frozenset(np.flatnonzero(found == label).tolist()) for label in set(found.tolist())
    } == set(map(frozenset, nx.connected_components(joined)))
    _, first = np.unique(found, return_index=True)
    assert (np.diff(first) > 0).all(), "numbered by their first nodes"


def test_a_long_path_in_any_order_is_one_component():
    for seed in range(3):
        nodes = np.random.default_rng(seed).permutation(5000)
        assert not components(Graph.from_arrays(nodes[:-1], nodes[1:], ids=5000)).any()


def within_components(graph, scores, others):
    """The mean of Spearman's ρ of two scores in each component, by its size, where both differ."""
    joined = nx.Graph(graph.edges.tolist())
    found = []
    for nodes in map(sorted, nx.connected_components(joined)):
        score, other = scores[nodes], others[nodes]
        if np.ptp(score) > 0 and np.ptp(other) > 0:
            found.append((len(nodes), spearmanr(score, other).statistic))
    return np.average([rho for _, rho in found], weights=[size for size, _ in found])


@pytest.fixture(params=[1000, 3, 1], ids=["as small ones", "both", "as large ones"])
def ways(request, monkeypatch):
    """Small components are measured together, large ones each by itself."""
    monkeypatch.setattr(room, "_SMALL", request.param)
    monkeypatch.setattr(room, "_AT_ONCE", 50)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("seed", range(3))
def test_against_a_loop(embed, table_of, seed):
    graph = scattered(seed=seed)
    points, space = embed(graph, seed)
    truth = delta_by_loop(graph, table_of(points, space))
    tolerance = 1e-9 if points.dtype == torch.float64 else 1e-5
    np.testing.assert_allclose(delta(points, space, graph), truth, rtol=tolerance)
    np.testing.assert_allclose(over_pairs(graph, points, space).delta, truth, rtol=tolerance)
    measures = evaluate(graph, points, space)
    for name, score in (
        ("spearman_all", graph.strength),
        ("delta_centrality", current_flow(graph).values),
    ):
        expected = within_components(graph, score, -truth)
        assert measures[name] == pytest.approx(expected, abs=1e-9 if tolerance < 1e-6 else 5e-2), (
            name
        )


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("level", [-3.0, 0.0, 50.0])
@pytest.mark.parametrize("seed", range(2))
def test_with_popularity(embed, table_of, seed, level):
    # At a high level every distance is negative, the longest too.
    graph = scattered(seed=seed)
    points, space = embed(graph, seed)
    popularity = np.random.default_rng(seed).normal(level, 1.0, 40)
    truth = delta_by_loop(
        graph, np.array(table_of(points, space)) - (popularity[:, None] + popularity)
    )
    tolerance = 1e-9 if points.dtype == torch.float64 else 1e-4
    scale = np.abs(truth).max()
    found = delta(points, space, graph, popularity=popularity)
    np.testing.assert_allclose(found, truth, rtol=tolerance, atol=tolerance * scale)
    in_one_pass = over_pairs(graph, points, space, popularity=popularity).delta
    np.testing.assert_allclose(in_one_pass, truth, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("dissimilarity", ["smoothed", "extrinsic", "broken"])
def test_of_any_dissimilarity(signature, dissimilarity):
    space = PseudoHyperboloid(*signature, -0.25)
    graph, points = scattered(), space.random(40, generator=torch.Generator().manual_seed(0))
    table = space.cdist(points, dissimilarity=dissimilarity).tolist()
    np.testing.assert_allclose(
        delta(points, space, graph, dissimilarity=dissimilarity),
        delta_by_loop(graph, table),
        rtol=1e-9,
    )


def test_a_connected_graph_is_one_component():
    graph, space = datasets.karate(), PseudoHyperboloid(2, 2)
    points = space.random(34, generator=torch.Generator().manual_seed(0))
    assert component_delta(graph, points, space) is None
    plain = delta(points, space)
    found = delta(points, space, graph)
    np.testing.assert_allclose(found, plain, rtol=1e-14)
    assert over_pairs(graph, points, space).delta.tolist() == found.tolist()
    assert Embedding(graph.ids, points.numpy(), space, graph=graph).delta.tolist() == found.tolist()


def test_the_smallest_graphs():
    line = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
    assert delta(line[:2], Euclidean(1), Graph.from_edges([(0, 1)])).tolist() == [1.0, 1.0]
    assert delta(line[:2], Euclidean(1), Graph.from_arrays([], [], ids=2)).tolist() == [0.0, 0.0]
    # A pair and a node alone: this is 2 · 1² from the others wherever it lies.
    pair = Graph.from_edges([(0, 1)], nodes=range(3))
    for where in (3.0, -1e6):
        line[2] = where
        assert delta(line, Euclidean(1), pair).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="a row for each of the 3 nodes"):
        delta(line[:2], Euclidean(1), pair)


def test_where_other_components_lie_changes_nothing():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)])
    near = torch.tensor([[0.0], [1.0], [2.0], [0.0], [1.0]], dtype=torch.float64)
    far = near + torch.tensor([[0.0], [0.0], [0.0], [500.0], [500.0]], dtype=torch.float64)
    assert delta(near, Euclidean(1), graph).tolist() == delta(far, Euclidean(1), graph).tolist()
    assert delta(near, Euclidean(1)).tolist() != delta(far, Euclidean(1)).tolist()


def test_a_loaded_folder_keeps_its_delta(tmp_path):
    graph, space = scattered(), PseudoHyperboloid(2, 1)
    points = space.random(40, generator=torch.Generator().manual_seed(0)).numpy()
    embedding = Embedding(list(graph.ids), points, space, graph=graph)
    assert embedding.delta.tolist() == delta(torch.from_numpy(points), space, graph).tolist()
    embedding.save(tmp_path / "e")
    assert Embedding.load(tmp_path / "e").delta.tolist() == embedding.delta.tolist()


def trees(sizes, children=3):
    """Trees in which node k > 0 hangs from node (k - 1) // children, and where a tidy drawing has
    their nodes.
    """
    edges, places, first = [], [], 0
    for number, size in enumerate(sizes):
        angle, radius = np.zeros(size), np.zeros(size)
        width = np.full(size, 2 * np.pi)
        for k in range(1, size):
            parent = (k - 1) // children
            edges.append((first + parent, first + k))
            width[k] = width[parent] / children
            angle[k] = angle[parent] + width[k] * ((k - 1) % children - 1)
            radius[k] = radius[parent] + 1.0
        # Small trees lie in the middle of it all, and large ones far out.
        shift = 40.0 * size / max(sizes) * np.array([np.cos(number), np.sin(number)])
        places.append(np.column_stack((radius * np.cos(angle), radius * np.sin(angle))) + shift)
        first += size
    return Graph.from_arrays(*np.array(edges).T, ids=first), torch.from_numpy(
        np.concatenate(places)
    )


def test_roots_stand_above_leaves_in_several_trees():
    graph, points = trees([121, 40, 40, 13, 4, 1])
    sums = delta(points, Euclidean(2), graph)
    rho, plain = (
        strength_spearman(graph, sums),
        strength_spearman(graph, delta(points, Euclidean(2))),
    )
    assert rho > 0.35 > 0.1 > plain
    assert sums.argmin() == 0, "the root of the largest tree is at the top"
    label = components(graph)
    largest = [sums[label == part].max() for part in range(3)]
    smallest = [sums[label == part].min() for part in range(6)]
    assert max(largest) < min(smallest[3:]), (
        "nodes of a large component rank above those of small ones"
    )
    assert sums.argmax() == graph.n_nodes - 1, "and the node alone comes last"
