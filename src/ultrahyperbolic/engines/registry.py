"""Which engine computes a problem: the fastest that fits, or the one that was named."""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.util import find_spec

import torch

from ..checks import check_count
from ..objective.ranking import MAX_NODES
from . import reference, sampled
from .base import BACKENDS, EXACT_NODES, MEETS, PRECISIONS, Backend, Engine, EngineKind, Place, Problem
from .communicator import Communicator, ProcessesError, check_same, communicator, own_device
from .numba import kind as numba_kind
from .triton import kind as triton_kind

# Those that look at all pairs, the fastest first.
KINDS: tuple[EngineKind, ...] = (triton_kind.KIND, numba_kind.KIND, reference.KIND)
_BY_NAME = {kind.name: kind for kind in (*KINDS, sampled.KIND)}
# A CUDA device is used unasked from this many nodes on; below, the CPU is done before it would have started.
_CUDA_NODES = 2000
# How many pairs a GPU looks at in an iteration of descent: a millisecond or two.
_PAIRS_ON_CUDA = 200_000_000
_told: set[str] = set()


class SlowEngine(UserWarning):
    """Said once where torch computes a training, because nothing faster can."""


def make_engine(problem: Problem, place: Place, *, exact_end: bool = False) -> Engine:
    """The engine for a problem where it was asked for; ``ValueError``, with the reason, where there is none.

    With ``exact_end``, one that draws samples evaluates all pairs nevertheless, where there are not too many. Several
    processes call this together, and each gets its engine.
    """
    group = communicator()
    engine = group.made(lambda: _made(problem, place, group, exact_end=exact_end))
    if group.size > 1 and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        check_same(group, {"device": torch.cuda.get_device_name()})
    return engine


def _made(problem: Problem, place: Place, group: Communicator, *, exact_end: bool) -> Engine:
    place = settle(place, problem.pairs.n_nodes, problem)
    if group.size > 1:
        check_processes(problem, place)
        place = replace(place, device=own_device(place.torch_device), threads=place.threads or 1)
    if place.backend == "numba":
        return numba_kind.KIND.make(problem, place, group)
    if place.backend != "sampled":
        return kind_of(place.backend).make(problem, place)
    last = exact_place(place, problem) if exact_end else None
    if last is None:
        return sampled.KIND.make(problem, place, group)
    if last.backend == "numba" and numba_kind.KIND.unfit_together(problem, group.size) is None:
        return sampled.KIND.make(problem, place, group, numba_kind.KIND.make(problem, last, group))
    return sampled.KIND.make(problem, place, group, kind_of(last.backend).make(problem, last))


def check_processes(problem: Problem, place: Place) -> None:
    """Raise `ProcessesError` where the processes that there are cannot compute a problem at a settled place."""
    size = communicator().size
    if size == 1:
        return
    if place.backend not in ("numba", "sampled"):
        raise ProcessesError(
            f"backend {place.backend!r} computes in one process: start it without torchrun, or use backend "
            "'sampled' or device 'cpu'"
        )
    why = numba_kind.KIND.unfit_together(problem, size) if place.backend == "numba" else None
    if why is not None:
        raise ProcessesError(why)


def ends_exactly(n_nodes: int) -> bool:
    """Whether a training of so many nodes looks at all pairs, many times, where it ends."""
    return n_nodes <= EXACT_NODES


def exact_place(place: Place, problem: Problem) -> Place | None:
    """The place of the engine that looks at all pairs where a training by samples ends; None for too many pairs."""
    n = problem.pairs.n_nodes
    if not ends_exactly(n):
        return None
    try:
        found = _of_all_pairs(place, problem, tell=False)
    except ValueError:  # the reference is float64, whatever the precision of samples
        found = _of_all_pairs(replace(place, precision=None), problem, tell=False)
    return None if found.backend == "reference" and n > MAX_NODES else found


def settle(place: Place, n_nodes: int, problem: Problem | None = None) -> Place:
    """The place with the backend and the device that are used; raise ``ValueError`` for what cannot be.

    Without a problem, one whose manifolds every engine knows is taken for granted.
    """
    if place.backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {place.backend!r}")
    if place.precision is not None and place.precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {place.precision!r}")
    if place.threads is not None:
        place = replace(place, threads=check_count("threads", place.threads, 1))
    place = replace(place, device=_device(place, n_nodes))
    if place.backend != "auto":
        unfit = kind_of(place.backend).unfit(problem, place)
        if unfit is not None:
            raise ValueError(unfit)
        return place
    found = _of_all_pairs(place, problem, tell=n_nodes <= EXACT_NODES)
    # Parts of the pairs are for compiled loops: torch draws ties, too.
    if found.backend == "reference" and n_nodes > EXACT_NODES and sampled.KIND.unfit(problem, place) is None:
        return replace(place, backend="sampled")
    return found


def _of_all_pairs(place: Place, problem: Problem | None, *, tell: bool = True) -> Place:
    """The place with the fastest engine there that looks at all pairs, or at parts of them."""
    why: list[str] = []
    for kind in KINDS:
        unfit = kind.unfit(problem, place)
        if unfit is None:
            if kind.name == "reference" and tell:
                _tell(place, why)
            return replace(place, backend=kind.name)
        why.append(unfit)
    raise ValueError(why[-1])


def others_met(place: Place, n_nodes: int) -> int:
    """How many others each of so many nodes meets in an iteration of descent at a settled place, about.

    The fewer, the quicker and the noisier. To a GPU all pairs of a small graph are no effort.
    """
    return max(MEETS, _PAIRS_ON_CUDA // n_nodes) if place.backend == "triton" else MEETS


def kind_of(backend: Backend) -> EngineKind:
    """The engine of a name, which is not ``"auto"``: `settle` says what that comes to."""
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


def _device(place: Place, n_nodes: int) -> torch.device:
    if place.device is not None:
        return find_device(place.device)
    large = place.backend in ("auto", "sampled") and n_nodes >= _CUDA_NODES
    compiled = place.backend == "sampled" or find_spec("triton") is not None
    cuda = place.backend == "triton" or (large and compiled and torch.cuda.is_available())
    return torch.device("cuda" if cuda else "cpu")


def _tell(place: Place, why: list[str]) -> None:
    """Say once why the training is slow."""
    found = place.torch_device.type
    fast = {"cuda": why[0], "cpu": why[1]}.get(found, f"there is no kernel for {found}")
    if fast not in _told:
        _told.add(fast)
        warnings.warn(f"{fast}: training with torch, which is slower", SlowEngine, stacklevel=3)
