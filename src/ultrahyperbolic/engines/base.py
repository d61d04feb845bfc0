"""Engines: what advances a batch of runs by many iterations at once.

A batch is points [B, n, d] with, for each run, a geometry, a dissimilarity, a way to move and a schedule. Run k of a
batch is that run alone, bit for bit. A schedule is data, so better schedules never touch an engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from ..geometry import Manifold
from ..geometry.manifold import require_manifold
from ..geometry.words import Dissimilarity, check_dissimilarity

Floats = NDArray[np.float64]

# ‖x‖² of a point, in units of |β|, beyond which its distances have no digits left: it does not go there.
FARTHEST = 1e16

Way = Literal["descent", "gradient", "phi", "signed-gradient"]
Keep = Literal["best", "last"]
Precision = Literal["float64", "float32"]
WAYS: tuple[Way, ...] = get_args(Way)

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
    dissimilarity: Dissimilarity = "geodesic"
    way: Way = "descent"
    keep: Keep = "best"
    """The points of the lowest loss, or the last."""

    def __post_init__(self) -> None:
        require_manifold(self.manifold)
        object.__setattr__(self, "dissimilarity", check_dissimilarity(self.dissimilarity))
        if self.dissimilarity == "distance" and not self.manifold.joins_all_pairs:
            raise ValueError(
                f"dissimilarity 'distance' is the length of a geodesic, which does not join every pair of "
                f"{self.manifold}: use 'geodesic' (D_γ), 'broken' or 'extrinsic'"
            )
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
        if self.dissimilarity == "smoothed":
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


def evaluation_shapes(state: BatchState) -> tuple[tuple[int, ...], ...]:
    """The shapes of the arrays of an :class:`Evaluation`."""
    batch = (len(state.points),)
    return batch, state.points.shape, batch, batch
