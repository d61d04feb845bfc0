"""What a training is asked to do, as plain data, and the schedule that follows from it."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ..arrays import Floats
from ..checks import (
    as_flag,
    as_integer,
    check_choice,
    check_count,
    check_fraction,
    check_positive,
    is_number,
)
from ..datasets import names
from ..embedding.record import Json
from ..engines.base import OPTIMIZERS, Keep, Optimizer, RunSpec, Schedule
from ..graph import Graph
from ..options import GOAL_IS_IGNORED
from ..options import Stop as Stop
from ..rounding import geometric
from ..spaces import Geometry
from ..spaces.dissimilarities import METHODS, Dissimilarity, check_dissimilarity
from .start import SpectralStart, near_pole

if TYPE_CHECKING:
    from ..geometry import Manifold

STOPS: tuple[Stop, ...] = get_args(Stop)
Start = Literal["spectral", "pole", "given"]
Moves = Literal["absolute", "spread"]
STARTS: tuple[Start, ...] = get_args(Start)

# Iterations for which the smoothing is held, so that tables of the smoothed dissimilarity serve
# several.
_HELD = 8
# Settings that records of version 0.2 hold, and of which nothing is made.
_FORMER_SETTINGS = ("hubs", "scope")

Settings = dict[str, Any]
"""Fields of `TrainingConfig`: those that are given."""


@dataclass(frozen=True)
class TrainingConfig:
    """A training as plain data: what ``run.json`` keeps, and enough to do it again."""

    p: int | None = None
    """Space dimensions, and q further time dimensions: 3 and 1 where neither they nor ``flat`` is
    given.
    """
    q: int | None = None
    beta: float = -1.0
    flat: int | None = None
    """Dimension of flat space; p and q are then None, and nothing is curved by β."""
    seed: int = 0
    preset: str | None = None
    optimizer: Optimizer = "descent"
    iterations: int = 2000
    temperature: tuple[float, float] = (0.1, 0.01)
    """At the start and at the end; geometric between, and the last quarter of the iterations at the
    end's value.
    """
    dissimilarity: Dissimilarity = "smoothed"
    epsilon: tuple[float, float] = (0.1, 1e-3)
    """Smoothing of the light cone, at the start and at the end."""
    step: float = 0.1
    max_step: tuple[float, float] | None = (0.2, 1e-3)
    """Longest move of a point, at the start and at the end; None for no bound."""
    drop_below: float | None = None
    drop_factor: float = 1.0
    best_every: int = 1
    keep: Keep = "best"
    """The points of the lowest loss of every ``best_every``-th iteration, or the last ones."""
    start: Start = "spectral"
    """From the graph's hops; the paper's, near the pole; or from points of an earlier training."""
    scale: float = 1.0
    """How far from the pole points start, of what the start would have them."""
    perturb_first: bool = True
    """Whether the first coordinate starts at random too; the authors' scripts start it at 1."""
    stop: Stop = "iterations"
    step_back: bool = True
    """Whether a run that was thrown off goes back to its best points and on with half the step."""
    moves: Moves = "absolute"
    """What ``max_step`` is in units of: 1, or the spread of the points."""
    finish: float = 0.0
    """The share of the iterations that end the training: quasi-Newton, at the last temperature and
    smoothing.
    """
    parts: int = 1
    """Before the finish, an iteration looks at one of ``parts`` parts of the pairs without an edge;
    1 for all.
    """
    centrality: float = 0.0
    """The weight of the term that holds the sums of a node's distances to its closeness; 0 for
    none.
    """
    popularity: bool = False
    """Whether each node has an offset a_i, learnt with its point: pairs are compared by d_ij - a_i
    - a_j.
    """

    goal: InitVar[object] = None
    """Of earlier versions; it changes nothing."""

    def __post_init__(self, goal: object) -> None:
        if goal is not None:
            warnings.warn(GOAL_IS_IGNORED, FutureWarning, stacklevel=3)
        made = self._located() | {"dissimilarity": check_dissimilarity(self.dissimilarity)}
        made |= {
            name: check_count(name, getattr(self, name), 1)
            for name in ("iterations", "best_every", "parts")
        }
        made["popularity"] = as_flag("popularity", self.popularity)
        made["seed"] = as_integer("seed", self.seed)
        if not 0 <= made["seed"] < 2**63:
            raise ValueError(f"seed must be a non-negative integer below 2**63, got {made['seed']}")
        for name, value in made.items():
            object.__setattr__(self, name, value)  # the one moment at which a frozen class is made
        for name, known in (
            ("optimizer", OPTIMIZERS),
            ("start", STARTS),
            ("stop", STOPS),
        ):
            check_choice(name, getattr(self, name), known)
        for name in ("temperature", "epsilon", "max_step"):
            for value in getattr(self, name) or ():
                check_positive(name, value)
        check_fraction("finish", self.finish)
        for name in ("step", "scale", "drop_factor"):
            check_positive(name, getattr(self, name))
        if self.drop_below is not None and not (
            is_number(self.drop_below) and math.isfinite(self.drop_below)
        ):
            raise ValueError(f"drop_below must be a finite number or None, got {self.drop_below!r}")
        if self.optimizer == "phi" and self.flat is not None:
            raise ValueError(
                "optimizer 'phi' maps onto a curved manifold; flat space has none: use 'descent'"
            )

    def _located(self) -> Settings:
        """The settings that name the geometry."""
        unnamed = self.p is self.q is self.flat is None
        p, q = (3, 1) if unnamed else (self.p, self.q)
        return located_in(Geometry(p, q, self.flat, self.beta))

    @property
    def geometry(self) -> Geometry:
        """Where the points live."""
        return Geometry(self.p, self.q, self.flat, self.beta)

    def manifold(self) -> Manifold:
        """Where the points live, made anew."""
        return self.geometry.manifold

    @property
    def descents(self) -> int:
        """How many iterations there are before the finish."""
        return self.iterations - min(round(self.finish * self.iterations), self.iterations - 1)

    def schedule(self) -> Schedule:
        """The values of every iteration before the finish."""
        total = self.descents
        cooling = total - total // 4

        def between(ends: tuple[float, float], over: int) -> Floats:
            values = np.full(total, ends[1])
            values[:over] = geometric(*ends, over)
            return values

        smoothing = between(self.epsilon, cooling)[np.arange(total) // _HELD * _HELD]
        return Schedule(
            between(self.temperature, cooling),
            smoothing,
            np.full(total, self.step),
            np.full(total, math.inf) if self.max_step is None else between(self.max_step, total),
            -math.inf if self.drop_below is None else self.drop_below,
            self.drop_factor,
            self.parts,
        )

    def spec(self) -> RunSpec:
        """The run of a batch."""
        # What is to be finished is where the descent ends: losses of samples do not compare.
        keep: Keep = "last" if self.finish else self.keep
        return RunSpec(
            self.geometry,
            self.schedule(),
            self.dissimilarity,
            self.optimizer,
            keep,
            self.popularity,
            self.centrality,
        )

    def starting_points(self, graph: Graph, spectral: SpectralStart | None = None) -> Floats:
        """[n, d] where the training starts; trainings of one graph may share what its hops were
        counted for.
        """
        if self.start == "given":
            raise ValueError(
                "this training starts from given points: continue from the embedding that has them"
            )
        if self.start == "spectral":
            return (spectral or SpectralStart(graph))(self.geometry, self.seed, self.scale)
        return near_pole(
            self.geometry,
            graph.n_nodes,
            self.seed,
            0.1 * self.scale,
            perturb_first=self.perturb_first,
        )

    def call(self, graph: Graph) -> str:
        """The call in Python that does this training again."""
        chosen = {
            name: value
            for name, value in vars(self).items()
            if value != getattr(TrainingConfig, name)
        }
        made = f"config = uh.TrainingConfig({as_arguments(chosen)})"
        return in_python(graph, f"{made}\n(embedding,) = uh.training.embed_many(graph, [config])")

    def to_json(self) -> dict[str, Json]:
        """Plain data for ``run.json``."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> TrainingConfig:
        """The reverse of `to_json`, also of version 0.2, whose other names are translated."""
        settings = {name: value for name, value in data.items() if name not in _FORMER_SETTINGS}
        if unknown := sorted(set(settings) - {f.name for f in dataclasses.fields(cls)}):
            raise ValueError(f"unknown training settings: {', '.join(unknown)}")
        for name in ("temperature", "epsilon", "max_step"):
            if isinstance(ends := settings.get(name), Sequence):
                settings[name] = tuple(ends)
        by_former_name = {former: name for name, former in METHODS.items()}
        method = settings.get("dissimilarity")
        if isinstance(method, str):
            settings["dissimilarity"] = by_former_name.get(method, method)
        if settings.get("flat") is not None:  # p, q and β stood beside it, and meant nothing
            settings = {name: settings[name] for name in settings if name not in ("p", "q", "beta")}
        return cls(**settings)  # type: ignore[arg-type]  # what is wrong is refused when it is made


def located_in(geometry: Geometry) -> Settings:
    """The settings that name a geometry."""
    return {"p": geometry.p, "q": geometry.q, "flat": geometry.flat, "beta": geometry.beta}


def in_python(graph: Graph, lines: str) -> str:
    """What ``run.json`` keeps of a call: lines of Python, which load a graph that is a data set.

    >>> from ultrahyperbolic.datasets import karate
    >>> print(in_python(karate(), "uh.embed(graph)"))
    import ultrahyperbolic as uh
    <BLANKLINE>
    graph = uh.datasets.load('karate')
    uh.embed(graph)
    """
    known = f"graph = uh.datasets.load({graph.source!r})\n" if graph.source in names() else ""
    return f"import ultrahyperbolic as uh\n\n{known}{lines}"


def as_arguments(values: Mapping[str, object]) -> str:
    """Settings as the arguments of a call."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def configured(settings: Settings, **more: Any) -> TrainingConfig:
    """A training with the settings of a recipe and others, which win."""
    return TrainingConfig(**(settings | more))
