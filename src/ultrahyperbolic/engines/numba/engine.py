"""The engine of the CPU: compiled loops, and the slabs of a pass or the runs of a batch on
threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...objective import Closeness
from ...pairs import usable_threads
from ...pairs.kinds import kernel_space
from ...pairs.numba.portable import entry
from ..base import (
    DONE_AT,
    EXACT_NODES,
    FIELDS,
    LONGEST,
    OF_NODES,
    OPTIMIZERS,
    SHORTEST,
    BatchState,
    Engine,
    Evaluation,
    Precision,
    RunSpec,
)
from ..communicator import Communicator
from . import iterate, streaming
from .arguments import SMALL_NODES, Edges, Moment, Prepared, Rules, Run
from .loss import closeness_term, loss_and_gradient
from .near import NearPairs
from .streaming import prepare, slab

# The steps of an iteration whose slabs are on threads.
_prepare, _slab, _loss_and_gradient, _closeness_term, _finish = map(
    entry, (prepare, slab, loss_and_gradient, closeness_term, iterate.finish)
)

Mapper = Callable[..., Iterable[object]]


@dataclass
class NumbaEngine(Engine):
    """Compiled for the CPU. A thread computes a run, or where runs are few slabs of one; results
    are the same.
    """

    threads: int | None = None
    """Default: all."""
    precision: Precision = "float64"
    """Of the pass over the pairs; points, edges and the loss are always float64."""
    communicator: Communicator = field(default_factory=Communicator)
    """Of several processes each computes some slabs of a pass."""
    name: str = field(default="numba", kw_only=True)

    def __post_init__(self) -> None:
        self._threads = self.threads or usable_threads()
        n, positions, scratch = self.pairs.n_nodes, None, self.pairs.n_edges
        closeness = self.closeness or Closeness.none(n)
        if n <= SMALL_NODES:
            i, j = np.sort(self.pairs.edges, axis=1).T
            positions = np.ascontiguousarray(i * (2 * n - i - 1) // 2 + j - i - 1)
            scratch = max(2 * scratch, n * (n - 1) // 2)
        self._edges = Edges(
            self.pairs.edges,
            self.pairs.weaker,
            *self.pairs.neighbors,
            positions,
            closeness,
            self.pairs.heights,
            self.pairs.silent,
        )
        self._runs = [CompiledRun(self, spec, scratch) for spec in self.specs]

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        for number, run in enumerate(self._runs):
            run.read_from(state, number)
        with self._mappers() as (over_runs, over_slabs):
            advance = (
                self._advance_alone
                if self._alone
                else partial(self._advance_together, mapper=over_slabs)
            )
            list(over_runs(partial(advance, first=state.iteration), self._runs, losses))
        for number, run in enumerate(self._runs):
            run.write_to(state, number)
        state.iteration += iterations
        return losses

    @property
    def _alone(self) -> bool:
        """Whether a thread computes a run by itself."""
        few = self._threads == 1 or len(self._runs) >= self._threads or self._runs[0].slabs == 1
        return few and (self.communicator.size == 1 or self._edges.positions is not None)

    @contextmanager
    def _mappers(self) -> Iterator[tuple[Mapper, Mapper]]:
        """What is like ``map`` for the runs, and for the slabs of one: threads do either, or
        neither.
        """
        # A thread would cost more than many an iteration of a small graph.
        if self._threads == 1 or (self._alone and len(self._runs) == 1):
            yield map, map
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                yield (pool.map, map) if self._alone else (map, pool.map)

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it; of a large graph, that of the
        iteration's part.
        """
        return self._evaluate(state, [None] * len(self._runs))

    def nearby(self) -> Callable[[BatchState], Evaluation]:
        """The same for a series of states that hardly differ: a run remembers which pairs count."""
        n = self.pairs.n_nodes
        # A list covers all pairs, so an evaluation that looks at one part of them has none.
        lists = [
            NearPairs(r.width, n) if n > SMALL_NODES and r.looks == 1 else None for r in self._runs
        ]
        return partial(self._evaluate, lists=lists)

    def _evaluate(self, state: BatchState, lists: Sequence[NearPairs | None]) -> Evaluation:
        found = Evaluation.zeros(state)

        def look(number: int) -> None:
            run = self._runs[number]
            run.read_from(state, number)
            if self._edges.positions is None:
                values = self._loss(
                    run, run.moment(state.iteration, run.looks), over_slabs, lists[number]
                )
            else:
                loss, record = np.empty(1), run.arrays.record
                self._advance_alone(run, loss, state.iteration, moves=False)
                values = loss[0], record[LONGEST], record[SHORTEST]
            found.loss[number], found.longest[number], found.shortest[number] = values
            found.gradient[number, :, : run.width] = run.arrays.gradient[: run.width].T
            if len(run.arrays.offsets):
                found.offsets[number] = run.arrays.gradient[run.width]

        with self._mappers() as (over_runs, over_slabs):
            list(over_runs(look, range(len(self._runs))))
        return found

    def _advance_alone(
        self, run: CompiledRun, losses: Floats, first: int, *, moves: bool = True
    ) -> None:
        """Every iteration in one compiled loop."""
        window = np.ascontiguousarray(run.schedule[:, first : first + len(losses)])
        work = run.work_of(run.rules.parts)
        iterate.advance(
            run.arrays, run.space, run.rules, window, first, losses, self._edges, work, moves
        )

    def _advance_together(
        self, run: CompiledRun, losses: Floats, first: int, mapper: Mapper
    ) -> None:
        """The slabs of each iteration on all threads."""
        for index in range(len(losses)):
            if run.arrays.record[DONE_AT] >= 0:
                return
            now = run.moment(first + index, run.rules.parts)
            found = self._loss(run, now, mapper, iteration=first + index)
            losses[index] = found[0]
            _finish(run.arrays, run.space, run.rules, now, first + index, found)

    def _loss(
        self,
        run: CompiledRun,
        now: Moment,
        mapper: Mapper,
        near: NearPairs | None = None,
        iteration: int | None = None,
    ) -> tuple[float, float, float]:
        """The loss, the longest edge and the nearest other pair; gradients in the arrays. No
        iteration: evaluate.
        """
        work = run.work_of(now.parts)
        prepared: Prepared = _prepare(
            run.arrays, run.space, now, self.stop_when_ordered, self._edges, work
        )
        shared = (run.arrays, run.space, now, prepared, self._edges, work)
        slabs = self.communicator.owned(len(work.sums))
        each = partial(_slab, run.arrays.offsets, self._edges.heights, *shared)
        if near is None or not near.look(run.arrays, run.space, now, prepared, self._edges, work):
            list(mapper(each, slabs))
            if self.communicator.size > 1:
                exchange_slabs(self.communicator, work)
            if near is not None:
                near.collect(*shared)
        loss, longest, shortest = _loss_and_gradient(*shared)
        number = -1 if iteration is None else iteration
        return (
            loss + _closeness_term(*shared[:4], self._edges.closeness, run.rules, work, number),
            longest,
            shortest,
        )


def exchange_slabs(communicator: Communicator, work: streaming.Workspace) -> None:
    """Give every process the slabs that the others have computed."""

    def slab_of(s: int) -> tuple[Floats, ...]:
        """Its sums and its gradient, which begins at its first row."""
        return work.sums[s], work.gradients[s][:, work.slabs[s] :]

    slabs = communicator.gather([slab_of(s) for s in communicator.owned(len(work.sums))])
    for s, arrays in enumerate(chain.from_iterable(slabs)):
        for here, there in zip(slab_of(s), arrays, strict=True):
            here[...] = there


class CompiledRun:
    """One run of a batch as the compiled functions take it: points [d, n], and room to work in."""

    def __init__(self, engine: NumbaEngine, spec: RunSpec, scratch: int) -> None:
        n = engine.pairs.n_nodes
        # Of a small graph all is computed in double precision, whatever was asked for.
        dtype = np.float64 if n <= SMALL_NODES else np.dtype(engine.precision).type
        self.space, self.schedule = kernel_space(spec.space, spec.dissimilarity), spec.schedule.rows
        self.rules = Rules(
            OPTIMIZERS.index(spec.optimizer),
            float(spec.schedule.drop_below),
            float(spec.schedule.drop_factor),
            spec.settled,
            engine.best_every,
            engine.stop_when_ordered,
            spec.schedule.parts if n > SMALL_NODES else 1,
            spec.centrality,
        )
        # What an evaluation looks at.
        self.looks = self.rules.parts if n > EXACT_NODES else 1
        # A run of fewer coordinates than the batch is computed in its own, so that it is the same
        # run alone.
        self.width = spec.space.ambient_dim
        # An offset is one coordinate more of what gradients are in.
        slopes = self.width + spec.popularity
        self.work = streaming.workspace(n, self.width, dtype, slopes)
        self.slabs = len(self.work.sums)
        self._for_samples = streaming.for_samples(self.work)
        if n <= SMALL_NODES:
            self.work = self.work._replace(tiles=None)
        points, free, best = (np.empty((self.width, n)) for _ in range(3))
        offsets, kept = (np.zeros(n if spec.popularity else 0) for _ in range(2))
        pair_points: NDArray[np.floating] = np.empty((self.width, n), dtype)
        record, gradient, room = (
            np.empty(len(FIELDS)),
            np.empty((slopes, n)),
            np.empty((6, scratch)),
        )
        self.arrays = Run(points, pair_points, free, best, record, gradient, room, offsets, kept)

    def work_of(self, parts: int) -> streaming.Workspace:
        """Where a pass over one of ``parts`` parts of the pairs is done."""
        return self.work if parts == 1 else self._for_samples

    def moment(self, iteration: int, parts: int = 1) -> Moment:
        """What an iteration is told that looks at one of ``parts`` parts of the pairs."""
        tau, epsilon, step, max_step = self.schedule[:, iteration].tolist()
        return Moment(tau, epsilon, step, max_step, parts, iteration % parts)

    def _arrays(self, state: BatchState, number: int) -> Iterator[tuple[Floats, Floats]]:
        """What is kept of this run, here and in a batch."""
        for name in OF_NODES:
            mine, theirs = getattr(self.arrays, name), getattr(state, name)[number]
            if len(mine):
                yield mine, theirs[:, : self.width].T if theirs.ndim == 2 else theirs
        yield self.arrays.record, state.rows[number]

    def read_from(self, state: BatchState, number: int) -> None:
        """Take this run's points and record from a batch."""
        for mine, theirs in self._arrays(state, number):
            mine[:] = theirs
        self.arrays.pair_points[:] = self.arrays.points

    def write_to(self, state: BatchState, number: int) -> None:
        """Put them back."""
        for mine, theirs in self._arrays(state, number):
            theirs[:] = mine
