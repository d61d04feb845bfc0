"""Which geometry a graph wants."""

from __future__ import annotations

import json
from importlib import import_module

import networkx as nx
import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training.select import Row, _near, prior


@pytest.fixture(scope="module")
def found():
    return uh.select_signature(uh.datasets.karate(), dim=3, seeds=3, iterations=200, quiet=True)


def test_every_geometry_is_there_once_and_the_weak_are_dropped(found):
    names = [row.geometry.name for row in found.rows]
    assert sorted(names) == ["Q^{0,3}", "Q^{1,2}", "Q^{2,1}", "Q^{3,0}", "R^3"]
    assert [row.iterations for row in found.rows] == [200, 200, 100, 50, 50]
    assert [row.kept for row in found.rows] == [True, True, False, False, False]
    assert all(len(row.held_out) == len(row.violated_orders) == 3 for row in found.rows)
    means = [np.mean(row.held_out) for row in found.rows]
    assert means[0] <= means[1]
    assert found.best is found.rows[0].geometry


def test_the_same_seed_selects_the_same(found):
    again = uh.select_signature(uh.datasets.karate(), dim=3, seeds=3, iterations=200, quiet=True)
    assert [row.to_json() for row in again.rows] == [row.to_json() for row in found.rows]


def test_plain_data(found):
    data = json.loads(json.dumps(found.to_json()))
    assert data["winner"] == found.best.name
    assert set(data["rows"][0]) >= {"geometry", "p", "q", "flat", "seeds", "violated_orders", "held_out", "kept"}
    assert list(found.to_frame()["geometry"]) == [row.geometry.name for row in found.rows]


def test_noise_is_two_standard_errors_of_the_difference():
    best = Row(Geometry(4, 0), held_out=[0.10, 0.20, 0.30])
    always_worse = Row(Geometry(3, 1), held_out=[0.15, 0.25, 0.35])
    sometimes = Row(Geometry(2, 2), held_out=[0.05, 0.40, 0.25])
    dropped = Row(Geometry(0, 4), held_out=[0.11, 0.21, 0.31], kept=False)
    assert _near([best, always_worse, sometimes, dropped]) == ["Q^{2,2}"]


def test_a_graph_of_few_edges_is_judged_by_its_orders():
    found = uh.select_signature(uh.as_graph(nx.path_graph(6)), dim=2, seeds=2, iterations=40, quiet=True)
    assert all(not row.held_out and len(row.violated_orders) == 2 for row in found.rows)


def test_where_every_pair_is_tied_orders_decide():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.uniform(1.0, 9.0, (9, 9)), 1)
    found = uh.select_signature(weights + weights.T, dim=2, seeds=2, iterations=40, quiet=True)
    assert all(not row.held_out and len(row.violated_orders) == 2 for row in found.rows)
    means = [np.mean(row.violated_orders) for row in found.rows if row.kept]
    assert means == sorted(means)


def test_an_interrupt_ends_the_comparison(monkeypatch):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(NumbaEngine, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt) as raised:
        uh.select_signature(uh.datasets.karate(), dim=2, seeds=2, iterations=40, quiet=True)
    assert not isinstance(raised.value, uh.Interrupted)  # half a comparison is none


def test_half_of_a_time_limit_is_for_the_choice(monkeypatch):
    select, train = import_module("ultrahyperbolic.training.select"), import_module("ultrahyperbolic.training.train")
    limits = []
    embed_many = train.embed_many

    def look(*arguments, **options):
        limits.append(options["time_limit"])
        return embed_many(*arguments, **options)

    for module in (select, train):
        monkeypatch.setattr(module, "embed_many", look)
    uh.embed(uh.datasets.karate(), dim=2, iterations=16, time_limit=8.0, quiet=True)
    assert limits[:2] == [2.0, 2.0]
    assert len(limits) == 3
    assert 0.0 < limits[2] < 8.0


@pytest.mark.parametrize("wrong", [{"beta": 1.0}, {"preset": "papper"}, {"temperature": -1.0}, {"dim": 0}])
def test_what_is_wrong_is_told_before_the_choice(monkeypatch, wrong):
    from ultrahyperbolic.training import plan

    monkeypatch.setattr(plan, "choose_geometry", lambda *_, **__: pytest.fail("it was chosen first"))
    with pytest.raises(ValueError, match=next(iter(wrong))):
        uh.embed(uh.datasets.karate(), **{"dim": 2, **wrong}, quiet=True)


def test_a_board_that_cannot_be_written_is_told_before_the_choice(monkeypatch, tmp_path):
    import sys

    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    monkeypatch.setattr(NumbaEngine, "advance", lambda *_: pytest.fail("a training began"))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="this is a file; name a folder"):
        uh.embed(uh.datasets.karate(), dim=2, iterations=8, quiet=True, tensorboard=tmp_path / "file")
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match=r"ultrahyperbolic\[tensorboard\]"):
        uh.embed(uh.datasets.karate(), dim=2, iterations=8, quiet=True, tensorboard=tmp_path / "board")


def test_what_flat_space_has_not_is_chosen_among_the_curved():
    embedding = uh.embed(uh.datasets.karate(), dim=2, iterations=16, quiet=True, optimizer="phi")
    assert sorted(row["geometry"] for row in embedding.run["select"]["rows"]) == ["Q^{0,2}", "Q^{1,1}", "Q^{2,0}"]


def test_beta_is_of_the_curved_geometries(monkeypatch):
    select = import_module("ultrahyperbolic.training.select")
    monkeypatch.setattr(select, "_geometries", lambda dim, beta: [Geometry(flat=dim), Geometry(0, dim, None, beta)])
    monkeypatch.setattr(Row, "scores", property(lambda row: [0.0 if row.geometry.flat else 1.0]))
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


def test_a_dimension_alone_selects():
    embedding = uh.embed(uh.datasets.karate(), dim=2, iterations=80, quiet=True)
    assert embedding.manifold.dim == 2
    assert embedding.run["select"]["winner"] == embedding.run["select"]["rows"][0]["geometry"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"dim": []}, "dim must be one dimension or several"),
        ({"held_out": "a lot"}, "held_out must be"),
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"seeds": 0}, "seeds must be"),
        ({"held_out": 1.0}, "held_out must be"),
    ],
)
def test_bad_arguments(monkeypatch, arguments, message):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    monkeypatch.setattr(NumbaEngine, "advance", lambda *_: pytest.fail("a training began"))
    with pytest.raises(ValueError, match=message):
        uh.select_signature(uh.datasets.karate(), quiet=True, **arguments)
