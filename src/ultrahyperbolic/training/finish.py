"""The end of a training: quasi-Newton steps through φ at its last temperature and smoothing.

Bounded steps of descent arrange the points and leave them trembling; these take them to the bottom, which orders ties
among themselves and nearest neighbours.
"""

from __future__ import annotations

import numpy as np
import torch

from ..engines.base import BatchState, Engine
from ..optim.lbfgs import Found, PhiLBFGS


def finish(engine: Engine, state: BatchState, iterations: int) -> None:
    """Lower the loss of the best points of every run by so many quasi-Newton iterations, or until none helps."""
    at = BatchState.start(list(state.best))
    at.iteration = len(engine.specs[0].schedule) - 1
    for run, spec in enumerate(engine.specs):
        width = spec.manifold.ambient_dim

        def evaluate(points: torch.Tensor, run: int = run, width: int = width) -> tuple[float, torch.Tensor]:
            at.points[run, :, :width] = points.numpy()
            found = engine.evaluate(at)
            return float(found.loss[run]), torch.from_numpy(found.gradient[run, :, :width].copy())

        points = torch.from_numpy(state.best[run, :, :width].copy())
        here = Found(points, *evaluate(points))
        steps = PhiLBFGS(spec.manifold, evaluate)
        for _ in range(iterations):
            reached = steps.step(here)
            if reached is None:
                break
            here = reached
        if np.isfinite(here.value):
            state.best[run, :, :width] = here.points.numpy()
            state.record["best_loss"][run] = here.value
