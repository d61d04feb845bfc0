"""What a training is asked to do, as plain data, and the schedule that follows from it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from ..checks import as_integer, check_count, check_positive, is_number
from ..engines.base import WAYS, Floats, Keep, RunSpec, Schedule, Way
from ..geometry import Euclidean, Manifold, PseudoHyperboloid
from ..geometry.words import Dissimilarity, check_dissimilarity, current_name
from ..graph import Graph
from .start import SpectralStart

Stop = Literal["iterations", "ordered"]
Start = Literal["spectral", "pole"]
STARTS: tuple[Start, ...] = ("spectral", "pole")


@dataclass(frozen=True)
class TrainingConfig:
    """A training as plain data: what ``run.json`` keeps, and enough to do it again."""

    p: int | None = None
    """Space dimensions, and q further time dimensions: 3 and 1 where neither they nor ``flat`` is given."""
    q: int | None = None
    beta: float = -1.0
    flat: int | None = None
    """Dimension of flat space; p and q are then None, and nothing is curved by β."""
    seed: int = 0
    preset: str | None = None
    optimizer: Way = "descent"
    iterations: int = 2000
    temperature: tuple[float, float] = (0.1, 0.01)
    """At the start and at the end; geometric between, and the last quarter of the iterations at the end's value."""
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
    """From the graph's hops, or the paper's, near the pole."""
    scale: float = 1.0
    """How far from the pole points start, of what the start would have them."""
    perturb_first: bool = True
    """Whether the first coordinate starts at random too; the authors' scripts start it at 1."""
    stop: Stop = "iterations"
    step_back: bool = True
    """Whether a run that was thrown off goes back to its best points and on with half the step."""

    def __post_init__(self) -> None:
        for name, value in self._integers().items():
            object.__setattr__(self, name, value)  # the one moment at which a frozen class is made
        object.__setattr__(self, "dissimilarity", check_dissimilarity(self.dissimilarity))
        if self.optimizer not in WAYS:
            raise ValueError(f"optimizer must be one of {', '.join(WAYS)}, got {self.optimizer!r}")
        if self.stop not in ("iterations", "ordered"):
            raise ValueError(f"stop must be 'iterations' or 'ordered', got {self.stop!r}")
        if self.start not in STARTS:
            raise ValueError(f"start must be one of {', '.join(STARTS)}, got {self.start!r}")
        for name in ("temperature", "epsilon", "max_step"):
            for value in getattr(self, name) or ():
                check_positive(name, value)
        check_positive("step", self.step)
        check_positive("scale", self.scale)
        check_positive("drop_factor", self.drop_factor)
        if self.drop_below is not None and not (is_number(self.drop_below) and math.isfinite(self.drop_below)):
            raise ValueError(f"drop_below must be a finite number or None, got {self.drop_below!r}")
        if self.flat is not None and self.beta != TrainingConfig.beta:
            raise ValueError(f"beta curves a manifold, and flat space has no curvature: leave it out, got {self.beta}")
        if self.optimizer == "phi" and self.flat is not None:
            raise ValueError("optimizer 'phi' maps onto a curved manifold; flat space has none: use 'descent'")

    def _integers(self) -> dict[str, int | None]:
        """The settings that are integers, as Python has them."""
        seed = as_integer("seed", self.seed)
        if not 0 <= seed < 2**63:
            raise ValueError(f"seed must be a non-negative integer below 2**63, got {seed}")
        found: dict[str, int | None] = {
            "seed": seed,
            "iterations": check_count("iterations", self.iterations, 1),
            "best_every": check_count("best_every", self.best_every, 1),
        }
        p, q = self.p, self.q
        if self.flat is not None:
            if p is not None or q is not None:
                raise ValueError(f"p and q are of a curved manifold: leave them out with flat, got p = {p} and q = {q}")
            return found | {"flat": check_count("flat", self.flat, 1)}
        p, q = (3, 1) if p is None and q is None else (p, q)
        if p is None or q is None:
            raise ValueError(f"p and q go together, got p = {p} and q = {q}")
        return found | {"p": check_count("p", p, 0), "q": check_count("q", q, 0)}

    def manifold(self) -> Manifold:
        """Where the points live."""
        if self.flat is not None:
            return Euclidean(self.flat)
        return PseudoHyperboloid(self.p or 0, self.q or 0, self.beta)

    def schedule(self) -> Schedule:
        """The values of every iteration."""
        total, cooling = self.iterations, self.iterations - self.iterations // 4

        def between(ends: tuple[float, float], over: int) -> Floats:
            values = np.full(total, ends[1])
            values[:over] = np.geomspace(*ends, over)
            return values

        return Schedule(
            between(self.temperature, cooling),
            between(self.epsilon, cooling),
            np.full(total, self.step),
            np.full(total, math.inf) if self.max_step is None else between(self.max_step, total),
            -math.inf if self.drop_below is None else self.drop_below,
            self.drop_factor,
        )

    def spec(self) -> RunSpec:
        """The run of a batch."""
        return RunSpec(self.manifold(), self.schedule(), self.dissimilarity, self.optimizer, self.keep)

    def starting_points(self, graph: Graph, spectral: SpectralStart | None = None) -> Floats:
        """[n, d] where the training starts; trainings of one graph may share what its hops were counted for."""
        manifold = self.manifold()
        if self.start == "spectral":
            return (spectral or SpectralStart(graph))(manifold, self.seed, self.scale)
        generator, epsilon = torch.Generator().manual_seed(self.seed), 0.1 * self.scale
        if isinstance(manifold, PseudoHyperboloid):
            points = manifold.random_near_pole(
                graph.n_nodes, epsilon=epsilon, generator=generator, perturb_first=self.perturb_first
            )
        else:
            points = manifold.random_near_pole(graph.n_nodes, epsilon=epsilon, generator=generator)
            if not self.perturb_first:
                points[:, 0] = 1.0
        array: Floats = points.numpy()
        return array

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``run.json``."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TrainingConfig:
        """The reverse of :meth:`to_json`."""
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = set(data) - known
        if unknown:
            raise ValueError(f"unknown training settings: {', '.join(sorted(unknown))}")
        names = {"dissimilarity": current_name(data["dissimilarity"])} if "dissimilarity" in data else {}
        pairs = {name: tuple(data[name]) for name in ("temperature", "epsilon", "max_step") if data.get(name)}
        # Records of earlier versions may hold a signature and a β beside flat, of which nothing was made.
        unused = ("p", "q", "beta") if data.get("flat") is not None else ()
        return cls(**{name: value for name, value in {**data, **pairs, **names}.items() if name not in unused})
