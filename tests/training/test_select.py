"""Which geometry a graph wants."""

from __future__ import annotations

import json
from importlib import import_module

import networkx as nx
import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training import execution
from ultrahyperbolic.training.select import Row, prior, walked

# The module, whose name the function of the same name hides.
MODULE = import_module("ultrahyperbolic.training.select")
CLUB = uh.datasets.karate()


@pytest.fixture(scope="module")
def found():
    return uh.select(CLUB, dim=3, seeds=3, iterations=400, quiet=True)


def test_every_geometry_is_compared_once_and_the_best_is_first(found):
    names = [row.geometry.name for row in found.rows]
    assert sorted(names) == ["Q^{0,3}", "Q^{1,2}", "Q^{2,1}", "Q^{3,0}", "R^3"]
    assert {row.iterations for row in found.rows} == {67}, "a sixth"
    assert all(len(row.scores) == len(row.measures) == 3 and not row.held_out for row in found.rows)
    means = [row.score for row in found.rows]
    assert means == sorted(means, reverse=True)
    assert found.best is found.rows[0].geometry
    for row in found.rows:
        wanted = [(each["map"] + each["tie_order"]) / 2.0 for each in row.measures]
        assert row.scores == pytest.approx(wanted)


def test_differences_are_paired(found):
    best, second = found.rows[:2]
    assert best.differences == [0.0, 0.0, 0.0]
    pairs = np.array(second.scores) - np.array(best.scores)
    assert second.difference == pytest.approx(pairs.mean())
    assert second.difference_error == pytest.approx(pairs.std(ddof=1) / np.sqrt(3))


def test_noise_is_two_standard_errors_of_the_difference():
    always_worse = Row(Geometry(3, 1), differences=[-0.05, -0.04, -0.06])
    sometimes = Row(Geometry(2, 2), differences=[0.05, -0.20, 0.05])
    alone = Row(Geometry(2, 2), differences=[0.0])
    assert [row.is_near for row in (always_worse, sometimes, alone)] == [False, True, False]
    few, many = (
        Row(Geometry(2, 2), scores=[1.0], measures=[{"violated_orders_all": share}])
        for share in (0.1, 0.2)
    )
    assert few.worst_last < many.worst_last, "of equal scores"


def test_the_same_seed_selects_the_same_and_it_is_plain_data(found):
    again = uh.select(CLUB, dim=3, seeds=3, iterations=400, quiet=True)
    assert [row.to_json() for row in again.rows] == [row.to_json() for row in found.rows]
    data = json.loads(json.dumps(found.to_json()))
    assert data["winner"] == found.best.name
    assert (data["by"], data["seeds"]) == ("graph", 3)
    assert data["within_noise"] == bool(data["within_noise_of"])
    assert list(found.to_frame()["score"]) == [row.score for row in found.rows]
    shown = found._repr_html_()
    assert f"Best geometry: {found.best.markup}" in shown
    assert shown.count("<tr>") == len(found.rows) + 1


def test_select_and_a_dimension_alone_name_the_same():
    embedding = uh.embed(CLUB, dim=2, seed=3, iterations=80, quiet=True)
    chosen = embedding.run["select"]
    selection = uh.select(CLUB, dim=[2, 2], seed=3, iterations=80, quiet=True)
    assert embedding.geometry == selection.best
    assert chosen["rows"] == [row.to_json() for row in selection.rows]
    assert chosen["within_noise"] is None, "one seed cannot tell"


def test_held_out_edges_decide_on_request():
    found = uh.select(CLUB, dim=2, by="links", iterations=40, quiet=True)
    assert (found.by, found.seeds) == ("links", 5)
    for row in found.rows:
        assert row.held_out == pytest.approx([1.0 - auc for auc in row.scores])
    assert found.rows[0].score == max(row.score for row in found.rows)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.path_graph(6), "a graph of 5 can spare none"),
        (np.add.outer(np.arange(9.0), np.arange(9.0)) * (1 - np.eye(9)), "every pair has one"),
    ],
)
def test_where_no_edge_can_be_held_out_it_is_said(graph, message):
    with pytest.raises(ValueError, match=message):
        uh.select(uh.as_graph(graph), dim=2, by="links", iterations=40, quiet=True)


def test_an_interrupt_ends_the_comparison(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(NumbaEngine, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt) as raised:
        uh.select(CLUB, dim=2, seeds=2, iterations=40, quiet=True)
    assert not isinstance(raised.value, uh.Interrupted), "half a comparison is none"


def test_half_of_a_time_limit_is_for_the_choice(monkeypatch):
    limits, embed_many = [], execution.embed_many

    def look(*arguments, **options):
        limits.append(options["time_limit"])
        return embed_many(*arguments, **options)

    for module in (execution, MODULE):
        monkeypatch.setattr(module, "embed_many", look)
    uh.embed(CLUB, dim=2, iterations=16, time_limit=8000.0, quiet=True)
    assert limits == [pytest.approx(2000.0, rel=0.01), 8000.0], "and half of that for its measures"


def test_a_second_seed_for_which_there_is_no_time_is_left_out(monkeypatch):
    clock, measure = [0.0], MODULE.with_pair_measures

    def slow(*arguments, **options):
        clock[0] += 50.0
        return measure(*arguments, **options)

    monkeypatch.setattr(MODULE, "with_pair_measures", slow)
    monkeypatch.setattr(MODULE.time, "monotonic", lambda: clock[0])
    found = uh.select(CLUB, dim=2, seeds=2, iterations=16, time_limit=100.0, quiet=True)
    assert all(len(row.scores) == 1 for row in found.rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"dim": []}, "dim must be one dimension or several"),
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"seeds": 0}, "seeds must be"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"beta": 1.0}, "beta"),
        ({"by": "nodes"}, "by must be one of graph, links, got 'nodes'"),
    ],
)
def test_bad_arguments(monkeypatch, arguments, message):
    monkeypatch.setattr(NumbaEngine, "advance", lambda *_: pytest.fail("a training began"))
    with pytest.raises(ValueError, match=message):
        uh.select(CLUB, quiet=True, **arguments)


def test_what_flat_space_has_not_is_chosen_among_the_curved():
    embedding = uh.embed(CLUB, dim=2, iterations=16, quiet=True, dissimilarity="distance")
    names = sorted(row["geometry"] for row in embedding.run["select"]["rows"])
    assert names == ["Q^{0,2}", "Q^{2,0}", "R^2"]


def test_what_the_graph_hints_at():
    tree = prior(uh.as_graph(nx.balanced_tree(2, 4)))
    cycle = prior(uh.as_graph(nx.cycle_graph(40)))
    assert tree["gromov_delta"] == 0.0
    assert (tree["transitivity"], tree["open_wedges"]) == (0.0, 1.0)
    assert prior(uh.as_graph(nx.complete_graph(6)))["transitivity"] == 1.0
    assert prior(uh.as_graph(nx.path_graph(2)))["open_wedges"] == 0.0, "no wedge at all"
    assert cycle["relative_delta"] > 0.6
    assert tree["diameter"] == 8.0
    assert 0.0 <= tree["time_inertia"] <= 1.0


@pytest.mark.parametrize("directed", [False, True])
def test_a_walk_leaves_the_ties_among_the_nodes_it_meets(directed):
    made = nx.barabasi_albert_graph(300, 3, seed=0)
    graph = uh.Graph.from_edges(list(made.edges()), directed=directed)
    some = walked(graph, 100)
    assert some.n_nodes == 100
    assert 100 < some.n_edges < graph.n_edges
    assert (some.directions is None) == (graph.directions is None)
    shuffled = walked(uh.Graph.from_edges([*reversed(list(made.edges()))], directed=directed), 100)
    assert set(some.ids) == set(shuffled.ids), "it depends on the order of rows"
    assert walked(graph, 300) is graph


def test_a_large_graph_is_compared_on_some_of_its_nodes(monkeypatch, caplog):
    monkeypatch.setattr(MODULE, "walked", lambda graph: walked(graph, 60))
    graph = uh.Graph.from_edges(list(nx.barabasi_albert_graph(90, 3, seed=0).edges()))
    found = uh.embed(graph, dim=2, iterations=48)
    assert len(found.points) == 90
    assert "compared on 60 of 90 nodes" in caplog.text
