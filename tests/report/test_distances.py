from __future__ import annotations

import numpy as np
import pytest

from report.conftest import points_on, ring
from ultrahyperbolic import Graph, PseudoHyperboloid
from ultrahyperbolic.report import distances as room
from ultrahyperbolic.report.distances import distances


@pytest.mark.parametrize("popularity", [None, np.linspace(3.0, 9.0, 20)])
def test_every_pair_is_counted_once_at_its_distance(geometry, popularity):
    embedding = ring(list(range(20)), geometry)
    seen = distances(embedding.points, geometry, embedding.graph, popularity)
    assert seen.all_edges
    assert seen.all_pairs
    table = embedding.distances()
    if popularity is not None:
        table = table - (popularity[:, None] + popularity)
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


def test_large_graphs_are_sampled_and_the_shares_are_about_right(monkeypatch):
    embedding = ring(list(range(200)), PseudoHyperboloid(2, 2, -0.5))
    whole = distances(embedding.points, embedding.manifold, embedding.graph, None)
    monkeypatch.setattr(room, "_CHUNK", 7)
    monkeypatch.setattr(room, "_DRAWN", 15_000)
    drawn = distances(embedding.points, embedding.manifold, embedding.graph, None)
    assert drawn.edges.sum() == whole.edges.sum()  # all of them, in chunks
    assert not drawn.all_pairs
    shares = []
    for seen in (whole, drawn):
        middle = seen.bins[:-1] + 0.5 * np.diff(seen.bins)
        shares.append(np.average(middle, weights=seen.others))
    assert shares[0] == pytest.approx(shares[1], rel=0.05)
    monkeypatch.setattr(room, "_DRAWN", 150)
    assert not distances(embedding.points, embedding.manifold, embedding.graph, None).all_edges


@pytest.mark.parametrize("n", [1, 2])
def test_few_points(n):
    manifold = PseudoHyperboloid(2, 1)
    for popularity in (None, np.full(n, 5.0)):
        seen = distances(points_on(manifold, n), manifold, None, popularity)
        assert seen.others.sum() == n - 1
        assert (np.diff(seen.bins) > 0).all()


def test_strong_ties_that_came_out_long_are_found_and_the_weakest_are_never_strong():
    ids = range(6)
    points = np.column_stack((np.ones(6), np.zeros((6, 2))))
    space = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    points[:, 0], points[:, 2] = np.cosh(space), np.sinh(space)
    manifold = PseudoHyperboloid(1, 1)
    ties = [(0, k, 2.0 if k == 4 else 1.0) for k in range(1, 6)]
    (tie,) = distances(points, manifold, Graph.from_edges(ties, nodes=ids), None).long
    assert (tie.ends, tie.weight, tie.longer_than) == ((0, 4), 2.0, 0.6)
    alike = Graph.from_edges([(0, k) for k in range(1, 6)], nodes=ids)
    assert distances(points, manifold, alike, None).long == []
