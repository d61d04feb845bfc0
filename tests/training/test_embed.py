"""From a graph to an embedding and back from disk."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from plans import configure

import ultrahyperbolic as uh
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.train import embed_many


@pytest.fixture(scope="module")
def club():
    return uh.embed(uh.datasets.karate(), p=3, q=1, quiet=True)


def test_it_finds_the_leaders_in_hyperbolic_space():
    top = uh.embed(uh.datasets.karate(), p=6, q=0, quiet=True).hierarchy(by="delta")
    assert set(top.node[:3]) >= {"1", "34"}


def test_it_answers_questions_by_id(club):
    near = club.neighbors("34", k=5)
    assert list(near.columns) == ["node", "distance", "weight", "connected", "club"]
    assert near.distance.is_monotonic_increasing
    assert near.connected.all()
    assert (near.weight > 0.0).all()
    first = near.node[0]
    assert club.distance("34", first) == pytest.approx(near.distance[0])
    assert club.distances("34")[club.index(first)] == pytest.approx(near.distance[0])
    assert club.distances().shape == (34, 34)
    assert club.closer_than("34", near.distance[2]) == near.node[:2].tolist()
    positions, distances = club.nearest(2)
    assert club.ids[positions[club.index("34"), 0]] == first
    assert distances[club.index("34"), 0] == pytest.approx(near.distance[0])
    with pytest.raises(
        KeyError, match="no node 34 in this embedding; ids read from text are text: try '34'"
    ):
        club.index(34)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        club.neighbors("1", k=0)


def test_same_seed_same_bits_for_any_number_of_threads():
    short = {"p": 3, "q": 1, "iterations": 100, "quiet": True}
    usual = uh.embed(uh.datasets.karate(), **short)
    for options in ({}, {"threads": 1}, {"threads": 2}):
        assert np.array_equal(
            uh.embed(uh.datasets.karate(), **short, **options).points, usual.points
        )
    assert not np.array_equal(uh.embed(uh.datasets.karate(), **short, seed=1).points, usual.points)


def test_a_batch_is_its_runs(club):
    graph = uh.datasets.karate()
    kept = TrainingConfig.from_json(club.run["config"])
    configs = [replace(kept, seed=s) for s in (3, 0, 5)]
    batch = embed_many(graph, configs, measures=False)
    assert np.array_equal(batch[1].points, club.points)


@pytest.mark.parametrize(
    "ids",
    [
        ["007", "7", "=1", "é\n"],
        [math.inf, -math.inf, 1.5, ("x", -math.inf)],
        ["Infinity", math.inf, np.float64(-math.inf), "-inf"],
    ],
)
def test_ids_survive_the_disk(ids, tmp_path):
    graph = uh.Graph.from_edges([(ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[3])])
    embedding = uh.embed(graph, p=2, q=1, iterations=4, quiet=True)
    embedding.save(tmp_path / "e")
    assert list(uh.load(tmp_path / "e").ids) == ids


def test_delta_is_read_and_not_summed_again(club, tmp_path, monkeypatch):
    from ultrahyperbolic.embedding import embedding

    folder = club.save(tmp_path / "club")
    table = pd.read_parquet(folder / "embedding.parquet")  # which needs nothing of ours
    assert np.array_equal(table[[f"x{k}" for k in range(5)]].to_numpy(), club.points)
    assert np.array_equal(table["rank"], club.rank)
    with pytest.raises(FileExistsError, match="holds an embedding already"):
        club.save(folder)
    club.save(folder, overwrite=True)
    monkeypatch.setattr(embedding, "delta", None)
    loaded = uh.load(folder)
    assert np.array_equal(loaded.delta, club.delta)
    assert np.array_equal(loaded.rank, club.rank)


@pytest.mark.parametrize("bad", [np.nan, np.inf, None, "far"])
def test_a_delta_that_cannot_be_is_refused(club, tmp_path, bad):
    folder = club.save(tmp_path / "club")
    table = pq.read_table(folder / "embedding.parquet")
    column = (
        pa.array(["far"] * 34)
        if bad == "far"
        else pa.array([bad, *club.delta[1:].tolist()], pa.float64())
    )
    table = table.set_column(table.column_names.index("delta"), "delta", column)
    pq.write_table(table, folder / "embedding.parquet")
    with pytest.raises(ValueError, match="is not an embedding of this package"):
        uh.load(folder)


@pytest.mark.parametrize(
    ("preset", "said", "settings"),
    [
        (
            "paper",
            "x_0 kept at 1",
            {"step": 1e-6, "drop_below": 400.0, "best_every": 20, "perturb_first": False},
        ),
        (
            "paper-text",
            "the authors' scripts differ",
            {"step": 1e-6, "drop_below": None, "keep": "last", "perturb_first": True}
            | {"dissimilarity": "geodesic", "temperature": (0.01, 0.01), "max_step": None},
        ),
    ],
)
def test_a_preset_says_what_differs(caplog, preset, said, settings):
    graph = uh.datasets.karate()
    embedding = uh.embed(graph, p=3, q=1, preset=preset, iterations=30)
    assert said in caplog.text
    config = TrainingConfig.from_json(embedding.run["config"])
    assert {name: getattr(config, name) for name in settings} == settings
    start = config.starting_points(graph)
    assert np.abs(start[:, 1:] / start[:, :1]).max() <= 0.12
    (hyperbolic,) = configure(graph.unweighted(), p=4, q=0, preset=preset)
    (flat,) = configure(graph, flat=True, preset=preset)
    if preset == "paper":
        assert (hyperbolic.drop_below, hyperbolic.optimizer) == (100.0, "gradient")
    else:
        assert embedding.run["best_iteration"] == 29
        assert (hyperbolic.optimizer, hyperbolic.iterations) == ("descent", 10_000)
        assert (flat.dissimilarity, flat.optimizer) == ("distance", "descent")


def test_callbacks_and_limits():
    seen = []
    embedding = uh.embed(
        uh.datasets.karate(),
        quiet=True,
        callback=lambda p: seen.append(p.iteration) or len(seen) == 2,
    )
    assert embedding.run["stopped"] == "a callback asked to stop"
    assert embedding.run["iterations"] == seen[-1]
    limited = uh.embed(uh.datasets.karate(), quiet=True, time_limit=1e-6)
    assert "time limit" in limited.run["stopped"]


def test_one_pass_over_the_pairs_answers_all_questions(passes, tmp_path):
    from ultrahyperbolic.pairs import rows_of
    from ultrahyperbolic.report import write_report

    options = {"p": 2, "q": 1, "iterations": 50, "quiet": True}
    embedding = uh.embed(uh.datasets.karate(), **options, temperature=0.1)
    assert len(passes) == 1
    embedding.hierarchy()
    embedding.save(tmp_path)
    found = [embedding.nearest(k) for k in (1, 3, 5)]
    assert embedding._repr_html_()
    assert len(passes) == 1
    write_report(embedding, tmp_path)
    assert len(passes) == 2, "the nearest nodes without a tie are beyond those that were kept"
    points = torch.from_numpy(np.array(embedding.points))
    torchs = {"popularity": embedding.popularity, "backend": "reference"}
    sums = rows_of(points, embedding.manifold, **torchs).sums
    np.testing.assert_allclose(embedding.delta, sums, rtol=1e-12, atol=1e-12)
    for k, (indices, distances) in zip((1, 3, 5), found, strict=True):
        expected = rows_of(points, embedding.manifold, k=k, **torchs)
        assert np.array_equal(indices, expected.indices)
        np.testing.assert_allclose(distances, expected.distances, rtol=1e-12, atol=1e-12)
    assert embedding.nearest(6)[0].shape == (34, 6)
    with pytest.raises(ValueError, match="k must be at least 1"):
        embedding.nearest(0)
    # Of several seeds, only the one that is kept is looked at.
    passes.clear()
    assert len(uh.embed(uh.datasets.karate(), **options, seeds=3).run["tries"]) == 3
    assert len(passes) == 1


def test_the_bar_of_a_training_takes_no_pass_over_the_pairs(terminal, passes):
    stderr, seen = terminal(), []
    # A bar is drawn every tenth of a second, and this training may be over sooner: it rests once.
    rests = iter([0.3])
    shown = uh.embed(
        uh.datasets.karate(),
        p=2,
        q=1,
        iterations=4000,
        callback=lambda _: (seen.append(len(passes)), time.sleep(next(rests, 0.0)))[0],
    )
    assert seen
    assert not any(seen)
    drawn = stderr.getvalue()
    assert "training" in drawn
    assert "/4000" in drawn
    assert "loss " in drawn
    quiet = uh.embed(uh.datasets.karate(), p=2, q=1, iterations=4000, quiet=True)
    assert np.array_equal(shown.points, quiet.points)


@pytest.mark.parametrize(
    "graph",
    [
        uh.Graph.from_edges([("a", "b")], nodes=["a", "b", "c"]),
        uh.Graph.from_edges([("a", "b"), ("c", "d")]),
        uh.Graph.from_edges([("a", "b", 1e-9), ("b", "c", 1e9)]),
    ],
    ids=["one tie and an isolated node", "two components", "weights far apart"],
)
def test_small_and_odd_graphs_train(graph):
    embedding = uh.embed(graph, p=2, q=1, quiet=True)
    assert np.isfinite(embedding.points).all()
    assert embedding.run["measures"]["violated_orders_all"] < 0.05


def test_interrupted_before_the_first_chunk_ends(monkeypatch, tmp_path):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    def interrupted(self, state, iterations):
        raise KeyboardInterrupt

    monkeypatch.setattr(NumbaEngine, "advance", interrupted)
    with pytest.raises(uh.Interrupted, match="after 0 iterations") as raised:
        uh.embed(uh.datasets.karate(), quiet=True)
    embedding = raised.value.embedding
    assert embedding.run["stopped"] == "interrupted"
    assert embedding.run["best_loss"] is None
    embedding.save(tmp_path / "e")
    assert json.loads((tmp_path / "e" / "run.json").read_text())["iterations"] == 0


def pressed_at(iteration):
    def press(progress):
        if progress.iteration >= iteration:
            os.kill(os.getpid(), signal.SIGINT)

    return press


@pytest.mark.usefixtures("listening")
def test_ctrl_c_ends_a_loop_over_seeds():
    trained = []

    def sweep():
        for seed in range(3):
            trained.append(seed)
            uh.embed(
                uh.datasets.karate(), seed=seed, iterations=400, quiet=True, callback=pressed_at(30)
            )

    with pytest.raises(KeyboardInterrupt) as raised:
        sweep()
    assert trained == [0]
    embedding = raised.value.embedding
    assert isinstance(raised.value, uh.Interrupted)
    assert (embedding.run["stopped"], embedding.run["measures"]) == ("interrupted", {})
    assert 30 <= embedding.run["iterations"] < 400


@pytest.mark.usefixtures("listening")
def test_ctrl_c_gives_what_each_training_of_a_batch_had_reached():
    configs = [TrainingConfig(seed=seed, iterations=400) for seed in (0, 1)]
    with pytest.raises(uh.Interrupted) as raised:
        embed_many(uh.datasets.karate(), configs, callbacks=[pressed_at(30)])
    assert [e.run["seed"] for e in raised.value.embeddings] == [0, 1]
    assert {e.run["stopped"] for e in raised.value.embeddings} == {"interrupted"}


def test_ctrl_c_in_measuring_gives_the_points(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ultrahyperbolic.training.train.over_nodes", interrupted)
    with pytest.raises(uh.Interrupted) as raised:
        uh.embed(uh.datasets.karate(), dim=2, iterations=20, quiet=True)
    run = raised.value.embedding.run
    assert (run["stopped"], run["measures"]) == ("reached 20 iterations", {})
    assert "select" in run


def test_records_hold_no_infinities(tmp_path):
    from ultrahyperbolic.embedding.record import RunRecord
    from ultrahyperbolic.embedding.store import write_record

    odd = {"n": {"x": np.float64(2.0)}}
    write_record(tmp_path, RunRecord(loss=[1.0, float("inf"), float("nan")], other=odd))
    record = json.loads((tmp_path / "run.json").read_text())
    assert (record["loss"], record["n"]) == ([1.0, None, None], {"x": 2.0})
