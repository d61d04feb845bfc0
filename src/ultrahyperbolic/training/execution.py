"""A plan carried out: what `embed`, the command and the choice of a geometry have in common."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from timeit import timeit

from ..embedding import Embedding
from ..embedding.record import RunRecord, Timing, Training
from ..engines.base import BACKENDS, BatchState, Machine, Problem
from ..engines.communicator import communicator, versions
from ..engines.registry import check_processes, ends_exactly, make_engine, resolve
from ..graph import Graph
from ..interrupted import Interrupted
from ..loop import Callback, Checkpoint
from ..options import complete
from .config import Settings, TrainingConfig
from .continued import start_from
from .inputs import Choice, UsualGeometry
from .plan import Plan, configure, outlined
from .selection import Selection
from .start import Given
from .train import (
    TimeLimit,
    batches,
    check_memory,
    embed_best,
    embed_many,
    graph_record,
    problem_of,
)

log = logging.getLogger("ultrahyperbolic")
# A training that takes more seconds than this is announced; its pace is measured from this many
# pairs on.
_LONG, _MANY = 10.0, 1e9
# The share of a time limit that is kept for measures and the report, and seconds that measures may
# take in any case: to sample takes about as long, as torch is imported for it.
_AFTER, _SHORTEST = 0.1, 5.0
# Evaluations of an iteration of the finish, about, and iterations that are timed.
_EVALUATIONS, _TIMED = 1.25, 3


class Execution:
    """A plan carried out for a graph, step by step: all that is wrong with it is told when it is
    made.

    `prepare` says what will be trained, and `train` trains; between them a caller may make a
    folder, or write down what is about to happen. Where the geometry was left open, `train_all`
    trains each that can be chosen, and `choose` goes on with one of them. A time limit counts from
    ``began``, by the monotonic clock, and includes what follows the training.
    """

    def __init__(
        self, plan: Plan, graph: Graph, *, quiet: bool = True, began: float | None = None
    ) -> None:
        self._began = time.monotonic() if began is None else began
        graph.require_trainable()
        self.graph, self.quiet = graph, quiet
        self.selection: Selection | None = None
        self._fitted = False
        if isinstance(plan.where, UsualGeometry) and plan.asked["preset"] is None:
            plan = plan.but(plan.where.for_nodes(graph.n_nodes))
        self.configs = configure(plan, graph)
        if isinstance(plan.where, Choice):
            plan = plan.but(Choice(tuple(config.geometry for config in self.configs)))
        self.plan = self.asked = plan
        # The engine is ours to choose, by memory and by time, where nobody has named one.
        self._free = plan.machine.backend == "auto" and plan.asked["preset"] is None
        self._resolve()
        self.start: Given | None = None
        if plan.old is not None:
            usual = configure(replace(plan, old=None), graph)[0]
            self.start = start_from(plan.old, graph, usual, quiet=quiet)

    def _resolve(self) -> None:
        """Find where the plan is computed; a choice of a geometry has its own."""
        where, n = self.plan.where, self.graph.n_nodes
        problem = None if isinstance(where, Choice) else outlined(self.plan, where, self.graph)
        self.machine = resolve(self.asked.machine, n, problem)

    @classmethod
    def going_on(
        cls, record: RunRecord, graph: Graph, *, threads: int | None, quiet: bool
    ) -> Execution:
        """The training of a record, as `prepare` wrote it down, to go on with; ``ValueError`` where
        it cannot.
        """
        training = record.training
        if training is None or not training.configs:
            raise ValueError("the record does not say what is trained")
        by_node = any(config.get("scope") == "node" for config in training.configs)
        if by_node or training.backend not in BACKENDS:
            how = "scope 'node'" if by_node else f"backend {training.backend!r}"
            raise ValueError(
                f"it was trained with {how}, which this version does not have: train anew"
            )
        configs = [TrainingConfig.from_json(config) for config in training.configs]
        asked: Settings = {
            "seed": configs[0].seed,
            "time_limit": training.time_limit,
            "threads": threads,
        }
        asked |= {
            "device": training.device,
            "backend": training.backend,
            "precision": training.precision,
        }
        execution = cls(Plan(configs[0].geometry, complete({**asked})), graph, quiet=quiet)
        execution.configs, execution._fitted = configs, True
        execution._began = math.inf  # the limit of such a record is for training alone
        return execution

    def choose(self, selection: Selection) -> None:
        """Go on with the geometry that was found best."""
        self.selection, self.plan = selection, self.plan.but(selection.best)
        self._resolve()
        self.configs = configure(self.plan, self.graph)

    def prepare(self) -> RunRecord:
        """What is known before the first iteration; ``MemoryError`` where the training would not
        fit.
        """
        self._fit()
        problem = problem_of(self.graph, self.configs)
        machine = self.machine
        check_processes(problem, machine)
        check_memory(problem, self.configs, machine)
        record = RunRecord(
            config=self.configs[0].to_json(),
            seed=self.configs[0].seed,
            versions=versions(),
            graph=graph_record(self.graph),
            training=Training(
                [config.to_json() for config in self.configs],
                machine.backend,
                str(machine.device or "cpu"),
                machine.precision,
                self.plan.asked["time_limit"],
            ),
            timing=Timing(started=time.time()),
        )
        return self._as_asked(record)

    def train(
        self,
        callbacks: Sequence[Callback[BatchState]] = (),
        *,
        measures: bool = True,
        checkpoint: Checkpoint[BatchState] | None = None,
        asked: Callable[[], bool] = bool,
    ) -> Embedding:
        """The embedding; `Interrupted` on Ctrl-C, or where ``asked`` says so, with the best so
        far.
        """
        if checkpoint is None:
            self._fit()
            self._say_how_long()
        try:
            embedding = embed_best(
                self.graph,
                self.configs,
                self.machine,
                quiet=self.quiet,
                measures=measures,
                callbacks=callbacks,
                time_limit=TimeLimit(self.plan.asked["time_limit"], self._spent, self.measuring),
                checkpoint=checkpoint,
                start=self.start,
                asked=asked,
            )
        except Interrupted as interrupted:
            if (found := interrupted.embedding) is not None:
                interrupted.embedding = found.with_record(self._as_asked(found.record))
            raise
        return embedding.with_record(self._as_asked(embedding.record))

    def train_all(self) -> list[Embedding]:
        """The embedding of every training, not measured, in batches that fit into memory."""
        self._fit()
        limit, found, rest = self.plan.asked["time_limit"], list[Embedding](), self.configs
        while rest:  # each batch is fitted into what is free then
            batch = self._batches(rest)[0]
            share = None if limit is None else limit * len(batch) / len(self.configs)
            found += embed_many(self.graph, batch, self.machine, measures=False, time_limit=share)
            rest = rest[len(batch) :]
        return found

    def _batches(self, configs: list[TrainingConfig]) -> list[list[TrainingConfig]]:
        """What is trained at once: all seeds, as checkpoints are of one batch, but only the
        geometries that fit.
        """
        return (
            batches(self.graph, configs, self.machine)
            if isinstance(self.plan.where, Choice)
            else [configs]
        )

    def _fit(self) -> None:
        """Say how a large graph is trained."""
        if self._fitted:
            return
        self._fitted = True
        if self._free and not ends_exactly(self.graph.n_nodes, self.machine):
            n, backend = self.graph.n_nodes, self.machine.backend
            self._say(
                f"{n:,} nodes have too many pairs to look at all: training on parts of them "
                f"(backend {backend})"
            )

    @property
    def measuring(self) -> float | None:
        """Seconds for the measures; None for no limit, or one of training alone."""
        return None if self._kept is None else max(_SHORTEST, 0.5 * self._kept)

    @property
    def _kept(self) -> float | None:
        """Seconds of a time limit for measures and the report."""
        limit = self.plan.asked["time_limit"]
        return None if limit is None or self._began == math.inf else _AFTER * limit

    @property
    def _spent(self) -> float:
        """Seconds of the time limit that are gone, or kept for measures and the report."""
        return max(time.monotonic() - self._began, 0.0) + (self._kept or 0.0)

    def _say(self, words: str) -> None:
        if not self.quiet:
            log.warning("%s", words)

    def _say_how_long(self) -> None:
        """Where a training may take long, measure its pace and say so."""
        pairs = self.graph.n_nodes**2 * len(self.configs) * self.configs[0].iterations
        if self.quiet or self.plan.asked["time_limit"] is not None or pairs < _MANY:
            return
        expected = Pace.of(self.graph, self.configs, self.machine).expected(self.configs[0])
        if expected >= _LONG:
            log.warning(
                "%d iterations at most, in about %s", self.configs[0].iterations, in_words(expected)
            )

    def _as_asked(self, record: RunRecord) -> RunRecord:
        """With what was asked for and chosen."""
        chosen = None if self.selection is None else self.selection.to_json()
        return replace(record, select=chosen, call=self.plan.call(self.graph, self.configs[0]))


@dataclass(frozen=True)
class Pace:
    """Seconds that a batch takes."""

    descent: float
    """For an iteration of descent."""
    evaluation: float
    """For an evaluation of all pairs."""

    @classmethod
    def of(cls, graph: Graph, configs: Sequence[TrainingConfig], machine: Machine) -> Pace:
        """Measured on points near the pole; what is compiled is compiled before the clock runs."""
        state = BatchState.start(
            [replace(config, start="pole").starting_points(graph) for config in configs]
        )
        timed = min(_TIMED, configs[0].descents - 1)
        trial = partial(
            _timed,
            problem_of(graph, configs, outline=False),
            machine,
            state,
            timed,
        )
        return cls(*communicator().perform(trial))

    def expected(self, config: TrainingConfig) -> float:
        """Seconds that a training takes at most."""
        finish = config.iterations - config.descents
        return config.descents * self.descent + finish * _EVALUATIONS * self.evaluation


def _timed(
    problem: Problem, machine: Machine, state: BatchState, timed: int
) -> tuple[float, float]:
    """Seconds of an iteration of descent, and of an evaluation."""
    with closing(make_engine(problem, machine)) as engine:
        engine.evaluate(state)
        evaluation = timeit(lambda: engine.evaluate(state), number=1)
        engine.advance(state, 1)
        return timeit(
            lambda: engine.advance(state, timed), number=1
        ) / timed if timed else evaluation, evaluation


def in_words(seconds: float) -> str:
    """A duration, roughly.

    >>> in_words(12.3), in_words(100.0), in_words(9000.0)
    ('12 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
