"""Which engine trains: chosen by device and size, or named."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Literal

import torch

from ..objective import RankedPairs
from .config import TrainingConfig
from .engine import Engine, NumbaEngine, Precision, ReferenceEngine, RunSpec, Way

Backend = Literal["auto", "numba", "triton", "reference"]
BACKENDS: tuple[Backend, ...] = ("auto", "numba", "triton", "reference")
PRECISIONS: tuple[Precision, ...] = ("float64", "float32")

# How the kernels can move points; the reference knows every way.
_KERNEL_WAYS: dict[Backend, tuple[Way, ...]] = {
    "numba": ("descent", "phi", "gradient", "signed-gradient"),
    "triton": ("descent", "phi", "gradient"),
}
# A CUDA device is used unasked from this many nodes on; below, the CPU is done before it would have started.
_CUDA_NODES = 2000
_said: set[str] = set()


def make_engine(
    pairs: RankedPairs,
    configs: Sequence[TrainingConfig],
    *,
    device: str | torch.device | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    precision: Precision | None = None,
) -> Engine:
    """The engine for a batch.

    On the CPU the compiled one, on CUDA Triton's; torch's where those are missing or do not know a run, which is said
    once. Without a device, the CPU, or a CUDA device where there is one and the graph is large.
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ValueError(f"threads must be a positive integer, got {threads!r}")
    backend, place = choose_backend(pairs.n_nodes, configs, device=device, backend=backend, precision=precision)
    specs = [config.spec() for config in configs]
    options: dict[str, Any] = {
        "best_every": configs[0].best_every,
        "stop_when_ordered": configs[0].stop == "ordered",
    }
    if backend == "numba":
        return NumbaEngine(pairs, specs, threads=threads, precision=precision or "float64", **options)
    if backend == "triton":
        from .cuda import TritonEngine

        return TritonEngine(pairs, specs, device=place, precision=precision or "float32", **options)
    if precision == "float32":
        raise ValueError("precision 'float32' is of the backends numba and triton: the reference is float64")
    return ReferenceEngine(pairs, specs, device=place, **options)


def choose_backend(
    n_nodes: int,
    configs: Sequence[TrainingConfig],
    *,
    device: str | torch.device | None = None,
    backend: Backend = "auto",
    precision: Precision | None = None,
) -> tuple[Backend, torch.device]:
    """The backend and the device that :func:`make_engine` takes."""
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if precision is not None and precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    specs = [config.spec() for config in configs]
    place = _place(device, backend, n_nodes)
    if backend == "auto":
        return _suitable(place, specs), place
    _check(backend, place, specs)
    return backend, place


def available(backend: Backend) -> bool:
    """Whether the package that a backend needs is installed."""
    return backend in ("auto", "reference") or find_spec(backend) is not None


def _place(device: str | torch.device | None, backend: Backend, n_nodes: int) -> torch.device:
    if device is not None:
        return torch.device(device)
    large = backend == "auto" and n_nodes >= _CUDA_NODES and available("triton") and torch.cuda.is_available()
    return torch.device("cuda" if backend == "triton" or large else "cpu")


def _suitable(place: torch.device, specs: Sequence[RunSpec]) -> Backend:
    backend: Backend = "numba" if place.type == "cpu" else "triton"
    if place.type not in ("cpu", "cuda"):
        return _reference(f"there is no kernel for {place.type}")
    if not available(backend):
        return _reference(f"{backend} is not installed")
    unknown = _unknown(backend, specs)
    return _reference(unknown) if unknown else backend


def _reference(why: str) -> Backend:
    if why not in _said:
        _said.add(why)
        print(f"{why}: training with torch, which is slower", file=sys.stderr)
    return "reference"


def _check(backend: Backend, place: torch.device, specs: Sequence[RunSpec]) -> None:
    if backend == "reference":
        return
    if not available(backend):
        raise ValueError(f"backend {backend!r} needs the {backend} package, which is not installed")
    where = "cpu" if backend == "numba" else "cuda"
    if place.type != where:
        raise ValueError(f"backend {backend!r} computes on {where}, got device {place}")
    if backend == "triton" and not torch.cuda.is_available():
        raise ValueError("backend 'triton' needs a CUDA device, and torch finds none")
    unknown = _unknown(backend, specs)
    if unknown:
        raise ValueError(f"backend {backend!r}: {unknown}; use 'reference'")


def _unknown(backend: Backend, specs: Sequence[RunSpec]) -> str | None:
    """What the kernels of a backend do not know."""
    if not NumbaEngine.supports(specs):
        return "the compiled loops have no broken geodesic of flat space, where none breaks"
    missing = sorted({spec.way for spec in specs} - set(_KERNEL_WAYS[backend]))
    return f"{backend} has no kernel for optimizer {missing[0]!r}" if missing else None
