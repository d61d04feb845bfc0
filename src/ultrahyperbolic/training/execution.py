"""A plan carried out: what `embed`, the command and the choice of a geometry have in common."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..embedding import Embedding
from ..embedding.record import RunRecord, Timing, Training
from ..engines.base import BatchState
from ..engines.communicator import versions
from ..engines.registry import check_processes, ends_exactly, resolve
from ..graph import Graph
from ..interrupted import Interrupted
from ..loop import Callback, Checkpoint
from ..options import complete
from .config import TrainingConfig
from .continued import start_from
from .inputs import Choice, UsualGeometry
from .plan import Plan, configure, outlined
from .selection import Selection
from .start import Given
from .train import best_of, check_memory, embed_many, graph_record, measured, problem_of

log = logging.getLogger("ultrahyperbolic")
# The share of a time limit that is kept for measures and the report.
_AFTER_TRAINING = 0.1
# Seconds that measures may take whatever the limit: to sample them takes about as long, as torch is
# imported for it.
_MEASURING_SECONDS = 5.0


class Execution:
    """A plan carried out for a graph, step by step: all that is wrong with it is told when it is
    made.

    `prepare` says what will be trained, and `train` trains; between them a caller may make a
    folder, or write down what is about to happen. Where the geometry was left open, `choose` goes
    on with one of them. A time limit counts from ``began``, by the monotonic clock, and includes
    what follows the training.
    """

    def __init__(
        self, plan: Plan, graph: Graph, *, quiet: bool = True, began: float | None = None
    ) -> None:
        self._began = time.monotonic() if began is None else began
        graph.require_trainable()
        self.graph, self.quiet = graph, quiet
        self.selection: Selection | None = None
        if isinstance(plan.where, UsualGeometry) and plan.asked["preset"] is None:
            plan = plan.but(plan.where.for_nodes(graph.n_nodes))
        self.configs = configure(plan, graph)
        if isinstance(plan.where, Choice):
            plan = plan.but(Choice(tuple(config.geometry for config in self.configs)))
        self.plan = self.asked = plan
        self._resolve()
        self.start: Given | None = None
        if plan.old is not None:
            usual = configure(replace(plan, old=None), graph)[0]
            self.start = start_from(plan.old, graph, usual)

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
        configs = [TrainingConfig.from_json(config) for config in training.configs]
        asked = {
            "seed": configs[0].seed,
            "time_limit": training.time_limit,
            "threads": threads,
            "device": training.device,
            "backend": training.backend,
            "precision": training.precision,
        }
        execution = cls(Plan(configs[0].geometry, complete(asked)), graph, quiet=quiet)
        execution.configs = configs
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
        problem = problem_of(self.graph, self.configs)
        machine = self.machine
        check_processes(machine)
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
        n, machine = self.graph.n_nodes, self.machine
        if not (self.quiet or checkpoint or ends_exactly(n, machine) or self.plan.asked["preset"]):
            log.warning(
                f"{n:,} nodes have too many pairs to look at all: training on parts of them "
                f"(backend {machine.backend})"
            )
        interrupted = False
        try:
            embeddings = embed_many(
                self.graph,
                self.configs,
                machine,
                quiet=self.quiet,
                measures=False,
                callbacks=callbacks,
                time_limit=self.plan.asked["time_limit"],
                spent=self._spent,
                checkpoint=checkpoint,
                start=self.start,
                asked=asked,
            )
        except Interrupted as error:
            embeddings, interrupted = error.embeddings, True
        best = best_of(embeddings)
        best = best.with_record(self._as_asked(best.record))
        try:
            if measures and not interrupted:
                limit = self.measuring
                best = measured(
                    self.graph, best, quiet=self.quiet, device=machine.device, seconds=limit
                )
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            performed = 0 if best.record.result is None else best.record.result.iterations
            raise Interrupted(
                f"after {performed} iterations; the best points so far: .embedding", embedding=best
            )
        return best

    @property
    def measuring(self) -> float | None:
        """Seconds for the measures; None for no limit, or one of training alone."""
        return None if self._kept is None else max(_MEASURING_SECONDS, 0.5 * self._kept)

    @property
    def _kept(self) -> float | None:
        """Seconds of a time limit for measures and the report."""
        limit = self.plan.asked["time_limit"]
        return None if limit is None or self._began == math.inf else _AFTER_TRAINING * limit

    @property
    def _spent(self) -> float:
        """Seconds of the time limit that are gone, or kept for measures and the report."""
        return max(time.monotonic() - self._began, 0.0) + (self._kept or 0.0)

    def _as_asked(self, record: RunRecord) -> RunRecord:
        """With what was asked for and chosen."""
        chosen = None if self.selection is None else self.selection.to_json()
        return replace(record, select=chosen, call=self.plan.call(self.graph, self.configs[0]))
