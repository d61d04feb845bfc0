"""Which device and which engine: what is not there is refused before anything is computed."""

from __future__ import annotations

import sys
import warnings

import pytest
import torch
from machines import WITHOUT_CUDA, WITHOUT_MPS

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.engines import registry
from ultrahyperbolic.engines.base import MEETS, Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.engines.registry import (
    SlowEngine,
    ends_exactly,
    find_device,
    make_engine,
    others_met,
    resolve,
)
from ultrahyperbolic.objective import RankedPairs

KARATE = RankedPairs.of(datasets.karate())
CPU = torch.device("cpu")
WRONG = [
    ("nonsense", "device nonsense: torch knows none of that name: use cpu, cuda or cuda:1"),
    ("", "device : torch knows none of that name"),
    ("meta", "device meta: nothing is computed there: use cpu or cuda"),
    pytest.param("mps", "device mps: torch finds none here", marks=WITHOUT_MPS),
    pytest.param(
        "cuda",
        "device cuda: torch finds no CUDA device here: use cpu, or leave it out",
        marks=WITHOUT_CUDA,
    ),
    pytest.param("cuda:7", "device cuda:7: torch finds no CUDA device here", marks=WITHOUT_CUDA),
]


class Unknown(Euclidean):
    """A manifold of which kernels know nothing."""

    @property
    def quadric(self):
        return None


def problem_on(manifold, **options):
    return Problem(
        KARATE, [RunSpec(manifold, Schedule.constant(3, temperature=0.1, step=1e-3))], **options
    )


@pytest.fixture
def without(monkeypatch):
    """Packages that are as if they were not installed, and warnings as if none had been given."""
    monkeypatch.setattr(registry, "_told", set())
    return lambda *names: [monkeypatch.setitem(sys.modules, name, None) for name in names]


@pytest.mark.parametrize(("device", "words"), WRONG)
def test_devices_that_are_not_there_are_refused(device, words):
    with pytest.raises(ValueError, match=words):
        resolve(Machine(device), 34)
    with pytest.raises(ValueError, match=words):
        make_engine(problem_on(PseudoHyperboloid(3, 1)), Machine(device))


def test_a_device_beyond_the_last_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"device cuda:7: the last CUDA device here is cuda:1"):
        find_device("cuda:7")


def test_devices_that_are_there_are_found():
    assert find_device("cpu") == CPU == find_device(CPU)
    if torch.cuda.is_available():
        assert find_device("cuda:0") == torch.device("cuda:0")


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        (Machine(threads=0), ValueError, "threads must be at least 1, got 0"),
        (Machine(threads=1.5), TypeError, "threads must be an integer, got 1.5"),
        (
            Machine(backend="gpu"),
            ValueError,
            "backend must be one of auto, numba, triton, reference, got",
        ),
        (
            Machine(precision="float16"),
            ValueError,
            "precision must be one of float64, float32, got 'float16'",
        ),
        (
            Machine(backend="reference", precision="float32"),
            ValueError,
            "precision 'float32' is of the backends numba",
        ),
        (Machine("meta", "numba"), ValueError, "device meta: nothing is computed there"),
        (Machine("cpu", "triton"), ValueError, "backend 'triton' computes on cuda, got device cpu"),
        pytest.param(
            Machine(backend="triton"),
            ValueError,
            "needs a CUDA device, and torch finds",
            marks=WITHOUT_CUDA,
        ),
    ],
)
def test_wrong_places_are_refused(place, error, words):
    pytest.importorskip("triton", reason="what is said of the triton backend where it is installed")
    with pytest.raises(error) as caught:
        resolve(place, 34)
    assert words in str(caught.value)


def test_what_was_left_open_is_settled():
    assert resolve(Machine(), 34) == Machine(CPU, "numba")
    assert resolve(Machine("cpu"), 10**5) == Machine(CPU, "numba")
    assert resolve(Machine("cpu"), 10**6) == Machine(CPU, "numba")
    assert resolve(Machine(backend="reference", threads=2), 34) == Machine(CPU, "reference", 2)
    assert resolve(Machine(precision="float32"), 34) == Machine(CPU, "numba", precision="float32")
    assert resolve(resolve(Machine(), 34), 34) == Machine(CPU, "numba"), "what is settled stays so"


def test_large_graphs_go_to_a_cuda_device_unasked(monkeypatch):
    pytest.importorskip("triton", reason="without Triton a CUDA device is not used unasked")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve(Machine(), 2000) == Machine(torch.device("cuda"), "triton")
    assert resolve(Machine(), 1999) == Machine(CPU, "numba")
    assert resolve(Machine(backend="numba"), 10**6).torch_device == CPU


def test_engines_are_made_of_a_problem_and_a_place():
    problem = problem_on(PseudoHyperboloid(3, 1), best_every=7, stop_when_ordered=True)
    compiled = make_engine(problem, Machine(threads=2, precision="float32"))
    assert isinstance(compiled, NumbaEngine)
    assert (compiled.threads, compiled.precision) == (2, "float32")
    plain = make_engine(problem, Machine(backend="reference"))
    assert isinstance(plain, ReferenceEngine)
    assert (compiled.name, plain.name) == ("numba", "reference")
    for engine in (compiled, plain):
        assert (engine.pairs, engine.specs) == (problem.pairs, problem.specs)
        assert (engine.best_every, engine.stop_when_ordered) == (7, True)
        engine.close()


def test_without_numba_torch_computes_and_that_is_said_once(without):
    without("numba")
    with pytest.warns(
        SlowEngine, match=r"numba package, which is not installed: training with torch"
    ):
        assert resolve(Machine(), 34) == Machine(CPU, "reference")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve(Machine(), 34)
    with pytest.raises(
        ValueError, match="backend 'numba' needs the numba package, which is not installed"
    ):
        resolve(Machine(backend="numba"), 34)
    with pytest.raises(ValueError, match="precision 'float32' is of the backends numba and triton"):
        resolve(Machine(precision="float32"), 34)


def test_manifolds_that_no_kernel_knows_are_computed_by_torch(without):
    problem = problem_on(Unknown(4))
    with pytest.warns(SlowEngine, match="^no compiled loop knows Unknown: training with torch"):
        assert isinstance(make_engine(problem, Machine()), ReferenceEngine)
    with pytest.raises(ValueError, match="no compiled loop knows Unknown"):
        make_engine(problem, Machine(backend="numba"))


def test_a_gpu_looks_at_no_more_pairs_than_help():
    cpu, gpu = Machine(CPU, "numba"), Machine(torch.device("cuda"), "triton")
    assert [others_met(cpu, n) for n in (2_000, 50_000, 10**7)] == [MEETS, 256, 256]
    assert [others_met(gpu, n) for n in (2_000, 50_000, 200_000, 10**7)] == [
        MEETS,
        1000,
        4000,
        8000,
    ]
    assert [ends_exactly(n, cpu) for n in (20_000, 20_001)] == [True, False]
    assert [ends_exactly(n, gpu) for n in (200_000, 200_001)] == [True, False]
