"""Which engine trains: chosen by device and size, or named."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Literal

import torch

from ..geometry.arguments import check_count
from ..objective import RankedPairs
from ..training.config import TrainingConfig
from .base import Engine, Precision
from .numba.engine import NumbaEngine
from .reference import ReferenceEngine

Backend = Literal["auto", "numba", "triton", "reference"]
BACKENDS: tuple[Backend, ...] = ("auto", "numba", "triton", "reference")
PRECISIONS: tuple[Precision, ...] = ("float64", "float32")

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

    On the CPU the compiled one, on CUDA Triton's; torch's where those are missing, which is said once. Without a
    device, the CPU, or a CUDA device where there is one and the graph is large.
    """
    backend, place = choose_backend(pairs.n_nodes, device=device, backend=backend, threads=threads, precision=precision)
    specs = [config.spec() for config in configs]
    options: dict[str, Any] = {
        "best_every": configs[0].best_every,
        "stop_when_ordered": configs[0].stop == "ordered",
    }
    if backend == "numba":
        return NumbaEngine(pairs, specs, threads=threads, precision=precision or "float64", **options)
    if backend == "triton":
        from .triton.engine import TritonEngine

        return TritonEngine(pairs, specs, device=place, precision=precision or "float32", **options)
    return ReferenceEngine(pairs, specs, device=place, **options)


def choose_backend(
    n_nodes: int,
    *,
    device: str | torch.device | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    precision: Precision | None = None,
) -> tuple[Backend, torch.device]:
    """The backend and the device that :func:`make_engine` takes; raise for options that it could not."""
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if precision is not None and precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if threads is not None:
        check_count("threads", threads, 1)
    place = _place(device, backend, n_nodes)
    if backend == "auto":
        backend = _suitable(place)
    else:
        _check(backend, place)
    if backend == "reference" and precision == "float32":
        raise ValueError("precision 'float32' is of the backends numba and triton: the reference is float64")
    return backend, place


def find_device(device: str | torch.device) -> torch.device:
    """The device of a name; raise ``ValueError``, with what to do, unless torch can compute there.

    >>> find_device("cpu")
    device(type='cpu')
    """
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f"device {device}: torch knows none of that name: use cpu, cuda or cuda:1") from None
    if place.type == "meta":
        raise ValueError(f"device {device}: nothing is computed there: use cpu or cuda")
    if place.type == "cuda":
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not there:
            raise ValueError(f"device {device}: torch finds no CUDA device here: use cpu, or leave it out")
        if place.index is not None and place.index >= there:
            raise ValueError(f"device {device}: the last CUDA device here is cuda:{there - 1}")
    try:
        torch.empty(0, device=place)
    except Exception:  # each kind of device that is not there fails in its own way
        raise ValueError(f"device {device}: torch finds none here: use cpu, or leave it out") from None
    return place


def available(backend: Backend) -> bool:
    """Whether the package that a backend needs is installed."""
    return backend in ("auto", "reference") or find_spec(backend) is not None


def _place(device: str | torch.device | None, backend: Backend, n_nodes: int) -> torch.device:
    if device is not None:
        return find_device(device)
    large = backend == "auto" and n_nodes >= _CUDA_NODES and available("triton") and torch.cuda.is_available()
    return torch.device("cuda" if backend == "triton" or large else "cpu")


def _suitable(place: torch.device) -> Backend:
    backend: Backend = "numba" if place.type == "cpu" else "triton"
    if place.type not in ("cpu", "cuda"):
        return _reference(f"there is no kernel for {place.type}")
    if not available(backend):
        return _reference(f"{backend} is not installed")
    return backend


def _reference(why: str) -> Backend:
    if why not in _said:
        _said.add(why)
        print(f"{why}: training with torch, which is slower", file=sys.stderr)
    return "reference"


def _check(backend: Backend, place: torch.device) -> None:
    if backend == "reference":
        return
    if not available(backend):
        raise ValueError(f"backend {backend!r} needs the {backend} package, which is not installed")
    where = "cpu" if backend == "numba" else "cuda"
    if place.type != where:
        raise ValueError(f"backend {backend!r} computes on {where}, got device {place}")
    if backend == "triton" and not torch.cuda.is_available():
        raise ValueError("backend 'triton' needs a CUDA device, and torch finds none")
