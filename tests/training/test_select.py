"""Which geometry a graph wants."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import networkx as nx
import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.engines import memory
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.options import complete
from ultrahyperbolic.training import execution, finish, plan, train
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.inputs import Choice
from ultrahyperbolic.training.method import recipe
from ultrahyperbolic.training.select import Row, prior
from ultrahyperbolic.training.start import start_bytes

# The module, whose name the function of the same name hides.
MODULE = import_module("ultrahyperbolic.training.select")


@pytest.fixture(scope="module")
def found():
    return uh.select(uh.datasets.karate(), dim=3, seeds=3, iterations=400, quiet=True)


def test_every_geometry_is_there_once_and_the_weak_are_dropped(found):
    names = [row.geometry.name for row in found.rows]
    assert sorted(names) == ["Q^{0,3}", "Q^{1,2}", "Q^{2,1}", "Q^{3,0}", "R^3"]
    assert [row.iterations for row in found.rows] == [66, 66, 66, 33, 33]
    assert [row.kept for row in found.rows] == [True, True, True, False, False]
    assert all(len(row.scores) == len(row.measures) == 3 and not row.held_out for row in found.rows)
    means = [row.score for row in found.rows if row.kept]
    assert means == sorted(means, reverse=True)
    assert found.best is found.rows[0].geometry


def test_scores_are_of_the_training_a_user_would_get_with_a_shorter_finish(found):
    row = found.rows[-1]
    where = TrainingConfig(
        row.geometry.p,
        row.geometry.q,
        flat=row.geometry.flat,
        seed=1,
        iterations=33,
        stop="converged",
    )
    graph = uh.datasets.karate()
    (alone,) = import_module("ultrahyperbolic.training.train").embed_many(
        graph, [replace(recipe(where, graph), finish=0.05)]
    )
    measures = alone.run["measures"]
    assert row.measures[1]["map"] == measures["map"]
    assert row.scores[1] == pytest.approx(np.mean([measures[n] for n in ("map", "tie_order")]))


def test_differences_are_paired_and_after_as_many_iterations(found):
    best, second, dropped = found.rows[0], found.rows[1], found.rows[-1]
    assert best.differences == [0.0, 0.0, 0.0]
    pairs = np.array(second.scores) - np.array(best.scores)
    assert second.difference == pytest.approx(pairs.mean())
    assert second.difference_error == pytest.approx(pairs.std(ddof=1) / np.sqrt(3))
    assert dropped.difference <= 0.0, "it was behind the winner when it was dropped"
    assert dropped.difference != pytest.approx(dropped.score - best.score), (
        "not after twice as many"
    )


def test_the_same_seed_selects_the_same(found):
    again = uh.select(uh.datasets.karate(), dim=3, seeds=3, iterations=400, quiet=True)
    assert [row.to_json() for row in again.rows] == [row.to_json() for row in found.rows]


def test_plain_data(found):
    data = json.loads(json.dumps(found.to_json()))
    assert data["winner"] == found.best.name
    assert (data["by"], data["seeds"]) == ("graph", 3)
    assert data["within_noise"] == bool(data["within_noise_of"])
    assert set(data["rows"][0]) >= {
        "geometry",
        "p",
        "q",
        "flat",
        "seeds",
        "iterations",
        "kept",
        "score",
        "map",
        "tie_order",
        "violated_orders",
        "held_out",
        "difference",
        "difference_error",
    }
    assert list(found.to_frame()["score"]) == [row.score for row in found.rows]


@pytest.mark.parametrize(
    "make", [uh.datasets.karate, lambda: uh.as_graph(nx.cycle_graph(12))], ids=["club", "cycle"]
)
def test_select_and_a_dimension_alone_name_the_same(make):
    graph = make()
    embedding = uh.embed(graph, dim=2, seed=3, iterations=80, quiet=True)
    chosen, found = (
        embedding.run["select"],
        uh.select(graph, dim=2, seed=3, iterations=80, quiet=True),
    )
    assert embedding.geometry == found.best
    assert chosen["rows"] == [row.to_json() for row in found.rows]
    assert chosen["winner"] == found.best.name


def test_neighbours_and_tie_order_are_what_is_scored(found):
    for row in found.rows:
        assert row.scores == [
            pytest.approx((each["map"] + each["tie_order"]) / 2.0) for each in row.measures
        ]
    assert found.rows[0].score == max(row.score for row in found.rows if row.kept)


def test_a_reversed_score_names_another(monkeypatch):
    right = uh.select(uh.datasets.karate(), dim=2, iterations=80, quiet=True)
    monkeypatch.setattr(MODULE, "score", lambda measures: -measures["map"])
    wrong = uh.select(uh.datasets.karate(), dim=2, iterations=80, quiet=True)
    assert wrong.best != right.best
    assert wrong.rows[0].mean("map") < right.rows[0].mean("map")


def test_of_equal_scores_the_fewer_violated_orders_decide(monkeypatch):
    monkeypatch.setattr(MODULE, "score", lambda *_: 1.0)
    found = uh.select(uh.datasets.karate(), dim=2, iterations=80, quiet=True)
    violated = [row.mean("violated_orders_all") for row in found.rows if row.kept]
    assert violated == sorted(violated)


@pytest.fixture
def too_many(monkeypatch):
    """A graph with too many pairs to look at all, by limits that are low."""
    for module in ("registry", "numba.engine"):
        monkeypatch.setattr(f"ultrahyperbolic.engines.{module}.EXACT_NODES", 100)
    for module in (MODULE, train):
        monkeypatch.setattr(module, "SAMPLED_NODES", 100)
    monkeypatch.setattr(plan, "others_met", lambda place, n: 16)
    return uh.as_graph(nx.barabasi_albert_graph(120, 2, seed=0))


def test_what_is_compared_of_a_large_graph_is_what_embed_trains(monkeypatch, too_many):
    trained, embed_many = [], execution.embed_many
    monkeypatch.setattr(
        execution,
        "embed_many",
        lambda g, c, *a, **k: trained.extend(c) or embed_many(g, c, *a, **k),
    )
    monkeypatch.setattr(
        finish.Finishing, "_begin", lambda *_: pytest.fail("all pairs end the training")
    )
    uh.select(too_many, dim=1, iterations=48, seed=3, quiet=True)
    asked = complete({"iterations": 4, "seed": 3})
    for geometry in (Geometry(flat=1), Geometry(1, 0), Geometry(0, 1)):
        (usual,) = plan.configure(plan.Plan(geometry, asked), too_many)
        assert usual.finish == 0.0
        assert usual in trained


@pytest.mark.parametrize("by", ["graph", "links"])
def test_a_large_graph_is_measured_by_samples(monkeypatch, too_many, by):
    for name in ("train.over_pairs", "select.triadic_closure"):
        module, _, function = name.partition(".")
        everything = import_module(f"ultrahyperbolic.training.{module}")
        monkeypatch.setattr(
            everything, function, lambda *_, **__: pytest.fail("all pairs are looked at")
        )
    counts = "ultrahyperbolic.evaluation.links.rows_of"
    monkeypatch.setattr(counts, lambda *_, **__: pytest.fail("all pairs are looked at"))
    monkeypatch.setattr(MODULE, "_NEGATIVES", 1000)
    found = uh.select(too_many, dim=1, by=by, seeds=1, iterations=24, quiet=True)
    assert all(measures["measured_nodes"] > 0 for row in found.rows for measures in row.measures)
    assert all(0.0 <= row.score <= 1.0 for row in found.rows)
    assert 0.0 < found.prior["transitivity"] < 1.0


def test_geometries_that_do_not_fit_into_memory_together_train_in_several_batches(monkeypatch):
    club, sizes, embed_many = uh.datasets.karate(), [], execution.embed_many
    together = uh.select(club, dim=2, iterations=48, quiet=True)
    problem = train.problem_of(
        club, [TrainingConfig(2, 0, iterations=8, popularity=True, centrality=1.0)] * 2
    )
    place = plan.resolve(Machine(), club.n_nodes)
    room = memory.estimate(problem, place, start_bytes(34, problem.pairs.n_edges))
    monkeypatch.setattr(memory, "free_bytes", lambda: room)
    monkeypatch.setattr(
        execution,
        "embed_many",
        lambda g, c, *a, **k: sizes.append(len(c)) or embed_many(g, c, *a, **k),
    )
    apart = uh.select(club, dim=2, iterations=48, quiet=True)
    assert len(sizes) > 2
    assert max(sizes) < 4
    assert [row.to_json() for row in apart.rows] == [row.to_json() for row in together.rows]
    assert uh.embed(club, dim=2, iterations=48, quiet=True).geometry == together.best
    monkeypatch.setattr(memory, "free_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match="1 at once, need about"):
        uh.select(club, dim=2, iterations=48, quiet=True)


def test_one_seed_cannot_tell():
    found = uh.select(uh.datasets.karate(), dim=1, iterations=16, quiet=True)
    assert found.seeds == 1
    assert found.within_noise == []
    assert found.to_json()["within_noise"] is None
    assert found.rows[1].difference_error is None


def test_noise_is_two_standard_errors_of_the_difference():
    always_worse = Row(Geometry(3, 1), differences=[-0.05, -0.04, -0.06])
    sometimes = Row(Geometry(2, 2), differences=[0.05, -0.20, 0.05])
    dropped = Row(Geometry(0, 4), differences=[-0.01, 0.0, 0.01], kept=False)
    assert [row for row in (always_worse, sometimes, dropped) if row.is_near] == [sometimes]


def test_held_out_edges_decide_on_request(monkeypatch):
    found = uh.select(uh.datasets.karate(), dim=2, by="links", iterations=40, quiet=True)
    assert (found.by, found.seeds) == ("links", 5)
    for row in found.rows:
        assert row.held_out == pytest.approx([1.0 - auc for auc in row.scores])
    assert found.rows[0].score == max(row.score for row in found.rows if row.kept)

    edges = []
    embed_many = execution.embed_many
    monkeypatch.setattr(
        execution, "embed_many", lambda g, *a, **k: edges.append(g.edges) or embed_many(g, *a, **k)
    )
    uh.select(
        uh.datasets.karate(), dim=1, by="links", seeds=2, held_out=0.25, iterations=8, quiet=True
    )
    assert [len(some) for some in edges] == [78 - round(0.25 * 78)] * 4
    assert not np.array_equal(edges[0], edges[1]), "others for each seed"
    assert np.array_equal(edges[0], edges[2]), "the same in each round"


def test_where_no_edge_can_be_held_out_it_is_said():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.uniform(1.0, 9.0, (9, 9)), 1)
    for graph, message in (
        (nx.path_graph(6), "a graph of 5 can spare none: it takes 20 or more; compare by 'graph'"),
        (weights + weights.T, "every pair has one: compare by 'graph'"),
    ):
        with pytest.raises(ValueError, match=message):
            uh.select(uh.as_graph(graph), dim=2, by="links", iterations=40, quiet=True)
        assert (
            uh.select(uh.as_graph(graph), dim=1, iterations=16, quiet=True).rows[0].mean("map")
            is not None
        )


def test_a_dimension_said_twice_counts_once():
    found = uh.select(uh.datasets.karate(), dim=[1, 1], iterations=8, quiet=True)
    assert len(found.rows) == 3


def test_an_interrupt_ends_the_comparison(monkeypatch):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(NumbaEngine, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt) as raised:
        uh.select(uh.datasets.karate(), dim=2, seeds=2, iterations=40, quiet=True)
    assert not isinstance(raised.value, uh.Interrupted)  # half a comparison is none


def limits_of(monkeypatch, call):
    """The seconds that each batch of a call is given."""
    limits, embed_many = [], train.embed_many

    def look(*arguments, **options):
        limit = options["time_limit"]
        limits.append(limit.seconds - limit.spent if isinstance(limit, train.TimeLimit) else limit)
        return embed_many(*arguments, **options)

    with monkeypatch.context() as patch:
        for module in (execution, train):
            patch.setattr(module, "embed_many", look)
        call()
    return limits


def test_half_of_a_time_limit_is_for_the_choice(monkeypatch):
    club = uh.datasets.karate()
    limits = limits_of(
        monkeypatch, lambda: uh.embed(club, dim=2, iterations=16, time_limit=8000.0, quiet=True)
    )
    assert len(limits) == 3
    assert limits[0] <= 1000.0, (
        "a quarter of the limit is for the first round, and half of that for its measures"
    )
    assert 2000.0 < limits[1] <= 4000.0, "what the first round leaves is for the second"
    assert 4000.0 < limits[2] < 8000.0


def test_measuring_counts_as_time_of_the_choice(monkeypatch):
    clock, measure = [0.0], MODULE.with_pair_measures

    def slow(*arguments, **options):
        clock[0] += 50.0
        return measure(*arguments, **options)

    monkeypatch.setattr(MODULE, "with_pair_measures", slow)
    monkeypatch.setattr(MODULE.time, "monotonic", lambda: clock[0])
    club, found = uh.datasets.karate(), []
    limits = limits_of(
        monkeypatch,
        lambda: found.append(uh.select(club, dim=2, iterations=16, time_limit=1000.0, quiet=True)),
    )
    assert limits == [250.0, 700.0], (
        "four geometries were measured in 200 s, and two more will be in 100 s"
    )
    assert found[0].seconds == 300.0
    limits = limits_of(
        monkeypatch,
        lambda: found.append(
            uh.select(club, dim=2, seeds=2, iterations=16, time_limit=100.0, quiet=True)
        ),
    )
    assert len(limits) == 1, "no time is left for the second seed and the second round"
    assert all(row.kept and len(row.scores) == 1 for row in found[1].rows)


@pytest.mark.parametrize(
    "wrong", [{"beta": 1.0}, {"preset": "papper"}, {"temperature": -1.0}, {"dim": 0}]
)
def test_what_is_wrong_is_told_before_the_choice(monkeypatch, wrong):
    monkeypatch.setattr(MODULE, "_Comparison", lambda *_: pytest.fail("it was chosen first"))
    with pytest.raises(ValueError, match=next(iter(wrong))):
        uh.embed(uh.datasets.karate(), **{"dim": 2, **wrong}, quiet=True)


def test_what_flat_space_has_not_is_chosen_among_the_curved():
    embedding = uh.embed(uh.datasets.karate(), dim=2, iterations=16, quiet=True, optimizer="phi")
    assert sorted(row["geometry"] for row in embedding.run["select"]["rows"]) == [
        "Q^{0,2}",
        "Q^{1,1}",
        "Q^{2,0}",
    ]
    embedding = uh.embed(
        uh.datasets.karate(), dim=2, iterations=16, quiet=True, dissimilarity="distance"
    )
    assert sorted(row["geometry"] for row in embedding.run["select"]["rows"]) == [
        "Q^{0,2}",
        "Q^{2,0}",
        "R^2",
    ]


def test_beta_is_of_the_curved_geometries(monkeypatch):
    few = Choice((Geometry(flat=2), Geometry(0, 2, None, -4.0)))
    monkeypatch.setattr(Choice, "of", lambda *_: few)
    monkeypatch.setattr(Row, "score", property(lambda row: 1.0 if row.geometry.is_flat else 0.0))
    embedding = uh.embed(uh.datasets.karate(), dim=2, beta=-4.0, iterations=8, quiet=True)
    assert (embedding.run["config"]["flat"], embedding.run["config"]["beta"]) == (2, -1.0)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"dim": []}, "dim must be one dimension or several"),
        ({"held_out": "a lot"}, "held_out must be"),
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"seeds": 0}, "seeds must be"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"by": "nodes"}, "by must be one of graph, links, got 'nodes'"),
    ],
)
def test_bad_arguments(monkeypatch, arguments, message):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    monkeypatch.setattr(NumbaEngine, "advance", lambda *_: pytest.fail("a training began"))
    with pytest.raises(ValueError, match=message):
        uh.select(uh.datasets.karate(), quiet=True, **arguments)


def test_a_notebook_shows_the_choice():
    one = uh.select("karate", dim=2, iterations=40, quiet=True)
    shown = one._repr_html_()
    assert f"Best geometry: {one.best.markup}" in shown
    assert shown.count("<tr>") == len(one.rows) + 1
    assert "try seeds=5" in shown
    two = uh.select("karate", dim=2, seeds=2, iterations=40, quiet=True)
    assert "±" in two._repr_html_()
    assert "try seeds=5" not in two._repr_html_()


@pytest.mark.parametrize("directed", [False, True])
def test_a_walk_leaves_the_ties_among_the_nodes_it_meets(directed):
    made = nx.barabasi_albert_graph(300, 3, seed=0)
    graph = uh.Graph.from_edges(list(made.edges()), directed=directed)
    some = MODULE.walked(graph, 100)
    assert some.n_nodes == 100
    assert 100 < some.n_edges < graph.n_edges
    assert (some.directions is None) == (graph.directions is None)
    assert some == uh.Graph(some.ids, some.edges, some.weights, directions=some.directions)
    shuffled = uh.Graph.from_edges([*reversed(list(made.edges()))], directed=directed)
    assert some == MODULE.walked(shuffled, 100), "it depends on the order of rows"
    assert MODULE.walked(graph, 300) is graph


def test_a_large_graph_is_compared_on_some_of_its_nodes(monkeypatch, caplog):
    sizes = []
    monkeypatch.setattr(MODULE, "walked", lambda graph: walked(graph, 60))
    monkeypatch.setattr(
        MODULE,
        "Execution",
        lambda plan, graph, **k: sizes.append(graph.n_nodes) or made(plan, graph, **k),
    )
    graph = uh.Graph.from_edges(list(nx.barabasi_albert_graph(90, 3, seed=0).edges()))
    found = uh.embed(graph, dim=2, iterations=48)
    assert found.points.shape == (90, found.points.shape[1])
    assert sizes == [60, 60]
    assert "compared on 60 of 90 nodes" in caplog.text


walked, made = MODULE.walked, MODULE.Execution
