"""How much memory a training needs, said before it starts: hours of work should not end for want of
it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..lazy import torch
from ..objective.ranking import MAX_NODES
from .base import Machine, Problem
from .registry import resolve

# Bytes of libraries and compiled code, whatever is trained.
_LIBRARIES = 192 << 20
# Numbers of 8 bytes that a run keeps of each coordinate of a node: the state, its copies, and where
# compiled loops share out the pairs a gradient for each of up to 64 slabs.
_PER_COORDINATE = {"numba": 50, "triton": 20, "reference": 20}
# Numbers that a run keeps of an edge, and numbers that autograd keeps of a pair of nodes beside
# some of each coordinate.
_PER_EDGE = 14
_PER_PAIR, _PER_PAIR_AND_COORDINATE = 50, 5
# Numbers that compiled loops keep of pairs, in tiles and in a list of near ones: of so many pairs
# at most.
_NEAR_PAIRS = 40 << 20
_ADVICE = (
    "train fewer seeds at a time, or use fewer dimensions, a smaller graph or a machine with more "
    "memory"
)


def estimate(problem: Problem, machine: Machine, start: int = 0) -> int:
    """Bytes that a training takes on a resolved machine, about; ``start`` are those of making the
    starting points.
    """
    n, m, runs = problem.pairs.n_nodes, problem.pairs.n_edges, len(problem.specs)
    coordinates = sum(problem.widths) + sum(spec.popularity for spec in problem.specs)
    numbers = _PER_COORDINATE[machine.backend] * n * coordinates + _PER_EDGE * m * (1 + runs)
    if machine.backend == "numba":
        numbers += runs * min(2 * n * n, _NEAR_PAIRS)
    if machine.backend == "reference":  # which lists all pairs, and computes one run at a time
        each = _PER_PAIR + _PER_PAIR_AND_COORDINATE * max(problem.widths)
        numbers += each * n * (n - 1) // 2
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return (_LIBRARIES + max(8 * numbers, start)) * processes


def fits(problem: Problem, machine: Machine, start: int = 0) -> bool:
    """Whether there is memory for a training on a resolved machine."""
    listed = machine.backend == "reference" and problem.pairs.n_nodes > MAX_NODES
    return not listed and estimate(problem, machine, start) <= _free(machine)


def require_memory(problem: Problem, machine: Machine, start: int = 0) -> None:
    """Raise ``MemoryError``, with what to do, where a training would not fit."""
    n = problem.pairs.n_nodes
    machine = resolve(machine, n, problem)
    if fits(problem, machine, start):
        return
    if machine.backend == "reference" and n > MAX_NODES:
        raise MemoryError(
            f"{n} nodes have too many pairs to list, at most {MAX_NODES} with backend "
            "'reference': use backend 'numba', which lists no pairs"
        )
    raise MemoryError(
        f"{n} nodes and {problem.pairs.n_edges} ties in {max(problem.widths)} coordinates, "
        f"{len(problem.specs)} at once, need about "
        f"{estimate(problem, machine, start) / 2**30:.1f} GiB with backend {machine.backend!r}, "
        f"and {_free(machine) / 2**30:.1f} GiB are free: {_ADVICE}"
    )


@contextmanager
def explaining_shortage() -> Iterator[None]:
    """Where memory that runs out ends in a ``MemoryError`` that says what to do."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:  # of torch there is one of its own
        if not isinstance(error, MemoryError) and type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError(f"memory ran out: {_ADVICE}") from error


def free_bytes() -> int | None:
    """Memory that a process can still get on this machine or in its container; ``None`` where that
    is not told.
    """
    limits = []
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        limits.append(int(text.partition("MemAvailable:")[2].split()[0]) * 1024)
    # What a control group leaves; files that the kernel keeps in memory can be let go of, and count
    # as free.
    with suppress(OSError, ValueError, IndexError):  # "max" is no number: no limit
        names = ("memory.max", "memory.current", "memory.stat")
        most, used, stat = (
            Path("/sys/fs/cgroup", name).read_text(encoding="ascii") for name in names
        )
        limits.append(int(most) - int(used) + int(stat.partition("inactive_file ")[2].split()[0]))
    return min(limits, default=None)


def _free(machine: Machine) -> float:
    """Bytes that are free where a training is computed; infinite where that is not told."""
    if machine.device_type == "cuda":
        return torch.cuda.mem_get_info(machine.torch_device)[0]
    free = free_bytes() if machine.device_type == "cpu" else None
    return math.inf if free is None else free
