"""How much memory a training needs, said before it starts: each engine counts the arrays it
allocates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..lazy import torch
from ..objective import closeness_bytes
from ..objective.ranking import MAX_NODES
from .base import EXACT_NODES, Machine, Memory, Problem
from .communicator import processes_here
from .registry import resolve, unfit

# Bytes: of compilers and kernels whatever is trained, and of a sorted edge (ends, class, order,
# neighbours).
LIBRARY_BYTES, _EDGE = 192 << 20, 8 * 8
# Triton: nodes up to which a bitmap tells ties; points whose partial gradients fill a device,
# beyond one for each.
_LISTED_NODES, _ROWS = 32_768, 1 << 18
# Reference: bytes of a pair in the lists (its ends, and where they are found); numbers that
# autograd keeps of a pair, besides 5 for each coordinate.
_LISTED_PAIR, _PAIR_VALUES = 32, 42


def estimate(problem: Problem, machine: Machine, start: int = 0) -> Memory:
    """Bytes that a training takes on the host and on its device; ``start`` are those of making the
    starting points.
    """
    engine = _BYTES[machine.backend](problem, machine)
    others = (processes_here() - 1) * engine.host
    return Memory(max(engine.host, batch_bytes(problem) + start) + others, engine.device)


def require_memory(problem: Problem, machine: Machine, start: Callable[[int], int]) -> None:
    """Raise ``MemoryError``, with what would fit; ``start(count)``: bytes of the starting points of
    ``count`` runs.
    """
    n, runs = problem.pairs.n_nodes, len(problem.specs)
    machine = resolve(machine, n, problem)
    if machine.backend == "reference" and machine.device_type != "cpu":
        return  # a device of a kind that nothing is known of

    def fitting(machine: Machine, count: int = runs) -> bool:
        some = problem._replace(specs=problem.specs[:count])
        return unfit(machine.backend, problem, machine) is None and fits(
            some, machine, start(count)
        )

    if fitting(machine):
        return
    advice = _advice(machine, runs, fitting)
    if machine.backend == "reference" and n > MAX_NODES:
        raise MemoryError(
            f"{n} nodes have too many pairs to list, at most {MAX_NODES} with backend "
            f"'reference': {advice}"
        )
    need, free = estimate(problem, machine, start(runs)), _free(machine)
    where = int(need.device > free[1])
    raise MemoryError(
        f"{n} nodes and {problem.pairs.n_edges} ties in {max(problem.widths)} coordinates, {runs} "
        "at once, need about "
        f"{need[where] / 2**30:.1f} GiB with backend {machine.backend!r}, and "
        f"{free[where] / 2**30:.1f} GiB are "
        f"free{' on the device' * where}: {advice}"
    )


def fits(problem: Problem, machine: Machine, start: int) -> bool:
    """Whether there is memory for a training on a resolved machine; ``start`` as of `estimate`."""
    if machine.backend == "reference" and problem.pairs.n_nodes > MAX_NODES:
        return False
    return all(
        size <= room
        for size, room in zip(estimate(problem, machine, start), _free(machine), strict=True)
    )


def _advice(machine: Machine, runs: int, fits: Callable[..., bool]) -> str:
    """The mode that would fit."""
    if machine.backend == "reference" and fits(replace(machine, backend="numba")):
        return "use backend 'numba', which lists no pairs"
    halved = replace(machine, precision="float32")
    single = (machine.precision or "float32") if machine.backend == "triton" else machine.precision
    if machine.backend != "reference" and single != "float32" and fits(halved):
        return "use precision 'float32'"
    if fewer := next((count for count in range(runs - 1, 0, -1) if fits(machine, count)), 0):
        return f"train {fewer} at a time"
    if machine.backend == "triton" and fits(Machine("cpu", "numba", machine.threads)):
        return "use device 'cpu'"
    if processes_here() > 1:
        return "start fewer processes on this machine"
    return "use fewer dimensions, a smaller graph or a machine with more memory"


def free_bytes() -> int | None:
    """Memory that a process can still get on this machine or in its container; ``None`` where that
    is not told.
    """
    found = []
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        found.append(int(text.partition("MemAvailable:")[2].split()[0]) * 1024)
    # What a control group leaves; files that the kernel keeps in memory can be let go of, and count
    # as free.
    with suppress(OSError, ValueError, IndexError):  # "max" is no number: no limit
        names = ("memory.max", "memory.current", "memory.stat")
        most, used, rest = (
            Path("/sys/fs/cgroup", name).read_text(encoding="ascii") for name in names
        )
        found.append(int(most) - int(used) + int(rest.partition("inactive_file ")[2].split()[0]))
    return min(found, default=None)


def _free(machine: Machine) -> tuple[float, float]:
    """Bytes of the host and of a device with memory of its own; infinite where that is not told."""
    host = free_bytes()
    there = (
        torch.cuda.mem_get_info(machine.torch_device)[0]
        if machine.device_type == "cuda"
        else math.inf
    )
    return math.inf if host is None else host, there


def batch_bytes(problem: Problem) -> int:
    """What a batch takes on the host whatever computes it: its state, its edges, and the
    libraries.
    """
    n, widths = problem.pairs.n_nodes, problem.widths
    held = closeness_bytes(n) if any(spec.centrality for spec in problem.specs) else 0
    return (
        8 * n * len(widths) * (11 * max(widths) + 5)
        + _EDGE * problem.pairs.n_edges
        + LIBRARY_BYTES
        + held
    )


def _triton_bytes(problem: Problem, machine: Machine) -> Memory:
    """The batch on the host, and again on the device with the partial gradients and the edges."""
    n, m, runs, widest = (
        problem.pairs.n_nodes,
        problem.pairs.n_edges,
        len(problem.specs),
        max(problem.widths),
    )
    item = 8 if machine.precision == "float64" else 4
    passes = widest * (runs * n * (item + 5 * 8) + _ROWS * item) + runs * n * 3 * 8
    passes += runs * 7 * 8 * m + 2 * _EDGE * m + min(n * n // 8, 16 * m + 8 * n)
    # While the ties of large graphs are sorted by block of rows, each is there twice in a few
    # arrays.
    passes += 5 * 8 * (2 * m + n) if n > _LISTED_NODES else 0
    if popular := sum(spec.popularity for spec in problem.specs):
        # One row more of the partial gradients, and of each run offsets.
        passes += popular * n * (item + 4 * 8) + _ROWS * item
    return Memory(batch_bytes(problem), passes + LIBRARY_BYTES)


def _numba_bytes(problem: Problem, machine: Machine) -> Memory:
    """Beside the batch a gradient for every slab of the pass, and room for the edges of every
    run.
    """
    n, m, runs = problem.pairs.n_nodes, problem.pairs.n_edges, len(problem.specs)
    # An offset is one coordinate more.
    coordinates = sum(problem.widths) + sum(spec.popularity for spec in problem.specs)
    from .numba.streaming import ROWS, TILE, slabs_of

    parts = n > EXACT_NODES and all(spec.schedule.parts > 1 for spec in problem.specs)
    slabs = len(slabs_of(n, sample=parts)) - 1
    passes = slabs * (coordinates * n + runs * 4 * ROWS * TILE) * 8
    passes += 3 * 8 * coordinates * n + runs * 6 * 8 * m
    if not parts:
        from .numba.near import ENTRY_BYTES, most_entries

        # What the finish lists, and where the points were when it did.
        passes += runs * ENTRY_BYTES * most_entries(n) + 8 * coordinates * n
    return Memory(batch_bytes(problem) + passes)


def _reference_bytes(problem: Problem, machine: Machine) -> Memory:
    """All pairs, and what autograd keeps of them; runs are computed one after the other."""
    n = problem.pairs.n_nodes
    pairs = n * (n - 1) // 2
    values = 8 * (_PAIR_VALUES + 5 * max(problem.widths)) * pairs
    return Memory(batch_bytes(problem) + _LISTED_PAIR * pairs + 2 * n * n + values)


_BYTES = {
    "triton": _triton_bytes,
    "numba": _numba_bytes,
    "reference": _reference_bytes,
}
