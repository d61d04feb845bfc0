"""How much memory a training needs, said before it starts.

The estimate counts the arrays of the start and of an engine as they are allocated; ``tests/engines/test_memory.py``
compares it with what processes really took.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..graph import Graph
from ..objective.ranking import MAX_NODES
from ..training.config import TrainingConfig
from ..training.start import start_bytes
from .base import Precision
from .registry import Backend, available, choose_backend

_LIBRARIES = 192 << 20  # bytes that compilers and kernels take whatever is trained
_EDGE = 8 * 8  # of a sorted edge: ends, class, order, neighbours
_PAIR = 32  # of a pair listed by the reference: its ends, and where they are found
_PAIR_VALUES = 42  # numbers that autograd keeps of a pair, besides 5 for each coordinate
_CUDA_ROWS = 1 << 18  # of points whose partial gradients fill a CUDA device, beyond one for each point


def estimate(
    n: int, m: int, widths: Sequence[int], *, backend: Backend, precision: Precision | None = None, spectra: int = 1
) -> tuple[int, int]:
    """Bytes that a training takes on the host, and on its CUDA device.

    Parameters
    ----------
    n, m
        Nodes and edges.
    widths
        The number of coordinates of each run of the batch.
    backend, precision
        As :func:`embed_many` takes them.
    spectra
        Of how many kinds the geometries of spectral starts are (:func:`start_bytes`); 0 where all start at the pole.

    Examples
    --------
    >>> host, _ = estimate(100_000, 1_000_000, [5], backend="numba")
    >>> f"{host / 2**30:.1f} GiB"
    '0.6 GiB'
    """
    runs, widest, coordinates = len(widths), max(widths), sum(widths)
    state = 11 * 8 * n * runs * widest + _EDGE * m + _LIBRARIES
    start = start_bytes(n, m, spectra)  # let go of before the first iteration
    if backend == "numba":
        from .numba.streaming import ROWS, TILE, slabs_of

        item = 4 if precision == "float32" else 8
        slabs = len(slabs_of(n)) - 1
        passes = slabs * (coordinates * n + runs * 4 * ROWS * TILE) * item
        passes += 5 * 8 * coordinates * n + runs * 6 * 8 * max(m, min(n, 96) ** 2 // 2)
        return state + max(start, passes), 0
    if backend == "triton":
        item = 8 if precision == "float64" else 4
        passes = widest * (runs * n * (item + 5 * 8) + _CUDA_ROWS * item)
        passes += runs * 6 * 8 * m + 2 * _EDGE * m + min(n * n // 8, 16 * m + 8 * n)
        return state + start, passes + _LIBRARIES
    pairs = n * (n - 1) // 2
    values = 8 * (_PAIR_VALUES + 5 * widest) * pairs  # runs are computed one after the other
    return state + max(start, _PAIR * pairs + 2 * n * n + values), 0


def require_memory(
    graph: Graph,
    configs: Sequence[TrainingConfig],
    *,
    device: str | torch.device | None = None,
    backend: Backend = "auto",
    precision: Precision | None = None,
) -> None:
    """Raise ``MemoryError``, with what would fit, where a training needs more memory than is free."""
    chosen, place = choose_backend(graph.n_nodes, device=device, backend=backend, precision=precision)
    if chosen == "reference" and place.type != "cpu":
        return  # a device of a kind that nothing is known of
    free = free_bytes(), _free_on(place)
    kinds = {"flat" if c.flat is not None else "curved" if c.p else "sphere" for c in configs if c.start == "spectral"}

    def needed(backend: Backend, precision: Precision | None, runs: int) -> tuple[int, int]:
        widths = [config.manifold().ambient_dim for config in configs[:runs]]
        return estimate(graph.n_nodes, graph.n_edges, widths, backend=backend, precision=precision, spectra=len(kinds))

    def fits(backend: Backend, precision: Precision | None, runs: int) -> bool:
        if not available(backend) or (backend == "reference" and graph.n_nodes > MAX_NODES):
            return False
        each = zip(needed(backend, precision, runs), free, strict=True)
        return all(room is None or need <= room for need, room in each)

    if fits(chosen, precision, len(configs)):
        return
    if chosen == "reference" and graph.n_nodes > MAX_NODES:
        raise MemoryError(
            f"{graph.n_nodes} nodes have too many pairs to list, at most {MAX_NODES} with backend 'reference': "
            f"{_advice(fits, chosen, precision, len(configs))}"
        )
    need, widest = needed(chosen, precision, len(configs)), max(config.manifold().ambient_dim for config in configs)
    where = 1 if free[1] is not None and need[1] > free[1] else 0
    raise MemoryError(
        f"{graph.n_nodes} nodes and {graph.n_edges} edges in {widest} coordinates, {len(configs)} at once, need "
        f"about {_gib(need[where])} with backend {chosen!r}, and {_gib(free[where] or 0)} are free"
        f"{' on the device' * where}: {_advice(fits, chosen, precision, len(configs))}"
    )


def _advice(fits: Any, chosen: Backend, precision: Precision | None, runs: int) -> str:
    """The mode that would fit."""
    if chosen == "reference" and fits("numba", precision, runs):
        return "use backend 'numba', which lists no pairs"
    if precision != "float32" and chosen == "numba" and fits(chosen, "float32", runs):
        return "use precision 'float32'"
    if chosen == "triton" and precision == "float64" and fits(chosen, "float32", runs):
        return "use precision 'float32'"
    fewer = next((count for count in range(runs - 1, 0, -1) if fits(chosen, precision, count)), 0)
    if fewer:
        return f"train {fewer} at a time"
    if chosen == "triton" and fits("numba", None, runs):
        return "use device 'cpu'"
    return "use fewer dimensions, a smaller graph or a machine with more memory"


def free_bytes() -> int | None:
    """Memory that a process can still get on this machine or in its container; ``None`` where that is not told."""
    found = [_from_meminfo(), _from_container()]
    known = [size for size in found if size is not None]
    return min(known) if known else None


def _free_on(place: torch.device) -> int | None:
    return int(torch.cuda.mem_get_info(place)[0]) if place.type == "cuda" else None


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


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
