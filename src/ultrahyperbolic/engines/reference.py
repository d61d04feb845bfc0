"""The engine that defines what the others compute: torch, run after run, on any device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

from ..arrays import Floats
from ..geometry import Euclidean
from ..objective import ExactLoss, PairFunction, closeness_loss
from ..optim import DescentSettings, DescentState, descent_step
from .base import CELL, FADING, FARTHEST, FASTEST_FADING, BatchState, Engine, Evaluation, RunSpec


@dataclass
class ReferenceEngine(Engine):
    """The definition: the torch objective and ``descent_step``, run after run. Any device."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    name: str = field(default="reference", kw_only=True)
    threads: int = 1
    """Of torch's on the CPU; the last digits of a training depend on it."""

    def __post_init__(self) -> None:
        self._losses = [
            ExactLoss(self.pairs, spec.manifold.dissimilarity, 1.0, scope=spec.scope) for spec in self.specs
        ]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        with torch_threads(self.threads):
            for run, spec in enumerate(self.specs):
                for step in range(iterations):
                    if state.record["done_at"][run] >= 0:
                        break
                    losses[run, step] = self._iterate(state, run, spec, state.iteration + step)
        state.iteration += iterations
        return losses

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        found = Evaluation.zeros(state)
        for run, spec in enumerate(self.specs):
            points = torch.from_numpy(state.points[run, :, : spec.manifold.ambient_dim].copy()).to(self.device)
            points.requires_grad_()
            offsets = self._offsets(state, run, spec)
            with torch_threads(self.threads):
                spring = float(state.record["spring"][run])
                loss, edges, nonedges = self.objective(run, spec, points, state.iteration, 1, offsets, spring)
                loss = loss + self._held(spec, points, offsets, state.iteration, descends=False)
                gradient, *slopes = torch.autograd.grad(loss, [points] if offsets is None else [points, offsets])
            found.loss[run] = float(loss.detach())
            found.gradient[run, :, : points.shape[1]] = gradient.cpu().numpy()
            if slopes:
                found.offsets[run] = slopes[0].cpu().numpy()
            found.longest[run], found.shortest[run] = _ends_of(edges, nonedges)
        return found

    def _offsets(self, state: BatchState, run: int, spec: RunSpec) -> torch.Tensor | None:
        """The offsets [n] of a run, to be differentiated by."""
        if not spec.popularity:
            return None
        return torch.from_numpy(state.offsets[run].copy()).to(self.device).requires_grad_()

    def objective(
        self,
        run: int,
        spec: RunSpec,
        points: torch.Tensor,
        iteration: int,
        parts: int = 1,
        offsets: torch.Tensor | None = None,
        spring: float = 0.0,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The loss, of all pairs or of the iteration's part, and the dissimilarities of edges and of other pairs."""
        objective, schedule = self._losses[run], spec.schedule
        objective.temperature = float(schedule.temperature[iteration])
        objective.dissimilarity = pair_function(spec, iteration)
        edges, nonedges = objective.distances(points, offsets, spring)
        counted, mine = nonedges, None
        if parts > 1 and self.pairs.n_nonedges:
            i, j = self.pairs.nonedges.T
            mine = torch.from_numpy((i // CELL[0] + j // CELL[1]) % parts == iteration % parts).to(nonedges.device)
            # Counted once for each part: e^(-d/τ) times k is that of a d nearer by τ log k.
            counted = nonedges[mine] - objective.temperature * math.log(parts)
        ties = edges[self.pairs.silent :].detach()
        return objective.of_distances(edges, counted, mine), ties, nonedges.detach()

    def _held(
        self, spec: RunSpec, points: torch.Tensor, offsets: torch.Tensor | None, iteration: int, *, descends: bool
    ) -> torch.Tensor | float:
        """The term that holds sums of distances to closeness, in an iteration of descent or in an evaluation."""
        if not spec.centrality or self.closeness is None:
            return 0.0
        rows = self.closeness.rows(iteration if descends else None)
        measure, tau = pair_function(spec, iteration), float(spec.schedule.temperature[iteration])
        held = closeness_loss(self.closeness, points, offsets, measure, tau, _radius_of(spec), rows)
        return spec.centrality * held

    def _iterate(self, state: BatchState, run: int, spec: RunSpec, iteration: int) -> float:
        record, manifold = state.record[run], spec.manifold
        width = manifold.ambient_dim
        held = state.free if spec.optimizer == "phi" else state.points
        variable = torch.from_numpy(held[run, :, :width].copy()).to(self.device).requires_grad_()
        points = manifold.phi(variable) if spec.optimizer == "phi" else variable
        offsets = self._offsets(state, run, spec)
        spring = float(record["spring"])
        loss, edges, nonedges = self.objective(run, spec, points, iteration, spec.schedule.parts, offsets, spring)
        loss = loss + self._held(spec, points, offsets, iteration, descends=True)
        value = float(loss.detach())
        record["longest"], record["shortest"] = _ends_of(edges, nonedges)
        ordered = self.stop_when_ordered and record["longest"] < record["shortest"]
        hot = iteration < spec.settled
        if ordered or hot or (iteration % self.best_every == 0 and value < record["best_loss"]):
            record["best_loss"] = math.inf if hot and not ordered else value
            record["best_iteration"] = iteration
            state.best[run, :, :width] = points.detach().cpu().numpy()
            state.best_offsets[run] = state.offsets[run]
        if ordered:
            record["done_at"] = iteration
            return value
        step, longest = step_of(spec, record, iteration, value)
        gradient, *slopes = torch.autograd.grad(loss, [variable] if offsets is None else [variable, offsets])
        moved, near = moved_by(spec, variable.detach(), gradient, step, longest)
        held[run, :, :width] = moved.cpu().numpy()
        if offsets is not None:
            state.offsets[run] = shifted_by(spec, offsets.detach(), slopes[0], near, step, longest).cpu().numpy()
        if spec.optimizer == "phi":
            state.points[run, :, :width] = manifold.phi(moved).cpu().numpy()
        return value


def step_of(spec: RunSpec, record: np.void, iteration: int, loss: float) -> tuple[float, float]:
    """The step size and the longest move of an iteration whose loss is known; steps drop once that is low."""
    if loss < spec.schedule.drop_below:
        record["dropped"] = 1.0
    factor = spec.schedule.drop_factor if record["dropped"] else 1.0
    step = float(spec.schedule.step[iteration]) * factor * float(record["step_scale"])
    return step, float(spec.schedule.max_step[iteration]) * float(record["reach"])


def moved_by(
    spec: RunSpec, before: torch.Tensor, gradient: torch.Tensor, step: float, longest: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Points [k, d], or their parameters where a run is optimised through φ, after a step; and [k, 1] which moved."""
    phi = spec.optimizer == "phi"
    settings = DescentSettings(
        (Euclidean(before.shape[1]) if phi else spec.manifold).to(before.device),
        lr=step,
        direction="descent" if spec.optimizer == "phi" else spec.optimizer,
        max_step=longest if math.isfinite(longest) else None,
    )
    moved, _ = descent_step(before, gradient, DescentState(), settings)
    near = moved.square().sum(1, keepdim=True) < FARTHEST * _radius_of(spec) ** 2
    return torch.where(near, moved, before), near


def _radius_of(spec: RunSpec) -> float:
    return 1.0 if spec.manifold.quadric is None else float(spec.manifold.quadric.radius)


def shifted_by(
    spec: RunSpec, offsets: torch.Tensor, slopes: torch.Tensor, near: torch.Tensor, step: float, longest: float
) -> torch.Tensor:
    """The offsets [k] of nodes after a step: one factor for all of them, so that their mean only fades."""
    length, radius = float(slopes.square().mean().sqrt()) * step, _radius_of(spec)
    fading = 0.0 if longest == math.inf else min(FASTEST_FADING, FADING * longest / radius)
    shifted = offsets - ((step if length <= longest else step * longest / length) * slopes + fading * offsets)
    return torch.where(near[:, 0] & shifted.isfinite(), shifted, offsets)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use ``count`` threads on the CPU."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _ends_of(edges: torch.Tensor, nonedges: torch.Tensor) -> tuple[float, float]:
    """The longest edge and the shortest other pair."""
    longest = float(edges.detach().max()) if len(edges) else -math.inf
    return longest, float(nonedges.detach().min()) if len(nonedges) else math.inf


def pair_function(spec: RunSpec, iteration: int) -> PairFunction:
    """The dissimilarity of a run at an iteration."""
    epsilon = float(spec.schedule.epsilon[iteration]) if spec.dissimilarity == "smoothed" else None
    return spec.manifold.pair_function(spec.dissimilarity, epsilon)
