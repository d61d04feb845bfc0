"""Iterations on a CUDA device: the pass over the pairs, the edges and the descent step, replayed as
one captured graph.

Nothing of an iteration is decided on the host, which reads the record and the points when a chunk
is done.
"""

from __future__ import annotations

import gc
import math
import time
from dataclasses import dataclass, field

import numpy as np
import torch
import triton

from ...arrays import Floats
from ...objective import RankedPairs
from ...objective.tables import scale_of, signs_of
from ...pairs.kinds import kernel_space
from ..base import (
    EXACT_NODES_ON_CUDA,
    FARTHEST,
    FIELDS,
    OPTIMIZERS,
    PHI,
    SPRING,
    BatchState,
    Engine,
    Evaluation,
    Precision,
    RunSpec,
)
from .iterate_kernels import (
    RECORD_WIDTH,
    backward_kernel,
    denominators_kernel,
    forward_kernel,
    gradient_kernel,
    move_kernel,
    pulls_kernel,
)
from .pair_kernels import edges_kernel
from .passes import EXACT_COEFFICIENTS, ClosenessTerm, Passes, on_device

# Nodes of a program of the gradient, and how many of their edges or partial gradients it reads at
# once: few, since a node of many edges makes the others of its program wait.
_NODES, _ENTRIES = 4, 16
# Edges that a program takes at once, and chunks of them that a running sum does.
_CHUNK, _SCAN = 256, 1024
# Numbers of float64 in what the device's memory is read by.
_SECTOR = 4

# Kind of dissimilarity, optimizer, coordinates, time coordinates, popularity and parts.
_Shared = tuple[int, int, int, int, bool, int]


@dataclass
class TritonEngine(Engine):
    """A batch on a CUDA device. Runs that share a signature, a dissimilarity and an optimizer
    advance together.
    """

    device: torch.device | None = None
    """A CUDA device; the CPU only under Triton's interpreter, for tests."""
    precision: Precision = "float32"
    """Of the pass over the pairs; points, edges and the loss are always float64."""
    name: str = field(default="triton", kw_only=True)

    def __post_init__(self) -> None:
        device = self.device or torch.device("cuda")
        groups: dict[_Shared, list[int]] = {}
        for number, spec in enumerate(self.specs):
            groups.setdefault(_shared(spec), []).append(number)
        self._groups = [_Group(self, numbers, shared, device) for shared, numbers in groups.items()]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        self.overhead = 0.0
        for group in self._groups:
            began = time.monotonic()
            group.read_from(state)
            there = time.monotonic()
            losses[group.numbers] = group.advance(iterations)
            done = time.monotonic()
            group.write_to(state)
            self.overhead += there - began + time.monotonic() - done
        state.iteration += iterations
        return losses

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it; of a large graph, that of the
        iteration's part.
        """
        found = Evaluation.zeros(state)
        for group in self._groups:
            group.read_from(state)
            group.evaluate(found)
        return found

    def close(self) -> None:
        """Let go of what lies on the device."""
        self._groups.clear()


def _shared(spec: RunSpec) -> _Shared:
    """What runs that advance together have in common, and kernels are compiled for."""
    space, optimizer = (
        kernel_space(spec.manifold, spec.dissimilarity),
        OPTIMIZERS.index(spec.optimizer),
    )
    return (
        space.kind,
        optimizer,
        spec.manifold.ambient_dim,
        space.time,
        spec.popularity,
        spec.schedule.parts,
    )


class _Group:
    """Runs of one signature, one dissimilarity and one optimizer, on the device."""

    def __init__(
        self, engine: TritonEngine, numbers: list[int], shared: _Shared, device: torch.device
    ) -> None:
        pairs, specs = engine.pairs, [engine.specs[number] for number in numbers]
        self.numbers, self.device = numbers, device
        kind, self.optimizer, self.width, self.time, self.popular, self.parts = shared
        # What an evaluation looks at.
        self.looks = self.parts if pairs.n_nodes > EXACT_NODES_ON_CUDA else 1
        # Not the engine itself: a cycle would leave captured graphs to the garbage collector.
        self.best_every, self.stop_when_ordered = engine.best_every, engine.stop_when_ordered
        n, runs = pairs.n_nodes, len(specs)
        dtype = getattr(torch, engine.precision)
        self.passes = Passes(
            n,
            pairs.joined,
            runs,
            self.width,
            self.time,
            kind,
            dtype,
            device,
            popular=self.popular,
            heights=pairs.heights,
        )

        def double(*shape: int) -> torch.Tensor:
            return torch.zeros(*shape, dtype=torch.float64, device=device)

        self.points, self.free, self.best, self.gradient = (
            double(runs, self.width, n) for _ in range(4)
        )
        # The points node after node: edges lead anywhere, and read a point at a time.
        self.rows = double(runs, n, triton.cdiv(self.width, _SECTOR) * _SECTOR)
        # Those of the passes, the best, and the gradient in them.
        self.shifts = self.passes.offsets
        self.best_shifts, self.shift_slopes = (
            torch.zeros_like(self.shifts),
            torch.zeros_like(self.shifts),
        )
        # The root mean square of the last.
        self.slope_lengths = double(runs)
        self.record = double(runs, RECORD_WIDTH.value)
        self.iterations = torch.zeros(runs, dtype=torch.int64, device=device)
        self.schedule = torch.from_numpy(np.stack([spec.schedule.rows for spec in specs])).to(
            device
        )
        rules = [
            [spec.schedule.drop_below, spec.schedule.drop_factor, spec.settled] for spec in specs
        ]
        self.rules = torch.tensor(rules, dtype=torch.float64, device=device)
        self.spaces = [kernel_space(spec.manifold, spec.dissimilarity) for spec in specs]
        self.radius = torch.tensor(
            [space.radius for space in self.spaces], dtype=torch.float64, device=device
        )
        self.pair_points = self.passes.pair_points(self.points, self.radius)
        self.spacing = self.passes.spacing(self.radius)
        self.factors = torch.stack(
            [scale_of(space) * signs_of(space, self.points[0].T) for space in self.spaces]
        )
        self.pair_factors = self.factors.to(dtype)
        self.losses = double(runs, self.schedule.shape[-1])
        self.m, self.silent = pairs.n_edges, pairs.silent
        self.centrality = [spec.centrality for spec in specs]
        held = engine.closeness if any(spec.centrality for spec in specs) else None
        self.term = None if held is None else ClosenessTerm(held, device)
        self._index(pairs)
        self.values, self.slopes, self.log_z, self.running, self.running_inverse = (
            double(runs, self.m) for _ in range(5)
        )
        self.pulls = double(runs, self.m, 2)
        self.chunk_sums, self.chunk_longest, self.chunk_inverse, self.chunk_loss = (
            double(runs, self.chunks) for _ in range(4)
        )
        self.below, self.above = (double(runs, self.chunks + 1) for _ in range(2))
        self.rest, self.loss, self.longest = (double(runs) for _ in range(3))
        self._captured: torch.cuda.CUDAGraph | None = None

    def _index(self, pairs: RankedPairs) -> None:
        """Where the class of each edge begins and ends, and the edges of every node."""
        self.chunks = triton.cdiv(self.m, _CHUNK)
        self.edges, self.weaker = (
            torch.from_numpy(np.ascontiguousarray(array, np.int64)).to(self.device)
            for array in (pairs.edges, pairs.weaker)
        )
        self.stops = torch.searchsorted(self.weaker, self.weaker, right=True)
        nodes, order = self.edges.T.reshape(-1).sort(stable=True)
        self.offsets = torch.searchsorted(
            nodes, torch.arange(pairs.n_nodes + 1, device=self.device)
        )
        self.others = self.edges.flip(1).T.reshape(-1)[order]
        self.incident = order.remainder_(self.m) if self.m else order

    def _arrays(self, state: BatchState) -> list[tuple[torch.Tensor, Floats]]:
        """What is kept of the runs, here and in a batch."""
        moving = [(self.points, state.points), (self.best, state.best)]
        moving += [(self.free, state.free)] if self.optimizer == PHI else []
        offsets = (
            [(self.shifts, state.offsets), (self.best_shifts, state.best_offsets)]
            if self.popular
            else []
        )
        points = [(mine.swapaxes(1, 2), theirs[..., : self.width]) for mine, theirs in moving]
        return [(self.record[:, : len(FIELDS)], state.rows), *points, *offsets]

    def read_from(self, state: BatchState) -> None:
        """Take the runs' points and record from a batch."""
        for mine, theirs in self._arrays(state):
            for run, number in enumerate(self.numbers):
                mine[run].copy_(torch.from_numpy(theirs[number]))
        self.pair_points.copy_(self.passes.pair_points(self.points, self.radius))
        self.passes.springs.copy_(self.record[:, SPRING])
        self.iterations.fill_(state.iteration)

    def write_to(self, state: BatchState) -> None:
        """Put them back."""
        for mine, theirs in self._arrays(state):
            for run, number in enumerate(self.numbers):
                torch.from_numpy(theirs[number]).copy_(mine[run])

    def advance(self, iterations: int) -> Floats:
        """Iterations on the device; their losses [runs, iterations]."""
        first = int(self.iterations[0])
        with on_device(self.device):
            if self._captured is None and self.device.type == "cuda":
                self._captured = self._capture()
            iterate = self._iterate if self._captured is None else self._captured.replay
            for _ in range(iterations):
                iterate()
        return np.asarray(self.losses[:, first : first + iterations].cpu().numpy())

    def _capture(self) -> torch.cuda.CUDAGraph:
        """Compile everything, then record one iteration to be replayed; the runs stay where they
        are.
        """
        kept = [tensor.clone() for tensor in self._state()]
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            self._iterate()
        torch.cuda.current_stream(self.device).wait_stream(stream)
        captured = torch.cuda.CUDAGraph()
        # Anything of CUDA's that the collector frees during the capture would end it.
        collecting = gc.isenabled()
        gc.disable()
        try:
            torch.cuda.synchronize(self.device)
            with torch.cuda.stream(stream):
                captured.capture_begin()
                try:
                    self._iterate()
                finally:
                    captured.capture_end()
        finally:
            if collecting:
                gc.enable()
        for tensor, value in zip(self._state(), kept, strict=True):
            tensor.copy_(value)
        return captured

    def _state(self) -> tuple[torch.Tensor, ...]:
        moving = self.points, self.pair_points, self.free, self.best, self.shifts, self.best_shifts
        return *moving, self.record, self.iterations, self.losses

    def _iterate(self) -> None:
        self._objective(self.parts, record=True)
        self._gradient()
        held = self._hold(descends=True)
        if self.term is not None:
            self.losses.scatter_add_(1, self.iterations[:, None].long(), held[:, None])
        self._move()
        self.iterations += 1

    def _objective(self, parts: int, *, record: bool) -> None:
        """The loss, the longest edge and the pulls of the edges, with one of ``parts`` parts of the
        other pairs.
        """
        runs, m, chunks = len(self.numbers), self.m, self.chunks
        when = (self.schedule, self.schedule.shape[-1], self.iterations)
        self.rows[..., : self.width].copy_(self.points.swapaxes(1, 2))
        self.passes.launch(
            self.pair_points,
            self.pair_factors,
            self.radius,
            self.schedule,
            self.iterations,
            parts=parts,
        )
        edges_kernel[(chunks, runs)](
            self.rows,
            self.factors,
            self.time,
            self.radius,
            self.passes.n,
            self.edges,
            m,
            self.silent,
            chunks,
            *when,
            self.shifts,
            self.passes.heights,
            self.passes.springs,
            self.values,
            self.slopes,
            self.running,
            self.chunk_sums,
            self.chunk_longest,
            D=self.width,
            ROW=self.rows.shape[2],
            SIZE=_CHUNK,
            KIND=self.passes.kind,
            COEFFICIENTS=EXACT_COEFFICIENTS,
            POPULAR=self.popular,
            DIRECTED=self.passes.directed,
        )
        scan = min(_SCAN, triton.next_power_of_2(chunks))
        forward_kernel[(runs,)](
            self.passes.sums,
            self.passes.sums[0].numel(),
            parts,
            self.passes.least,
            self.chunk_sums,
            chunks,
            *when,
            self.below,
            SIZE=scan,
        )
        denominators_kernel[(chunks, runs)](
            self.values,
            m,
            self.silent,
            self.running,
            self.below,
            self.weaker,
            chunks,
            *when,
            self.log_z,
            self.running_inverse,
            self.chunk_inverse,
            self.chunk_loss,
            SIZE=_CHUNK,
        )
        backward_kernel[(runs,)](
            self.passes.least,
            parts,
            self.chunk_inverse,
            self.chunk_loss,
            self.chunk_longest,
            chunks,
            *when,
            self.above,
            self.rest,
            self.loss,
            self.longest,
            self.record,
            self.losses,
            self.rules,
            self.best_every,
            SIZE=scan,
            STOP_WHEN_ORDERED=self.stop_when_ordered,
            RECORD=record,
        )
        pulls_kernel[(chunks, runs)](
            self.values,
            self.slopes,
            self.log_z,
            m,
            self.silent,
            self.running,
            self.below,
            self.running_inverse,
            self.above,
            self.weaker,
            self.stops,
            chunks,
            *when,
            self.pulls,
            SIZE=_CHUNK,
        )

    def _gradient(self) -> None:
        """The Euclidean gradient of every node."""
        passes = self.passes
        nodes, entries = (64, 64) if passes.interpreted else (_NODES, _ENTRIES)
        gradient_kernel[(triton.cdiv(passes.n, nodes), passes.runs)](
            self.points,
            self.rows,
            self.gradient,
            passes.gradient,
            passes.splits,
            self.rest,
            self.pulls,
            self.shift_slopes,
            self.offsets,
            self.incident,
            self.others,
            self.factors,
            self.schedule,
            self.schedule.shape[-1],
            self.iterations,
            passes.n,
            self.m,
            D=self.width,
            ROW=self.rows.shape[2],
            NODES=nodes,
            ENTRIES=entries,
            POPULAR=self.popular,
            num_warps=1,
        )

    def _hold(self, *, descends: bool) -> torch.Tensor:
        """Add the gradient of what holds sums of distances to closeness; the term itself [runs]."""
        found = torch.zeros_like(self.loss)
        for run, weight in enumerate(self.centrality if self.term is not None else ()):
            if weight and self.term is not None:
                now = self.schedule[run].index_select(1, self.iterations[run : run + 1])
                shifts, slopes = (
                    (self.shifts[run], self.shift_slopes[run]) if self.popular else (None, None)
                )
                found[run] = self.term.add(
                    self.points[run],
                    shifts,
                    self.spaces[run],
                    (now[0, 0], now[1, 0]),
                    weight,
                    self.iterations[run] if descends else None,
                    self.gradient[run],
                    slopes,
                )
        return found

    def _move(self) -> None:
        """Every node to its next point, and the best points kept."""
        nodes = 32
        if self.popular:
            torch.linalg.vector_norm(self.shift_slopes, dim=1, out=self.slope_lengths)
            self.slope_lengths /= math.sqrt(self.passes.n)
        move_kernel[(triton.cdiv(self.passes.n, nodes), self.passes.runs)](
            self.points,
            self.pair_points,
            self.spacing,
            self.free,
            self.best,
            self.gradient,
            self.shifts,
            self.best_shifts,
            self.shift_slopes,
            self.slope_lengths,
            self.time,
            self.radius,
            self.rules,
            self.record,
            self.schedule,
            self.schedule.shape[-1],
            self.iterations,
            self.passes.n,
            FARTHEST,
            D=self.width,
            NODES=nodes,
            FLAT=self.time == 0,
            OPTIMIZER=self.optimizer,
            SPLIT=self.passes.split,
            POPULAR=self.popular,
            num_warps=1,
        )

    def evaluate(self, found: Evaluation) -> None:
        """Write the objective where the runs stand into their positions."""
        with on_device(self.device):
            self._objective(self.looks, record=False)
            self._gradient()
            self.loss += self._hold(descends=False)
        found.loss[self.numbers] = self.loss.cpu().numpy()
        found.longest[self.numbers] = self.longest.cpu().numpy()
        found.shortest[self.numbers] = self.passes.least.cpu().numpy()
        found.gradient[self.numbers, :, : self.width] = self.gradient.cpu().numpy().swapaxes(1, 2)
        if self.popular:
            found.offsets[self.numbers] = self.shift_slopes.cpu().numpy()
