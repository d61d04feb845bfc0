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

from ...arrays import Floats
from ...objective import Closeness
from ...pairs import usable_threads
from ..base import (
    DONE_AT,
    EXACT_NODES,
    FIELDS,
    BatchState,
    Engine,
    Evaluation,
    RunSpec,
    compiled_space,
)
from ..communicator import Communicator
from . import streaming
from .arguments import Edges, Moment, Prepared, Rules, Run
from .iterate import ADVANCE, FINISH, OBJECTIVE, PREPARE, SLAB, perform
from .near import NearPairs, most_entries

# Stand in for what a step of an iteration does not look at.
NOWHEN = Moment(0.0, 0.0, 0.0, 0.0, 1, 0)
UNPREPARED = Prepared(0.0, 0.0, 0, 0, 0)
NO_SCHEDULE, NO_LOSSES = np.empty((4, 0)), np.empty(0)

Mapper = Callable[..., Iterable[object]]


@dataclass
class NumbaEngine(Engine):
    """Compiled for the CPU. A thread computes a run, or where runs are few slabs of one; results
    are the same.
    """

    threads: int | None = None
    """Default: all."""
    communicator: Communicator = field(default_factory=Communicator)
    """Of several processes each computes some slabs of a pass."""
    name: str = field(default="numba", kw_only=True)

    def __post_init__(self) -> None:
        self._threads = self.threads or usable_threads()
        self._edges = Edges(
            self.pairs.edges,
            self.pairs.weaker,
            *self.pairs.neighbors,
            self.closeness or Closeness.none(self.pairs.n_nodes),
            self.pairs.heights,
            self.pairs.silent,
        )
        self._runs = [CompiledRun(self, spec) for spec in self.specs]

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
        return few and self.communicator.size == 1

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
            NearPairs(run.width, n) if run.looks == 1 and most_entries(n) else None
            for run in self._runs
        ]
        return partial(self._evaluate, lists=lists)

    def _evaluate(self, state: BatchState, lists: Sequence[NearPairs | None]) -> Evaluation:
        evaluated = Evaluation.zeros(state)

        def look(number: int) -> None:
            run = self._runs[number]
            run.read_from(state, number)
            now = run.moment(state.iteration, run.looks)
            evaluated.loss[number], evaluated.longest[number], evaluated.shortest[number] = (
                self._evaluated(run, now, over_slabs, lists[number])
            )
            evaluated.gradient[number, :, : run.width] = run.arrays.gradient[: run.width].T
            if len(run.arrays.biases):
                evaluated.offsets[number] = run.arrays.gradient[run.width]

        with self._mappers() as (over_runs, over_slabs):
            list(over_runs(look, range(len(self._runs))))
        return evaluated

    def _advance_alone(self, run: CompiledRun, losses: Floats, first: int) -> None:
        """Every iteration in one compiled loop."""
        window = np.ascontiguousarray(run.schedule[:, first : first + len(losses)])
        self._perform(ADVANCE, run, run.rules.parts, first, schedule=window, losses=losses)

    def _advance_together(
        self, run: CompiledRun, losses: Floats, first: int, mapper: Mapper
    ) -> None:
        """The slabs of each iteration on all threads."""
        for index in range(len(losses)):
            if run.arrays.record[DONE_AT] >= 0:
                return
            now = run.moment(first + index, run.rules.parts)
            evaluated = self._evaluated(run, now, mapper, iteration=first + index)
            losses[index] = evaluated[0]
            self._perform(FINISH, run, now.parts, first + index, now=now, evaluated=evaluated)

    def _evaluated(
        self,
        run: CompiledRun,
        now: Moment,
        mapper: Mapper,
        near: NearPairs | None = None,
        iteration: int = -1,
    ) -> tuple[float, float, float]:
        """The objective, the longest edge and the nearest other pair; gradients in the arrays.
        Iteration -1 is an evaluation.
        """
        work = run.work_of(now.parts)
        do = partial(self._perform, run=run, parts=now.parts, now=now)
        prepared, _ = do(PREPARE)
        given = run.arrays, run.space, now
        if near is None or not near.look(*given, prepared, self._edges, work):
            each = partial(do, SLAB, prepared=prepared)
            list(mapper(lambda s: each(s=s), self.communicator.owned(len(work.sums))))
            if self.communicator.size > 1:
                exchange_slabs(self.communicator, work)
            if near is not None:
                near.collect(*given, self._edges, work)
        return do(OBJECTIVE, iteration=iteration, prepared=prepared)[1]

    def _perform(
        self,
        what: int,
        run: CompiledRun,
        parts: int,
        iteration: int = -1,
        *,
        now: Moment = NOWHEN,
        prepared: Prepared = UNPREPARED,
        s: int = 0,
        evaluated: tuple[float, float, float] = (0.0, 0.0, 0.0),
        schedule: Floats = NO_SCHEDULE,
        losses: Floats = NO_LOSSES,
    ) -> tuple[Prepared, tuple[float, float, float]]:
        """`perform` for a run of this engine; what a step does not look at has a default."""
        prepared, evaluated = perform(
            what,
            run.arrays,
            run.space,
            run.rules,
            self._edges,
            run.work_of(parts),
            iteration,
            now,
            prepared,
            s,
            evaluated,
            schedule,
            losses,
        )
        return prepared, evaluated


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

    def __init__(self, engine: NumbaEngine, spec: RunSpec) -> None:
        n = engine.pairs.n_nodes
        self.space, self.schedule = compiled_space(spec), spec.schedule.rows
        self.rules = Rules(
            2 if spec.optimizer == "descent" else 1,
            float(spec.schedule.drop_below),
            float(spec.schedule.drop_factor),
            spec.settled,
            engine.best_every,
            engine.stop_when_ordered,
            spec.schedule.parts,
            spec.centrality,
        )
        # How many parts the pairs have of which an evaluation looks at one.
        self.looks = self.rules.parts if n > EXACT_NODES else 1
        # A run of fewer coordinates than the batch is computed in its own, so that it is the same
        # run alone.
        self.width = spec.space.ambient_dim
        # A bias is one coordinate more of what gradients are in.
        slopes = self.width + spec.popularity
        self.work = streaming.workspace(n, self.width, slopes)
        self.slabs = len(self.work.sums)
        self._for_samples = streaming.for_samples(self.work)
        self.arrays = Run(
            points=np.empty((self.width, n)),
            best=np.empty((self.width, n)),
            record=np.empty(len(FIELDS)),
            gradient=np.empty((slopes, n)),
            scratch=np.empty((6, engine.pairs.n_edges)),
            biases=np.zeros(n if spec.popularity else 0),
            best_biases=np.zeros(n if spec.popularity else 0),
        )

    def work_of(self, parts: int) -> streaming.Workspace:
        """Where a pass over one of ``parts`` parts of the pairs is done."""
        return self.work if parts == 1 else self._for_samples

    def moment(self, iteration: int, parts: int = 1) -> Moment:
        """What an iteration is told that looks at one of ``parts`` parts of the pairs."""
        tau, epsilon, step, max_step = self.schedule[:, iteration].tolist()
        return Moment(tau, epsilon, step, max_step, parts, iteration % parts)

    def _arrays(self, state: BatchState, number: int) -> list[tuple[Floats, Floats]]:
        """What is kept of this run, here and in a batch."""
        kept = [
            (self.arrays.record, state.rows[number]),
            (self.arrays.points, state.points[number, :, : self.width].T),
            (self.arrays.best, state.best[number, :, : self.width].T),
        ]
        if len(self.arrays.biases):
            kept.append((self.arrays.biases, state.offsets[number]))
            kept.append((self.arrays.best_biases, state.best_offsets[number]))
        return kept

    def read_from(self, state: BatchState, number: int) -> None:
        """Take this run's points and record from a batch."""
        for mine, theirs in self._arrays(state, number):
            mine[:] = theirs

    def write_to(self, state: BatchState, number: int) -> None:
        """Put them back."""
        for mine, theirs in self._arrays(state, number):
            theirs[:] = mine
