"""How much memory a training needs, said before it starts: each engine counts the arrays it allocates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from ..objective.ranking import MAX_NODES
from .base import Machine, Memory, Problem
from .communicator import processes_here
from .kinds import batch_bytes
from .registry import kind_of, resolve


def estimate(problem: Problem, machine: Machine, start: int = 0) -> Memory:
    """Bytes that a training takes on the host and on its device; ``start`` are those of making the starting points."""
    engine = kind_of(machine.backend).memory(problem, machine)
    others = (processes_here() - 1) * engine.host
    return Memory(max(engine.host, batch_bytes(problem) + start) + others, engine.device)


def require_memory(problem: Problem, machine: Machine, start: Callable[[int], int]) -> None:
    """Raise ``MemoryError``, with what would fit; ``start(count)``: bytes of the starting points of ``count`` runs."""
    n, runs = problem.pairs.n_nodes, len(problem.specs)
    machine = resolve(machine, n, problem)
    if machine.backend == "reference" and machine.torch_device.type != "cpu":
        return  # a device of a kind that nothing is known of

    def fitting(machine: Machine, count: int = runs) -> bool:
        some = problem._replace(specs=problem.specs[:count])
        return kind_of(machine.backend).unfit(problem, machine) is None and fits(some, machine, start(count))

    if fitting(machine):
        return
    advice = _advice(machine, runs, fitting)
    if machine.backend == "reference" and n > MAX_NODES:
        raise MemoryError(
            f"{n} nodes have too many pairs to list, at most {MAX_NODES} with backend 'reference': {advice}"
        )
    need, free = estimate(problem, machine, start(runs)), (free_bytes(), _free_on(machine.torch_device))
    where = 1 if free[1] is not None and need.device > free[1] else 0
    raise MemoryError(
        f"{n} nodes and {problem.pairs.n_edges} ties in {max(problem.widths)} coordinates, {runs} at once, need about "
        f"{need[where] / 2**30:.1f} GiB with backend {machine.backend!r}, and {(free[where] or 0) / 2**30:.1f} GiB are "
        f"free{' on the device' * where}: {advice}"
    )


def fits(problem: Problem, machine: Machine, start: int) -> bool:
    """Whether there is memory for a training on a resolved machine; ``start`` as of `estimate`."""
    if machine.backend == "reference" and problem.pairs.n_nodes > MAX_NODES:
        return False
    free = free_bytes(), _free_on(machine.torch_device)
    need = estimate(problem, machine, start)
    return all(room is None or size <= room for size, room in zip(need, free, strict=True))


def _advice(machine: Machine, runs: int, fits: Callable[..., bool]) -> str:
    """The mode that would fit."""
    if machine.backend == "reference" and fits(replace(machine, backend="numba")):
        return "use backend 'numba', which lists no pairs"
    halved = replace(machine, precision="float32")
    single = (machine.precision or "float32") if machine.backend == "triton" else machine.precision
    if machine.backend != "reference" and single != "float32" and fits(halved):
        return "use precision 'float32'"
    fewer = next((count for count in range(runs - 1, 0, -1) if fits(machine, count)), 0)
    if fewer:
        return f"train {fewer} at a time"
    if machine.backend == "triton" and fits(Machine("cpu", "numba", machine.threads)):
        return "use device 'cpu'"
    if machine.backend != "sampled" and fits(replace(machine, backend="sampled")):
        return "use backend 'sampled'"
    if processes_here() > 1:
        return "start fewer processes on this machine"
    return "use fewer dimensions, a smaller graph or a machine with more memory"


def free_bytes() -> int | None:
    """Memory that a process can still get on this machine or in its container; ``None`` where that is not told."""
    return min((size for size in (_from_meminfo(), _from_container()) if size is not None), default=None)


def _free_on(machine: torch.device) -> int | None:
    return int(torch.cuda.mem_get_info(machine)[0]) if machine.type == "cuda" else None


def _from_meminfo() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return int(text.partition("MemAvailable:")[2].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None


def _from_container() -> int | None:
    """What a control group leaves; files that the kernel keeps in memory can be let go of, and count as free."""
    try:
        folder = Path("/sys/fs/cgroup")
        most = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        rest = (folder / "memory.stat").read_text(encoding="ascii")
        return most - used + int(rest.partition("inactive_file ")[2].split()[0])
    except (OSError, ValueError, IndexError):  # "max" is no number: no limit
        return None
