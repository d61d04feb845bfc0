"""Iterations on a CUDA device: the pass over the pairs, the edges and the descent step, replayed as one captured graph.

Nothing of an iteration is decided on the host: the schedule, the record and the best points lie on the device, and the
host reads them when a chunk of iterations is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ..geometry import PseudoHyperboloid
from ..objective import RankedPairs
from ..pairs.triton import (
    BROKEN,
    CONE_RULE,
    FLAT_SMOOTHED,
    FLAT_SQUARED,
    GEODESIC,
    SMOOTHED,
    Passes,
    edges_kernel,
    exact_coefficients,
    log_sum_exp,
)
from .engine import BatchState, Evaluation, Floats, Precision, RunSpec, evaluation_shapes, radius_of

ALONG_CHI = tl.constexpr(0)
ALONG_GRADIENT = tl.constexpr(1)
THROUGH_PHI = tl.constexpr(2)

# Columns of a run's record, as in BatchState; the last two: whether these points are kept, and whether they move.
_BEST_LOSS = tl.constexpr(0)
_BEST_ITERATION = tl.constexpr(1)
_DROPPED = tl.constexpr(2)
_DONE_AT = tl.constexpr(3)
_LONGEST = tl.constexpr(4)
_SHORTEST = tl.constexpr(5)
_KEEP = tl.constexpr(6)
_MOVES = tl.constexpr(7)
_RECORD = tl.constexpr(8)

# Nodes of a program of the step, and how many of their edges or partial gradients it reads at once.
_NODES, _ENTRIES = 8, 32
# Edges of one capacity class that a program takes at once, and chunks that a running sum does.
_CHUNK, _SCAN = 128, 1024


@triton.jit
def _log_add(a, b):
    most = tl.maximum(a, b)
    shift = tl.where(most == float("-inf"), 0.0, most)
    return shift + tl.log(tl.exp(a - shift) + tl.exp(b - shift))


@triton.jit
def _forward_kernel(
    sums, count, least, chunk_sums, chunks, schedule, total_iterations, iterations, below, SIZE: tl.constexpr
):
    """Running log-sum-exp over the chunks, the non-edges first: below [B, chunks + 1]."""
    run = tl.program_id(0)
    at = tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float64)
    for start in range(0, count, SIZE):
        total += tl.load(sums + run * count + start + at, mask=start + at < count, other=0.0)
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    # The pass meets every pair twice.
    nonedges = tl.sum(total, 0) / 2.0
    carry = tl.where(nonedges > 0.0, tl.log(nonedges) - tl.load(least + run) / tau, float("-inf"))
    below += run * (chunks + 1)
    tl.store(below, carry)
    for start in range(0, chunks, SIZE):
        some = tl.load(chunk_sums + run * chunks + start + at, mask=start + at < chunks, other=float("-inf"))
        running = _log_add(tl.associative_scan(some, 0, _log_add), carry)
        tl.store(below + 1 + start + at, running, mask=start + at < chunks)
        carry = tl.max(running, 0)


@triton.jit
def _denominators_kernel(
    values, m, below, chunk_starts, chunk_stops, class_starts, chunks, schedule, total_iterations, iterations, log_z,
    chunk_inverse, chunk_loss, SIZE: tl.constexpr,
):  # fmt: skip
    """log Z of the edges [B, m]; of each chunk log Σ 1/Z and its part of the loss."""
    chunk, run = tl.program_id(0), tl.program_id(1)
    e = tl.load(chunk_starts + chunk) + tl.arange(0, SIZE)
    inside = e < tl.load(chunk_stops + chunk)
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    weaker = tl.load(below + run * (chunks + 1) + tl.load(class_starts + chunk))
    score = -tl.load(values + run * m + e, mask=inside, other=0.0) / tau
    excess = weaker - score
    # log(1 + e^excess), with its digits where it is small.
    rest = tl.exp(-tl.abs(excess))
    term = tl.maximum(excess, 0.0) + tl.where(rest < 1e-4, rest * (1.0 - rest * (0.5 - rest / 3.0)), tl.log(1.0 + rest))
    z = score + term
    tl.store(log_z + run * m + e, z, mask=inside)
    tl.store(chunk_loss + run * chunks + chunk, tl.sum(tl.where(inside, term, 0.0), 0))
    tl.store(chunk_inverse + run * chunks + chunk, log_sum_exp(tl.where(inside, -z, float("-inf"))))


@triton.jit
def _backward_kernel(
    least, chunk_inverse, chunk_loss, chunk_longest, chunks, schedule, total_iterations, iterations, above, rest, loss,
    longest, record, losses, rules, best_every,
    SIZE: tl.constexpr, STOP_WHEN_ORDERED: tl.constexpr, RECORD: tl.constexpr,
):  # fmt: skip
    """Running log-sum-exp of 1/Z from the last chunk down: above [B, chunks + 1]; the loss; with RECORD, the record."""
    run = tl.program_id(0)
    at = tl.arange(0, SIZE)
    step = tl.load(iterations + run)
    tau = tl.load(schedule + run * 4 * total_iterations + step)
    near = tl.load(least + run)
    above += run * (chunks + 1)
    tl.store(above + chunks, float("-inf"))
    carry = tl.full([], float("-inf"), tl.float64)
    total = tl.zeros([SIZE], tl.float64)
    most = tl.full([SIZE], float("-inf"), tl.float64)
    for start in range(0, chunks, SIZE):
        there = start + at < chunks
        where = run * chunks + chunks - 1 - start - at
        running = _log_add(
            tl.associative_scan(tl.load(chunk_inverse + where, mask=there, other=float("-inf")), 0, _log_add), carry
        )
        tl.store(above + chunks - 1 - start - at, running, mask=there)
        carry = tl.max(running, 0)
        total += tl.load(chunk_loss + where, mask=there, other=0.0)
        most = tl.maximum(most, tl.load(chunk_longest + where, mask=there, other=float("-inf")))
    value, far = tl.sum(total, 0), tl.max(most, 0)
    tl.store(rest + run, tl.exp(carry - near / tau))
    tl.store(loss + run, value)
    tl.store(longest + run, far)
    if RECORD:
        record += run * _RECORD
        active = tl.load(record + _DONE_AT) < 0.0
        settled = tl.load(rules + run * 3 + 2).to(tl.int64)
        ordered = (far < near) & STOP_WHEN_ORDERED & active
        better = (step % best_every == 0) & (value < tl.load(record + _BEST_LOSS)) & (step >= settled) & active
        keep = ordered | better | ((step < settled) & active)
        tl.store(record + _BEST_LOSS, value, mask=ordered | better)
        tl.store(record + _BEST_ITERATION, step.to(tl.float64), mask=keep)
        tl.store(record + _DONE_AT, step.to(tl.float64), mask=ordered)
        tl.store(record + _LONGEST, far, mask=active)
        tl.store(record + _SHORTEST, near, mask=active)
        dropped = (tl.load(record + _DROPPED) > 0.0) | ((value < tl.load(rules + run * 3)) & active & (not ordered))
        tl.store(record + _DROPPED, dropped.to(tl.float64))
        tl.store(record + _KEEP, keep.to(tl.float64))
        tl.store(record + _MOVES, (active & (not ordered)).to(tl.float64))
        tl.store(losses + run * total_iterations + step, tl.where(active, value, float("nan")))


@triton.jit
def _pulls_kernel(
    values, slopes, log_z, m, below, above, chunk_starts, chunk_stops, class_starts, class_stops, chunks, schedule,
    total_iterations, iterations, pulls, SIZE: tl.constexpr,
):  # fmt: skip
    """What the loss changes by with w of each edge, times τ: [B, m]."""
    chunk, run = tl.program_id(0), tl.program_id(1)
    e = tl.load(chunk_starts + chunk) + tl.arange(0, SIZE)
    inside = e < tl.load(chunk_stops + chunk)
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    weaker = tl.load(below + run * (chunks + 1) + tl.load(class_starts + chunk))
    stronger = tl.load(above + run * (chunks + 1) + tl.load(class_stops + chunk))
    score = -tl.load(values + run * m + e, mask=inside, other=0.0) / tau
    pull = tl.exp(weaker - tl.load(log_z + run * m + e, mask=inside, other=0.0)) - tl.exp(score + stronger)
    tl.store(pulls + run * m + e, pull * tl.load(slopes + run * m + e, mask=inside, other=0.0), mask=inside)


@triton.jit
def _onto(x, time, radius, D: tl.constexpr):
    """φ: the time part rescaled."""
    time_square = tl.zeros_like(x[0])
    space_square = tl.zeros_like(x[0])
    for k in tl.static_range(D):
        time_square += tl.where(k < time, x[k] * x[k], 0.0)
        space_square += tl.where(k < time, 0.0, x[k] * x[k])
    stretch = tl.sqrt((radius * radius + space_square) / time_square)
    moved = ()
    for k in tl.static_range(D):
        moved = moved + (tl.where(k < time, x[k] * stretch, x[k]),)
    return moved


@triton.jit
def _clipped(g, step, clip, D: tl.constexpr):
    """What to multiply a direction by: -step, or less where the move would be longer than ``clip``."""
    square = tl.zeros_like(g[0])
    for k in tl.static_range(D):
        square += g[k] * g[k]
    length = tl.sqrt(square) * step
    return tl.where(length <= clip, -step, -step * clip / tl.where(length > 0.0, length, 1.0))


@triton.jit
def _exponential(x, g, time, radius, D: tl.constexpr):
    """exp_x(g), back onto the manifold."""
    square = tl.zeros_like(g[0])
    for k in tl.static_range(D):
        square += tl.where(k < time, -g[k] * g[k], g[k] * g[k])
    z = square / (radius * radius)
    size = tl.abs(z)
    small = size < 1e-3
    cosh_small = 1.0 + z / 2.0 * (1.0 + z / 12.0 * (1.0 + z / 30.0 * (1.0 + z / 56.0)))
    sinhc_small = 1.0 + z / 6.0 * (1.0 + z / 20.0 * (1.0 + z / 42.0 * (1.0 + z / 72.0)))
    angle = tl.sqrt(tl.where(small, 1.0, size))
    up = tl.exp(tl.where(z > 0.0, angle, 0.0))
    cosh = tl.where(z > 0.0, 0.5 * (up + 1.0 / up), tl.cos(angle))
    sinhc = tl.where(z > 0.0, 0.5 * (up - 1.0 / up), tl.sin(angle)) / angle
    cosh = tl.where(small, cosh_small, cosh)
    sinhc = tl.where(small, sinhc_small, sinhc)
    moved = ()
    for k in tl.static_range(D):
        moved = moved + (cosh * x[k] + sinhc * g[k],)
    return _onto(moved, time, radius, D)


@triton.jit
def _step_kernel(
    points, pair_points, free, best, gradient, partial, splits, rest, pulls, offsets, incident, others, factors, times,
    radius, rules, record, schedule, total_iterations, iterations, n, m,
    D: tl.constexpr, NODES: tl.constexpr, ENTRIES: tl.constexpr, FLAT: tl.constexpr, WAY: tl.constexpr,
    MOVE: tl.constexpr,
):  # fmt: skip
    """The Euclidean gradient of a program's nodes from the pass and the edges; then, with MOVE, their next points."""
    run = tl.program_id(1)
    nodes = tl.program_id(0) * NODES + tl.arange(0, NODES)
    inside = nodes < n
    base = run * D * n
    at = tl.load(iterations + run)
    tau = tl.load(schedule + run * 4 * total_iterations + at)
    push = -tl.load(rest + run) / tau
    x, g = (), ()
    entries = tl.arange(0, ENTRIES)
    for k in tl.static_range(D):
        x = x + (tl.load(points + base + k * n + nodes, mask=inside, other=1.0),)
        total = tl.zeros([NODES], tl.float64)
        for split in range(0, splits, ENTRIES):
            where = (split + entries)[None, :]
            some = tl.load(
                partial + ((run * splits + where) * D + k) * n + nodes[:, None],
                mask=inside[:, None] & (where < splits), other=0.0,
            )  # fmt: skip
            total += tl.sum(some.to(tl.float64), 1)
        g = g + (push * total,)
    first = tl.load(offsets + nodes, mask=inside, other=0)
    last = tl.load(offsets + nodes + 1, mask=inside, other=0)
    for start in range(0, tl.max(last - first, 0), ENTRIES):
        where = first[:, None] + start + entries[None, :]
        there = where < last[:, None]
        other = tl.load(others + where, mask=there, other=0)
        pull = tl.load(pulls + run * m + tl.load(incident + where, mask=there, other=0), mask=there, other=0.0) / tau
        added = ()
        for k in tl.static_range(D):
            difference = x[k][:, None] - tl.load(points + base + k * n + other, mask=there, other=0.0)
            added = added + (g[k] + tl.sum(tl.where(there, pull * difference, 0.0), 1),)
        g = added
    scaled = ()
    for k in tl.static_range(D):
        scaled = scaled + (2.0 * tl.load(factors + run * D + k) * g[k],)
    g = scaled
    if not MOVE:
        for k in tl.static_range(D):
            tl.store(gradient + base + k * n + nodes, g[k], mask=inside)
    else:
        record += run * _RECORD
        keep = tl.load(record + _KEEP) > 0.0
        moves = tl.load(record + _MOVES) > 0.0
        for k in tl.static_range(D):
            tl.store(best + base + k * n + nodes, x[k], mask=inside & keep)
        drop = tl.where(tl.load(record + _DROPPED) > 0.0, tl.load(rules + run * 3 + 1), 1.0)
        step = tl.load(schedule + (run * 4 + 2) * total_iterations + at) * drop
        clip = tl.load(schedule + (run * 4 + 3) * total_iterations + at)
        time, r = tl.load(times + run), tl.load(radius + run)
        moved = x
        if FLAT:
            factor = _clipped(g, step, clip, D)
            moved = ()
            for k in tl.static_range(D):
                moved = moved + (x[k] + factor * g[k],)
        elif WAY == THROUGH_PHI:
            # The gradient in z of f(φ(z)).
            z = ()
            time_square = tl.zeros([NODES], tl.float64)
            space_square = tl.zeros([NODES], tl.float64)
            along = tl.zeros([NODES], tl.float64)
            for k in tl.static_range(D):
                z = z + (tl.load(free + base + k * n + nodes, mask=inside, other=1.0),)
                time_square += tl.where(k < time, z[k] * z[k], 0.0)
                along += tl.where(k < time, g[k] * z[k], 0.0)
                space_square += tl.where(k < time, 0.0, z[k] * z[k])
            length, stretch = tl.sqrt(time_square), tl.sqrt(r * r + space_square)
            along = along / length
            back = ()
            for k in tl.static_range(D):
                back = back + (
                    tl.where(
                        k < time, stretch / length * (g[k] - along * z[k] / length), g[k] + along * z[k] / stretch
                    ),
                )
            factor = _clipped(back, step, clip, D)
            moved = ()
            for k in tl.static_range(D):
                moved = moved + (z[k] + factor * back[k],)
            for k in tl.static_range(D):
                tl.store(free + base + k * n + nodes, moved[k], mask=inside & moves)
            moved = _onto(moved, time, r, D)
        else:
            # Π_x(G g) = G g + (g · x / |β|) x, twice for χ.
            for _ in tl.static_range(2 if WAY == ALONG_CHI else 1):
                along = tl.zeros([NODES], tl.float64)
                for k in tl.static_range(D):
                    along += g[k] * x[k]
                along = along / (r * r)
                turned = ()
                for k in tl.static_range(D):
                    turned = turned + (tl.where(k < time, -g[k], g[k]) + along * x[k],)
                g = turned
            factor = _clipped(g, step, clip, D)
            tangent = ()
            for k in tl.static_range(D):
                tangent = tangent + (factor * g[k],)
            moved = _exponential(x, tangent, time, r, D)
        for k in tl.static_range(D):
            tl.store(points + base + k * n + nodes, moved[k], mask=inside & moves)
            tl.store(
                pair_points + base + k * n + nodes, moved[k].to(pair_points.dtype.element_ty), mask=inside & moves
            )


@dataclass
class TritonEngine:
    """A batch on a CUDA device. Runs that share a dissimilarity and a way to move advance together."""

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    stop_when_ordered: bool = False
    device: torch.device | None = None
    """A CUDA device; the CPU only under Triton's interpreter, for tests."""
    precision: Precision = "float32"
    """Of the pass over the pairs; points, edges and the loss are always float64."""
    name: str = "triton"

    def __post_init__(self) -> None:
        device = self.device or torch.device("cuda")
        groups: dict[tuple[int, int], list[int]] = {}
        for number, spec in enumerate(self.specs):
            groups.setdefault((_kind(spec), _way(spec)), []).append(number)
        self._groups = [
            _Group(self, [self.specs[number] for number in numbers], numbers, kind, way, device)
            for (kind, way), numbers in groups.items()
        ]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        for group in self._groups:
            group.take(state)
            losses[group.numbers] = group.advance(iterations)
            group.give(state)
        state.iteration += iterations
        return losses

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        found = Evaluation(*(np.zeros(shape) for shape in evaluation_shapes(state)))
        for group in self._groups:
            group.take(state)
            group.evaluate(found)
        return found


class _Group:
    """Runs of one dissimilarity and one way to move, on the device."""

    def __init__(
        self, engine: TritonEngine, specs: list[RunSpec], numbers: list[int], kind: int, way: int, device: torch.device
    ) -> None:
        pairs = engine.pairs
        self.engine, self.numbers, self.way, self.device = engine, numbers, way, device
        n, runs = pairs.n_nodes, len(specs)
        self.width = max(spec.manifold.ambient_dim for spec in specs)
        dtype = getattr(torch, engine.precision)
        self.passes = Passes(pairs, runs, self.width, kind, dtype, device)
        self.flat = kind in (FLAT_SQUARED.value, FLAT_SMOOTHED.value)

        def double(*shape: int) -> torch.Tensor:
            return torch.zeros(*shape, dtype=torch.float64, device=device)

        self.points, self.free, self.best, self.gradient = (double(runs, self.width, n) for _ in range(4))
        self.pair_points = torch.zeros(runs, self.width, n, dtype=dtype, device=device)
        self.record = double(runs, _RECORD.value)
        self.iterations = torch.zeros(runs, dtype=torch.int64, device=device)
        schedules = [spec.schedule for spec in specs]
        self.schedule = torch.from_numpy(
            np.stack([np.stack([s.temperature, s.epsilon, s.step, s.clip]) for s in schedules])
        ).to(device)
        self.rules = torch.tensor(
            [[s.drop_below, s.drop_factor, s.settled] for s in schedules], dtype=torch.float64, device=device
        )
        radius = [radius_of(spec.manifold) for spec in specs]
        times = [spec.manifold.q + 1 if isinstance(spec.manifold, PseudoHyperboloid) else 0 for spec in specs]
        self.radius = torch.tensor(radius, dtype=torch.float64, device=device)
        self.times = torch.tensor(times, dtype=torch.int64, device=device)
        scale = torch.ones_like(self.radius) if self.flat else 0.25 / self.radius**2
        sign = torch.where(torch.arange(self.width, device=device)[None, :] < self.times[:, None], -1.0, 1.0)
        self.factors = (scale[:, None] * sign).contiguous()
        self.pair_factors = self.factors.to(dtype)
        self.losses = double(runs, self.schedule.shape[-1])
        self.m = pairs.n_edges
        self._index(pairs)
        self.values, self.slopes, self.log_z, self.pulls = (double(runs, self.m) for _ in range(4))
        self.chunk_sums, self.chunk_longest, self.chunk_inverse, self.chunk_loss = (
            double(runs, self.chunks) for _ in range(4)
        )
        self.below, self.above = (double(runs, self.chunks + 1) for _ in range(2))
        self.rest, self.loss, self.longest = (double(runs) for _ in range(3))
        self._captured: Any = None

    def _index(self, pairs: RankedPairs) -> None:
        """Where the classes of the edges begin and end, and the edges of every node."""

        def integers(array: Any) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(self.device)

        m = pairs.n_edges
        class_starts = np.unique(pairs.weaker)
        class_stops = np.append(class_starts[1:], m)
        # Chunks lie within one class, so that what is weaker than an edge of a chunk is a number of chunks.
        counts = -(-(class_stops - class_starts) // _CHUNK)
        first = np.cumsum(counts) - counts
        of_class = np.repeat(np.arange(len(counts)), counts)
        starts = class_starts[of_class] + (np.arange(len(of_class)) - first[of_class]) * _CHUNK
        self.chunks = len(starts)
        self.edges = integers(pairs.edges)
        self.chunk_starts = integers(starts)
        self.chunk_stops = integers(np.minimum(starts + _CHUNK, class_stops[of_class]))
        self.class_starts, self.class_stops = integers(first[of_class]), integers((first + counts)[of_class])
        nodes = pairs.edges.T.reshape(-1)
        order = np.argsort(nodes, kind="stable")
        self.offsets = integers(np.searchsorted(nodes[order], np.arange(pairs.n_nodes + 1)))
        self.incident = integers(order % m if m else order)
        self.others = integers(pairs.edges[:, ::-1].T.reshape(-1)[order])

    def take(self, state: BatchState) -> None:
        """Read the runs from a batch."""
        for mine, theirs in ((self.points, state.points), (self.free, state.free), (self.best, state.best)):
            array = np.ascontiguousarray(theirs[self.numbers][:, :, : self.width].swapaxes(1, 2))
            mine.copy_(torch.from_numpy(array))
        self.pair_points.copy_(self.points)
        self.record[:, :6] = torch.from_numpy(state.record[self.numbers]).to(self.device)
        self.iterations.fill_(state.iteration)

    def give(self, state: BatchState) -> None:
        """Write them back."""
        for mine, theirs in ((self.points, state.points), (self.free, state.free), (self.best, state.best)):
            theirs[self.numbers, :, : self.width] = mine.cpu().numpy().swapaxes(1, 2)
        state.record[self.numbers] = self.record[:, :6].cpu().numpy()

    def advance(self, iterations: int) -> Floats:
        """Iterations on the device; their losses [runs, iterations]."""
        first = int(self.iterations[0])
        if self.device.type != "cuda":
            for _ in range(iterations):
                self._iterate()
        else:
            if self._captured is None:
                self._capture()
            for _ in range(iterations):
                self._captured.replay()
        losses: Floats = self.losses[:, first : first + iterations].cpu().numpy()
        return losses

    def _capture(self) -> None:
        """Compile everything, then record one iteration to be replayed; the runs stay where they are."""
        kept = [tensor.clone() for tensor in self._state()]
        stream = torch.cuda.Stream(self.device)
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            self._iterate()
        torch.cuda.current_stream(self.device).wait_stream(stream)
        self._captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._captured):
            self._iterate()
        for tensor, value in zip(self._state(), kept, strict=True):
            tensor.copy_(value)

    def _state(self) -> tuple[torch.Tensor, ...]:
        return self.points, self.pair_points, self.free, self.best, self.record, self.iterations, self.losses

    def _iterate(self) -> None:
        self._objective(record=True)
        self._step(move=True)
        self.iterations += 1

    def _objective(self, *, record: bool) -> None:
        """The loss, the longest edge and the pulls of the edges; the same sums over the classes as the reference's."""
        runs, m, chunks = len(self.numbers), self.m, self.chunks
        when = (self.schedule, self.schedule.shape[-1], self.iterations)
        self.passes.launch(self.pair_points, self.pair_factors, self.radius, self.schedule, self.iterations)
        edges_kernel[(chunks, runs)](
            self.points, self.factors, self.radius, self.passes.n, self.edges, m, self.chunk_starts, self.chunk_stops,
            chunks, *when, self.values, self.slopes, self.chunk_sums, self.chunk_longest, D=self.width, SIZE=_CHUNK,
            KIND=self.passes.kind, COEFFICIENTS=exact_coefficients(),
        )  # fmt: skip
        scan = min(_SCAN, triton.next_power_of_2(chunks))
        _forward_kernel[(runs,)](
            self.passes.sums, self.passes.sums[0].numel(), self.passes.least, self.chunk_sums, chunks, *when, self.below,
            SIZE=scan,
        )  # fmt: skip
        _denominators_kernel[(chunks, runs)](
            self.values, m, self.below, self.chunk_starts, self.chunk_stops, self.class_starts, chunks, *when,
            self.log_z, self.chunk_inverse, self.chunk_loss, SIZE=_CHUNK,
        )  # fmt: skip
        _backward_kernel[(runs,)](
            self.passes.least, self.chunk_inverse, self.chunk_loss, self.chunk_longest, chunks, *when, self.above,
            self.rest, self.loss, self.longest, self.record, self.losses, self.rules, self.engine.best_every,
            SIZE=scan, STOP_WHEN_ORDERED=self.engine.stop_when_ordered, RECORD=record,
        )  # fmt: skip
        _pulls_kernel[(chunks, runs)](
            self.values, self.slopes, self.log_z, m, self.below, self.above, self.chunk_starts, self.chunk_stops,
            self.class_starts, self.class_stops, chunks, *when, self.pulls, SIZE=_CHUNK,
        )  # fmt: skip

    def _step(self, *, move: bool) -> None:
        passes = self.passes
        _step_kernel[(triton.cdiv(passes.n, _NODES), passes.runs)](
            self.points, self.pair_points, self.free, self.best, self.gradient, passes.gradient, passes.splits,
            self.rest, self.pulls, self.offsets, self.incident, self.others, self.factors, self.times, self.radius,
            self.rules, self.record, self.schedule, self.schedule.shape[-1], self.iterations, passes.n, self.m,
            D=self.width, NODES=_NODES, ENTRIES=_ENTRIES, FLAT=self.flat, WAY=self.way, MOVE=move, num_warps=2,
        )  # fmt: skip

    def evaluate(self, found: Evaluation) -> None:
        """Write the objective where the runs stand into their places."""
        self._objective(record=False)
        self._step(move=False)
        found.loss[self.numbers] = self.loss.cpu().numpy()
        found.longest[self.numbers] = self.longest.cpu().numpy()
        found.shortest[self.numbers] = self.passes.least.cpu().numpy()
        found.gradient[self.numbers, :, : self.width] = self.gradient.cpu().numpy().swapaxes(1, 2)


def _kind(spec: RunSpec) -> int:
    curved = isinstance(spec.manifold, PseudoHyperboloid)
    kinds = {
        "dissimilarity": GEODESIC if curved else FLAT_SQUARED,
        "smoothed_dissimilarity": SMOOTHED if curved else FLAT_SMOOTHED,
        "cone_rule": CONE_RULE if curved else FLAT_SQUARED,
        "broken_dissimilarity": BROKEN,
    }
    return int(kinds[spec.measure].value)


def _way(spec: RunSpec) -> int:
    return int({"descent": ALONG_CHI, "gradient": ALONG_GRADIENT, "phi": THROUGH_PHI}[spec.way].value)
