"""The engines as the registry knows them: where they fit, and what memory they take. One is loaded when it is made."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import torch

from ..objective import closeness_bytes
from ..objective.tables import at_once
from ..pairs import usable_threads
from ..pairs.kinds import kernel_space
from .base import EXACT_NODES, Backend, Engine, Machine, Memory, Problem, require_scope
from .communicator import Communicator
from .numba.arguments import SMALL_NODES
from .reference import ReferenceEngine
from .sampled import SampledEngine, default_sizes, precision_of

# Bytes: of compilers and kernels whatever is trained, and of a sorted edge (ends, class, order, neighbours).
LIBRARY_BYTES, _EDGE = 192 << 20, 8 * 8
# Triton: nodes up to which a bitmap tells ties; points whose partial gradients fill a device, beyond one for each.
_LISTED_NODES, _ROWS = 32_768, 1 << 18
# Reference: bytes of a pair in the lists (its ends, and where they are found); numbers that autograd keeps of a pair,
# besides 5 for each coordinate, and where sums are by node, of a node and its edges, and of a pair.
_LISTED_PAIR, _PAIR_VALUES, _NODE_TABLES, _NODE_VALUES = 32, 42, 6, 10
# Sampled: bytes of a tie for itself (ends, neighbours and keys while they are sorted) and where sums are by node, of a
# drawn tie with what is computed of it, and of a pair of a table, times those evaluated at once.
_TIE, _NODE_TIE, _DRAWN, _PAIR = 96, 64, 1600, 160


class TritonKind:
    """Kernels on a CUDA device."""

    name: Backend = "triton"

    def unfit(self, problem: Problem | None, machine: Machine) -> str | None:
        """It needs Triton and a CUDA device."""
        if find_spec("triton") is None:
            return "backend 'triton' needs the triton package, which is not installed"
        if machine.torch_device.type != "cuda":
            return f"backend 'triton' computes on cuda, got device {machine.device}"
        if not torch.cuda.is_available():
            return "backend 'triton' needs a CUDA device, and torch finds none"
        return unknown_space(problem, self.name)

    def memory(self, problem: Problem, machine: Machine) -> Memory:
        """The batch on the host, and again on the device with the partial gradients and the edges."""
        n, m, runs, widest = problem.pairs.n_nodes, problem.pairs.n_edges, len(problem.specs), max(problem.widths)
        item = 8 if machine.precision == "float64" else 4
        passes = widest * (runs * n * (item + 5 * 8) + _ROWS * item)
        passes += runs * 6 * 8 * m + 2 * _EDGE * m + min(n * n // 8, 16 * m + 8 * n)
        # While the ties of large graphs are sorted by block of rows, each is there twice in a few arrays.
        passes += 5 * 8 * (2 * m + n) if n > _LISTED_NODES else 0
        popular = sum(spec.popularity for spec in problem.specs)
        if popular:
            # One row more of the partial gradients, and of each run offsets and what edges pull.
            passes += popular * (n * (item + 4 * 8) + 8 * m) + _ROWS * item
        return Memory(batch_bytes(problem), passes + LIBRARY_BYTES)

    def make(self, problem: Problem, machine: Machine, group: Communicator | None = None) -> Engine:
        """The engine."""
        from .triton.engine import TritonEngine

        return TritonEngine(*problem, device=machine.torch_device, precision=machine.precision or "float32")


class NumbaKind:
    """Compiled loops on the CPU."""

    name: Backend = "numba"

    def unfit(self, problem: Problem | None, machine: Machine) -> str | None:
        """It needs numba and computes on the CPU."""
        if find_spec("numba") is None:
            return "backend 'numba' needs the numba package, which is not installed"
        if machine.torch_device.type != "cpu":
            return f"backend 'numba' computes on cpu, got device {machine.device}"
        return unknown_space(problem, self.name)

    def memory(self, problem: Problem, machine: Machine) -> Memory:
        """Beside the batch a gradient for every slab of the pass, and room for the edges of every run."""
        n, m, runs = problem.pairs.n_nodes, problem.pairs.n_edges, len(problem.specs)
        # An offset is one coordinate more.
        coordinates = sum(problem.widths) + sum(spec.popularity for spec in problem.specs)
        from .numba.streaming import ROWS, TILE, slabs_of

        item = 4 if machine.precision == "float32" else 8
        parts = n > EXACT_NODES and all(spec.schedule.parts > 1 for spec in problem.specs)
        slabs = len(slabs_of(n, sample=parts)) - 1
        passes = slabs * (coordinates * n + runs * 4 * ROWS * TILE) * item
        passes += 5 * 8 * coordinates * n + runs * 6 * 8 * max(m, min(n, SMALL_NODES) ** 2 // 2)
        if n > SMALL_NODES and not parts:
            from .numba.near import ENTRY_BYTES, most_entries

            # What the finish lists, and where the points were when it did.
            passes += runs * ENTRY_BYTES * most_entries(n) + 8 * coordinates * n
        return Memory(batch_bytes(problem) + passes)

    def make(self, problem: Problem, machine: Machine, group: Communicator | None = None) -> Engine:
        """The engine."""
        from .numba.engine import NumbaEngine

        return NumbaEngine(*problem, machine.threads, machine.precision or "float64", group or Communicator())

    def unfit_together(self, problem: Problem, processes: int) -> str | None:
        """Why several processes cannot share the pairs of a problem, in words, or None."""
        from .numba.streaming import slabs_of

        n = problem.pairs.n_nodes
        slabs = len(slabs_of(n)) - 1
        if processes <= slabs:
            return None
        return (
            f"{processes} processes are too many: the pairs of {n} nodes are cut into {slabs} "
            f"slab{'s' * (slabs != 1)}, so use at most {slabs}"
        )


class ReferenceKind:
    """The definition, in torch."""

    name: Backend = "reference"

    def unfit(self, problem: Problem | None, machine: Machine) -> str | None:
        """It is float64, and knows every manifold."""
        if machine.precision == "float32":
            return "precision 'float32' is of the backends numba and triton: the reference is float64"
        return None

    def memory(self, problem: Problem, machine: Machine) -> Memory:
        """All pairs, and what autograd keeps of them; runs are computed one after the other."""
        n = problem.pairs.n_nodes
        pairs = n * (n - 1) // 2
        values = 8 * (_PAIR_VALUES + 5 * max(problem.widths)) * pairs
        tables = 0
        if any(spec.scope == "node" for spec in problem.specs):
            # A row for each node, as long as that of the node of most edges; and of each pair once more its ends.
            degrees = np.bincount(problem.pairs.edges.reshape(-1), minlength=1)
            tables = 8 * (_NODE_TABLES * n * (int(degrees.max()) + 1) + _NODE_VALUES * pairs)
        return Memory(batch_bytes(problem) + _LISTED_PAIR * pairs + 2 * n * n + values + tables)

    def make(self, problem: Problem, machine: Machine, group: Communicator | None = None) -> Engine:
        """The engine."""
        return ReferenceEngine(*problem, device=machine.torch_device)


class SampledKind:
    """Ties and pairs drawn, in torch."""

    name: Backend = "sampled"

    def unfit(self, problem: Problem | None, machine: Machine) -> str | None:
        """It knows the spaces of compiled loops, and no pairs but those it draws."""
        if problem is not None and problem.stop_when_ordered:
            return "backend 'sampled' does not look at all pairs, as stop='ordered' needs"
        return unknown_space(problem)

    def memory(self, problem: Problem, machine: Machine) -> Memory:
        """The ties and their neighbours, what is drawn, and a few blocks of pairs."""
        device, m = machine.torch_device, problem.pairs.n_edges
        sizes = [spec.sample or default_sizes(m, device) for spec in problem.specs]
        most = max((min(size.ties, m) for size in sizes), default=0)
        nodes = any(spec.scope == "node" for spec in problem.specs)
        blocks = (machine.threads or usable_threads()) if device.type == "cpu" else 1
        own = _TIE * m + _DRAWN * most * (1 + 4 * nodes) + _PAIR * at_once(device) * blocks + _NODE_TIE * m * nodes
        if device.type == "cpu":
            return Memory(batch_bytes(problem) + own)
        return Memory(batch_bytes(problem), own + 8 * problem.pairs.n_nodes * 6 * max(problem.widths))

    def make(
        self, problem: Problem, machine: Machine, group: Communicator | None = None, evaluate_with: Engine | None = None
    ) -> Engine:
        """The engine."""
        own = machine.torch_device, machine.threads, precision_of(machine)
        return SampledEngine(*problem, *own, group or Communicator(), evaluate_with)


def batch_bytes(problem: Problem) -> int:
    """What a batch takes on the host whatever computes it: its state, its edges, and the libraries."""
    n, widths = problem.pairs.n_nodes, problem.widths
    held = closeness_bytes(n) if any(spec.centrality for spec in problem.specs) else 0
    return 8 * n * len(widths) * (11 * max(widths) + 5) + _EDGE * problem.pairs.n_edges + LIBRARY_BYTES + held


def unknown_space(problem: Problem | None, compiled: Backend | None = None) -> str | None:
    """Why compiled loops do not know a space of a problem, or a compiled engine a scope; None where they do."""
    try:
        for spec in () if problem is None else problem.specs:
            kernel_space(spec.manifold, spec.dissimilarity)
        if problem is not None and compiled is not None:
            require_scope(compiled, problem.specs)
    except ValueError as error:
        return str(error)
    return None


EngineKind = TritonKind | NumbaKind | ReferenceKind | SampledKind
"""Says why it cannot compute a problem (without one: any) on a machine, and the memory it takes; makes an engine."""
TRITON, NUMBA, REFERENCE, SAMPLED = TritonKind(), NumbaKind(), ReferenceKind(), SampledKind()
