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
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.train import embed_many


@pytest.fixture(scope="module")
def club():
    return uh.embed(uh.datasets.karate(), p=3, q=1, quiet=True)


def test_it_finds_the_leaders_in_hyperbolic_space():
    top = uh.embed(uh.datasets.karate(), p=6, q=0, quiet=True).hierarchy(by="delta")
    assert set(top.node[:3]) >= {"1", "34"}


def test_delta_sums_the_distances(club):
    D = club.manifold.cdist(
        torch.from_numpy(np.array(club.points)), dissimilarity="geodesic"
    ).numpy()
    D -= club.popularity[:, None] + club.popularity
    np.fill_diagonal(D, 0.0)
    np.testing.assert_allclose(club.delta, D.sum(1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(club.distances(), D, rtol=1e-10, atol=1e-12)


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


def test_files_are_read_without_us(club, tmp_path):
    folder = club.save(tmp_path / "club")
    table = pd.read_parquet(folder / "embedding.parquet")
    assert list(table.columns) == [
        "node",
        "x0",
        "x1",
        "x2",
        "x3",
        "x4",
        "delta",
        "rank",
        "popularity",
        "club",
        "ties",
        "tie_weights",
        "centrality",
        "centrality_error",
    ]
    assert table.node.tolist() == [str(k) for k in range(1, 35)]
    assert np.array_equal(table[[f"x{k}" for k in range(5)]].to_numpy(), club.points)
    assert np.array_equal(table["rank"], club.rank)
    record = json.loads((folder / "run.json").read_text())
    assert record["graph"]["nodes"] == 34
    assert record["config"]["p"] == 3
    assert record["measures"]["recall_at_1"] > 0.9
    assert len(record["loss"]) * record["loss_every"] >= record["iterations"]
    loaded = uh.load(folder)
    assert np.array_equal(loaded.points, club.points)
    assert loaded.ids == list(club.ids)
    assert repr(loaded.manifold) == repr(club.manifold)
    with pytest.raises(FileExistsError, match="holds an embedding already"):
        club.save(folder)
    club.save(folder, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["embedding.parquet", "run.json"]


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2, 3, 4],
        ["a", 2, (3, "x"), 4.5],
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


@pytest.mark.parametrize("nan", [math.nan, ("x", math.nan), np.float64(math.nan)])
def test_nan_is_no_id_to_be_saved(nan, tmp_path):
    embedding = Embedding(["a", nan], np.arange(4.0).reshape(2, 2), uh.Euclidean(2))
    with pytest.raises(ValueError, match="an id is NaN, which is equal to no id"):
        embedding.save(tmp_path / "e")
    assert not (tmp_path / "e" / "embedding.parquet").exists()


def test_delta_is_read_and_not_summed_again(club, tmp_path, monkeypatch):
    from ultrahyperbolic.embedding import embedding

    folder = club.save(tmp_path / "club")
    monkeypatch.setattr(embedding, "delta", None)
    loaded = uh.load(folder)
    assert np.array_equal(loaded.delta, club.delta)
    assert np.array_equal(loaded.rank, club.rank)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, None, "far"])
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


def test_bad_folders_are_named(tmp_path, club):
    with pytest.raises(FileNotFoundError, match="holds no embedding"):
        uh.load(tmp_path)
    (tmp_path / "embedding.parquet").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="is not an embedding of this package"):
        uh.load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file; name a folder"):
        club.save(tmp_path / "file")


@pytest.mark.parametrize(
    ("where", "measure"),
    [
        ({"flat": True}, "distance"),
        ({"p": 3, "q": 1}, "extrinsic"),
        ({"p": 4, "q": 0}, "extrinsic"),
    ],
)
@pytest.mark.parametrize("temperature", [None, 0.05])
def test_other_distances_train(where, measure, temperature):
    embedding = uh.embed(
        uh.datasets.karate(),
        **where,
        dissimilarity=measure,
        temperature=temperature,
        iterations=500,
        quiet=True,
    )
    assert embedding.run["config"]["dissimilarity"] == measure
    assert embedding.run["timing"]["backend"] == "numba"
    x = torch.from_numpy(embedding.points.copy())
    orders = uh.evaluation.violated_orders(
        uh.datasets.karate(),
        x,
        embedding.manifold,
        dissimilarity=measure,
        popularity=embedding.popularity,
    )
    assert orders.edges_vs_nonedges < 0.1


def test_the_paper_preset_says_what_differs(caplog):
    embedding = uh.embed(uh.datasets.karate(), p=3, q=1, preset="paper", iterations=3)
    assert "x_0 kept at 1" in caplog.text
    config = embedding.run["config"]
    assert (config["step"], config["drop_below"], config["best_every"]) == (1e-6, 400.0, 20)
    start = TrainingConfig.from_json(config).starting_points(uh.datasets.karate())
    assert np.abs(start[:, 1:] / start[:, :1]).max() <= 0.1
    (unweighted,) = configure(uh.datasets.karate().unweighted(), p=4, q=0, preset="paper")
    assert unweighted.drop_below == 100.0
    (weighted,) = configure(uh.datasets.karate(), p=4, q=0, preset="paper")
    assert weighted.optimizer == "gradient"


def test_the_preset_of_the_text_keeps_to_the_text(caplog):
    graph = uh.datasets.karate()
    embedding = uh.embed(graph, p=3, q=1, preset="paper-text", iterations=30)
    assert "follows the paper's text; the authors' scripts differ" in caplog.text
    config = TrainingConfig.from_json(embedding.run["config"])
    assert (config.step, config.drop_below, config.max_step, config.keep) == (
        1e-6,
        None,
        None,
        "last",
    )
    assert (config.temperature, config.dissimilarity, config.perturb_first) == (
        (0.01, 0.01),
        "geodesic",
        True,
    )
    assert embedding.run["best_iteration"] == 29
    assert np.ptp(config.starting_points(graph)[:, 0]) > 0
    (hyperbolic,) = configure(graph, p=4, q=0, preset="paper-text")
    assert (hyperbolic.optimizer, hyperbolic.iterations) == ("descent", 10_000)
    (flat,) = configure(graph, flat=True, preset="paper-text")
    assert (flat.dissimilarity, flat.optimizer) == ("distance", "descent")


def test_defaults_and_signatures():
    graph = uh.datasets.karate()
    assert {(config.p, config.q) for config in configure(graph)} == {(3, 3)}
    assert {config.flat for config in configure(graph, flat=True)} == {4}
    for arguments, message in (
        ({"p": 3}, "p and q go together"),
        ({"p": 3, "q": 1, "dim": 4}, "not both"),
        ({"dim": 0, "flat": True}, "dim must be at least 1, got 0"),
        ({"p": -1, "q": 2}, "p must not be negative"),
        ({"preset": "mine"}, "preset must be 'paper', 'paper-text' or None, got 'mine'"),
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"temperature": (-1.0, 1.0)}, "temperature must be a finite positive number"),
        ({"optimizer": "phi", "flat": True}, "flat space has none"),
        ({"seed": -1}, "seed must be a non-negative integer"),
    ):
        with pytest.raises(ValueError, match=message):
            configure(graph, **arguments)
    with pytest.raises(ValueError, match="backend must be"):
        uh.embed(graph, backend="gpu", quiet=True)
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        uh.embed(graph, threads=0, quiet=True)


def test_configurations_survive_json():
    config = TrainingConfig(p=2, q=2, max_step=None, temperature=(1.0, 0.1))
    assert TrainingConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    with pytest.raises(ValueError, match="unknown training settings: colour"):
        TrainingConfig.from_json({"colour": 1})


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


@pytest.mark.parametrize("losses", [[np.nan, np.inf], [np.nan, 3.0]])
def test_the_bar_tells_what_is_not_finite(losses):
    from ultrahyperbolic.loop import Progress
    from ultrahyperbolic.training.train import _text

    progress = Progress(10, 40, np.array(losses), 20.0, None, [])
    assert (
        _text(progress) == ("loss 3, " if 3.0 in losses else "loss not finite, ") + "0:01:00 left"
    )


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


def test_a_star_trains():
    # The default violates up to a tenth of the orders of a star, depending on the seed: no more is
    # promised yet.
    embedding = uh.embed(uh.Graph.from_edges([("hub", k) for k in range(60)]), p=2, q=1, quiet=True)
    assert np.isfinite(embedding.points).all()
    assert embedding.run["loss"][-1] < embedding.run["loss"][0]


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


def test_records_hold_no_infinities(club, tmp_path):
    from ultrahyperbolic.embedding.record import RunRecord
    from ultrahyperbolic.embedding.store import write_record

    write_record(
        tmp_path,
        RunRecord(loss=[1.0, float("inf"), float("nan")], other={"n": {"x": np.float64(2.0)}}),
    )
    record = json.loads((tmp_path / "run.json").read_text())
    assert list(record) == ["n", "loss", "loss_every", "sha256"]
    assert (record["loss"], record["n"]) == ([1.0, None, None], {"x": 2.0})
    folder = club.save(tmp_path / "club")
    (folder / "run.json").write_text("{")
    with pytest.raises(ValueError, match=r"run\.json is damaged"):
        uh.load(folder)


def test_backends_and_seeds_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"does not join every pair of .*: use 'geodesic'"):
        uh.embed(uh.datasets.karate(), p=3, q=1, dissimilarity="distance", quiet=True)
    with pytest.raises(ValueError, match="below 2"):
        TrainingConfig(seed=2**63)
