"""What a training does that nobody has tuned: its start, its tries, and that it never ends worse than it began."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from plans import configure

import ultrahyperbolic as uh
from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.evaluation import violated_orders
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph.hops import hops_from
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.defaults import at_temperature, choose, tries
from ultrahyperbolic.training.start import SpectralStart
from ultrahyperbolic.training.train import embed_many

MANIFOLDS = [
    PseudoHyperboloid(4, 0),
    PseudoHyperboloid(3, 1, -4.0),
    PseudoHyperboloid(2, 2, -0.25),
    PseudoHyperboloid(0, 4),
    PseudoHyperboloid(1, 0),
    Euclidean(4),
]
GRAPHS = {
    "karate": uh.datasets.karate,
    "two components": lambda: uh.as_graph(nx.disjoint_union(nx.path_graph(5), nx.cycle_graph(4))),
    "isolated nodes": lambda: uh.Graph.from_arrays(np.array([0]), np.array([1]), None, ids=4),
    "star": lambda: uh.as_graph(nx.star_graph(30)),
}


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_starts_are_on_the_manifold_and_differ_by_seed(graph, manifold):
    graph = graph()
    start = SpectralStart(graph)
    geometry = Geometry.of_manifold(manifold)
    first, again, other = start(geometry, 0), SpectralStart(graph)(geometry, 0), start(geometry, 1)
    assert first.shape == (graph.n_nodes, manifold.ambient_dim)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert manifold.check_point(torch.from_numpy(first)).ok
    assert manifold.check_point(torch.from_numpy(start(geometry, 0, 1e-3))).ok


def test_a_spectral_start_recovers_the_hops_of_a_tree():
    # -cosh of tree distances has nearly the rank of hyperbolic space: near pairs start nearer than far ones.
    graph = uh.as_graph(nx.balanced_tree(2, 4))
    manifold = PseudoHyperboloid(4, 0)
    points = torch.from_numpy(SpectralStart(graph)(Geometry(4, 0), 0))
    hops = hops_from(graph, np.arange(graph.n_nodes))
    distances = manifold.dist(points[:, None], points[None]).numpy()
    assert np.corrcoef(hops.ravel(), distances.ravel())[0, 1] > 0.8


def test_landmarks_place_all_nodes(monkeypatch):
    from ultrahyperbolic.training import start

    graph, manifold = uh.datasets.lesmis(), PseudoHyperboloid(3, 1)
    whole = SpectralStart(graph)(Geometry(3, 1), 0)
    monkeypatch.setattr(start, "_LANDMARKS", 40)
    few = SpectralStart(graph)(Geometry(3, 1), 0)
    assert manifold.check_point(torch.from_numpy(few)).ok
    for points, most in ((whole, 0.2), (few, 0.25)):
        assert violated_orders(graph, torch.from_numpy(points), manifold).edges_vs_nonedges < most


def test_a_start_is_drawn_together():
    start = SpectralStart(uh.datasets.karate())
    spread = [np.ptp(start(Geometry(3, 1), 0, scale)[:, 1:]) for scale in (1.0, 0.01)]
    assert spread[1] == pytest.approx(0.01 * spread[0], rel=0.2)


def test_settings_scale_with_the_radius():
    (small,), (large,) = ([tries(TrainingConfig(p=3, q=1, beta=b), 5000)[0]] for b in (-1.0, -4.0))
    assert large.temperature == tuple(2.0 * t for t in small.temperature)
    assert large.max_step == tuple(2.0 * t for t in small.max_step)
    assert large.epsilon == tuple(4.0 * t for t in small.epsilon)


def test_beta_changes_nothing_but_the_scale():
    # A few iterations: at the lowest temperatures last digits grow tenfold in every few.
    graph = uh.datasets.karate()
    found = [uh.embed(graph, p=2, q=1, beta=b, iterations=5, quiet=True) for b in (-1.0, -4.0)]
    np.testing.assert_allclose(found[1].points, 2.0 * found[0].points, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("given", "scaled"),
    [
        ({"temperature": 0.01}, {"temperature": 0.02}),
        ({"temperature": (0.1, 0.05)}, {"temperature": (0.2, 0.1)}),
        ({"optimizer": "phi"}, {"optimizer": "phi"}),
        ({"preset": "paper"}, {"preset": "paper"}),
    ],
)
def test_beta_changes_nothing_but_the_scale_of_what_is_given(given, scaled):
    graph = uh.datasets.karate()
    one, four = (
        uh.embed(graph, p=2, q=1, beta=b, iterations=5, quiet=True, **how) for b, how in ((-1.0, given), (-4.0, scaled))
    )
    np.testing.assert_allclose(four.points, 2.0 * one.points, rtol=1e-6, atol=1e-7)


def test_the_recipe_trains_at_every_beta():
    config, tiny = (
        configure(uh.datasets.karate(), p=3, q=1, beta=beta, preset="paper", iterations=400)[0]
        for beta in (-1.0, -1e-6)
    )
    assert config.step == 1e-6
    assert config.temperature == (0.01, 0.01)
    one, small = (embed_many(uh.datasets.karate(), [each], measures=False)[0].run for each in (config, tiny))
    assert small["best_loss"] == pytest.approx(one["best_loss"], rel=0.05)
    assert small["best_loss"] < 0.9 * small["loss"][0]


def test_tries_are_told_and_the_best_is_kept():
    embedding = uh.embed(uh.datasets.karate(), p=2, q=2, iterations=200, quiet=True)
    shares = [found["violated_orders_all"] for found in embedding.run["tries"]]
    (kept,) = [found for found in embedding.run["tries"] if found["kept"]]
    assert kept["violated_orders_all"] == min(shares) == embedding.run["measures"]["violated_orders_all"]
    assert len(shares) == 4


@pytest.mark.parametrize("q", [0, 1])
def test_the_warm_training_is_preferred(q):
    configs = tries(TrainingConfig(p=3, q=q), 34)
    assert len(configs) == 5
    assert configs[0].temperature[0] == configs[0].temperature[1]
    assert choose(configs, [0.02, 0.01, 0.5, 0.5, 0.5]) == 0
    assert choose(configs, [0.03, 0.01, 0.5, 0.5, 0.5]) == 1
    assert choose(configs, [0.06, 0.05, 0.5, 0.5, 0.5]) == 1
    assert choose(configs, [math.nan] * 5) == 0
    assert choose(configs[1:], [0.02, 0.01, 0.5, 0.5]) == 1


@pytest.mark.parametrize("geometry", [{"p": 2, "q": 2}, {"p": 0, "q": 2}, {"p": None, "q": None, "flat": 2}])
def test_other_geometries_have_none(geometry):
    configs = tries(TrainingConfig(**geometry), 34)
    assert len(configs) == 4
    assert choose(configs, [0.02, 0.01, 0.5, 0.5]) == 1


def test_a_large_graph_is_trained_once():
    for geometry in ({"p": 4, "q": 0}, {"p": 3, "q": 1}, {"p": 2, "q": 2}, {"p": 0, "q": 4}):
        configs = tries(TrainingConfig(**geometry), 5000)
        assert len(configs) == 1
        assert choose(configs, [0.3]) == 0


def test_saying_how_means_one_training():
    graph = uh.datasets.karate()
    assert len(configure(graph, p=3, q=1, step=0.1)) == 1
    assert len(configure(graph, p=3, q=1, iterations=10)) > 1
    (config,) = configure(graph, p=3, q=1, temperature=0.01)
    assert (config.temperature, config.max_step) == ((0.03, 0.01), (0.03, 0.001))
    (config,) = configure(graph, p=3, q=1, temperature=0.01, max_step=(1.0, 0.5))
    assert config.max_step == (1.0, 0.5)
    (config,) = configure(graph, p=3, q=1, temperature=0.02, preset="paper")
    assert (config.temperature, config.step) == ((0.02, 0.02), 1e-6)
    flat = TrainingConfig(p=None, q=None, flat=2)
    assert at_temperature(0.04, flat)["max_step"] == pytest.approx((0.6, 0.02))


def test_nothing_ends_worse_than_it_began():
    graph = uh.datasets.karate()
    (config,) = configure(graph, p=3, q=1, temperature=0.01, iterations=3)
    (wild,) = embed_many(graph, [replace(config, max_step=None, step=1e9, step_back=False)], measures=False)
    assert np.isfinite(wild.points).all()
    assert wild.run["final_loss"] <= wild.run["start_loss"]
    (tame,) = embed_many(graph, [replace(config, iterations=60)], measures=False)
    assert tame.run["final_loss"] < 0.8 * tame.run["start_loss"]


@pytest.mark.parametrize("geometry", [{"p": 4, "q": 0}, {"p": 2, "q": 2}, {"p": 0, "q": 4}, {"flat": True}], ids=str)
@pytest.mark.parametrize("graph", ["weights", "components", "bipartite", "isolated"])
def test_odd_graphs_need_no_argument(graph, geometry):
    made = {
        "weights": lambda: uh.Graph.from_arrays(np.arange(20), np.arange(1, 21), np.array([1e-9, 1e9] * 10), ids=21),
        "components": lambda: uh.as_graph(nx.disjoint_union_all([nx.path_graph(3)] * 8)),
        "bipartite": lambda: uh.as_graph(nx.complete_bipartite_graph(6, 6)),
        "isolated": lambda: uh.Graph.from_arrays(np.array([0]), np.array([1]), None, ids=3),
    }[graph]()
    embedding = uh.embed(made, iterations=60, quiet=True, **geometry)
    assert np.isfinite(embedding.points).all()
    assert np.isfinite(embedding.delta).all()
    assert embedding.run["final_loss"] <= embedding.run["start_loss"]
