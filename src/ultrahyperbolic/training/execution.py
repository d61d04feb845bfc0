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
from ..engines.base import BatchState, Machine, Problem
from ..engines.communicator import communicator, versions
from ..engines.registry import check_processes, ends_exactly, make_engine, others_met, resolve, unfit
from ..evaluation import SAMPLED_NODES
from ..evaluation.summary import drawn_nodes
from ..graph import Graph
from ..interrupted import Interrupted
from ..loop import Callback, Checkpoint, Stopped
from ..options import complete
from .config import Settings, TrainingConfig
from .continued import start_from
from .inputs import Choice, UsualGeometry
from .plan import Plan, configure, outlined
from .selection import Selection
from .start import Given
from .train import TimeLimit, batches, check_memory, embed_best, embed_many, graph_record, has_memory, problem_of

log = logging.getLogger("ultrahyperbolic")
# A training that takes more seconds than this is announced; its pace is measured from this many pairs on.
_LONG, _MANY = 10.0, 1e9
# Of a time limit: the share that measures may take, and their fewest seconds; seconds of the report; the most that is
# kept for both; and how much later than that a training may end before it is said.
_MEASURING, _SHORTEST, _REPORT, _AFTER, _LATE = 0.1, 1.0, 2.0, 0.2, 1.2
# With time for less than this share of the iterations, samples alone are taken if they allow this many times more.
_FEW, _MORE = 0.25, 2.0
# Evaluations of an iteration of the finish, about, and the share of a time limit that is planned for.
_EVALUATIONS, _PLANNED = 1.25, 0.85
# Measures take as long as this many evaluations, about.
_MEASURES = 15.0
# Iterations that are timed, and the fewest that a schedule is fitted to.
_TIMED, _FEWEST = 3, 20


class Execution:
    """A plan carried out for a graph, step by step: all that is wrong with it is told when it is made.

    `prepare` says what will be trained, and `train` trains; between them a caller may make a folder, or write down what
    is about to happen. Where the geometry was left open, `train_all` trains each that can be chosen, and `choose` goes
    on with one of them. A time limit counts from ``began``, by the monotonic clock, and includes what follows the
    training.
    """

    def __init__(self, plan: Plan, graph: Graph, *, quiet: bool = True, began: float | None = None) -> None:
        self._began = time.monotonic() if began is None else began
        graph.require_trainable()
        self.graph, self.quiet = graph, quiet
        self.selection: Selection | None = None
        self.measuring: float | None = None
        """Seconds for measures of a sample of the nodes; None where there is time for the usual ones."""
        self._fitted, self._shortened, self._after = False, False, 0.0
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
    def going_on(cls, record: RunRecord, graph: Graph, *, threads: int | None, quiet: bool) -> Execution:
        """The training of a record, as `prepare` wrote it down, to go on with; ``ValueError`` where it cannot."""
        training = record.training
        if training is None or not training.configs:
            raise ValueError("the record does not say what is trained")
        configs = [TrainingConfig.from_json(config) for config in training.configs]
        asked: Settings = {"seed": configs[0].seed, "time_limit": training.time_limit, "threads": threads}
        asked |= {"device": training.device, "backend": training.backend, "precision": training.precision}
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
        """What is known before the first iteration; ``MemoryError`` where the training would not fit."""
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
        """The embedding; `Interrupted` on Ctrl-C, or where ``asked`` says so, with the best so far."""
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
        """What is trained at once: all seeds, as checkpoints are of one batch, but only the geometries that fit."""
        return batches(self.graph, configs, self.machine) if isinstance(self.plan.where, Choice) else [configs]

    def _fits(self) -> bool:
        return all(has_memory(problem_of(self.graph, some), some, self.machine) for some in self._batches(self.configs))

    def _fit(self) -> None:
        """Take samples where all pairs do not fit into memory, and only the iterations that there is time for."""
        if self._fitted:
            return
        self._fitted, limit = True, self.plan.asked["time_limit"]
        if self._free and not ends_exactly(self.graph.n_nodes, self.machine):
            n, backend = self.graph.n_nodes, self.machine.backend
            how = "by samples" if backend == "sampled" else "on parts of them"
            self._say(f"{n:,} nodes have too many pairs to look at all: training {how} (backend {backend})")
        if not self._fits():
            self._take_samples("all pairs do not fit into memory")
        if limit is not None and self.plan.asked["preset"] is None:
            asked = self.configs[0].iterations
            self._fit_time(limit)
            self._shortened = self.configs[0].iterations < asked

    @property
    def _spent(self) -> float:
        """Seconds of the time limit that are gone, or kept for measures and the report."""
        return max(time.monotonic() - self._began, 0.0) + self._after

    def _fit_time(self, limit: float) -> None:
        whole = self.configs
        self.configs, least = self._fitted_to(limit, whole)
        fitted, asked = self.configs[0].iterations, whole[0].iterations
        said = fitted >= _FEW * asked
        if not said and (sampled := self._fit_samples(limit, whole)) is not None:
            said, least = True, sampled
        if least > _LATE * limit:
            self._say(f"a time limit of {limit:g} s is too short: the shortest training takes about {in_words(least)}")
        elif not said:
            self._say(f"a time limit of {limit:g} s leaves time for {fitted} of {asked} iterations")

    def _fit_samples(self, limit: float, whole: list[TrainingConfig]) -> float | None:
        """Train on parts alone and say why, if there is time for many more iterations then; how long it takes."""
        fitted, asked = self.configs[0].iterations, whole[0].iterations
        why = f"there is time for {fitted} of {asked} iterations that look at all pairs"
        if self.machine.backend == "reference":
            if self._take_samples(why):
                self.configs, seconds = self._fitted_to(limit, [replace(each, finish=0.0) for each in self.configs])
                return seconds
        elif whole[0].parts > 1 and whole[0].finish > 0.0:
            alone, seconds = self._fitted_to(limit, [replace(each, finish=0.0) for each in whole])
            if alone[0].iterations >= _MORE * fitted:
                self.configs = alone
                self._say(f"{why} in the end, and for {alone[0].iterations} that do not: training on parts alone")
                return seconds
        return None

    def _fitted_to(self, limit: float, configs: list[TrainingConfig]) -> tuple[list[TrainingConfig], float]:
        """The trainings with as many iterations as fit, and the seconds that the whole command takes then."""
        batch = self._batches(configs)[-1]
        pace = Pace.of(self.graph, batch, self.machine)
        after = pace.measuring(self.graph.n_nodes, others_met(self.machine, self.graph.n_nodes))
        if after > _MEASURING * limit:
            after = self.measuring = max(_SHORTEST, _MEASURING * limit)
        self._after = min(after + _REPORT, _AFTER * limit)
        fitted = pace.fitted(configs[0], (limit - self._spent) * len(batch) / len(configs))
        seconds = self._spent + pace.expected(fitted) * len(configs) / len(batch)
        if fitted.iterations == configs[0].iterations:
            return configs, seconds
        # Of fewer moves each is longer.
        made = configure(self.plan.but(iterations=fitted.iterations), self.graph)
        return made if configs[0].finish else [replace(config, finish=0.0) for config in made], seconds

    def _say(self, words: str) -> None:
        if not self.quiet:
            log.warning("%s", words)

    def _take_samples(self, why: str) -> bool:
        """Go over to the engine that draws samples, and say why; whether that can be."""
        machine, problem = replace(self.machine, backend="sampled"), problem_of(self.graph, self.configs)
        if not self._free or self.machine.backend == "sampled" or unfit("sampled", problem, machine):
            return False
        before = self.plan, self.machine, self.configs
        self.plan, self.machine = self.plan.but(backend="sampled", device=machine.device), machine
        self.configs = configure(self.plan, self.graph)
        if not self._fits():
            self.plan, self.machine, self.configs = before
            return False
        self._free = False
        self._say(f"{why}: training by samples (backend sampled)")
        return True

    def _say_how_long(self) -> None:
        """Where a training may take long, measure its pace and say so."""
        pairs = self.graph.n_nodes**2 * len(self.configs) * self.configs[0].iterations
        if self.quiet or self.plan.asked["time_limit"] is not None or pairs < _MANY:
            return
        expected = Pace.of(self.graph, self.configs, self.machine).expected(self.configs[0])
        if expected >= _LONG:
            log.warning("%d iterations at most, in about %s", self.configs[0].iterations, in_words(expected))

    def _as_asked(self, record: RunRecord) -> RunRecord:
        """With what was asked for and chosen, and with the time limit where that is why there were few iterations."""
        chosen = None if self.selection is None else self.selection.to_json()
        ending = record.stopped
        if self._shortened and ending is not None and ending.why is Stopped.ITERATIONS:
            limit = self.plan.asked["time_limit"]
            ending = ending._replace(text=f"{ending.text}, all that fit into the time limit of {limit:g} s")
        return replace(record, select=chosen, call=self.plan.call(self.graph, self.configs[0]), stopped=ending)


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
        state = BatchState.start([replace(config, start="pole").starting_points(graph) for config in configs])
        timed, exact_end = min(_TIMED, configs[0].descents - 1), configs[0].finish > 0.0
        trial = partial(_timed, problem_of(graph, configs, outline=False), machine, state, timed, exact_end=exact_end)
        return cls(*communicator().perform(trial))

    def expected(self, config: TrainingConfig) -> float:
        """Seconds that a training takes at most."""
        finish = config.iterations - config.descents
        return config.descents * self.descent + finish * _EVALUATIONS * self.evaluation

    def measuring(self, n_nodes: int, meets: int) -> float:
        """Seconds that the measures of a graph take, about, if a node meets ``meets`` others in an iteration."""
        if n_nodes <= SAMPLED_NODES:
            return _MEASURES * self.evaluation
        return _MEASURES * self.descent * drawn_nodes(n_nodes) / meets

    def fitted(self, config: TrainingConfig, limit: float) -> TrainingConfig:
        """The training, with fewer iterations if there is no time for all."""
        expected = self.expected(config)
        if expected <= _PLANNED * limit:
            return config
        fewer = int(config.iterations * _PLANNED * limit / expected)
        return replace(config, iterations=min(config.iterations, max(_FEWEST, fewer)))


def _timed(
    problem: Problem, machine: Machine, state: BatchState, timed: int, *, exact_end: bool
) -> tuple[float, float]:
    """Seconds of an iteration of descent, and of an evaluation."""
    with closing(make_engine(problem, machine, exact_end=exact_end)) as engine:
        engine.evaluate(state)
        evaluation = timeit(lambda: engine.evaluate(state), number=1)
        engine.advance(state, 1)
        return timeit(lambda: engine.advance(state, timed), number=1) / timed if timed else evaluation, evaluation


def in_words(seconds: float) -> str:
    """A duration, roughly.

    >>> in_words(12.3), in_words(100.0), in_words(9000.0)
    ('12 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
