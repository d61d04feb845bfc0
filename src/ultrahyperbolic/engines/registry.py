"""Which engine computes a problem: the fastest that fits, or the one that was named."""

from __future__ import annotations

import warnings
from dataclasses import replace

from ..checks import check_choice, check_count
from ..lazy import NEEDS_TORCH, installed, torch
from ..pairs.kinds import kernel_space
from .base import (
    BACKENDS,
    EXACT_NODES,
    EXACT_NODES_ON_CUDA,
    MEETS,
    PRECISIONS,
    Backend,
    Engine,
    Machine,
    Problem,
)
from .communicator import Communicator, ProcessesError, SharedEngine, communicator

_FASTEST_FIRST: tuple[Backend, ...] = ("triton", "numba", "reference")
_COMPILED_FOR = {"triton": "cuda", "numba": "cpu"}
# Nodes from which a CUDA device is used by default: below, the CPU is done before it would have
# started.
_CUDA_NODES = 2000
# Mini-batches on a GPU: a node meets one in this many of the others,
_PARTS_ON_CUDA = 50
# and at most so many nodes.
_MEETS_ON_CUDA = 8000
# Share of the full number of iterations where mini-batches are all of a training,
FEWER = 0.5
# and nodes that each then meets on a CPU: more, as the sums over ties take as long for fewer.
_MEETS_ALONE = 256
_told: set[str] = set()


class SlowEngine(UserWarning):
    """Said once where torch computes a training, because nothing faster can."""


def make_engine(problem: Problem, machine: Machine) -> Engine:
    """The engine for a problem on a machine; ``ValueError``, with the reason, where there is none.

    Of several processes the first calls this, and the others help it.
    """
    machine = resolve(machine, problem.pairs.n_nodes, problem)
    group = communicator()
    if group.size == 1:
        return engine_of(problem, machine, group)
    check_processes(machine)
    machine = replace(machine, threads=machine.threads or 1)
    with group.telling("make", problem, machine):
        engine = engine_of(problem, machine, group)
    name = f"{engine.name}, {group.size} processes"
    return SharedEngine(*problem, engine=engine, group=group, name=name)


def engine_of(problem: Problem, machine: Machine, group: Communicator) -> Engine:
    """The engine of a resolved machine, loaded when it is made."""
    if machine.backend == "triton":
        from .triton.engine import TritonEngine

        return TritonEngine(
            *problem, device=machine.torch_device, precision=machine.precision or "float32"
        )
    if machine.backend == "numba":
        from .numba.engine import NumbaEngine

        return NumbaEngine(*problem, machine.threads, machine.precision or "float64", group)
    from .reference import ReferenceEngine

    return ReferenceEngine(*problem, device=machine.torch_device)


def unfit(backend: Backend, problem: Problem | None, machine: Machine) -> str | None:
    """Why an engine cannot compute a problem (without one: any) on a machine, in words; None where
    it can.
    """
    if backend != "numba" and not installed("torch"):
        return f"backend {backend!r} {NEEDS_TORCH}"
    if backend == "reference":  # which knows every manifold
        single = "precision 'float32' is of the backends numba and triton: the reference is float64"
        return single if machine.precision == "float32" else None
    if backend in _COMPILED_FOR:
        if not installed(backend):
            return f"backend {backend!r} needs the {backend} package, which is not installed"
        if machine.device_type != _COMPILED_FOR[backend]:
            return (
                f"backend {backend!r} computes on {_COMPILED_FOR[backend]}, got device "
                f"{machine.device}"
            )
        if backend == "triton" and not torch.cuda.is_available():
            return "backend 'triton' needs a CUDA device, and torch finds none"
    if problem is None:
        return None
    try:
        for spec in problem.specs:
            kernel_space(spec.space, spec.dissimilarity)
    except ValueError as error:
        return str(error)
    return None


def check_processes(machine: Machine) -> None:
    """Raise `ProcessesError` where several processes cannot compute on a resolved machine."""
    if communicator().size > 1 and machine.backend != "numba":
        raise ProcessesError(
            f"backend {machine.backend!r} computes in one process: start it without torchrun, or "
            "use device 'cpu'"
        )


def ends_exactly(n_nodes: int, machine: Machine) -> bool:
    """Whether a training of ``n_nodes`` nodes looks at all pairs at its end, on a resolved
    machine.
    """
    return n_nodes <= (EXACT_NODES_ON_CUDA if machine.device_type == "cuda" else EXACT_NODES)


def resolve(machine: Machine, n_nodes: int, problem: Problem | None = None) -> Machine:
    """The machine with the backend and device that are used; ``ValueError`` where there is none. No
    problem: any.
    """
    check_choice("backend", machine.backend, BACKENDS)
    if machine.precision is not None:
        check_choice("precision", machine.precision, PRECISIONS)
    if machine.threads is not None:
        machine = replace(machine, threads=check_count("threads", machine.threads, 1))
    machine = replace(machine, device=_device(machine, n_nodes))
    backends = _FASTEST_FIRST if machine.backend == "auto" else (machine.backend,)
    reasons: list[str] = []
    for backend in backends:
        reason = unfit(backend, problem, machine)
        if reason is None:
            if reasons and backend == "reference":
                _tell(machine, reasons)
            return replace(machine, backend=backend)
        reasons.append(reason)
    raise ValueError(reasons[-1])


def others_met(machine: Machine, n_nodes: int) -> int:
    """Approximate number of nodes each is compared with per iteration of descent: more in large
    graphs.
    """
    if machine.backend != "triton":
        return MEETS if ends_exactly(n_nodes, machine) else _MEETS_ALONE
    return max(MEETS, min(n_nodes // _PARTS_ON_CUDA, _MEETS_ON_CUDA))


def find_device(device: str | torch.device) -> torch.device:
    """The device of a name; raise ``ValueError``, with what to do, unless torch can compute there.

    >>> find_device("cpu")
    device(type='cpu')
    """
    if not installed("torch"):
        raise ValueError(f"device {device} {NEEDS_TORCH}")
    try:
        known = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(
            f"device {device}: torch knows none of that name: use cpu, cuda or cuda:1"
        ) from None
    if known.type == "meta":
        raise ValueError(f"device {device}: nothing is computed there: use cpu or cuda")
    if known.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not count:
            raise ValueError(
                f"device {device}: torch finds no CUDA device here: use cpu, or leave it out"
            )
        if known.index is not None and known.index >= count:
            raise ValueError(f"device {device}: the last CUDA device here is cuda:{count - 1}")
    try:
        torch.empty(0, device=known)
    except Exception:  # each kind of device that is not there fails in its own way
        raise ValueError(
            f"device {device}: torch finds none here: use cpu, or leave it out"
        ) from None
    return known


def _device(machine: Machine, n_nodes: int) -> str | torch.device:
    if machine.device is not None:
        return "cpu" if machine.device == "cpu" else find_device(machine.device)
    if not installed("torch"):
        return "cpu"
    large = machine.backend == "auto" and n_nodes >= _CUDA_NODES
    compiled = large and installed("triton")
    cuda = machine.backend == "triton" or (compiled and torch.cuda.is_available())
    return "cuda" if cuda else "cpu"


def _tell(machine: Machine, why: list[str]) -> None:
    """Say once why the training is slow."""
    kind = machine.device_type
    reason = {"cuda": why[0], "cpu": why[1]}.get(kind, f"there is no kernel for {kind}")
    if reason not in _told:
        _told.add(reason)
        warnings.warn(f"{reason}: training with torch, which is slower", SlowEngine, stacklevel=3)
