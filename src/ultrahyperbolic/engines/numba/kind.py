"""The compiled engine as the registry knows it; numba itself is loaded when one is made."""

from __future__ import annotations

from importlib.util import find_spec

from ..base import (
    EXACT_NODES,
    Backend,
    Engine,
    EngineKind,
    Memory,
    Place,
    Problem,
    batch_bytes,
    unknown_scope,
    unknown_space,
)
from .arguments import SMALL_NODES


class NumbaKind:
    """The engine for the registry."""

    name: Backend = "numba"

    def unfit(self, problem: Problem | None, place: Place) -> str | None:
        """It needs numba and computes on the CPU."""
        if find_spec("numba") is None:
            return "backend 'numba' needs the numba package, which is not installed"
        if place.torch_device.type != "cpu":
            return f"backend 'numba' computes on cpu, got device {place.device}"
        return unknown_space(problem) or unknown_scope(self.name, () if problem is None else problem.specs)

    def memory(self, problem: Problem, place: Place) -> Memory:
        """Beside the batch a gradient for every slab of the pass, and room for the edges of every run."""
        n, m, runs = problem.pairs.n_nodes, problem.pairs.n_edges, len(problem.specs)
        # An offset is one coordinate more.
        coordinates = sum(problem.widths) + sum(spec.popularity for spec in problem.specs)
        from .streaming import ROWS, TILE, slabs_of

        item = 4 if place.precision == "float32" else 8
        parts = n > EXACT_NODES and all(spec.schedule.parts > 1 for spec in problem.specs)
        slabs = len(slabs_of(n, sample=parts)) - 1
        passes = slabs * (coordinates * n + runs * 4 * ROWS * TILE) * item
        passes += 5 * 8 * coordinates * n + runs * 6 * 8 * max(m, min(n, SMALL_NODES) ** 2 // 2)
        if n > SMALL_NODES and not parts:
            from .near import ENTRY_BYTES, most_entries

            # What the finish lists, and where the points were when it did.
            passes += runs * ENTRY_BYTES * most_entries(n) + 8 * coordinates * n
        return Memory(batch_bytes(problem) + passes)

    def make(self, problem: Problem, place: Place) -> Engine:
        """The engine."""
        from .engine import NumbaEngine

        return NumbaEngine(*problem, threads=place.threads, precision=place.precision or "float64")


KIND: EngineKind = NumbaKind()
