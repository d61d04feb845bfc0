"""Popularity from the training to the folder: what is learnt, kept, asked for and measured."""

from __future__ import annotations

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
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


@pytest.mark.parametrize(("p", "q"), [(2, 2), pytest.param(3, 0, marks=pytest.mark.slow)])
def test_the_finish_lowers_the_loss_in_points_and_offsets(p, q):
    made = recipe(uh.TrainingConfig(p, q, iterations=60), KARATE)
    config = replace(made, finish=0.5, popularity=True)
    kept = []
    (found,) = embed_many(
        KARATE,
        [config],
        measures=False,
        callbacks=[lambda now: kept.append(now.state.best_offsets.copy())],
    )
    finish = np.array(found.record.loss)[30:]
    assert (np.diff(finish) <= 0.0).all()
    assert finish[-1] < finish[0]
    assert not np.array_equal(kept[-1], kept[-20])


def test_a_training_gone_on_with_anywhere_comes_to_the_same_end():
    kept = []

    def keep(progress):
        found = progress.checkpoint()
        names = ("points", "best", "record", "offsets", "best_offsets")
        state = replace(found.state, **{name: getattr(found.state, name).copy() for name in names})
        kept.append(replace(found, state=state))

    config = replace(
        recipe(uh.TrainingConfig(2, 2, iterations=200), KARATE), finish=0.6, popularity=True
    )
    (whole,) = embed_many(KARATE, [config], measures=False, callbacks=[keep])
    assert len(kept) > 5
    for so_far in kept[:: len(kept) // 5]:
        (again,) = embed_many(KARATE, [config], measures=False, checkpoint=so_far)
        assert np.array_equal(again.points, whole.points)
        assert np.array_equal(again.popularity, whole.popularity)


def test_the_folder_keeps_it(popular, tmp_path):
    again = uh.load(popular.save(tmp_path / "club"))
    assert np.array_equal(again.popularity, popular.popularity)
    assert again.run["config"]["popularity"] is True
    assert again.neighbors("34").equals(popular.neighbors("34"))
    table = popular.to_pandas()
    assert np.array_equal(table["popularity"], popular.popularity)
    plain = replace(popular, popularity=None)
    assert uh.load(plain.save(tmp_path / "plain")).popularity is None


def test_a_folder_of_an_earlier_version_loads(tmp_path):
    made = uh.embed(KARATE, p=2, q=2, iterations=20, popularity=False, quiet=True)
    config = {name: value for name, value in made.run["config"].items() if name != "popularity"}
    folder = made.with_record(replace(made.record, config=config, call=None)).save(
        tmp_path / "club"
    )
    assert "popularity" not in (folder / "run.json").read_text()
    again = uh.load(folder)
    assert again.popularity is None
    assert np.array_equal(again.points, made.points)
    assert list(again.neighbors("34").columns) == [
        "node",
        "distance",
        "weight",
        "connected",
        "club",
    ]


def test_other_forms_have_it_on_their_nodes(popular, tmp_path):
    found = popular.to_networkx()
    assert [found.nodes[node]["popularity"] for node in popular.ids] == popular.popularity.tolist()
    assert "popularity" not in replace(popular, popularity=None).to_networkx().nodes["34"]
    popular.export(tmp_path / "club.graphml", "graphml")
    popular.export(tmp_path / "club.gexf", "gexf")
    for read in (nx.read_graphml(tmp_path / "club.graphml"), nx.read_gexf(tmp_path / "club.gexf")):
        assert [
            read.nodes[node]["popularity"] for node in popular.ids
        ] == popular.popularity.tolist()
    popular.export(tmp_path / "nodes.csv", "csv")
    metadata = pd.read_csv(tmp_path / "nodes.csv")
    np.testing.assert_allclose(metadata["popularity"], popular.popularity, rtol=1e-15)


def test_a_record_of_an_earlier_version_has_none(popular):
    data = json.loads(json.dumps(popular.run["config"]))
    del data["popularity"]
    assert uh.TrainingConfig.from_json(data).popularity is False
    with pytest.raises(ValueError, match="popularity must be True or False, got 'much'"):
        uh.TrainingConfig(popularity="much")


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
