"""Engines: what advances a batch of runs by many iterations at once; each run is the same alone,
bit for bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..checks import check_choice
from ..lazy import torch
from ..loop import Ending, Stopped
from ..objective import Closeness, RankedPairs
from ..options import Backend as Backend
from ..options import Optimizer as Optimizer
from ..options import Precision as Precision
from ..spaces import MANIFOLD, Geometry, ManifoldField, Space
from ..spaces.dissimilarities import Dissimilarity, check_dissimilarity

# Rows and columns of a cell of pairs: a mini-batch takes whole cells.
CELL = (4, 32)
# Nodes up to which a training ends with evaluations of all pairs; beyond, mini-batches are all.
EXACT_NODES = 20_000
EXACT_NODES_ON_CUDA = 200_000
# Nodes, about, that each node is compared with in an iteration on a mini-batch of the pairs.
MEETS = 192
# ‖x‖² in units of |β| that no point exceeds: distances have no digits left beyond.
FARTHEST = 1e16
# Weight decay on the node biases, per longest move in units of the radius. One step size serves all
# biases, and hubs make it small: without decay others would keep the noise of mini-batches.
FADING = 4.0
# The most that weight decay takes off in an iteration: half.
FASTEST_FADING = 0.5

Keep = Literal["best", "last"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
BACKENDS: tuple[Backend, ...] = get_args(Backend)
OPTIMIZERS: tuple[Optimizer, ...] = get_args(Optimizer)
# Kernels are given the number of an optimizer.
DESCENT, GRADIENT, PHI, SIGNED_GRADIENT = range(len(OPTIMIZERS))

KEPT: tuple[Keep, ...] = ("best", "last")

FIELDS = (
    "best_loss",
    "best_iteration",
    "dropped",
    "done_at",
    "longest",
    "shortest",
    "step_scale",
    "reach",
    "spring",
)
RECORD = np.dtype([(name, np.float64) for name in FIELDS])
"""What is kept of a run: the best loss and its iteration, whether its step was dropped (0 or 1),
the iteration at which it was done (or -1), the longest edge and the shortest other pair, what its
steps are multiplied by, and what the bound on its moves is: 1, or where moves are relative the
spread of its points; and κ of a directed graph's springs.
"""
# Kernels are given a record as a row of numbers: the column of each field.
BEST_LOSS, BEST_ITERATION, DROPPED, DONE_AT, LONGEST, SHORTEST, STEP_SCALE, REACH, SPRING = range(
    len(FIELDS)
)


@dataclass(frozen=True)
class Schedule:
    """What the iterations of a run are given, one value for each: [T] arrays."""

    temperature: Floats
    epsilon: Floats
    """Smoothing of the light cone, read by the smoothed dissimilarity alone."""
    step: Floats
    max_step: Floats
    """Longest move of a point in one iteration; infinite for none."""
    drop_below: float = -math.inf
    """Once the loss is below this, steps are multiplied by ``drop_factor``."""
    drop_factor: float = 1.0
    parts: int = 1
    """An iteration looks at one of ``parts`` parts of the pairs without an edge, each of which then
    counts ``parts`` times: the pairs i < j with (i // ``CELL[0]`` + j // ``CELL[1]``) ≡ iteration
    mod parts. On a GPU cells are square. Small graphs are looked at whole.
    """

    def __post_init__(self) -> None:
        lengths = {
            len(array) for array in (self.temperature, self.epsilon, self.step, self.max_step)
        }
        if len(lengths) != 1:
            raise ValueError(
                f"the arrays of a schedule must have one length, got {sorted(lengths)}"
            )

    def __len__(self) -> int:
        return len(self.temperature)

    @property
    def rows(self) -> Floats:
        """[4, T] temperature, ε, step and longest move: what kernels are given."""
        return np.stack([self.temperature, self.epsilon, self.step, self.max_step])

    @classmethod
    def constant(
        cls,
        iterations: int,
        *,
        temperature: float,
        step: float,
        max_step: float = math.inf,
        epsilon: float = 0.1,
        drop_below: float = -math.inf,
        drop_factor: float = 1.0,
    ) -> Schedule:
        """The same values at every iteration."""
        every = np.ones(iterations)
        return cls(
            every * temperature,
            every * epsilon,
            every * step,
            every * max_step,
            drop_below,
            drop_factor,
        )


@dataclass(frozen=True)
class RunSpec:
    """One run of a batch."""

    manifold: ManifoldField = MANIFOLD
    """Where it takes place, or its geometry; ``space`` is what was given."""
    schedule: Schedule  # type: ignore[misc]  # the field above has no default
    dissimilarity: Dissimilarity = "geodesic"
    optimizer: Optimizer = "descent"
    """Along -χ, along -Df, freely through φ, or along whichever of ∓Df descends."""
    keep: Keep = "best"
    """The points of the lowest loss, or the last."""
    popularity: bool = False
    """Whether each node has an offset a_i, learnt with its point: pairs are compared by d_ij - a_i
    - a_j.
    """
    centrality: float = 0.0
    """The weight of the term that holds sums of distances to closeness; 0 for none."""
    if TYPE_CHECKING:
        space: Space = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.space, Geometry):
            from ..geometry.manifold import require_manifold

            require_manifold(self.space)
        object.__setattr__(self, "dissimilarity", check_dissimilarity(self.dissimilarity))
        if self.dissimilarity == "distance" and not self.space.joins_all_pairs:
            raise ValueError(
                "dissimilarity 'distance' is the length of a geodesic, which does not join every "
                "pair of "
                f"{self.manifold}: use 'geodesic' (D_γ), 'broken' or 'extrinsic'"
            )
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("keep", self.keep, KEPT)

    @property
    def settled(self) -> int:
        """The first iteration from which on the loss is one function, so that the lowest can be
        kept.
        """
        if self.keep == "last":
            return len(self.schedule)
        # A schedule between two equal ends differs from them by rounding.
        same = np.isclose(
            self.schedule.temperature, self.schedule.temperature[-1], rtol=1e-12, atol=0.0
        )
        if self.dissimilarity == "smoothed":
            same &= np.isclose(
                self.schedule.epsilon, self.schedule.epsilon[-1], rtol=1e-12, atol=0.0
            )
        return len(same) - int(np.argmin(same[::-1])) if not same.all() else 0


# The arrays of a batch: of nodes [B, n, …], and of runs [B].
OF_NODES = ("points", "free", "best", "offsets", "best_offsets")
OF_RUNS = ("record", "steps_back", "nonfinite", "rested")


@dataclass
class BatchState:
    """Where a batch stands. Arrays are [B, …] float64 on the CPU."""

    points: Floats
    """[B, n, d]; runs of fewer coordinates are padded with zeros."""
    free: Floats
    """[B, n, d] the parameters of runs through φ; equal to the start elsewhere."""
    best: Floats
    """[B, n, d] the best points seen since the run's loss has settled; before that the latest."""
    record: NDArray[np.void]
    """[B] of type ``RECORD``."""
    steps_back: NDArray[np.int64]
    """[B] how often a run was taken back to its best points and its step halved."""
    nonfinite: NDArray[np.int64]
    """[B] how often of these because something was not finite."""
    offsets: Floats
    """[B, n] the offsets of nodes; 0 for runs that have none."""
    best_offsets: Floats
    """[B, n] those of the best points."""
    rested: NDArray[np.int64]
    """[B] after how many iterations a run came to rest, because its last steps gained nothing; -1
    while it moves.
    """
    iteration: int = 0
    stopped: Ending | None = None
    """That there is nothing more to gain, where that was found."""

    @classmethod
    def start(cls, starts: Sequence[Floats]) -> BatchState:
        """A batch from the starting points [n, d_b] of its runs."""
        width = max(points.shape[1] for points in starts)
        stacked = np.stack(
            [np.pad(points, ((0, 0), (0, width - points.shape[1]))) for points in starts]
        )
        fresh = np.array((np.inf, -1.0, 0.0, -1.0, np.nan, np.nan, 1.0, 1.0, 0.0), dtype=RECORD)
        record, none = np.repeat(fresh, len(starts)), np.zeros(len(starts), dtype=np.int64)
        offsets = np.zeros(stacked.shape[:2])
        return cls(
            stacked.copy(),
            stacked.copy(),
            stacked.copy(),
            record,
            none,
            none.copy(),
            offsets,
            offsets.copy(),
            none - 1,
        )

    def reordered(self, order: NDArray[np.int64]) -> BatchState:
        """A copy with node ``order[k]`` in place k."""
        moved = {name: getattr(self, name)[:, order] for name in OF_NODES}
        return replace(self, **moved, **{name: getattr(self, name).copy() for name in OF_RUNS})

    def copy_from(self, other: BatchState) -> None:
        """Stand where another batch of the same shape stands."""
        for name in (*OF_NODES, *OF_RUNS):
            getattr(self, name)[:] = getattr(other, name)
        self.iteration = other.iteration

    @property
    def runs(self) -> int:
        """B."""
        return len(self.points)

    @property
    def ending(self) -> Ending | None:
        """That all runs are done, where they are."""
        if not self.done.all():
            return self.stopped
        return Ending(Stopped.ORDERED, f"{Stopped.ORDERED.value} than every unconnected one")

    @property
    def done(self) -> NDArray[np.bool_]:
        """[B] which runs have met every constraint."""
        return np.asarray(self.record["done_at"] >= 0)

    @property
    def resting(self) -> NDArray[np.bool_]:
        """[B] which runs move no more."""
        return np.asarray(self.done | (self.rested >= 0))

    @property
    def rows(self) -> Floats:
        """[B, fields] the record as plain numbers, in the same memory: what kernels and files are
        given.
        """
        return self.record.view(np.float64).reshape(len(self.record), len(FIELDS))


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
    offsets: Floats
    """[B, n] the gradient in the offsets; 0 for runs that have none."""

    @classmethod
    def zeros(cls, state: BatchState) -> Evaluation:
        """Room for that of a batch."""
        loss, longest, shortest = np.zeros((3, state.runs))
        return cls(
            loss, np.zeros_like(state.points), longest, shortest, np.zeros_like(state.offsets)
        )


class Problem(NamedTuple):
    """What a batch is to minimise, and how: the first arguments of every engine."""

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    """Only the losses of every ``best_every``-th iteration are compared to find the lowest."""
    stop_when_ordered: bool = False
    """Whether a run is done once every connected pair is closer than every other."""
    closeness: Closeness | None = None
    """What sums of distances are held to in the runs that ask for it."""

    @property
    def widths(self) -> list[int]:
        """How many coordinates the points of each run have."""
        return [spec.space.ambient_dim for spec in self.specs]


@dataclass(frozen=True)
class Machine:
    """Where a batch is computed: what was asked for, or what that came to."""

    device: str | torch.device | None = None
    """``"cpu"`` or ``"cuda"``; None for the CPU, or CUDA where there is one and the graph is
    large.
    """
    backend: Backend = "auto"
    """The name of an engine; ``"auto"`` for the fastest that the device has."""
    threads: int | None = None
    """Of the CPU; None for all."""
    precision: Precision | None = None
    """Of the pass over the pairs; None for what suits the engine."""

    def __post_init__(self) -> None:
        if self.device is not None:
            object.__setattr__(self, "device", str(self.device))

    @property
    def device_type(self) -> str:
        """The kind of the device, such as ``"cuda"``; the CPU where none was named."""
        return str(self.device or "cpu").partition(":")[0]

    @property
    def torch_device(self) -> torch.device:
        """The device as torch has it; the CPU where none was named."""
        return torch.device(self.device or "cpu")


@dataclass
class Engine(ABC):
    """Advances a batch; the first fields are those of its `Problem`."""

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    stop_when_ordered: bool = False
    closeness: Closeness | None = None
    name: str = field(default="", kw_only=True)
    overhead: float = field(default=0.0, init=False)
    """Seconds that the last chunk of iterations took beside them."""

    @abstractmethod
    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations], NaN where a run was
        done before.
        """

    @abstractmethod
    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective at the points of a batch, under the schedule of its iteration, without
        moving them.
        """

    def nearby(self) -> Callable[[BatchState], Evaluation]:
        """The same as a function for a series of states, which may remember of one what serves the
        next.
        """
        return self.evaluate

    def close(self) -> None:  # noqa: B027  # most hold none
        """Free the memory it holds elsewhere; the engine is not used after that."""


def check_directed(pairs: RankedPairs, specs: Sequence[RunSpec]) -> None:
    """Raise ``ValueError`` where runs of a directed graph are not such as directions are known
    for.
    """
    if pairs.heights is not None and not all(spec.popularity for spec in specs):
        raise ValueError("a directed graph is trained with popularity and without a preset")
