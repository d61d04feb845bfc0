"""A batch of trainings as every process computes it: the descent, the finish, and how they
ended.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..engines.base import BatchState, Engine, Machine, Problem
from ..engines.callbacks import follow_spread, follow_springs, guard
from ..engines.communicator import communicator
from ..engines.registry import ends_exactly, make_engine, resolve
from ..loop import Callback, Checkpoint, Decision, Ending, Outcome, Stopped, run
from .config import TrainingConfig
from .finish import Finishing

SOON_NODES = 10_000
"""Up to this many nodes an interrupted training is still evaluated and measured: that takes a
moment.
"""
# Whether processes are in step is told by this many nodes.
_LOOKED_AT = 1 << 16


@dataclass(frozen=True)
class Batch:
    """Trainings of one length as plain data, which every process that computes them is given."""

    problem: Problem
    configs: Sequence[TrainingConfig]
    machine: Machine
    start: BatchState
    time_limit: float | None
    spent: float
    """Seconds of the time limit that are taken by what comes before and after."""
    checkpoint: Checkpoint[BatchState] | None

    def __call__(
        self, callbacks: Sequence[Callback[BatchState]] = (), asked: Callable[[], bool] = bool
    ) -> Computed:
        """Train them."""
        with closing(make_engine(self.problem, self.machine)) as engine:
            state, configs, checkpoint = self.start, self.configs, self.checkpoint
            start, start_offsets = state.points.copy(), state.offsets.copy()
            before = _final_objective(engine, start, start_offsets, state.record["spring"])
            taking_back = guard(engine.specs, state, compare=configs[0].step_back)
            converge, group = configs[0].stop == "converged", communicator()
            finishing = Finishing(
                engine, configs[0].descents, converge=converge, asked=lambda: group.share(asked())
            )
            before_that: Floats | None = None
            if checkpoint is not None:
                state.copy_from(checkpoint.state)
                finishing.go_on(state)
                before_that = checkpoint.losses[:, : state.iteration]
            following = follow_spread(
                engine.specs, [config.moves == "spread" for config in configs], state
            )
            settings = [taking_back, following]
            if self.problem.pairs.heights is not None:
                settings.append(
                    follow_springs(self.problem.pairs, engine.specs, configs[0].descents)
                )
            outcome = run(
                finishing,
                state,
                configs[0].iterations,
                callbacks=[*settings, *callbacks],
                time_limit=self.time_limit,
                spent=self.spent,
                losses_so_far=before_that,
                seconds_so_far=0.0 if checkpoint is None else checkpoint.seconds,
                # A preset is the paper's own schedule, and cut off as it is.
                scheduled=0 if configs[0].preset else configs[0].descents,
                share=partial(_decided, state, self.machine),
            )
            # Whatever happened, nothing is worse than where it started, if losses compare, which
            # those of parts do not; whoever cannot wait takes what there is.
            after, worse = np.full(len(configs), np.nan), np.zeros(len(configs), dtype=bool)
            evaluation: float | None = None
            if (
                outcome.ending.why is not Stopped.INTERRUPTED
                or self.problem.pairs.n_nodes <= SOON_NODES
            ):
                began = time.monotonic()
                after = _final_objective(
                    engine, state.best, state.best_offsets, state.record["spring"]
                )
                evaluation = time.monotonic() - began
                machine = resolve(self.machine, n := self.problem.pairs.n_nodes)
                worse = ~np.isfinite(after)
                if ends_exactly(n, machine):
                    worse |= after > before
            state = replace(  # a checkpoint may have the other
                state,
                best=np.where(worse[:, None, None], start, state.best),
                best_offsets=np.where(worse[:, None], start_offsets, state.best_offsets),
            )
            after = np.where(worse, before, after)
            return Computed(state, outcome, before, after, finishing.rest, engine.name, evaluation)


class Computed(NamedTuple):
    """What came of a batch."""

    state: BatchState
    outcome: Outcome
    before: Floats
    """[B] the losses of the starts."""
    after: Floats
    """[B] those of the best points."""
    rest: Ending
    """Why a run rests."""
    engine: str
    """Its name."""
    evaluation: float | None
    """Seconds of an evaluation; None where none was made in the end."""


def _decided(state: BatchState, machine: Machine, decision: Decision) -> Decision:
    """What the first process has decided, where all stand at the same points; on CUDA their last
    digits may differ.
    """
    group, every = communicator(), max(1, state.points.shape[1] // _LOOKED_AT)
    if group.size == 1:
        return decision
    here = zlib.crc32(state.points[:, ::every].tobytes()) if machine.device_type == "cpu" else 0
    decision, there = group.share((decision, here))
    if here != there:
        raise RuntimeError(
            "this process has come to other points than the first: use machines of one kind"
        )
    return decision


def _final_objective(engine: Engine, points: Floats, offsets: Floats, spring: Floats) -> Floats:
    """[B] the loss at points [B, n, d] with offsets [B, n] and κ [B], as the last iteration sees
    it.
    """
    state = BatchState.start(list(points))
    state.offsets[:], state.record["spring"] = offsets, spring
    state.iteration = len(engine.specs[0].schedule) - 1
    return engine.evaluate(state).loss
