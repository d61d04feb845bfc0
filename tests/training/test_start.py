"""Where trainings begin."""

from __future__ import annotations

import networkx as nx
import numpy as np

import ultrahyperbolic as uh
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph.flow import centrality_of
from ultrahyperbolic.training.start import SpectralStart


def test_components_start_farther_apart_than_any_path_is_long():
    graph = uh.Graph.from_edges([("a", "b"), ("b", "c"), ("x", "y")])
    hops, landmarks = SpectralStart(graph).hops
    assert landmarks.tolist() == [0, 1, 2, 3, 4]
    assert hops[:3, :3].tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert (hops[:3, 3:] == 4).all()
    assert (hops[3:, :3] == 4).all()


def test_central_nodes_start_near_the_middle_of_their_component():
    """Who is farther than the mean from all others is not moved, and who is nearer not past what
    rank and value say.
    """
    parts = [nx.barabasi_albert_graph(150, 3, seed=4), nx.path_graph(9), nx.complete_graph(4)]
    graph = uh.as_graph(nx.disjoint_union_all(parts))
    start, central = SpectralStart(graph), centrality_of(graph).values
    resistance = (central.max() / central).round(6)
    before = np.random.default_rng(0).standard_normal((163, 3)) + 9.0 * np.repeat(
        np.eye(3), [150, 9, 4], axis=0
    )
    after = before.copy()
    start._draw_in(after)
    for first, end in ((0, 150), (150, 159), (159, 163)):
        far, middle = resistance[first:end], before[first:end].mean(0)
        old, new = (
            np.linalg.norm(places[first:end] - middle, axis=1) for places in (before, after)
        )
        by_value = (far - far.min()) / max(far.mean() - far.min(), 1e-9)
        by_rank = np.empty_like(old)
        by_rank[np.lexsort((old, far))] = np.sort(old)
        np.testing.assert_allclose(
            new, np.minimum(old, np.maximum(by_value * old, by_rank)), atol=1e-12
        )
        assert new[far == far.min()].min() <= new.min() + 1e-12
    np.testing.assert_allclose(after[159:], before[159:], atol=1e-14)  # which nothing tells apart


def test_nodes_that_few_landmarks_place_start_between_their_neighbours(monkeypatch):
    """As widely spread as landmarks alone have them, and with ties that are shorter beside other
    pairs.
    """
    graph = uh.as_graph(nx.watts_strogatz_graph(400, 6, 0.2, seed=2)).with_nodes(
        [*range(400), "alone"]
    )
    monkeypatch.setattr("ultrahyperbolic.training.start._ENTRIES", 0)
    (first, second), others = (
        graph.edges.T,
        np.random.default_rng(0).integers(400, size=(2000, 2)).T,
    )
    found = []
    start = SpectralStart(graph)
    placed = start.hyperbolic.coordinates(4, 1.0)
    for places in (placed, start._between_neighbors(placed)):
        lengths = [
            np.square(places[i] - places[j]).sum(1).mean() for i, j in ((first, second), others)
        ]
        found.append((lengths[0] / lengths[1], places))
    (before, old), (after, new) = found
    assert after < 0.8 * before
    np.testing.assert_allclose(new.mean(0), old.mean(0), atol=1e-12)
    np.testing.assert_allclose(new.std(0), old.std(0), rtol=1e-12)


def test_flat_space_starts_by_classical_scaling():
    start = SpectralStart(uh.datasets.lesmis())
    squares = np.square(start.hops[0] / start.hops[0].max())
    centring = np.eye(len(squares)) - 1.0 / len(squares)
    values, vectors = np.linalg.eigh(-0.5 * centring @ squares @ centring)
    expected, found = vectors[:, -3:] * np.sqrt(values[-3:]), start._flat.coordinates(3, 1.0)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-12)


def test_the_seed_moves_nodes_by_little():
    """What two seeds share is what the graph says: the ranking is to be a property of the graph."""
    start = SpectralStart(uh.datasets.lesmis())
    one, other = start(Geometry(3, 3), 0), start(Geometry(3, 3), 1)
    assert 0.0 < np.abs(one - other).max() < 0.05 * one.std(0).max()
