"""Directed graphs from the call to the folder."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import ultrahyperbolic as uh
from ultrahyperbolic import Graph
from ultrahyperbolic.cli import app
from ultrahyperbolic.evaluation.directed import directed_measures
from ultrahyperbolic.graph.heights import flow, heights
from ultrahyperbolic.training.place import with_placed

ADVICE = [
    ("ann", "bob", 3),
    ("bob", "cid", 2),
    ("ann", "cid", 1),
    ("dan", "ann", 1),
    ("cid", "eve", 2),
    ("eve", "bob", 1),
]
FEW = {"p": 2, "q": 1, "iterations": 60, "quiet": True}


def web(n: int = 60) -> Graph:
    """Ties from earlier nodes to later ones, and a few back."""
    rng = np.random.default_rng(4)
    ends = np.sort(rng.integers(0, n, (4 * n, 2)), axis=1)
    ends[::12] = ends[::12, ::-1]
    return Graph.from_arrays(*ends[ends[:, 0] != ends[:, 1]].T, ids=n, directed=True)


@pytest.fixture(scope="module")
def trained():
    return uh.embed(web(), quiet=True)


def test_directions_are_learnt(trained):
    measures = trained.record.measures
    undirected = uh.embed(Graph(web().ids, web().edges, web().weights), quiet=True)
    far = undirected.distances()
    without = directed_measures(
        lambda rows: far[rows], lambda rows: far[rows], *web().arcs, trained.heights
    )
    assert measures["map_out"] > without["map_out"] + 0.1
    assert measures["map_in"] > without["map_in"] + 0.1
    assert measures["direction"] > 0.9
    assert measures["circulation"] == pytest.approx(flow(60, *web().arcs).circulation)
    np.testing.assert_array_equal(np.argsort(trained.heights), np.argsort(heights(60, *web().arcs)))


def test_scores_are_distances_with_springs(trained):
    row, h, spring = 7, trained.heights, trained.record.result.spring
    out = trained.distances(7) + spring * (h[row] - h - 1.0) ** 2
    np.testing.assert_allclose(
        np.delete(trained.scores([row])[0], row), np.delete(out, row), rtol=1e-12
    )
    back = trained.distances(7) + spring * (h - h[row] - 1.0) ** 2
    np.testing.assert_allclose(
        np.delete(trained.scores_in([row])[0], row), np.delete(back, row), rtol=1e-12
    )
    near = trained.neighbors(7, k=3, way="out")
    np.testing.assert_allclose(near["distance"], np.sort(np.delete(out, row))[:3], rtol=1e-12)


def test_neighbors_have_the_ties_of_the_way_that_is_asked_for():
    graph = Graph.from_edges(ADVICE, directed=True)
    embedding = uh.embed(graph, directed=True, **FEW)
    for way, node, ties in (
        ("out", "bob", {"cid": 2.0}),
        ("in", "bob", {"ann": 3.0, "eve": 1.0}),
        ("in", "dan", {}),
    ):
        table = embedding.neighbors(node, k=4, way=way)
        assert dict(zip(table.node, table.weight, strict=True)) == {
            other: ties.get(other, 0.0) for other in table.node
        }
        assert set(table.node[table.connected]) == ties.keys()
    both = embedding.neighbors("bob", k=4)
    assert set(both.node[both.connected]) == {"ann", "cid", "eve"}


def test_new_nodes_are_placed_by_ties_that_point_somewhere():
    arcs = np.array(
        [(i, i + step) for i in range(37) for step in (1, 2, 3)]
    )  # each to the next three
    lost, h = 20, heights(40, arcs, np.ones(len(arcs)))
    kept = [tie for tie in arcs.tolist() if lost not in tie]
    ties = [
        ("new" if i == lost else i, "new" if j == lost else j)
        for i, j in arcs.tolist()
        if lost in (i, j)
    ]
    old = uh.embed(Graph.from_edges(kept, directed=True), **FEW)
    new = old.transform(ties)
    assert new.is_directed
    assert abs(float(new.heights[0]) - h[lost]) < 0.1 * np.ptp(h)
    # At rest: its springs pull as much as they push.
    at = dict(zip(old.ids, old.heights, strict=True)) | {"new": float(new.heights[0])}
    pull = sum((1 if i == "new" else -1) * (at[i] - at[j] - 1.0) for i, j in ties)
    assert pull + 1e-3 * at["new"] == pytest.approx(0.0, abs=1e-9)
    whole = with_placed(old, new, Graph.from_edges(ties, directed=True))
    assert whole.is_directed
    assert len(whole.ties.arcs[0]) == len(arcs)
    assert whole.ties.is_directed
    np.testing.assert_array_equal(whole.heights, [*old.heights, *new.heights])
    for scores, nodes in ((whole.scores, (21, 22, 23)), (whole.scores_in, (17, 18, 19))):
        tied, lengths = np.isin(old.ids, nodes), scores([len(old)])[0, :-1]
        assert np.mean(lengths[tied][:, None] < lengths[~tied]) > 0.75


def test_the_command_places_nodes_of_a_directed_graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ties.csv").write_text("".join(f"{i},{j},{w}\n" for i, j, w in ADVICE), encoding="ascii")
    Path("new.csv").write_text("zoe,ann,2\nzoe,dan,1\neve,zoe,1\n", encoding="ascii")
    runner = CliRunner()
    assert (
        runner.invoke(
            app, ["embed", "ties.csv", "--directed", "-o", "out", "--iterations", "60"]
        ).exit_code
        == 0
    )
    found = runner.invoke(app, ["place", "out", "new.csv", "-o", "both"])
    assert found.exit_code == 0, found.output
    both = uh.load("both")
    assert both.is_directed
    assert both.ids[-1] == "zoe"
    assert both.heights[-1] > both.heights[list(both.ids).index("ann")]
    ranked = runner.invoke(app, ["rank", "both"])
    assert (ranked.exit_code, ranked.stdout.split()[:3]) == (0, ["rank", "node", "height"])
    assert ranked.stdout == runner.invoke(app, ["rank", "both", "--by", "height"]).stdout


def test_the_order_of_rows_changes_nothing():
    rows = [(*tie, 1.0 + k % 3) for k, tie in enumerate(web(40).arcs[0].tolist())]
    found = [uh.embed(Graph.from_edges(each, directed=True), **FEW) for each in (rows, rows[::-1])]
    back = [found[1].index(node) for node in found[0].ids]
    np.testing.assert_array_equal(found[0].points, found[1].points[back])
    np.testing.assert_array_equal(found[0].heights, found[1].heights[back])


def test_a_ring_has_no_heights_and_all_of_it_goes_round():
    ring = uh.embed(nx.cycle_graph(90, create_using=nx.DiGraph), directed=True, **FEW)
    assert np.ptp(ring.heights) < 1e-6
    assert ring.record.measures["circulation"] == pytest.approx(1.0)


def test_a_symmetric_graph_is_embedded_as_an_undirected_one():
    club = nx.karate_club_graph()
    found, plain = uh.embed(club.to_directed(), directed=True, **FEW), uh.embed(club, **FEW)
    assert found.is_directed
    assert not found.heights.any()
    np.testing.assert_array_equal(found.points, plain.points)
    assert found.record.measures["map"] == plain.record.measures["map"]


def test_what_needs_directions_says_so():
    plain = uh.embed(Graph.from_edges(ADVICE), **FEW)
    assert not plain.is_directed
    for ask in (
        lambda: plain.heights,
        lambda: plain.scores([0]),
        lambda: plain.neighbors("ann", way="in"),
    ):
        with pytest.raises(ValueError, match="no directions: train it with directed=True"):
            ask()
    with pytest.raises(ValueError, match="a directed graph is trained with popularity"):
        uh.embed(Graph.from_edges(ADVICE, directed=True), popularity=False, **FEW)
