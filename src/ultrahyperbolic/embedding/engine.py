"""Engines: what advances a batch of runs by many iterations at once.

A batch is points [B, n, d] with, for each run, a geometry, a dissimilarity, a way to move and a schedule. Run k of a
batch is that run alone, bit for bit. A schedule is data, so better schedules never touch an engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from ..geometry import Euclidean, Manifold, PseudoHyperboloid
from ..objective import Dissimilarity, RankedPairs, RankingLoss
from ..optim import DescentSettings, DescentState, descent_step
from ..pairs import usable_threads

Floats = NDArray[np.float64]

# ‖x‖² of a point, in units of |β|, beyond which its distances have no digits left: it does not go there.
FARTHEST = 1e16

# Up to this many nodes all pairs are kept and every loop runs over them all; tiles and slabs would cost more.
_SMALL_NODES = 96
Way = Literal["descent", "gradient", "phi", "signed-gradient"]
Measure = Literal[
    "dissimilarity", "broken_dissimilarity", "smoothed_dissimilarity", "cone_rule", "extrinsic_dist", "dist"
]
Keep = Literal["best", "last"]
Precision = Literal["float64", "float32"]
WAYS: tuple[Way, ...] = get_args(Way)
MEASURES: tuple[Measure, ...] = get_args(Measure)

KEPT: tuple[Keep, ...] = ("best", "last")


@dataclass(frozen=True)
class Schedule:
    """What the iterations of a run are given, one value for each: [T] arrays."""

    temperature: Floats
    epsilon: Floats
    """Smoothing of the light cone, read by the smoothed dissimilarity alone."""
    step: Floats
    clip: Floats
    """Longest move of a point in one iteration; infinite for none."""
    drop_below: float = -math.inf
    """Once the loss is below this, steps are multiplied by ``drop_factor``."""
    drop_factor: float = 1.0

    def __post_init__(self) -> None:
        lengths = {len(array) for array in (self.temperature, self.epsilon, self.step, self.clip)}
        if len(lengths) != 1:
            raise ValueError(f"the arrays of a schedule must have one length, got {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.temperature)

    @classmethod
    def constant(
        cls, iterations: int, *, temperature: float, step: float, clip: float = math.inf, epsilon: float = 0.1,
        drop_below: float = -math.inf, drop_factor: float = 1.0,
    ) -> Schedule:  # fmt: skip
        """The same values at every iteration."""

        def full(value: float) -> Floats:
            return np.full(iterations, value, dtype=np.float64)

        return cls(full(temperature), full(epsilon), full(step), full(clip), drop_below, drop_factor)


@dataclass(frozen=True)
class RunSpec:
    """One run of a batch."""

    manifold: Manifold
    schedule: Schedule
    measure: Measure = "dissimilarity"
    way: Way = "descent"
    keep: Keep = "best"
    """The points of the lowest loss, or the last."""

    def __post_init__(self) -> None:
        if not isinstance(self.manifold, PseudoHyperboloid | Euclidean):
            raise TypeError(f"manifold must be a PseudoHyperboloid or Euclidean, got {type(self.manifold).__name__}")
        if self.measure not in MEASURES:
            raise ValueError(f"dissimilarity must be one of {', '.join(MEASURES)}, got {self.measure!r}")
        check_measure(self.manifold, self.measure)
        if self.way not in WAYS:
            raise ValueError(f"the way to move must be one of {', '.join(WAYS)}, got {self.way!r}")
        if self.keep not in KEPT:
            raise ValueError(f"keep must be one of {', '.join(KEPT)}, got {self.keep!r}")

    @property
    def settled(self) -> int:
        """The first iteration from which on the loss is one function, so that the lowest can be kept.

        ε is part of the function only where the dissimilarity is smoothed. The number of all iterations where the last
        points are asked for.
        """
        if self.keep == "last":
            return len(self.schedule)
        # A schedule between two equal ends differs from them by rounding.
        same = np.isclose(self.schedule.temperature, self.schedule.temperature[-1], rtol=1e-12, atol=0.0)
        if self.measure == "smoothed_dissimilarity":
            same &= np.isclose(self.schedule.epsilon, self.schedule.epsilon[-1], rtol=1e-12, atol=0.0)
        return len(same) - int(np.argmin(same[::-1])) if not same.all() else 0


@dataclass
class BatchState:
    """Where a batch stands. Arrays are [B, …] float64 on the CPU."""

    points: Floats
    """[B, n, d]; runs of fewer coordinates are padded with zeros."""
    free: Floats
    """[B, n, d] the parameters of runs through φ; equal to the start elsewhere."""
    best: Floats
    """[B, n, d] the best points seen since the run's loss has settled; before that the latest."""
    record: Floats
    """[B, 7] best loss, best iteration, step dropped, done at (or -1), longest edge, shortest non-edge, step scale."""
    iteration: int = 0

    @classmethod
    def start(cls, starts: Sequence[Floats]) -> BatchState:
        """A batch from the starting points [n, d_b] of its runs."""
        width = max(points.shape[1] for points in starts)
        stacked = np.stack([np.pad(points, ((0, 0), (0, width - points.shape[1]))) for points in starts])
        record = np.tile(np.array([np.inf, -1.0, 0.0, -1.0, np.nan, np.nan, 1.0]), (len(starts), 1))
        return cls(stacked.copy(), stacked.copy(), stacked.copy(), record)

    def take(self, other: BatchState) -> None:
        """Stand where another batch of the same shape stands."""
        for name in ("points", "free", "best", "record"):
            getattr(self, name)[:] = getattr(other, name)
        self.iteration = other.iteration

    @property
    def done(self) -> NDArray[np.bool_]:
        """[B] which runs have met every constraint."""
        return self.record[:, 3] >= 0


class Evaluation(NamedTuple):
    """The objective of a batch where it stands."""

    loss: Floats
    """[B]"""
    gradient: Floats
    """[B, n, d] Euclidean, in the points."""
    longest: Floats
    """[B] the dissimilarity of the longest edge."""
    shortest: Floats
    """[B] that of the nearest other pair; NaN where it was not looked for."""


class Engine(Protocol):
    """Advances a batch."""

    name: str
    specs: Sequence[RunSpec]

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective at the points of a batch, under the schedule of its iteration, without moving them."""
        ...

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations], NaN where a run was done before."""
        ...


@dataclass
class ReferenceEngine:
    """The definition: the torch objective and ``descent_step``, run after run. Any device.

    On the CPU it computes on one thread unless told otherwise, for torch's sums depend on how many there are.
    """

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    stop_when_ordered: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    name: str = "reference"
    threads: int = 1
    """Of torch's on the CPU; the last digits of a training depend on it."""

    def __post_init__(self) -> None:
        self._losses = [RankingLoss(self.pairs, _no_measure, 1.0) for _ in self.specs]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        with _threads(self.threads):
            for run, spec in enumerate(self.specs):
                for step in range(iterations):
                    if state.record[run, 3] >= 0:
                        break
                    losses[run, step] = self._iterate(state, run, spec, state.iteration + step)
        state.iteration += iterations
        return losses

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        found = Evaluation(*(np.zeros(shape) for shape in evaluation_shapes(state)))
        for run, spec in enumerate(self.specs):
            points = torch.from_numpy(state.points[run, :, : spec.manifold.ambient_dim].copy()).to(self.device)
            points.requires_grad_()
            with _threads(self.threads):
                loss, edges, nonedges = self.objective(run, spec, points, state.iteration)
                (gradient,) = torch.autograd.grad(loss, points)
            found.loss[run] = float(loss.detach())
            found.gradient[run, :, : points.shape[1]] = gradient.cpu().numpy()
            found.longest[run], found.shortest[run] = _ends_of(edges, nonedges)
        return found

    def objective(
        self, run: int, spec: RunSpec, points: torch.Tensor, iteration: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The loss, and the dissimilarities of edges and of other pairs."""
        objective, schedule = self._losses[run], spec.schedule
        objective.temperature = float(schedule.temperature[iteration])
        objective.dissimilarity = measure_of(spec.manifold, spec.measure, float(schedule.epsilon[iteration]))
        edges, nonedges = objective.distances(points)
        return objective.of_distances(edges, nonedges), edges.detach(), nonedges.detach()

    def _iterate(self, state: BatchState, run: int, spec: RunSpec, iteration: int) -> float:
        schedule, record, manifold = spec.schedule, state.record[run], spec.manifold
        width = manifold.ambient_dim
        held = state.free if spec.way == "phi" else state.points
        variable = torch.from_numpy(held[run, :, :width].copy()).to(self.device).requires_grad_()
        points = manifold.phi(variable) if spec.way == "phi" else variable
        loss, edges, nonedges = self.objective(run, spec, points, iteration)
        value = float(loss.detach())
        longest, shortest = record[4:6] = _ends_of(edges, nonedges)
        ordered = self.stop_when_ordered and longest < shortest
        hot = iteration < spec.settled
        if ordered or hot or (iteration % self.best_every == 0 and value < record[0]):
            record[0:2] = math.inf if hot and not ordered else value, iteration
            state.best[run, :, :width] = points.detach().cpu().numpy()
        if ordered:
            record[3] = iteration
            return value
        if value < schedule.drop_below:
            record[2] = 1.0
        step = float(schedule.step[iteration]) * (schedule.drop_factor if record[2] else 1.0) * record[6]
        clip = float(schedule.clip[iteration])
        (gradient,) = torch.autograd.grad(loss, variable)
        where = Euclidean(width) if spec.way == "phi" else manifold
        settings = DescentSettings(
            where.to(self.device),
            lr=step,
            direction="descent" if spec.way == "phi" else spec.way,
            max_step=clip if math.isfinite(clip) else None,
        )
        moved, _ = descent_step(variable.detach(), gradient, DescentState(), settings)
        near = moved.square().sum(1, keepdim=True) < FARTHEST * radius_of(manifold) ** 2
        moved = torch.where(near, moved, variable.detach())
        held[run, :, :width] = moved.cpu().numpy()
        if spec.way == "phi":
            state.points[run, :, :width] = manifold.phi(moved).cpu().numpy()
        return value


@dataclass
class NumbaEngine:
    """The same compiled for the CPU.

    Runs of a batch are given to threads, each run to one; where there are fewer runs than threads and the graph is
    large, the slabs of one run's pass are. Results do not depend on it.
    """

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    stop_when_ordered: bool = False
    threads: int | None = None
    """As many as the machine has, unless given."""
    precision: Precision = "float64"
    """Of the pass over the pairs; points, edges and the loss are always float64."""
    name: str = "numba"

    def __post_init__(self) -> None:
        self._threads = self.threads or usable_threads()
        n, dtype = self.pairs.n_nodes, np.dtype(self.precision).type
        self._places = np.zeros(0, dtype=np.int64)
        scratch = self.pairs.n_edges
        if n <= _SMALL_NODES:
            i, j = self.pairs.edges.T
            self._places = np.ascontiguousarray(i * (2 * n - i - 1) // 2 + j - i - 1)
            scratch = n * (n - 1) // 2
        self._runs = [_CompiledRun(spec, n, scratch, dtype) for spec in self.specs]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        for number, run in enumerate(self._runs):
            run.take(state, number)
        alone = self._threads == 1 or len(self._runs) >= self._threads or self._runs[0].slabs == 1
        if alone and len(self._runs) == 1:  # a thread would cost more than many an iteration of a small graph
            self._advance_alone(self._runs[0], losses[0], state.iteration)
        else:
            self._advance_on_threads(losses, state.iteration, alone=alone)
        for number, run in enumerate(self._runs):
            run.give(state, number)
        state.iteration += iterations
        return losses

    def _advance_on_threads(self, losses: Floats, first: int, *, alone: bool) -> None:
        with ThreadPoolExecutor(self._threads) as pool:
            if alone:
                jobs = [pool.submit(self._advance_alone, run, losses[k], first) for k, run in enumerate(self._runs)]
                for job in jobs:
                    job.result()
            else:
                for k, run in enumerate(self._runs):
                    self._advance_together(run, losses[k], first, pool)

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        found = Evaluation(*(np.zeros(shape) for shape in evaluation_shapes(state)))
        with ThreadPoolExecutor(self._threads) as pool:
            for number, run in enumerate(self._runs):
                run.take(state, number)
                tau, epsilon, _, _ = run.schedule[:, state.iteration].tolist()
                found.loss[number], found.longest[number], found.shortest[number] = self._loss(run, tau, epsilon, pool)
                found.gradient[number, :, : run.width] = run.scratch[1].T
        return found

    def _advance_alone(self, run: _CompiledRun, losses: Floats, first: int) -> None:
        """Every iteration in one compiled loop."""
        from . import compiled

        window = np.ascontiguousarray(run.schedule[:, first : first + len(losses)])
        compiled.advance(
            run.points, run.pairs_points, run.free, run.best, run.record, *run.geometry, window, *run.stepping,
            self.best_every, self.stop_when_ordered, first, losses, self.pairs.edges, self.pairs.weaker,
            *self.pairs.neighbors, self._places, run.work, *run.scratch,
        )  # fmt: skip

    def _advance_together(self, run: _CompiledRun, losses: Floats, first: int, pool: ThreadPoolExecutor) -> None:
        """The slabs of each iteration on all threads."""
        from . import compiled

        for index in range(len(losses)):
            if run.record[compiled.DONE_AT] >= 0:
                return
            tau, epsilon, step, clip = run.schedule[:, first + index].tolist()
            losses[index], longest, least = self._loss(run, tau, epsilon, pool)
            time, radius, flat, _, way = run.geometry
            compiled.finish(
                run.points, run.pairs_points, run.free, run.best, run.record, time, radius, flat, way, step, clip,
                *run.stepping, self.best_every, self.stop_when_ordered, first + index, losses[index], longest, least,
                run.scratch[1],
            )  # fmt: skip

    def _loss(
        self, run: _CompiledRun, tau: float, epsilon: float, pool: ThreadPoolExecutor
    ) -> tuple[float, float, float]:
        """The loss, the longest edge and the nearest other pair, slabs on all threads; the gradient as scratch."""
        from ..objective.compiled import loss_and_gradient, scale_of, small_loss_and_gradient
        from ..pairs.numba import prepare, slab

        time, radius, flat, kind, _ = run.geometry
        offsets, neighbors = self.pairs.neighbors
        prepared: tuple[Any, ...] = prepare(
            run.points, time, scale_of(radius, flat), kind, radius, epsilon, tau, self.stop_when_ordered, offsets,
            neighbors, run.work,
        )  # fmt: skip
        shared = (run.points, time, radius, flat, kind, epsilon, tau, prepared)
        found: tuple[float, float, float]
        if len(self._places):
            found = small_loss_and_gradient(*shared, self._places, self.pairs.weaker, run.work, *run.scratch)
            return found
        workers = min(self._threads, run.slabs)

        def some(start: int) -> None:
            for s in range(start, run.slabs, workers):
                slab(
                    run.points, run.pairs_points, time, kind, radius, epsilon, tau, prepared, offsets, neighbors,
                    run.work, s,
                )  # fmt: skip

        list(pool.map(some, range(workers)))
        found = loss_and_gradient(*shared, self.pairs.edges, self.pairs.weaker, run.work, *run.scratch)
        return found


class _CompiledRun:
    """One run of a batch as the compiled functions take it: points [d, n], and room to work in."""

    def __init__(self, spec: RunSpec, n: int, scratch: int, dtype: type) -> None:
        from ..pairs import numba as pairs
        from . import compiled

        curved = isinstance(spec.manifold, PseudoHyperboloid)
        ways = {
            "descent": compiled.ALONG_CHI, "gradient": compiled.ALONG_GRADIENT, "phi": compiled.THROUGH_PHI,
            "signed-gradient": compiled.ALONG_SIGNED,
        }  # fmt: skip
        time = spec.manifold.q + 1 if isinstance(spec.manifold, PseudoHyperboloid) else 0
        s = spec.schedule
        self.geometry = (time, radius_of(spec.manifold), not curved, getattr(pairs, kind_of(spec)), ways[spec.way])
        self.schedule = np.stack([s.temperature, s.epsilon, s.step, s.clip])
        self.stepping = (s.drop_below, s.drop_factor, spec.settled)
        # A run of fewer coordinates than the batch is computed in its own, so that it is the same run alone.
        self.width = spec.manifold.ambient_dim
        self.work = pairs.workspace(n, self.width, dtype)
        self.slabs = len(self.work.sums)
        self.points, self.free, self.best = (np.empty((self.width, n)) for _ in range(3))
        self.pairs_points: NDArray[Any] = np.empty((self.width, n), dtype)
        self.record = np.empty(7)
        self.scratch = (np.empty((6, scratch)), np.empty((self.width, n)))

    def take(self, state: BatchState, number: int) -> None:
        """Read this run from a batch."""
        for mine, theirs in ((self.points, state.points), (self.free, state.free), (self.best, state.best)):
            mine[:] = theirs[number, :, : self.width].T
        self.pairs_points[:] = self.points
        self.record[:] = state.record[number]

    def give(self, state: BatchState, number: int) -> None:
        """Write it back."""
        for mine, theirs in ((self.points, state.points), (self.free, state.free), (self.best, state.best)):
            theirs[number, :, : self.width] = mine.T
        state.record[number] = self.record


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """So many threads of torch's on the CPU."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def evaluation_shapes(state: BatchState) -> tuple[tuple[int, ...], ...]:
    """The shapes of the arrays of an :class:`Evaluation`."""
    batch = (len(state.points),)
    return batch, state.points.shape, batch, batch


def _ends_of(edges: torch.Tensor, nonedges: torch.Tensor) -> tuple[float, float]:
    """The longest edge and the shortest other pair."""
    longest = float(edges.detach().max()) if len(edges) else -math.inf
    return longest, float(nonedges.detach().min()) if len(nonedges) else math.inf


def measure_of(manifold: Manifold, measure: Measure, epsilon: float) -> Dissimilarity:
    """The dissimilarity of a run as a function of points."""
    if measure == "smoothed_dissimilarity":
        return lambda x, y: manifold.smoothed_dissimilarity(x, y, epsilon)
    if measure == "cone_rule" and isinstance(manifold, PseudoHyperboloid):
        from ..paper.recipe import cone_rule

        return lambda x, y: cone_rule(manifold, x, y)
    function: Any = getattr(manifold, "dissimilarity" if measure == "cone_rule" else measure)
    chosen: Dissimilarity = function
    return chosen


def check_measure(manifold: Manifold, measure: Measure) -> None:
    """Raise where a dissimilarity is not defined for all pairs of points of a manifold."""
    if measure == "dist" and isinstance(manifold, PseudoHyperboloid) and manifold.p and manifold.q:
        raise ValueError(
            f"dissimilarity 'dist' is the length of a geodesic, which on Q^{{{manifold.p},{manifold.q}}} does not join "
            "every pair: use 'dissimilarity' (D_γ), 'broken_dissimilarity' or 'extrinsic_dist'"
        )


def kind_of(spec: RunSpec) -> str:
    """The name that the compiled loops and the kernels have for the dissimilarity of a run."""
    manifold, measure = spec.manifold, spec.measure
    if not isinstance(manifold, PseudoHyperboloid):
        flat = {
            "dissimilarity": "FLAT_SQUARED", "cone_rule": "FLAT_SQUARED", "smoothed_dissimilarity": "FLAT_SMOOTHED",
        }  # fmt: skip
        return flat.get(measure, "FLAT_DISTANCE")
    if measure == "dist":
        return "GEODESIC" if manifold.q == 0 else "BROKEN"
    return {
        "dissimilarity": "GEODESIC", "cone_rule": "CONE_RULE", "smoothed_dissimilarity": "SMOOTHED",
        "broken_dissimilarity": "BROKEN", "extrinsic_dist": "EXTRINSIC",
    }[measure]  # fmt: skip


def _no_measure(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    raise AssertionError("the engine sets the dissimilarity of each iteration")


def radius_of(manifold: Manifold) -> float:
    """√|β|; 1 for flat space."""
    return math.sqrt(-manifold.beta.item()) if isinstance(manifold, PseudoHyperboloid) else 1.0
