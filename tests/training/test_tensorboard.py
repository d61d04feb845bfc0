from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
import torch

from ultrahyperbolic import Interrupted, PseudoHyperboloid, TrainingConfig, datasets, embed
from ultrahyperbolic.evaluation import violated_orders
from ultrahyperbolic.training import tensorboard as board
from ultrahyperbolic.training.method import recipe
from ultrahyperbolic.training.train import embed_many

NAMES = {"loss", "temperature", "epsilon", "longest_edge", "shortest_nonedge", "violated_orders"}


def read(folder):
    """What TensorBoard reads: for each name the iterations and the values."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder))
    events.Reload()
    scalars = {name: events.Scalars(name) for name in events.Tags()["scalars"]}
    return {name: ([e.step for e in found], [e.value for e in found]) for name, found in scalars.items()}


def test_a_training_is_written_down(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    monkeypatch.setattr(board, "_COUNTING", np.inf)
    seen = []
    options = {"p": 2, "q": 1, "beta": -4.0, "seed": 3, "iterations": 350, "stop": "iterations", "quiet": True}
    options["temperature"] = (0.1, 0.01)  # one training
    embedding = embed(datasets.karate(), **options, tensorboard=tmp_path, callback=seen.append)
    found = read(tmp_path / "Q2_1_seed3")
    assert set(found) == NAMES
    for steps, _ in found.values():
        assert steps == [100, 200, 300, 350]
    # ε is in units of the squared radius, which is 4; the finish, from iteration 298 on, is at the last values.
    smoothing = 0.04, 4.0 * recipe(TrainingConfig(), datasets.karate()).epsilon[1]
    config = TrainingConfig(p=2, q=1, iterations=350, temperature=(0.1, 0.01), epsilon=smoothing, finish=0.15)
    assert found["temperature"][1] == pytest.approx(config.schedule().temperature[[99, 199, 297, 297]], rel=1e-6)
    assert found["epsilon"][1] == pytest.approx(config.schedule().epsilon[[99, 199, 297, 297]], rel=1e-6)
    every = embedding.run["loss_every"]
    assert every == 1
    assert found["loss"][1] == pytest.approx([embedding.run["loss"][k] for k in (99, 199, 299, 349)], rel=1e-6)
    last = seen[-1].state
    assert found["longest_edge"][1][-1] == pytest.approx(last.record["longest"][0], rel=1e-6)
    assert found["shortest_nonedge"][1][-1] == pytest.approx(last.record["shortest"][0], rel=1e-6)
    assert all(0 <= share <= 1 for share in found["violated_orders"][1])
    assert seen  # the other callback is called as well


def test_it_changes_nothing(tmp_path):
    pytest.importorskip("tensorboard")
    options = {"p": 2, "q": 1, "iterations": 120, "quiet": True}
    plain = embed(datasets.karate(), **options)
    written = embed(datasets.karate(), **options, tensorboard=tmp_path)
    assert np.array_equal(plain.points, written.points)
    stopped = embed(datasets.karate(), **options, tensorboard=tmp_path, callback=lambda progress: True)
    assert stopped.run["stopped"] == "a callback asked to stop"


def test_each_run_has_its_folder(tmp_path):
    pytest.importorskip("tensorboard")
    graph = datasets.karate()
    geometries = [{"p": 2, "q": 1}, {"p": 1, "q": 2}, {"p": None, "q": None, "flat": 3}, {"p": 2, "q": 1, "beta": -2.0}]
    configs = [TrainingConfig(**geometry, iterations=100) for geometry in geometries]
    with board.with_tensorboard(tmp_path, graph, configs) as callbacks:
        runs = embed_many(graph, configs, callbacks=callbacks, measures=False)
    folders = ["Q2_1_seed0", "Q1_2_seed0", "R3_seed0", "Q2_1_seed0_3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(folders)
    for folder, run in zip(folders, runs, strict=True):
        assert read(tmp_path / folder)["loss"][1][-1] == pytest.approx(run.run["loss"][-1], rel=1e-6)


def test_counting_orders_has_a_share_of_the_time(tmp_path, monkeypatch, passes):
    pytest.importorskip("tensorboard")
    monkeypatch.setattr(board, "_COUNTING", 0.0)
    options = {"p": 2, "q": 1, "temperature": (0.1, 0.01), "iterations": 600, "stop": "iterations", "quiet": True}
    embed(datasets.karate(), **options)
    without = len(passes)
    embed(datasets.karate(), **options, tensorboard=tmp_path)
    found = read(tmp_path / "Q2_1_seed0")
    assert found["loss"][0] == [100, 200, 300, 400, 500, 600]
    assert found["violated_orders"][0] == [100, 600]
    assert len(passes) == 2 * without + 2


def test_a_training_that_ends_early_is_whole(tmp_path):
    pytest.importorskip("tensorboard")
    graph = datasets.karate().unweighted()
    embedding = embed(graph, p=8, q=1, stop="ordered", temperature=(0.1, 0.01), quiet=True, tensorboard=tmp_path)
    found = read(tmp_path / "Q8_1_seed0")
    assert embedding.run["ordered_at"] is not None
    steps, shares = found["violated_orders"]
    assert steps[-1] == found["loss"][0][-1]
    orders = violated_orders(graph, _tensor(embedding), embedding.manifold, popularity=embedding.popularity)
    assert orders.edges_vs_nonedges == 0.0
    assert shares[-1] == 0.0


def _too_slow(progress):
    time.sleep(0.1)


def _press(progress):
    if progress.iteration >= 10:
        raise KeyboardInterrupt


def _fail(progress):
    if progress.iteration >= 10:
        raise ZeroDivisionError


@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"time_limit": 0.05, "callback": _too_slow}, None),
        ({"callback": lambda progress: progress.iteration >= 10}, None),
        ({"callback": _press}, Interrupted),
        ({"callback": _fail}, ZeroDivisionError),
    ],
    ids=["time limit", "callback", "ctrl-c", "error"],
)
def test_where_a_training_stopped_is_written_and_the_files_are_closed(tmp_path, backend, how, error):
    pytest.importorskip("tensorboard")
    graph, seen = datasets.karate(), []

    def callback(progress):
        seen.append(
            (progress.iteration, progress.loss[0], progress.state.points[0].copy(), progress.state.offsets[0].copy())
        )
        return how["callback"](progress)

    options = {"temperature": (0.1, 0.01), "iterations": 90, "quiet": True, "backend": backend}
    options |= {**how, "callback": callback, "tensorboard": tmp_path}
    if error is None:
        embed(graph, **options)
    else:
        with pytest.raises(error):
            embed(graph, **options)
    assert not [thread for thread in threading.enumerate() if "tensorboard" in type(thread).__module__]
    iteration, loss, points, offsets = seen[-1]
    assert iteration < 90
    found = read(tmp_path / "Q3_3_seed0")
    assert set(found) == NAMES
    assert found["loss"][0] == found["violated_orders"][0] == [iteration]
    assert found["loss"][1] == pytest.approx([loss], rel=1e-6)
    points, M = torch.from_numpy(points), PseudoHyperboloid(3, 3)
    share = violated_orders(graph, points, M, popularity=offsets).edges_vs_nonedges
    assert found["violated_orders"][1] == pytest.approx([share], rel=1e-6)


def _tensor(embedding):
    return torch.from_numpy(embedding.points.copy())


def test_without_tensorboard_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'ultrahyperbolic\[tensorboard\]'"):
        embed(datasets.karate(), iterations=1, quiet=True, tensorboard=tmp_path)
    assert embed(datasets.karate(), iterations=1, quiet=True)
