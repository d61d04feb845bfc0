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
            ExactLoss(self.pairs, spec.manifold.dissimilarity, 1.0) for spec in self.specs
        ]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        with torch_threads(self.threads):
            for run in range(len(self.specs)):
                for step in range(iterations):
                    if state.record["done_at"][run] >= 0:
                        break
                    losses[run, step] = self._iterate(state, run, state.iteration + step)
        state.iteration += iterations
        return losses

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        found = Evaluation.zeros(state)
        with torch_threads(self.threads):
            for run in range(len(self.specs)):
                points, _, value, ends, gradient, slopes = self._measured(
                    state, run, state.iteration, descends=False
                )
                found.loss[run], (found.longest[run], found.shortest[run]) = value, ends
                found.gradient[run, :, : points.shape[1]] = gradient.cpu().numpy()
                if slopes:
                    found.offsets[run] = slopes[0].cpu().numpy()
        return found

    def _measured(
        self, state: BatchState, run: int, iteration: int, *, descends: bool
    ) -> tuple[
        torch.Tensor, torch.Tensor, float, tuple[float, float], torch.Tensor, list[torch.Tensor]
    ]:
        """What a run descends in [n, d] and its points; the objective there, the longest edge and
        the shortest other pair; the gradient, and that in the offsets where it has some.
        """
        spec = self.specs[run]
        phi = descends and spec.optimizer == "phi"
        held = (state.free if phi else state.points)[run, :, : spec.manifold.ambient_dim]
        variables = [torch.from_numpy(held.copy()).to(self.device).requires_grad_()]
        points, offsets = spec.manifold.phi(variables[0]) if phi else variables[0], None
        if spec.popularity:
            offsets = torch.from_numpy(state.offsets[run].copy()).to(self.device).requires_grad_()
            variables.append(offsets)
        parts, spring = spec.schedule.parts if descends else 1, float(state.record["spring"][run])
        loss, edges, nonedges = self.objective(run, points, iteration, parts, offsets, spring)
        if spec.centrality and self.closeness is not None:
            rows = self.closeness.rows(iteration if descends else None)
            measure, tau = (
                pair_function(spec, iteration),
                float(spec.schedule.temperature[iteration]),
            )
            held_to = closeness_loss(
                self.closeness, points, offsets, measure, tau, _radius_of(spec), rows
            )
            loss = loss + spec.centrality * held_to
        gradient, *slopes = torch.autograd.grad(loss, variables)
        longest = float(edges.max()) if len(edges) else -math.inf
        shortest = float(nonedges.min()) if len(nonedges) else math.inf
        return (
            variables[0].detach(),
            points.detach(),
            float(loss.detach()),
            (longest, shortest),
            gradient,
            slopes,
        )

    def objective(
        self,
        run: int,
        points: torch.Tensor,
        iteration: int,
        parts: int,
        offsets: torch.Tensor | None,
        spring: float,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The loss, of all pairs or of the iteration's part, and the dissimilarities of edges and
        of other pairs.
        """
        objective, spec = self._losses[run], self.specs[run]
        objective.temperature = float(spec.schedule.temperature[iteration])
        objective.dissimilarity = pair_function(spec, iteration)
        edges, nonedges = objective.distances(points, offsets, spring)
        counted = nonedges
        if parts > 1 and self.pairs.n_nonedges:
            i, j = self.pairs.nonedges.T
            mine = torch.from_numpy((i // CELL[0] + j // CELL[1]) % parts == iteration % parts).to(
                nonedges.device
            )
            # Counted once for each part: e^(-d/τ) times k is that of a d nearer by τ log k.
            counted = nonedges[mine] - objective.temperature * math.log(parts)
        ties = edges[self.pairs.silent :].detach()
        return objective.of_distances(edges, counted), ties, nonedges.detach()

    def _iterate(self, state: BatchState, run: int, iteration: int) -> float:
        spec, record = self.specs[run], state.record[run]
        width = spec.manifold.ambient_dim
        before, points, value, ends, gradient, slopes = self._measured(
            state, run, iteration, descends=True
        )
        record["longest"], record["shortest"] = ends
        ordered = self.stop_when_ordered and record["longest"] < record["shortest"]
        hot = iteration < spec.settled
        if ordered or hot or (iteration % self.best_every == 0 and value < record["best_loss"]):
            record["best_loss"] = math.inf if hot and not ordered else value
            record["best_iteration"] = iteration
            state.best[run, :, :width] = points.cpu().numpy()
            state.best_offsets[run] = state.offsets[run]
        if ordered:
            record["done_at"] = iteration
            return value
        step, longest = step_of(spec, record, iteration, value)
        moved, near = moved_by(spec, before, gradient, step, longest)
        if slopes:
            offsets = torch.from_numpy(state.offsets[run]).to(self.device)
            state.offsets[run] = (
                shifted_by(spec, offsets, slopes[0], near, step, longest).cpu().numpy()
            )
        if spec.optimizer == "phi":
            state.free[run, :, :width] = moved.cpu().numpy()
            moved = spec.manifold.phi(moved)
        state.points[run, :, :width] = moved.cpu().numpy()
        return value


def step_of(spec: RunSpec, record: np.void, iteration: int, loss: float) -> tuple[float, float]:
    """The step size and the longest move of an iteration whose loss is known; steps drop once that
    is low.
    """
    if loss < spec.schedule.drop_below:
        record["dropped"] = 1.0
    factor = spec.schedule.drop_factor if record["dropped"] else 1.0
    step = float(spec.schedule.step[iteration]) * factor * float(record["step_scale"])
    return step, float(spec.schedule.max_step[iteration]) * float(record["reach"])


def moved_by(
    spec: RunSpec, before: torch.Tensor, gradient: torch.Tensor, step: float, longest: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Points [k, d], or their parameters where a run is optimised through φ, after a step; and [k,
    1] which moved.
    """
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
    spec: RunSpec,
    offsets: torch.Tensor,
    slopes: torch.Tensor,
    near: torch.Tensor,
    step: float,
    longest: float,
) -> torch.Tensor:
    """The offsets [k] of nodes after a step: one factor for all of them, so that their mean only
    fades.
    """
    length, radius = float(slopes.square().mean().sqrt()) * step, _radius_of(spec)
    fading = 0.0 if longest == math.inf else min(FASTEST_FADING, FADING * longest / radius)
    shifted = offsets - (
        (step if length <= longest else step * longest / length) * slopes + fading * offsets
    )
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


def pair_function(spec: RunSpec, iteration: int) -> PairFunction:
    """The dissimilarity of a run at an iteration."""
    epsilon = float(spec.schedule.epsilon[iteration]) if spec.dissimilarity == "smoothed" else None
    return spec.manifold.pair_function(spec.dissimilarity, epsilon)
