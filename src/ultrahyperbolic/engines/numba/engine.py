"""The engine of the CPU: compiled loops, and the slabs of a pass or the runs of a batch on threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...objective import RankedPairs
from ...pairs import usable_threads
from ...pairs.kinds import kernel_space
from ..base import DONE_AT, RECORD, BatchState, Evaluation, Floats, Precision, RunSpec, evaluation_shapes
from . import iterate, streaming
from .kind import SMALL_NODES
from .loss import loss_and_gradient, scale_of, small_loss_and_gradient
from .streaming import prepare, slab


@dataclass
class NumbaEngine:
    """The same compiled for the CPU.

    Runs of a batch are given to threads, each run to one; where there are fewer runs than threads and the graph is
    large, the slabs of one run's pass are. Results do not depend on it.
    """

    pairs: RankedPairs
    specs: Sequence[RunSpec]
    best_every: int = 1
    stop_when_ordered: bool = False
    threads: int | None = None
    """As many as the machine has, unless given."""
    precision: Precision = "float64"
    """Of the pass over the pairs; points, edges and the loss are always float64."""
    name: str = "numba"

    def __post_init__(self) -> None:
        self._threads = self.threads or usable_threads()
        n, dtype = self.pairs.n_nodes, np.dtype(self.precision).type
        self._places = np.zeros(0, dtype=np.int64)
        scratch = self.pairs.n_edges
        if n <= SMALL_NODES:
            i, j = self.pairs.edges.T
            self._places = np.ascontiguousarray(i * (2 * n - i - 1) // 2 + j - i - 1)
            scratch = n * (n - 1) // 2
        self._runs = [_CompiledRun(spec, n, scratch, dtype) for spec in self.specs]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        for number, run in enumerate(self._runs):
            run.take(state, number)
        alone = self._threads == 1 or len(self._runs) >= self._threads or self._runs[0].slabs == 1
        if alone and len(self._runs) == 1:  # a thread would cost more than many an iteration of a small graph
            self._advance_alone(self._runs[0], losses[0], state.iteration)
        else:
            self._advance_on_threads(losses, state.iteration, alone=alone)
        for number, run in enumerate(self._runs):
            run.give(state, number)
        state.iteration += iterations
        return losses

    def _advance_on_threads(self, losses: Floats, first: int, *, alone: bool) -> None:
        with ThreadPoolExecutor(self._threads) as pool:
            if alone:
                jobs = [pool.submit(self._advance_alone, run, losses[k], first) for k, run in enumerate(self._runs)]
                for job in jobs:
                    job.result()
            else:
                for k, run in enumerate(self._runs):
                    self._advance_together(run, losses[k], first, pool)

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        found = Evaluation(*(np.zeros(shape) for shape in evaluation_shapes(state)))
        with ThreadPoolExecutor(self._threads) as pool:
            for number, run in enumerate(self._runs):
                run.take(state, number)
                tau, epsilon, _, _ = run.schedule[:, state.iteration].tolist()
                found.loss[number], found.longest[number], found.shortest[number] = self._loss(run, tau, epsilon, pool)
                found.gradient[number, :, : run.width] = run.scratch[1].T
        return found

    def _advance_alone(self, run: _CompiledRun, losses: Floats, first: int) -> None:
        """Every iteration in one compiled loop."""
        window = np.ascontiguousarray(run.schedule[:, first : first + len(losses)])
        iterate.advance(
            run.points, run.pairs_points, run.free, run.best, run.record, *run.geometry, window, *run.stepping,
            self.best_every, self.stop_when_ordered, first, losses, self.pairs.edges, self.pairs.weaker,
            *self.pairs.neighbors, self._places, run.work, *run.scratch,
        )  # fmt: skip

    def _advance_together(self, run: _CompiledRun, losses: Floats, first: int, pool: ThreadPoolExecutor) -> None:
        """The slabs of each iteration on all threads."""
        for index in range(len(losses)):
            if run.record[DONE_AT] >= 0:
                return
            tau, epsilon, step, clip = run.schedule[:, first + index].tolist()
            losses[index], longest, least = self._loss(run, tau, epsilon, pool)
            time, radius, flat, _, way = run.geometry
            iterate.finish(
                run.points, run.pairs_points, run.free, run.best, run.record, time, radius, flat, way, step, clip,
                *run.stepping, self.best_every, self.stop_when_ordered, first + index, losses[index], longest, least,
                run.scratch[1],
            )  # fmt: skip

    def _loss(
        self, run: _CompiledRun, tau: float, epsilon: float, pool: ThreadPoolExecutor
    ) -> tuple[float, float, float]:
        """The loss, the longest edge and the nearest other pair, slabs on all threads; the gradient as scratch."""
        time, radius, flat, kind, _ = run.geometry
        offsets, neighbors = self.pairs.neighbors
        prepared: tuple[Any, ...] = prepare(
            run.points, time, scale_of(radius, flat), kind, radius, epsilon, tau, self.stop_when_ordered, offsets,
            neighbors, run.work,
        )  # fmt: skip
        shared = (run.points, time, radius, flat, kind, epsilon, tau, prepared)
        found: tuple[float, float, float]
        if len(self._places):
            found = small_loss_and_gradient(*shared, self._places, self.pairs.weaker, run.work, *run.scratch)
            return found
        workers = min(self._threads, run.slabs)

        def some(start: int) -> None:
            for s in range(start, run.slabs, workers):
                slab(
                    run.points, run.pairs_points, time, kind, radius, epsilon, tau, prepared, offsets, neighbors,
                    run.work, s,
                )  # fmt: skip

        list(pool.map(some, range(workers)))
        found = loss_and_gradient(*shared, self.pairs.edges, self.pairs.weaker, run.work, *run.scratch)
        return found


class _CompiledRun:
    """One run of a batch as the compiled functions take it: points [d, n], and room to work in."""

    def __init__(self, spec: RunSpec, n: int, scratch: int, dtype: type) -> None:

        space = kernel_space(spec.manifold, spec.dissimilarity)
        ways = {
            "descent": iterate.ALONG_CHI, "gradient": iterate.ALONG_GRADIENT, "phi": iterate.THROUGH_PHI,
            "signed-gradient": iterate.ALONG_SIGNED,
        }  # fmt: skip
        s = spec.schedule
        self.geometry = (space.time, space.radius, space.flat, space.kind, ways[spec.way])
        self.schedule = np.stack([s.temperature, s.epsilon, s.step, s.clip])
        self.stepping = (s.drop_below, s.drop_factor, spec.settled)
        # A run of fewer coordinates than the batch is computed in its own, so that it is the same run alone.
        self.width = spec.manifold.ambient_dim
        self.work = streaming.workspace(n, self.width, dtype)
        self.slabs = len(self.work.sums)
        self.points, self.free, self.best = (np.empty((self.width, n)) for _ in range(3))
        self.pairs_points: NDArray[Any] = np.empty((self.width, n), dtype)
        self.record = np.empty(len(RECORD))
        self.scratch = (np.empty((6, scratch)), np.empty((self.width, n)))

    def take(self, state: BatchState, number: int) -> None:
        """Read this run from a batch."""
        for mine, theirs in ((self.points, state.points), (self.free, state.free), (self.best, state.best)):
            mine[:] = theirs[number, :, : self.width].T
        self.pairs_points[:] = self.points
        self.record[:] = state.rows[number]

    def give(self, state: BatchState, number: int) -> None:
        """Write it back."""
        for mine, theirs in ((self.points, state.points), (self.free, state.free), (self.best, state.best)):
            theirs[number, :, : self.width] = mine.T
        state.rows[number] = self.record
