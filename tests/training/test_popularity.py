"""Popularity from the training to the folder: what is learnt, kept, asked for and measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic import evaluation
from ultrahyperbolic.training import embed_many
from ultrahyperbolic.training.method import recipe

KARATE = uh.datasets.karate()


@pytest.fixture(scope="module")
def popular():
    return uh.embed(KARATE, p=2, q=2, iterations=300, popularity=True, quiet=True)


def test_it_serves_the_neighbours(popular):
    plain = uh.embed(KARATE, p=2, q=2, iterations=300, popularity=False, quiet=True)
    assert plain.popularity is None
    assert popular.record.measures["map"] > plain.record.measures["map"] + 0.02
    assert popular.record.measures["tie_order"] > plain.record.measures["tie_order"]
    assert popular.record.result.final_loss < plain.record.result.final_loss


@pytest.mark.slow
def test_offsets_learnt_from_samples_of_the_pairs_do_not_rise():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 400, (2, 1200))
    graph = uh.Graph.from_arrays(i[i != j], j[i != j], ids=400)
    made = replace(recipe(uh.TrainingConfig(2, 2, iterations=200), graph), popularity=True)
    whole, sampled = (embed_many(graph, [replace(made, parts=parts)])[0] for parts in (1, 4))
    assert abs(sampled.popularity.mean()) < 1e-4 * sampled.popularity.std()
    assert sampled.popularity.std() < 2.0 * whole.popularity.std()
    assert sampled.record.measures["map"] > whole.record.measures["map"] - 0.05


def test_the_folder_keeps_it(popular, tmp_path):
    again = uh.load(popular.save(tmp_path / "club"))
    assert np.array_equal(again.popularity, popular.popularity)
    assert again.run["config"]["popularity"] is True
    assert again.neighbors("34").equals(popular.neighbors("34"))
    table = popular.to_pandas()
    assert np.array_equal(table["popularity"], popular.popularity)
    plain = replace(popular, popularity=None)
    assert uh.load(plain.save(tmp_path / "plain")).popularity is None


def test_every_distance_is_less_the_popularity_of_both(popular):
    distances, a = popular.distances("34"), popular.popularity
    plain = replace(popular, popularity=None).distances("34") - (a[popular.index("34")] + a)
    plain[popular.index("34")] = 0.0
    np.testing.assert_allclose(distances, plain, rtol=1e-12, atol=1e-15)
    table = popular.neighbors("34", k=33)
    assert list(table.columns) == ["node", "distance", "weight", "connected", "club"]
    rows = [popular.index(node) for node in table["node"]]
    assert np.array_equal(table["distance"], distances[rows])
    assert (np.diff(table["distance"]) >= 0.0).all()
    for one in (popular, replace(popular, graph=None)):
        indices, near = one.nearest(5)
        assert [one.ids[k] for k in indices[popular.index("34")]] == list(table["node"][:5])
        np.testing.assert_allclose(near[popular.index("34")], table["distance"][:5], rtol=1e-12)
    assert popular.distance("34", "33") == distances[popular.index("33")]


def test_delta_sums_the_distances_that_neighbours_are_ordered_by(popular):
    np.testing.assert_allclose(popular.delta, popular.distances().sum(1), rtol=1e-10, atol=1e-12)
    points = torch.from_numpy(popular.points.copy())
    one, other = (
        evaluation.evaluate(KARATE, points, popular.manifold, popularity=a)
        for a in (popular.popularity, None)
    )
    for name in ("map", "tie_order", "violated_orders", "spearman_all"):
        assert one[name] != other[name]


def test_measures_are_those_of_a_matrix(popular):
    a, d = popular.popularity, popular.distances().copy()
    np.fill_diagonal(d, np.inf)
    tied = np.zeros(d.shape, dtype=bool)
    tied[tuple(KARATE.edges.T)] = tied[tuple(KARATE.edges.T[::-1])] = True
    precision = [
        np.mean(
            [
                (tied[u] & (d[u] <= d[u, v])).sum() / (d[u] <= d[u, v]).sum()
                for v in np.flatnonzero(tied[u])
            ]
        )
        for u in range(len(d))
    ]
    edges, others = d[tuple(KARATE.edges.T)], d[np.triu(~tied, 1)]
    assert popular.record.measures["map"] == pytest.approx(np.mean(precision), abs=1e-9)
    assert popular.record.measures["recall_at_1"] == tied[np.arange(len(d)), d.argmin(1)].mean()
    share = (others[None, :] <= edges[:, None]).mean()
    assert popular.record.measures["violated_orders"] == pytest.approx(share, abs=1e-9)
    points = torch.from_numpy(popular.points.copy())
    found = evaluation.link_prediction(
        KARATE, points, popular.manifold, KARATE.edges[:20], popularity=a
    )
    closer = (edges[:20, None] < others[None, :]).mean()
    assert found.auc == pytest.approx(closer, abs=1e-9)
