"""Communities by D_γ."""

from __future__ import annotations

import time

import networkx as nx
import numpy as np
import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation import clusters, communities
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph


def agreement(found, known):
    """Normalised mutual information: 1 for the same groups, 0 for unrelated ones."""
    first, second = (np.unique(groups, return_inverse=True)[1] for groups in (found, known))
    shares = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(shares, (first, second), 1.0 / len(first))
    both, rows, columns = shares[shares > 0], shares.sum(1), shares.sum(0)
    mutual = (both * np.log(both / np.outer(rows, columns)[shares > 0])).sum()
    entropy = -(rows * np.log(rows)).sum() - (columns * np.log(columns)).sum()
    return 2.0 * mutual / entropy


def graph_of(made):
    return Graph.from_edges(list(made.edges), nodes=range(len(made)))


@pytest.mark.parametrize("signature", [(3, 3), (4, 0)], ids=str)
def test_planted_blocks_are_found(signature):
    graph = graph_of(nx.planted_partition_graph(4, 12, 0.7, 0.03, seed=1))
    p, q = signature
    found = uh.embed(graph, p=p, q=q, iterations=400, quiet=True).cluster("map")
    assert agreement(found, np.repeat(np.arange(4), 12)) > 0.9


def test_a_ring_of_cliques_is_taken_apart():
    graph = graph_of(nx.ring_of_cliques(8, 6))
    found = uh.embed(graph, iterations=400, quiet=True).cluster("map")
    assert agreement(found, np.repeat(np.arange(8), 6)) == pytest.approx(1.0)
    assert found.dtype == np.int64


def test_the_club_splits_as_it_did():
    club = uh.datasets.karate()
    sides = club.attributes["club"].tolist()
    found = uh.embed(club, quiet=True).cluster("map")
    assert 2 <= found.max() + 1 <= 5
    assert (
        agreement(found, sides) > 0.4
    )  # four groups, each almost of one side; by chance about 0.1


def strongly_tied(n=24):
    """A ring of weak ties, and strong ones across it."""
    rng = np.random.default_rng(0)
    rows = [(k, (k + step) % n, float(rng.integers(1, 6))) for k in range(n) for step in (1, 2)]
    strong = [(k, k + n // 2, 500.0) for k in (0, 3, 6, 9)]
    return strong, rows + strong


def test_the_strongest_ties_are_within_communities():
    strong, rows = strongly_tied()
    embedding = uh.embed(Graph.from_edges(rows), iterations=20, quiet=True)
    found = embedding.cluster()
    assert all(found[embedding.index(a)] == found[embedding.index(b)] for a, b, _ in strong)
    assert found.max() >= 3
    apart = embedding.cluster("map")
    assert any(apart[embedding.index(a)] != apart[embedding.index(b)] for a, b, _ in strong), (
        "a start tells little"
    )


@pytest.mark.parametrize("unit", [1e160, 1e-170])
def test_communities_do_not_depend_on_the_unit_of_weights(unit):
    rows = [("a", "b", 3.0), ("b", "c", 1.0), ("a", "c", 2.0), ("c", "d", 1.0)]
    expected = communities(Graph.from_edges(rows))
    scaled = Graph.from_edges([(tail, head, unit * weight) for tail, head, weight in rows])
    np.testing.assert_array_equal(communities(scaled), expected)


def test_communities_do_not_depend_on_the_order_of_rows():
    _, rows = strongly_tied()
    expected = Graph.from_edges(rows)
    expected = dict(zip(expected.ids, communities(expected).tolist(), strict=True))
    for seed in range(5):
        mixed = [rows[k] for k in np.random.default_rng(seed).permutation(len(rows))]
        graph = Graph.from_edges([(b, a, weight) for a, b, weight in mixed])
        assert dict(zip(graph.ids, communities(graph).tolist(), strict=True)) == expected


def test_nodes_without_ties_are_communities_of_their_own():
    assert communities(Graph.from_edges([("a", "b")], nodes=["c", "b", "a"])).tolist() == [1, 0, 0]
    assert communities(Graph.from_edges([], nodes=["a", "b"])).tolist() == [0, 1]


def test_ties_that_are_not_known_are_asked_for():
    embedding = uh.Embedding(["a", "b", "c"], np.array([[0.0], [0.1], [5.0]]), Geometry.of_flat(1))
    with pytest.raises(
        ValueError, match="ties of this embedding are not known: find communities by='map'"
    ):
        embedding.cluster()
    assert len(embedding.cluster("map")) == 3
    with pytest.raises(ValueError, match="by must be one of graph, map, got 'points'"):
        embedding.cluster("points")


def test_numbers_go_by_size():
    spots = np.array([9.0, 0.0, 5.0, 9.1, 5.1, 0.1, 5.2])[:, None]
    assert clusters(spots, Geometry.of_flat(1), pairs=0).tolist() == [1, 2, 0, 1, 0, 2, 0]


def test_few_points_have_few_groups():
    flat = Geometry.of_flat(2)
    assert clusters(np.zeros((0, 2)), flat).tolist() == []
    assert clusters(np.zeros((1, 2)), flat).tolist() == [0]
    assert clusters(np.zeros((2, 2)), flat).tolist() == [0, 0]
    assert clusters(np.array([[0.0, 0], [0, 1], [9, 9], [9, 8]]), flat, pairs=0).tolist() == [
        0,
        0,
        1,
        1,
    ]
    with pytest.raises(ValueError, match="pairs must not be negative"):
        clusters(np.zeros((3, 2)), flat, pairs=-1)


def test_popularity_is_taken_from_distances():
    spots = np.array([[0.0], [1.0], [10.0], [11.0], [30.0]])
    apart = clusters(spots, Geometry.of_flat(1), pairs=0)
    assert apart[4] == apart[3]
    drawn = clusters(
        spots, Geometry.of_flat(1), pairs=0, popularity=np.array([1e4, 0.0, 0.0, 0.0, 0.0])
    )
    assert drawn[4] == drawn[0]


def test_a_folder_is_enough(tmp_path):
    embedding = uh.embed(uh.datasets.karate(), iterations=60, quiet=True)
    embedding.save(tmp_path / "club")
    loaded = uh.load(tmp_path / "club")
    assert loaded.graph is None
    assert loaded.cluster().tolist() == embedding.cluster().tolist()


@pytest.mark.slow
def test_many_points_take_little_time():
    n = 20_000
    points = torch.from_numpy(np.random.default_rng(0).normal(size=(n, 2)))
    began = time.perf_counter()
    found = clusters(points, Geometry.of_flat(2), pairs=3 * n)
    assert time.perf_counter() - began < 120.0
    assert 10 < found.max() < n / 10
