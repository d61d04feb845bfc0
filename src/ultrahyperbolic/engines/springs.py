"""How stiff the springs of a directed graph are: κ, which is set anew while points move.

Points and popularities descend with κ fixed. Every 50 iterations it is set to that of three values, half an octave
apart, at which the loss is least: so the last digits of a processor do not change it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from ..arrays import Floats, Ints
from ..loop import Every, Progress
from ..objective import RankedPairs
from .base import BatchState, RunSpec
from .reference import pair_function

# Where κ starts, in units of the first temperature, and what it is multiplied or divided by.
START, _STEP = 0.25, math.sqrt(2.0)
_LOOK_EVERY = 50
# Pairs without a tie, and at most as many edges, that the loss is estimated from.
_PAIRS, _TIES = 100_000, 1_000_000


def follow_springs(pairs: RankedPairs, specs: Sequence[RunSpec], descents: int) -> Every[BatchState]:
    """A callback that sets κ of every run, until the descent ends."""
    drawn = _drawn(pairs)

    def look(progress: Progress[BatchState]) -> None:
        state = progress.state
        if state.iteration >= descents:
            return
        for run, spec in enumerate(specs):
            if not state.resting[run]:
                here = state.record["spring"][run]
                tried = [here, here / _STEP, here * _STEP]
                losses = _losses(pairs, drawn, spec, state, run, tried)
                if np.isfinite(losses).all():
                    state.record["spring"][run] = tried[int(np.argmin(losses))]

    return Every(_LOOK_EVERY, look)


def _drawn(pairs: RankedPairs) -> Ints:
    """[k, 2] pairs without a tie: all of them, or of many a sample."""
    n = pairs.n_nodes
    if pairs.n_nonedges <= _PAIRS:
        return pairs.nonedges
    some = np.random.default_rng(0).integers(0, n, (_PAIRS, 2))
    some = np.sort(some[some[:, 0] != some[:, 1]], axis=1)
    offsets, neighbors = pairs.neighbors
    tied = np.repeat(np.arange(n), np.diff(offsets)) * n + neighbors
    return some[~np.isin(some @ np.array([n, 1]), tied)]


def _losses(
    pairs: RankedPairs, drawn: Ints, spec: RunSpec, state: BatchState, run: int, springs: Sequence[float]
) -> list[float]:
    """The ranking loss, estimated from some pairs, for each κ."""
    heights = np.zeros(pairs.n_nodes) if pairs.heights is None else pairs.heights
    iteration = min(state.iteration, len(spec.schedule) - 1)
    tau, distance = float(spec.schedule.temperature[iteration]), pair_function(spec, iteration)
    points = torch.from_numpy(state.points[run, :, : spec.manifold.ambient_dim].copy())

    def lengths(ends: Ints) -> tuple[Floats, Floats]:
        """Without springs, and the difference of heights."""
        i, j = ends.T
        popularity = state.offsets[run][i] + state.offsets[run][j]
        return distance(points[i], points[j]).numpy() - popularity, heights[i] - heights[j]

    every = -(-pairs.n_edges // _TIES) or 1
    (ties, steps), (others, gaps) = lengths(pairs.edges[::every]), lengths(drawn)
    weaker, silent = -(-pairs.weaker[::every] // every), -(-pairs.silent // every)
    # Of many edges, and of the pairs without one, each stands for others: here for as many as an edge does.
    gaps, scale = np.abs(gaps), math.log(pairs.n_nonedges / max(len(drawn), 1) / every or 1.0)
    found = []
    for spring in springs:
        rest = -(others + spring * np.square(gaps - 1.0)) / tau + np.log1p(np.exp(-4.0 * spring / tau * gaps))
        scores = -(ties + spring * np.square(steps - 1.0)) / tau
        most = rest.max(initial=-np.inf)
        start = most + math.log(np.exp(rest - most).sum()) + scale if len(rest) else -np.inf
        below = np.logaddexp.accumulate(np.concatenate(([start], scores)))[weaker]
        found.append(float(np.logaddexp(0.0, below - scores + math.log(every))[silent:].sum()))
    return found
