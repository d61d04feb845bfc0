"""New nodes in an old embedding."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic.embedding.answers import springs_of
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training.inputs import among
from ultrahyperbolic.training.place import _as_ties, with_placed

CLUB = uh.datasets.karate()
# The module, whose name the function of the same name hides.
place_module = import_module("ultrahyperbolic.training.place")


@pytest.fixture(scope="module")
def club():
    return uh.embed(CLUB, quiet=True)


def ties_of(graph, nodes):
    """The ties of some nodes, as triples."""
    pairs = zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    return [
        (graph.ids[i], graph.ids[j], w)
        for (i, j), w in pairs
        if {graph.ids[i], graph.ids[j]} & set(nodes)
    ]


def without(graph, nodes):
    left = [node for node in graph.ids if node not in nodes]
    made = graph.to_networkx().subgraph(left)
    return Graph.from_networkx(made).with_nodes(left)


def recall(graph, embedding, nodes):
    near, _ = embedding.nearest(5)
    offsets, heads = graph.neighbor_lists
    shares = []
    for row in map(graph.index, nodes):
        mine = heads[offsets[row] : offsets[row + 1]]
        shares.append(np.isin(near[row], mine).sum() / min(5, len(mine)))
    return np.mean(shares)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["karate", "lesmis"])
def test_nodes_that_were_never_seen_find_their_neighbours(name):
    graph = uh.datasets.load(name)
    whole = uh.embed(graph, quiet=True)
    rows = np.random.default_rng(0).choice(graph.n_nodes, 4, replace=False).tolist()
    taken = [graph.ids[row] for row in rows]
    old = uh.embed(without(graph, taken), quiet=True)
    ties = ties_of(graph, taken)
    again = with_placed(old, old.transform(ties), Graph.from_edges(ties))
    assert recall(again.graph, again, taken) >= 0.9 * recall(graph, whole, taken)


@pytest.mark.parametrize(
    "where",
    [
        {"p": 3, "q": 1},
        pytest.param({"p": 3, "q": 0}, marks=pytest.mark.slow),
        pytest.param({"p": 0, "q": 3}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_every_curved_geometry(where):
    old = uh.embed(CLUB, iterations=200, quiet=True, **where)
    ties = {"1", "2", "3", "4"}  # which are tied to each other
    new = old.transform([("new", node, 5.0) for node in ties])
    assert list(new.ids) == ["new"]
    assert new.geometry == old.geometry
    far = old.manifold.cdist(
        torch.from_numpy(new.points.copy()),
        torch.from_numpy(old.points.copy()),
        dissimilarity="geodesic",
    )
    less = np.zeros(len(old.ids)) if old.popularity is None else old.popularity
    nearest = {old.ids[int(i)] for i in (far[0].numpy() - less).argsort()[:5]}
    assert len(nearest & ties) >= 3


def test_old_points_stay_and_results_repeat(club):
    before = club.points.copy()
    ties = [("a", "1", 3.0), ("a", "2", 1.0), ("b", "a", 2.0)]
    first, second = club.transform(ties), club.transform(ties)
    assert (first.points == second.points).all()
    assert (club.points == before).all()
    assert list(first.ids) == ["a", "b"]
    assert first.graph.n_edges == 1


@pytest.mark.slow
def test_ties_come_in_many_forms(club):
    triples = [("a", "1", 3.0), ("a", "2", 1.0)]
    wanted = club.transform(triples).points
    frame = pd.DataFrame(triples, columns=["source", "target", "weight"])
    network = nx.Graph()
    network.add_weighted_edges_from(triples)
    for form in (iter(triples), tuple(triples), Graph.from_edges(triples), network):
        graph = _as_ties(form)
        assert (list(graph.ids), graph.weights.tolist()) == (["a", "1", "2"], [3.0, 1.0])
    assert (club.transform(frame).points == wanted).all()


def test_ties_among_old_nodes_are_left_out(club, caplog):
    found = club.transform([("1", "34", 3.0), ("a", "2", 1.0)], quiet=False)
    assert list(found.ids) == ["a"]
    assert "1 ties join two nodes of the embedding" in caplog.text


@pytest.mark.parametrize(
    ("ties", "said"),
    [
        ([("1", "2")], "nothing to place"),
        ([("a", "b"), ("c", "1")], "no ties lead from node 'a'.*2 such"),
        ([(99, 1)], "no ties lead from node 99"),
        ([(34, 98)], "text: try '34'"),
    ],
)
def test_what_cannot_be_placed_is_said(club, ties, said):
    with pytest.raises(ValueError, match=said):
        club.transform(ties)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("old", "new"), [(0.3, 0.1 + 0.2), (0.1 + 0.2, 0.3)])
def test_new_ties_as_strong_as_old_ones_but_for_rounding_are_equal(old, new, directed):
    ties = [
        ("a", "b", old),
        ("b", "c", old),
        ("c", "d", old),
        ("d", "a", 2 * old),
        ("a", "c", 0.5 * old),
    ]
    embedding = uh.embed(ties, p=2, q=0, directed=directed, quiet=True)
    points = [embedding.transform([("x", "a", w), ("x", "b", w)]).points for w in (old, new)]
    assert np.array_equal(*points)


@pytest.mark.slow
def test_popularity_comes_with_the_points():
    old = uh.embed(CLUB, iterations=200, quiet=True)
    new = old.transform([("hub", node) for node in CLUB.ids[:20]] + [("leaf", "1")])
    assert new.popularity is not None
    assert new.popularity[0] > new.popularity[1]


def test_old_and_new_nodes_are_one_embedding_with_all_ties(tmp_path):
    old = uh.embed(CLUB, iterations=20, quiet=True).with_attributes(age=np.arange(34))
    ties = Graph.from_edges([("a", "1", 3.0), ("b", "a", 2.0), ("1", "34", 9.0)])
    loaded = uh.load(old.save(tmp_path / "old"))
    for known in (old, loaded):
        new = known.transform(ties)
        whole = with_placed(known, new, ties)
        assert list(whole.ids) == [*CLUB.ids, "a", "b"]
        assert (whole.points == np.concatenate((old.points, new.points))).all()
        assert (whole.popularity == np.append(old.popularity, new.popularity)).all()
        assert whole.attributes["age"][:34].tolist() == list(range(34))
        assert np.isnan(whole.attributes["age"][34:]).all()
        assert whole.graph.n_edges == CLUB.n_edges + 2
        assert {whole.ids[row] for row in whole.ties_of(whole.index("a")).nodes} == {"1", "b"}
    assert with_placed(replace(loaded, graph=None), new, ties).graph is None


@pytest.mark.parametrize(
    ("where", "directed", "taken"),
    [
        ({"p": 2, "q": 1}, False, ["12", "17"]),
        ({"p": 2, "q": 1}, True, ["12", "17"]),
        ({"flat": True, "dim": 3}, False, ["7", "12", "31"]),
    ],
    ids=["curved", "directed", "flat"],
)
def test_new_nodes_come_to_a_low_place_of_the_loss_and_old_ones_do_not_move(where, directed, taken):
    """What is minimised is the loss of the whole graph: where a node was before it is placed as
    well as in the training, it is placed about as well again.
    """
    graph = Graph.from_edges(list(CLUB.to_networkx().edges(data="weight")), directed=directed)
    whole = uh.embed(graph, quiet=True, **where)
    kept = [row for row, node in enumerate(whole.ids) if node not in taken]
    springs = springs_of(whole)
    old = uh.Embedding(
        [whole.ids[row] for row in kept],
        whole.points[kept],
        whole.space,
        whole.record,
        among(graph, np.array(kept)),
        popularity=None if whole.popularity is None else whole.popularity[kept],
        attributes={} if springs is None else {"height": springs.heights[kept]},
    )
    before = old.points.copy()
    new = old.transform(ties_of(graph, taken))
    assert (old.points == before).all()
    again = with_placed(old, new, Graph.from_edges(ties_of(graph, taken), directed=directed))
    assert (again.points[: len(old)] == before).all()
    assert again.graph.n_edges == graph.n_edges
    assert recall(again.graph, again, taken) >= recall(graph, whole, taken) - 0.2


def test_of_a_large_embedding_the_nearest_nodes_are_compared_with(monkeypatch, club):
    monkeypatch.setattr(place_module, "_MAX_OLD_NODES", 12)
    found = club.transform([("a", "34", 9.0), ("a", "33", 5.0)])
    apart = club.geometry.distances(found.points, club.points) - club.popularity
    assert [club.ids[row] for row in apart.argsort()[:2].tolist()] == ["34", "33"]


def test_the_order_of_rows_does_not_matter(club):
    ties = [("a", "34", 9.0), ("a", "33", 5.0), ("b", "a", 2.0), ("b", "1", 1.0)]
    first = club.transform(ties)
    other = club.transform(ties[::-1])
    rows = [other.index(node) for node in first.ids]
    assert (other.points[rows] == first.points).all()
    assert (other.popularity[rows] == first.popularity).all()
