"""Which engine computes a problem: the fastest that fits, or the one that was named."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.util import find_spec

import torch

from ..checks import check_choice, check_count
from ..objective.ranking import MAX_NODES
from .base import BACKENDS, EXACT_NODES, EXACT_NODES_ON_CUDA, MEETS, PRECISIONS, Backend, Engine, Machine, Problem
from .communicator import Communicator, ProcessesError, check_same, communicator, own_device
from .kinds import NUMBA, REFERENCE, SAMPLED, TRITON, EngineKind

# Those that look at all pairs, the fastest first.
KINDS: tuple[EngineKind, ...] = (TRITON, NUMBA, REFERENCE)
_BY_NAME = {kind.name: kind for kind in (*KINDS, SAMPLED)}
# A CUDA device is used unasked from this many nodes on; below, the CPU is done before it would have started.
_CUDA_NODES = 2000
# A GPU looks at one in this many parts of the pairs, where these are no more than it sees in a millisecond or two.
_PARTS_ON_CUDA, _PAIRS_ON_CUDA = 50, 200_000_000
# A CPU that looks at parts of the pairs alone takes this share of the iterations, and a node meets more others in each:
# the sums over ties, which run on one core, are then a smaller part of the time.
FEWER = 0.5
_told: set[str] = set()


class SlowEngine(UserWarning):
    """Said once where torch computes a training, because nothing faster can."""


def make_engine(problem: Problem, machine: Machine, *, exact_end: bool = False) -> Engine:
    """The engine for a problem on a machine; ``ValueError``, with the reason, where there is none.

    With ``exact_end`` one that draws samples evaluates all pairs. Several processes call this together.
    """
    group = communicator()
    engine = group.made(lambda: _made(problem, machine, group, exact_end=exact_end))
    if group.size > 1 and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        check_same(group, {"device": torch.cuda.get_device_name()})
    return engine


def _made(problem: Problem, machine: Machine, group: Communicator, *, exact_end: bool) -> Engine:
    machine = resolve(machine, problem.pairs.n_nodes, problem)
    if group.size > 1:
        check_processes(problem, machine)
        machine = replace(machine, device=own_device(machine.torch_device), threads=machine.threads or 1)
    if machine.backend != "sampled":
        return kind_of(machine.backend).make(problem, machine, group)
    last = exact_machine(machine, problem) if exact_end else None
    if last is None:
        return SAMPLED.make(problem, machine, group)
    helping = group if last.backend == "numba" and NUMBA.unfit_together(problem, group.size) is None else None
    return SAMPLED.make(problem, machine, group, kind_of(last.backend).make(problem, last, helping))


def check_processes(problem: Problem, machine: Machine) -> None:
    """Raise `ProcessesError` where the processes that there are cannot compute a problem on a resolved machine."""
    size = communicator().size
    if size == 1:
        return
    if machine.backend not in ("numba", "sampled"):
        raise ProcessesError(
            f"backend {machine.backend!r} computes in one process: start it without torchrun, or use backend "
            "'sampled' or device 'cpu'"
        )
    why = NUMBA.unfit_together(problem, size) if machine.backend == "numba" else None
    if why is not None:
        raise ProcessesError(why)


def ends_exactly(n_nodes: int, machine: Machine) -> bool:
    """Whether a training of ``n_nodes`` nodes looks at all pairs at its end, on a resolved machine."""
    return n_nodes <= (EXACT_NODES_ON_CUDA if machine.torch_device.type == "cuda" else EXACT_NODES)


def exact_machine(machine: Machine, problem: Problem) -> Machine | None:
    """The machine of the engine that looks at all pairs where a training by samples ends; None for too many pairs."""
    n = problem.pairs.n_nodes
    if not ends_exactly(n, machine):
        return None
    try:
        found = _of_all_pairs(machine, problem, tell=False)
    except ValueError:  # the reference is float64, whatever the precision of samples
        found = _of_all_pairs(replace(machine, precision=None), problem, tell=False)
    return None if found.backend == "reference" and n > MAX_NODES else found


def resolve(machine: Machine, n_nodes: int, problem: Problem | None = None) -> Machine:
    """The machine with the backend and device that are used; ``ValueError`` where there is none. No problem: any."""
    check_choice("backend", machine.backend, BACKENDS)
    if machine.precision is not None:
        check_choice("precision", machine.precision, PRECISIONS)
    if machine.threads is not None:
        machine = replace(machine, threads=check_count("threads", machine.threads, 1))
    machine = replace(machine, device=_device(machine, n_nodes))
    if machine.backend != "auto":
        unfit = kind_of(machine.backend).unfit(problem, machine)
        if unfit is not None:
            raise ValueError(unfit)
        return machine
    exactly = ends_exactly(n_nodes, machine)
    found = _of_all_pairs(machine, problem, tell=exactly)
    # Parts of the pairs are for compiled loops: torch draws ties, too.
    if found.backend == "reference" and not exactly and SAMPLED.unfit(problem, machine) is None:
        return replace(machine, backend="sampled")
    return found


def _of_all_pairs(machine: Machine, problem: Problem | None, *, tell: bool = True) -> Machine:
    """The machine with the fastest engine there that looks at all pairs, or at parts of them."""
    why: list[str] = []
    for kind in KINDS:
        unfit = kind.unfit(problem, machine)
        if unfit is None:
            if kind.name == "reference" and tell:
                _tell(machine, why)
            return replace(machine, backend=kind.name)
        why.append(unfit)
    raise ValueError(why[-1])


def others_met(machine: Machine, n_nodes: int) -> int:
    """Approximate number of nodes each is compared with per iteration of descent; more of large graphs."""
    if machine.backend != "triton":
        return MEETS if ends_exactly(n_nodes, machine) else round(MEETS / FEWER)
    return max(MEETS, min(n_nodes // _PARTS_ON_CUDA, _PAIRS_ON_CUDA // n_nodes))


def kind_of(backend: Backend) -> EngineKind:
    """The engine of a name, which is not ``"auto"``: `resolve` says what that comes to."""
    return _BY_NAME[backend]


def find_device(device: str | torch.device) -> torch.device:
    """The device of a name; raise ``ValueError``, with what to do, unless torch can compute there.

    >>> find_device("cpu")
    device(type='cpu')
    """
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f"device {device}: torch knows none of that name: use cpu, cuda or cuda:1") from None
    if found.type == "meta":
        raise ValueError(f"device {device}: nothing is computed there: use cpu or cuda")
    if found.type == "cuda":
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not there:
            raise ValueError(f"device {device}: torch finds no CUDA device here: use cpu, or leave it out")
        if found.index is not None and found.index >= there:
            raise ValueError(f"device {device}: the last CUDA device here is cuda:{there - 1}")
    try:
        torch.empty(0, device=found)
    except Exception:  # each kind of device that is not there fails in its own way
        raise ValueError(f"device {device}: torch finds none here: use cpu, or leave it out") from None
    return found


def _device(machine: Machine, n_nodes: int) -> torch.device:
    if machine.device is not None:
        return find_device(machine.device)
    large = machine.backend in ("auto", "sampled") and n_nodes >= _CUDA_NODES
    compiled = machine.backend == "sampled" or find_spec("triton") is not None
    cuda = machine.backend == "triton" or (large and compiled and torch.cuda.is_available())
    return torch.device("cuda" if cuda else "cpu")


def _tell(machine: Machine, why: list[str]) -> None:
    """Say once why the training is slow."""
    found = machine.torch_device.type
    fast = {"cuda": why[0], "cpu": why[1]}.get(found, f"there is no kernel for {found}")
    if fast not in _told:
        _told.add(fast)
        warnings.warn(f"{fast}: training with torch, which is slower", SlowEngine, stacklevel=3)
