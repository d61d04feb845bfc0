"""Moves in units of how far the points are spread: gentle while they leave the pole, and as long as they need later.

A bound on moves that is fixed from the start is as large as the whole cloud of points when they leave the pole, and
throws it into disorder before ties have arranged it; what is left of the hierarchy then is chance. Bounded by a share
of the spread, the cloud unfolds and keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats
from ..geometry import Manifold, Product
from ..loop import Every
from ..rounding import asinh
from .base import BatchState, RunSpec

# Iterations from one look at the spread to the next, wherever chunks end: moves may not depend on the clock.
_LOOK_EVERY = 50


def spread_of(points: Floats, time: int) -> float:
    """The root mean square distance of points [n, d] from their mean, times as directions of length 1: in S^q × R^p.

    In hyperbolic space the space part is as long as the geodesic from the pole. It would grow exponentially otherwise,
    and a share of that throw the points at the centre to the rim. Where there is a light cone, points stay near.
    """
    chart = points.copy()
    if time:
        chart[:, :time] /= np.linalg.norm(points[:, :time], axis=1, keepdims=True)
    if time == 1:
        length = np.linalg.norm(points[:, time:], axis=1, keepdims=True)
        chart[:, time:] *= np.divide(asinh(length), length, out=np.ones_like(length), where=length > 0.0)
    return float(np.sqrt(np.square(chart - chart.mean(0)).sum(1).mean()))


def follow_spread(specs: Sequence[RunSpec], relative: Sequence[bool], state: BatchState) -> Every[BatchState]:
    """A callback that sets the reach of runs whose moves are relative; at the start it is set now."""

    def look(state: BatchState) -> None:
        for run, spec in enumerate(specs):
            if relative[run]:
                spread = _spread_on(spec.manifold, state.points[run, :, : spec.manifold.ambient_dim])
                if spread is not None and np.isfinite(spread):
                    state.record["reach"][run] = spread

    if state.iteration == 0:
        look(state)
    return Every(_LOOK_EVERY, lambda progress: look(progress.state))


def _spread_on(manifold: Manifold, points: Floats) -> float | None:
    """The spread on a manifold, of a product that of its factors together; None where it is not known."""
    if isinstance(manifold, Product):
        pieces = np.split(points, np.cumsum(manifold.sizes)[:-1], axis=1)
        parts = zip(manifold.factors, pieces, strict=True)
        found = [_spread_on(factor, own) for factor, own in parts if isinstance(factor, Manifold)]
        return float(np.sqrt(sum(spread**2 for spread in found if spread is not None)))
    quadric = manifold.quadric
    return None if quadric is None else quadric.radius * spread_of(points / quadric.radius, quadric.time)
