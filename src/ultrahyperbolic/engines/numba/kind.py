"""The compiled engine as the registry knows it; numba itself is loaded when one is made."""

from __future__ import annotations

from importlib.util import find_spec

from ..base import (
    EXACT_NODES,
    Backend,
    Engine,
    Machine,
    Memory,
    Problem,
    batch_bytes,
    unknown_scope,
    unknown_space,
)
from ..communicator import Communicator
from .arguments import SMALL_NODES


class NumbaKind:
    """The engine for the registry."""

    name: Backend = "numba"

    def unfit(self, problem: Problem | None, machine: Machine) -> str | None:
        """It needs numba and computes on the CPU."""
        if find_spec("numba") is None:
            return "backend 'numba' needs the numba package, which is not installed"
        if machine.torch_device.type != "cpu":
            return f"backend 'numba' computes on cpu, got device {machine.device}"
        return unknown_space(problem) or unknown_scope(self.name, () if problem is None else problem.specs)

    def memory(self, problem: Problem, machine: Machine) -> Memory:
        """Beside the batch a gradient for every slab of the pass, and room for the edges of every run."""
        n, m, runs = problem.pairs.n_nodes, problem.pairs.n_edges, len(problem.specs)
        # An offset is one coordinate more.
        coordinates = sum(problem.widths) + sum(spec.popularity for spec in problem.specs)
        from .streaming import ROWS, TILE, slabs_of

        item = 4 if machine.precision == "float32" else 8
        parts = n > EXACT_NODES and all(spec.schedule.parts > 1 for spec in problem.specs)
        slabs = len(slabs_of(n, sample=parts)) - 1
        passes = slabs * (coordinates * n + runs * 4 * ROWS * TILE) * item
        passes += 5 * 8 * coordinates * n + runs * 6 * 8 * max(m, min(n, SMALL_NODES) ** 2 // 2)
        if n > SMALL_NODES and not parts:
            from .near import ENTRY_BYTES, most_entries

            # What the finish lists, and where the points were when it did.
            passes += runs * ENTRY_BYTES * most_entries(n) + 8 * coordinates * n
        return Memory(batch_bytes(problem) + passes)

    def make(self, problem: Problem, machine: Machine, group: Communicator | None = None) -> Engine:
        """The engine."""
        from .engine import NumbaEngine

        return NumbaEngine(*problem, machine.threads, machine.precision or "float64", group or Communicator())

    def unfit_together(self, problem: Problem, processes: int) -> str | None:
        """Why several processes cannot share the pairs of a problem, in words, or None."""
        from .streaming import slabs_of

        n = problem.pairs.n_nodes
        slabs = len(slabs_of(n)) - 1
        if processes <= slabs:
            return None
        return (
            f"{processes} processes are too many: the pairs of {n} nodes are cut into {slabs} "
            f"slab{'s' * (slabs != 1)}, so use at most {slabs}"
        )


KIND = NumbaKind()
