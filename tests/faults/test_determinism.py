"""Same seed, same bits: for any number of threads on the CPU, and on CUDA."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from backends import random_pairs, spread_points
from faults.kill import content
from machines import ON_CUDA
from threadpoolctl import threadpool_limits

import ultrahyperbolic as uh
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.evaluation import delta, summary
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training import train
from ultrahyperbolic.training.start import SpectralStart

MANIFOLDS = [uh.PseudoHyperboloid(3, 1, -4.0), uh.PseudoHyperboloid(2, 2), uh.Euclidean(3)]


def large_graph(n=700, seed=0):
    rng = np.random.default_rng(seed)
    return uh.Graph.from_arrays(
        *rng.integers(0, n, (2, 4 * n)), rng.integers(1, 4, 4 * n).astype(float), ids=n
    )


def spec_of(manifold, iterations):
    schedule = Schedule.constant(iterations, temperature=0.1, step=1e-2, max_step=0.05)
    return RunSpec(manifold, schedule, "smoothed")


def states_equal(a, b):
    names = ("points", "free", "best", "rows")
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in names)


@pytest.mark.parametrize(
    "manifold",
    [MANIFOLDS[0], *(pytest.param(m, marks=pytest.mark.slow) for m in MANIFOLDS[1:])],
    ids=str,
)
def test_the_start_does_not_depend_on_threads(manifold):
    graph, found = large_graph(), []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            found.append(SpectralStart(graph)(Geometry.of_manifold(manifold), seed=3))
    assert all(np.array_equal(found[0], points) for points in found)


def test_an_embedding_does_not_depend_on_threads():
    graph, found = large_graph(400), []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            found.append(uh.embed(graph, p=3, q=1, iterations=20, quiet=True, threads=threads))
    assert all(np.array_equal(found[0].points, other.points) for other in found)
    assert all(np.array_equal(found[0].delta, other.delta) for other in found)


@pytest.mark.parametrize("kind", ["few", "in parts", "compiled", "sampled"])
def test_delta_and_measures_do_not_depend_on_the_order_of_rows(kind, monkeypatch):
    graph = (
        large_graph(1100)
        if kind == "compiled"
        else uh.datasets.load("davis" if kind == "in parts" else "lesmis")
    )
    monkeypatch.setattr(train, "SAMPLED_NODES", 50 if kind == "sampled" else 20_000)
    monkeypatch.setattr(summary, "_MOST", 64)
    rows = [
        (graph.ids[i], graph.ids[j], w)
        for (i, j), w in zip(graph.edges, graph.weights.tolist(), strict=True)
    ]
    rows += [("alone", "together", 1.0)] if kind == "in parts" else []
    found = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows)) if seed else range(len(rows))
        mixed = uh.Graph.from_edges([rows[k] for k in order])
        embedding = uh.embed(mixed, p=2, q=2, iterations=5, quiet=True)
        nodes = [embedding.index(node) for node in found[0][0]] if found else range(len(embedding))
        ids = [embedding.ids[node] for node in nodes]
        again = delta(embedding.points, embedding.space, mixed, popularity=embedding.popularity)
        found.append((ids, embedding.delta[nodes], again[nodes], embedding.record.measures))
    for ids, first, second, measures in found[1:]:
        assert ids == found[0][0]
        assert np.array_equal(first, found[0][1])
        assert np.array_equal(second, found[0][2])
        assert {name: measures[name] for name in ("map", "spearman_all")} == {
            name: found[0][3][name] for name in ("map", "spearman_all")
        }


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "manifold", [MANIFOLDS[0], *(pytest.param(m, marks=pytest.mark.slow) for m in MANIFOLDS[1:])]
)
def test_the_kernels_of_cuda_end_with_the_same_bits_wherever_chunks_end(manifold, precision):
    # On a GPU where there is one, else under Triton's interpreter.
    pytest.importorskip(
        "triton", reason="the CUDA engine needs triton, which torch brings along on CUDA machines"
    )
    from ultrahyperbolic.engines.triton.engine import TritonEngine

    on_cuda = torch.cuda.is_available()
    n, iterations = (3000, 200) if on_cuda else (30, 3)
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n).numpy()
    found = []
    for cuts in ([iterations], [1, iterations - 1]):
        device = torch.device("cuda" if on_cuda else "cpu")
        engine = TritonEngine(
            pairs, [spec_of(manifold, iterations)], device=device, precision=precision
        )
        state = BatchState.start([points])
        for cut in cuts:
            engine.advance(state, cut)
        found.append(state)
    assert not np.array_equal(found[0].points[0], points)
    assert states_equal(*found)


@ON_CUDA
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_trainings_on_cuda_are_the_same_bits_twice_and_after_a_stop(call, begun, precision):
    words = f"--iterations 3000 --device cuda --deterministic --precision {precision}"
    for folder in "ab":
        assert call(f"embed karate -o {folder} {words} --quiet").exit_code == 0
    begun(f"embed karate -o club {words}", until=1)
    assert call("embed --resume club --quiet").exit_code == 0
    assert content(Path("a")) == content(Path("b")) == content(Path("club"))


def test_deterministic_is_taken_where_it_is_true(call):
    for backend in ("numba", "reference"):
        words = (
            f"embed karate -o {backend} --iterations 3 --deterministic --backend {backend} --quiet"
        )
        assert call(words).exit_code == 0


@ON_CUDA
def test_deterministic_is_refused_where_it_is_not(refuse):
    assert refuse("embed karate --device cuda --backend reference --deterministic").startswith(
        "--deterministic: "
    )
