"""Trainings by samples: as good as those of all pairs, and taken where these do not fit."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic import datasets
from ultrahyperbolic.engines import memory, registry, sampled
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training import train
from ultrahyperbolic.training.execution import Execution
from ultrahyperbolic.training.method import moved_share, usual_iterations
from ultrahyperbolic.training.plan import Plan, configure

KARATE = datasets.karate()


def tree_with_shortcuts(n=150):
    rng = np.random.default_rng(0)
    child = np.arange(1, n)
    parent = (child - 1) // 3
    i, j = rng.integers(0, n, (2, n // 5))
    keep = i != j
    return Graph.from_arrays(
        np.concatenate((child, i[keep])),
        np.concatenate((parent, j[keep])),
        np.concatenate((np.full(n - 1, 2.0), np.ones(keep.sum()))),
        ids=n,
    )


def few_others(monkeypatch, count):
    """Samples of so few nodes that they are samples on a small graph, too."""
    few = sampled.SampleSizes
    monkeypatch.setattr(sampled, "default_sizes", lambda m, device: few(m, count))


@pytest.mark.slow
@pytest.mark.parametrize("exact_end", [True, False])
def test_samples_find_the_neighbours_that_all_pairs_find(exact_end, monkeypatch):
    few_others(monkeypatch, 24)
    if not exact_end:
        monkeypatch.setattr(registry, "EXACT_NODES", 100)
    graph = tree_with_shortcuts()
    found = uh.embed(graph, p=2, q=2, iterations=200, backend="sampled", quiet=True)
    exact = uh.embed(graph, p=2, q=2, iterations=200, backend="numba", quiet=True)
    recall = [embedding.record.measures["recall_at_1"] for embedding in (found, exact)]
    assert recall[0] > recall[1] - 0.1
    assert found.record.timing.backend == ("sampled, then numba" if exact_end else "sampled")
    assert found.record.result.final_loss < found.record.result.start_loss


def test_seeds_decide_a_training_by_samples(monkeypatch):
    few_others(monkeypatch, 8)
    trained = [
        uh.embed(KARATE, p=2, q=1, iterations=20, backend="sampled", seed=seed, quiet=True).points
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(trained[0], trained[1])
    assert not np.array_equal(trained[0], trained[2])


def test_all_pairs_end_a_training_where_there_are_not_too_many(monkeypatch):
    config = configure(Plan.of(backend="sampled"), KARATE)[0]
    assert 0.1 < config.finish < 0.2
    assert not config.step_back
    monkeypatch.setattr(registry, "EXACT_NODES", 33)
    assert configure(Plan.of(backend="sampled"), KARATE)[0].finish == 0.0
    assert configure(Plan.of(), KARATE)[0].finish == 0.0, "so many nodes are sampled unasked"


def test_of_parts_alone_the_last_points_are_kept(monkeypatch):
    """Their losses do not compare: what seems worse than the start may be better."""
    for module in ("registry", "numba.engine"):
        monkeypatch.setattr(f"ultrahyperbolic.engines.{module}.EXACT_NODES", 100)
    monkeypatch.setattr("ultrahyperbolic.training.plan.others_met", lambda machine, n: 50)
    graph = uh.as_graph(nx.watts_strogatz_graph(300, 6, 0.2, seed=2))
    assert configure(Plan.of(p=2, q=2, backend="numba"), graph)[0].parts == 6
    result = uh.embed(
        graph, p=2, q=2, iterations=20, max_step=0.5, backend="numba", quiet=True
    ).record.result
    assert result.final_loss > result.start_loss, "far moves lead away from a good start"
    assert result.best_iteration == 19


def test_where_a_batch_moves_few_points_there_are_more_iterations_and_longer_moves(monkeypatch):
    usual = configure(Plan.of(backend="sampled"), KARATE)[0]
    monkeypatch.setattr(
        "ultrahyperbolic.engines.sampled.default_sizes", lambda m, device: sampled.SampleSizes(2)
    )
    place = Machine(torch.device("cpu"), "sampled")
    assert moved_share(KARATE, place) == pytest.approx(4 / 34)
    few = configure(Plan.of(backend="sampled"), KARATE)[0]
    assert few.iterations == usual_iterations(KARATE, place) == 4 * usual.iterations
    assert few.max_step[0] > usual.max_step[0]


def test_samples_are_taken_where_all_pairs_do_not_fit_into_memory(monkeypatch, caplog):
    rows = []

    def fits(problem, place, start):
        rows.append(place.backend)
        return place.backend == "sampled"

    monkeypatch.setattr("ultrahyperbolic.training.train.fits", fits)
    execution = Execution(Plan.of(p=2, q=2), KARATE, quiet=False)
    assert execution.machine.backend == "numba"
    execution.prepare()
    assert execution.machine.backend == "sampled"
    assert "all pairs do not fit into memory: training by samples" in caplog.text
    named = Execution(Plan.of(p=2, q=2, backend="numba"), KARATE)
    named.prepare()
    assert named.machine.backend == "numba", "what was named stays"


def test_advice_where_nothing_else_fits_is_to_take_samples(monkeypatch):
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 150_000, (2, 200_000))
    graph = Graph.from_arrays(i[i != j], j[i != j], ids=150_000)
    problem, place = (
        train.problem_of(graph, configure(Plan.of(), graph)),
        Machine(torch.device("cpu"), "sampled", 2),
    )
    room = memory.estimate(problem, place).host
    monkeypatch.setattr(memory, "free_bytes", lambda: room)
    memory.require_memory(problem, place, lambda count: 0)
    with pytest.raises(MemoryError, match="use backend 'sampled'"):
        memory.require_memory(problem, replace(place, backend="numba"), lambda count: 0)
