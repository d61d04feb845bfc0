"""Engines: what advances a batch of runs by many iterations at once.

A batch is points [B, n, d] with, for each run, a geometry, a dissimilarity, a way to move and a schedule. Run k of a
batch is that run alone, bit for bit. A schedule is data, so better schedules never touch an engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ..geometry import Euclidean, Manifold, PseudoHyperboloid
from ..objective import Dissimilarity, RankedPairs, RankingLoss
from ..optim import DescentSettings, DescentState, descent_step

Floats = NDArray[np.float64]
Way = Literal["descent", "gradient", "phi"]
Measure = Literal["dissimilarity", "broken_dissimilarity", "smoothed_dissimilarity", "cone_rule"]
WAYS: tuple[Way, ...] = ("descent", "gradient", "phi")
MEASURES: tuple[Measure, ...] = ("dissimilarity", "broken_dissimilarity", "smoothed_dissimilarity", "cone_rule")


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

    @property
    def settled(self) -> int:
        """The first iteration from which on the loss is one function, so that losses can be compared."""
        same = (self.temperature == self.temperature[-1]) & (self.epsilon == self.epsilon[-1])
        return len(same) - int(np.argmin(same[::-1])) if not same.all() else 0

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

    def __post_init__(self) -> None:
        if not isinstance(self.manifold, PseudoHyperboloid | Euclidean):
            raise TypeError(f"manifold must be a PseudoHyperboloid or Euclidean, got {type(self.manifold).__name__}")
        if self.measure not in MEASURES:
            raise ValueError(f"dissimilarity must be one of {', '.join(MEASURES)}, got {self.measure!r}")
        if self.way not in WAYS:
            raise ValueError(f"the way to move must be one of {', '.join(WAYS)}, got {self.way!r}")


@dataclass
class BatchState:
    """Where a batch stands. Arrays are [B, …] float64 on the CPU."""

    points: Floats
    """[B, n, d]; runs of fewer coordinates are padded with zeros."""
    free: Floats
    """[B, n, d] the parameters of runs through φ; equal to the start elsewhere."""
    best: Floats
    """[B, n, d] the best points seen since the schedule settled; before that the latest."""
    record: Floats
    """[B, 6] best loss, best iteration, step dropped, done at (or -1), longest edge, shortest non-edge."""
    iteration: int = 0

    @classmethod
    def start(cls, starts: Sequence[Floats]) -> BatchState:
        """A batch from the starting points [n, d_b] of its runs."""
        width = max(points.shape[1] for points in starts)
        stacked = np.stack([np.pad(points, ((0, 0), (0, width - points.shape[1]))) for points in starts])
        record = np.tile(np.array([np.inf, -1.0, 0.0, -1.0, np.nan, np.nan]), (len(starts), 1))
        return cls(stacked.copy(), stacked.copy(), stacked.copy(), record)

    @property
    def done(self) -> NDArray[np.bool_]:
        """[B] which runs have met every constraint."""
        return self.record[:, 3] >= 0


class Engine(Protocol):
    """Advances a batch."""

    name: str

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations], NaN where a run was done before."""
        ...


@dataclass
class ReferenceEngine:
    """The definition: the torch objective and ``descent_step``, run after run. Any device."""

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    stop_when_ordered: bool = False
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    name: str = "reference"

    def __post_init__(self) -> None:
        self._losses = [RankingLoss(self.pairs, _no_measure, 1.0) for _ in self.specs]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        for run, spec in enumerate(self.specs):
            for step in range(iterations):
                if state.record[run, 3] >= 0:
                    break
                losses[run, step] = self._iterate(state, run, spec, state.iteration + step)
        state.iteration += iterations
        return losses

    def _iterate(self, state: BatchState, run: int, spec: RunSpec, iteration: int) -> float:
        schedule, record, manifold = spec.schedule, state.record[run], spec.manifold
        width = manifold.ambient_dim
        held = state.free if spec.way == "phi" else state.points
        variable = torch.from_numpy(held[run, :, :width].copy()).to(self.device).requires_grad_()
        points = manifold.phi(variable) if spec.way == "phi" else variable
        objective = self._losses[run]
        objective.temperature = float(schedule.temperature[iteration])
        objective.dissimilarity = measure_of(manifold, spec.measure, float(schedule.epsilon[iteration]))
        edges, nonedges = objective.distances(points)
        loss = objective.of_distances(edges, nonedges)
        value = float(loss.detach())
        longest = float(edges.detach().max()) if len(edges) else -math.inf
        shortest = float(nonedges.detach().min()) if len(nonedges) else math.inf
        record[4:6] = longest, shortest
        ordered = self.stop_when_ordered and longest < shortest
        hot = iteration < schedule.settled
        if ordered or hot or (iteration % self.best_every == 0 and value < record[0]):
            record[0:2] = math.inf if hot and not ordered else value, iteration
            state.best[run, :, :width] = points.detach().cpu().numpy()
        if ordered:
            record[3] = iteration
            return value
        if value < schedule.drop_below:
            record[2] = 1.0
        step = float(schedule.step[iteration]) * (schedule.drop_factor if record[2] else 1.0)
        clip = float(schedule.clip[iteration])
        (gradient,) = torch.autograd.grad(loss, variable)
        where = Euclidean(width) if spec.way == "phi" else manifold
        settings = DescentSettings(
            where.to(self.device),
            lr=step,
            direction="gradient" if spec.way == "gradient" else "descent",
            max_step=clip if math.isfinite(clip) else None,
        )
        moved, _ = descent_step(variable.detach(), gradient, DescentState(), settings)
        held[run, :, :width] = moved.cpu().numpy()
        if spec.way == "phi":
            state.points[run, :, :width] = manifold.phi(moved).cpu().numpy()
        return value


@dataclass
class NumbaEngine:
    """The same as one compiled loop, each run on one thread."""

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    stop_when_ordered: bool = False
    name: str = "numba"

    def __post_init__(self) -> None:
        from ..pairs import numba as compiled

        self._advance = compiled.advance
        kinds = {
            (True, "dissimilarity"): compiled.GEODESIC,
            (True, "broken_dissimilarity"): compiled.BROKEN,
            (True, "smoothed_dissimilarity"): compiled.SMOOTHED,
            (True, "cone_rule"): compiled.CONE_RULE,
            (False, "dissimilarity"): compiled.FLAT_SQUARED,
            (False, "smoothed_dissimilarity"): compiled.FLAT_SMOOTHED,
            (False, "cone_rule"): compiled.FLAT_SQUARED,
        }
        ways = {"descent": compiled.ALONG_CHI, "gradient": compiled.ALONG_GRADIENT, "phi": compiled.THROUGH_PHI}
        width = max(spec.manifold.ambient_dim for spec in self.specs)
        curved = [isinstance(spec.manifold, PseudoHyperboloid) for spec in self.specs]
        self._signs = np.stack([_signs(spec.manifold, width) for spec in self.specs])
        self._radius = np.array([_radius(spec.manifold) for spec in self.specs])
        self._flat = ~np.array(curved)
        self._kind = np.array(
            [kinds[is_curved, spec.measure] for is_curved, spec in zip(curved, self.specs, strict=True)]
        )
        self._way = np.array([ways[spec.way] for spec in self.specs])
        schedules = [spec.schedule for spec in self.specs]
        self._schedule = np.stack([np.stack([s.temperature, s.epsilon, s.step, s.clip]) for s in schedules])
        self._drop_below = np.array([s.drop_below for s in schedules])
        self._drop_factor = np.array([s.drop_factor for s in schedules])
        self._settled = np.array([s.settled for s in schedules])

    @staticmethod
    def supports(specs: Sequence[RunSpec]) -> bool:
        """Whether every run of a batch is one of those compiled."""
        return not any(isinstance(s.manifold, Euclidean) and s.measure == "broken_dissimilarity" for s in specs)

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.empty((len(self.specs), iterations))
        window = self._schedule[:, :, state.iteration : state.iteration + iterations]
        self._advance(
            state.free, state.points, state.best, state.record, self._signs, self._radius, self._flat, self._kind,
            self._way, np.ascontiguousarray(window), self._drop_below, self._drop_factor, self._settled,
            self.best_every, self.stop_when_ordered, state.iteration, losses, self.pairs.edges, self.pairs.weaker,
            *self.pairs.neighbors,
        )  # fmt: skip
        state.iteration += iterations
        return losses


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


def _no_measure(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    raise AssertionError("the engine sets the dissimilarity of each iteration")


def _signs(manifold: Manifold, width: int) -> Floats:
    signs = np.ones(width)
    if isinstance(manifold, PseudoHyperboloid):
        signs[: manifold.q + 1] = -1.0
    return signs


def _radius(manifold: Manifold) -> float:
    return math.sqrt(-manifold.beta.item()) if isinstance(manifold, PseudoHyperboloid) else 1.0


def numba_available() -> bool:
    """Whether the compiled engine can be used."""
    return find_spec("numba") is not None
