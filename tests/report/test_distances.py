from __future__ import annotations

import numpy as np
import pytest
import torch

from report.conftest import points_on, ring
from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.report import space as room
from ultrahyperbolic.report.space import KINDS, distances


def expected_kinds(points, manifold, pairs):
    """By the logarithm: what it says of a pair is what the page says."""
    counts = dict.fromkeys(KINDS, 0)
    for i, j in pairs:
        vector, exists = manifold.logmap(torch.tensor(points[i]), torch.tensor(points[j]))
        character = int(manifold.causal_character(vector)) if exists else None
        counts[
            {1: "space-like", 0: "null", -1: "time-like", None: "joined by no geodesic"}[character]
        ] += 1
    return list(counts.values())


def test_kinds_are_those_of_the_geodesics(geometry):
    embedding = ring(list(range(14)), geometry)
    seen = distances(embedding.points, geometry, embedding.graph, None)
    tied = {tuple(pair) for pair in embedding.graph.edges.tolist()}
    free = [(i, j) for i in range(14) for j in range(i + 1, 14) if (i, j) not in tied]
    assert seen.edge_kinds.tolist() == expected_kinds(embedding.points, geometry, tied)
    assert seen.other_kinds.tolist() == expected_kinds(embedding.points, geometry, free)


def test_every_pair_is_counted_once(geometry):
    embedding = ring(list(range(20)), geometry)
    seen = distances(embedding.points, geometry, embedding.graph, None)
    assert seen.all_edges
    assert seen.all_pairs
    assert seen.edges.sum() == seen.edge_kinds.sum() == embedding.graph.n_edges
    assert seen.others.sum() == seen.other_kinds.sum() == 190 - embedding.graph.n_edges
    matrix = embedding.distances()
    lengths = [matrix[i, j] for i, j in embedding.graph.edges]
    assert (
        seen.edges.tolist()
        == np.histogram(np.minimum(np.float32(lengths), seen.bins[-1]), seen.bins)[0].tolist()
    )


def test_distances_are_less_the_popularity_of_both_nodes(geometry):
    embedding = ring(list(range(20)), geometry)
    popularity = np.linspace(3.0, 9.0, 20)
    seen = distances(embedding.points, geometry, embedding.graph, popularity)
    table = embedding.distances() - (popularity[:, None] + popularity)
    tied = np.zeros((20, 20), bool)
    tied[tuple(embedding.graph.edges.T)] = True
    free = np.triu(~tied, 1)
    for counts, lengths in ((seen.edges, table[tied]), (seen.others, table[free])):
        # One bin may be left or entered by rounding.
        expected = np.histogram(np.minimum(np.float32(lengths), seen.bins[-1]), seen.bins)[0]
        assert np.abs(counts - expected).sum() <= 2
        assert counts.sum() == len(lengths)
    assert seen.bins[0] == pytest.approx(min(0.0, table[tied | free].min()), rel=1e-6)
    assert (np.diff(seen.bins) > 0).all()


def test_chunks_change_nothing(monkeypatch):
    embedding = ring(list(range(30)), PseudoHyperboloid(2, 1))
    whole = distances(embedding.points, embedding.manifold, embedding.graph, None)
    monkeypatch.setattr(room, "_CHUNK", 7)
    parts = distances(embedding.points, embedding.manifold, embedding.graph, None)
    assert whole.others.tolist() == parts.others.tolist()
    assert whole.edges.tolist() == parts.edges.tolist()


def test_large_graphs_are_sampled_and_the_shares_are_about_right(monkeypatch):
    embedding = ring(list(range(200)), PseudoHyperboloid(2, 2, -0.5))
    whole = distances(embedding.points, embedding.manifold, embedding.graph, None)
    monkeypatch.setattr(room, "_DRAWN", 15_000)
    drawn = distances(embedding.points, embedding.manifold, embedding.graph, None)
    assert drawn.all_edges
    assert not drawn.all_pairs
    shares = [some.other_kinds / some.other_kinds.sum() for some in (whole, drawn)]
    np.testing.assert_allclose(*shares, atol=0.02)
    monkeypatch.setattr(room, "_DRAWN", 150)
    assert not distances(embedding.points, embedding.manifold, embedding.graph, None).all_edges


def test_light_rays_and_equal_points_are_null():
    manifold = PseudoHyperboloid(1, 1)
    x = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    points = torch.cat((x, x, x + torch.tensor([[0.0, 2.0, 2.0]], dtype=torch.float64))).numpy()
    assert distances(points, manifold, None, None).other_kinds.tolist() == [0, 3, 0, 0]
    assert distances(np.ones((2, 2)), Euclidean(2), None, None).other_kinds.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("n", [1, 2])
def test_few_points(n):
    manifold = PseudoHyperboloid(2, 1)
    for popularity in (None, np.full(n, 5.0)):
        seen = distances(points_on(manifold, n), manifold, None, popularity)
        assert seen.others.sum() == n - 1
        assert (np.diff(seen.bins) > 0).all()
