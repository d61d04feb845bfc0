"""Current-flow closeness against networkx, closed forms, and its own exact values where it is an
estimate.
"""

import networkx as nx
import numpy as np
import pytest
from scipy.stats import rankdata

from ultrahyperbolic.datasets import load
from ultrahyperbolic.graph import Graph, flow
from ultrahyperbolic.graph.flow import EXACT_NODES, Centrality, current_flow
from ultrahyperbolic.graph.network import grounded_inverse


def compiled(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> Centrality:
    """By elimination, which small graphs are not worth."""
    monkeypatch.setattr(flow, "_COMPILED", 0)
    return current_flow(graph)


def by_laplacian(graph: Graph) -> np.ndarray:
    """The definition, with the pseudo-inverse."""
    weights = graph.adjacency().toarray()
    laplacian = np.diag(weights.sum(1)) - weights
    inverse, n, values = np.linalg.pinv(laplacian, hermitian=True), graph.n_nodes, []
    for node in range(n):
        others = np.flatnonzero((graph.component == graph.component[node]) & (np.arange(n) != node))
        resistances = inverse[node, node] + inverse[others, others] - 2.0 * inverse[node, others]
        values.append(len(others) ** 2 / ((n - 1) * resistances.sum()) if len(others) else 0.0)
    return np.array(values)


def weighted(nx_graph: nx.Graph, seed: int, decades: float = 1.0) -> Graph:
    rng = np.random.default_rng(seed)
    ends = np.array(nx_graph.edges)
    return Graph.from_arrays(
        *ends.T, 10.0 ** (decades * rng.uniform(-1.0, 1.0, len(ends))), ids=len(nx_graph)
    )


GRAPHS = {
    "sparse": nx.gnm_random_graph(60, 90, seed=1),  # of several components, some of one node
    "dense": nx.gnm_random_graph(30, 300, seed=2),
    "tree": nx.random_labeled_tree(50, seed=3),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 9)),
    "hubs": nx.barabasi_albert_graph(80, 2, seed=4),
    "pair": nx.path_graph(2),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_definition_holds_dense_and_by_elimination(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = weighted(GRAPHS[name], 5)
    expected = by_laplacian(graph)
    for found in (current_flow(graph), compiled(graph, monkeypatch)):
        np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-12)
        assert not found.errors.any()


@pytest.mark.parametrize("name", ["karate", "lesmis"])
def test_it_is_networkx_s_information_centrality(name: str) -> None:
    graph = load(name)
    expected = nx.information_centrality(graph.to_networkx(), weight="weight")
    ratio = current_flow(graph).values / np.array([expected[node] for node in graph.ids])
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


def test_in_a_tree_it_is_the_length_of_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 100_000
    graph = Graph.from_arrays(np.arange(n - 1), np.arange(1, n))
    place = np.arange(n)
    farness = (place * (place + 1) + (n - 1 - place) * (n - place)) / 2
    np.testing.assert_allclose(current_flow(graph).values, (n - 1) / farness, rtol=1e-8)


def test_weights_over_twelve_orders_of_magnitude_keep_their_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two strong groups with a weak bridge: the Laplacian in floating point is singular but for its
    # rounding.
    strong = [
        (f"{side}{i}", f"{side}{j}", 1e6) for side in "ab" for i in range(6) for j in range(i)
    ]
    graph = Graph.from_edges([*strong, ("a0", "b0", 1e-6)])
    within, bridge = 2.0 / 6.0 / 1e6, 1e6
    expected = {
        "a0": 11 / (5 * within + 6 * bridge + 5 * within),
        "a1": 11 / (5 * within + 6 * (bridge + within)),
    }
    for found in (current_flow(graph), compiled(graph, monkeypatch)):
        assert found.values[graph.index("a0")] == pytest.approx(expected["a0"], rel=1e-9)
        assert found.values[graph.index("a1")] == pytest.approx(expected["a1"], rel=1e-9)


def test_the_inverse_is_made_of_sums_alone() -> None:
    rng = np.random.default_rng(6)
    ties = np.triu(10.0 ** rng.uniform(-6.0, 6.0, (150, 150)), 1)
    ties += ties.T
    grounded = np.where(np.arange(150) == 7, 1e-6, 0.0)
    inverse = grounded_inverse(ties, grounded)
    # All current leaves through the one tie to the ground: exactly so only if nothing is lost to
    # cancellation.
    np.testing.assert_allclose(grounded @ inverse, 1.0, rtol=1e-12)
    assert (inverse > 0.0).all()


@pytest.mark.parametrize(
    "nx_graph",
    [
        nx.barabasi_albert_graph(2000, 3, seed=1),
        nx.convert_node_labels_to_integers(nx.grid_2d_graph(40, 50)),
    ],
    ids=["hubs", "grid"],
)
def test_estimates_lie_within_their_errors(nx_graph: nx.Graph) -> None:
    graph = weighted(nx_graph, 7, 0.5)
    exact, found = current_flow(graph).values, current_flow(graph, exact_nodes=0)
    off = np.abs(found.values / exact - 1.0)
    assert np.median(off) < 0.01
    assert np.quantile(off, 0.95) < 0.05
    within = np.abs(found.values - exact) <= 2.0 * found.errors
    assert 0.9 < within.mean() < 0.99


def test_hubs_are_exact_where_the_rest_is_estimated() -> None:
    graph = Graph.from_networkx(nx.barabasi_albert_graph(2000, 3, seed=2))
    exact, found = current_flow(graph).values, current_flow(graph, exact_nodes=0).values
    first = np.argsort(-exact)[:10]
    assert set(np.argsort(-found)[:10]) == set(first)
    np.testing.assert_allclose(found[first], exact[first], rtol=2e-3)


def test_no_order_of_rows_shows() -> None:
    graph = load("lesmis")
    rows = [
        (graph.ids[i], graph.ids[j], w)
        for (i, j), w in zip(graph.edges, graph.weights, strict=True)
    ]
    np.random.default_rng(8).shuffle(rows)
    other = Graph.from_edges([(b, a, w) for a, b, w in rows])
    back = [other.index(node) for node in graph.ids]
    for exact_nodes in (EXACT_NODES, 0):
        one, two = (current_flow(each, exact_nodes=exact_nodes) for each in (graph, other))
        np.testing.assert_array_equal(one.values, two.values[back])
        np.testing.assert_array_equal(one.errors, two.errors[back])


def test_nodes_that_are_alike_have_equal_values(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = Graph.from_networkx(nx.wheel_graph(51))
    for found in (current_flow(wheel), compiled(wheel, monkeypatch)):
        assert len(np.unique(found.values)) == 2
        assert rankdata(-found.values, "min")[0] == 1


def test_a_unit_of_weight_is_one_of_centrality() -> None:
    graph = load("lesmis")
    for factor in (1e-200, 1e-3, 1e200):
        scaled = Graph.from_arrays(*graph.edges.T, factor * graph.weights, ids=graph.n_nodes)
        np.testing.assert_allclose(
            current_flow(scaled).values / factor, current_flow(graph).values, rtol=1e-9
        )


def test_what_an_estimate_cannot_do_is_said(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(3)
    ends = np.array(nx.gnm_random_graph(300, 600, seed=3).edges)
    graph = Graph.from_arrays(*ends.T, 10.0 ** rng.uniform(-12.0, 12.0, len(ends)))
    current_flow(graph, exact_nodes=0)
    assert "unreliable" in caplog.text


@pytest.mark.parametrize(
    "graph",
    [Graph.from_edges([]), Graph.from_edges([], nodes="ab"), Graph.from_edges([("a", "b")])],
)
def test_tiny_graphs(graph: Graph) -> None:
    expected = graph.degree / max(graph.n_nodes - 1, 1)
    np.testing.assert_allclose(current_flow(graph).values, expected, rtol=1e-9)
