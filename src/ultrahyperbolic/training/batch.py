"""A batch of trainings: the descent, the finish, and how they ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats
from ..engines.base import BatchState, Engine, Machine, Problem
from ..engines.callbacks import follow_spread, follow_springs, guard
from ..engines.registry import ends_exactly, make_engine, resolve
from ..loop import Callback, Checkpoint, Ending, Outcome, Stopped, run
from .config import TrainingConfig
from .finish import Finishing

SOON_NODES = 10_000
"""Up to this many nodes an interrupted training is still evaluated and measured: that takes a
moment.
"""


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


def train_batch(
    problem: Problem,
    configs: Sequence[TrainingConfig],
    machine: Machine,
    state: BatchState,
    *,
    time_limit: float | None = None,
    spent: float = 0.0,
    checkpoint: Checkpoint[BatchState] | None = None,
    callbacks: Sequence[Callback[BatchState]] = (),
    asked: Callable[[], bool] = bool,
    moves: Bools | None = None,
) -> Computed:
    """Trainings of one length, from the start in ``state`` or from a checkpoint.

    Of the time limit, some seconds are ``spent`` by what comes before and after. Nodes outside of
    ``moves`` [n] are held where they start, and so is κ of a directed graph then.
    """
    first, n = configs[0], problem.pairs.n_nodes
    with closing(make_engine(problem, machine)) as engine:
        start, start_offsets = state.points.copy(), state.offsets.copy()
        before = _final_objective(engine, start, start_offsets, state.record["spring"])
        taking_back = guard(engine.specs, state, compare=first.step_back)
        finishing = Finishing(
            engine if moves is None else _Holding(engine, ~moves),
            first.descents,
            converge=first.stop == "converged",
            asked=asked,
            moves=moves,
        )
        losses_so_far: Floats | None = None
        if checkpoint is not None:
            state.copy_from(checkpoint.state)
            finishing.go_on(state)
            losses_so_far = checkpoint.losses[:, : state.iteration]
        settings = [
            taking_back,
            follow_spread(engine.specs, [config.moves == "spread" for config in configs], state),
        ]
        if problem.pairs.heights is not None and moves is None:
            settings.append(follow_springs(problem.pairs, engine.specs, first.descents))
        outcome = run(
            finishing,
            state,
            first.iterations,
            callbacks=[*settings, *callbacks],
            time_limit=time_limit,
            spent=spent,
            losses_so_far=losses_so_far,
            seconds_so_far=0.0 if checkpoint is None else checkpoint.seconds,
            # A preset is the paper's own schedule, and cut off as it is.
            scheduled=0 if first.preset else first.descents,
        )
        # Nothing is worse than where it started, if losses compare, which those of parts do not;
        # whoever cannot wait takes what there is.
        after, worse = np.full(len(configs), np.nan), np.zeros(len(configs), dtype=bool)
        evaluation: float | None = None
        if outcome.ending.why is not Stopped.INTERRUPTED or n <= SOON_NODES:
            began = time.monotonic()
            after = _final_objective(engine, state.best, state.best_offsets, state.record["spring"])
            evaluation = time.monotonic() - began
            worse = ~np.isfinite(after)
            if ends_exactly(n, resolve(machine, n)):
                worse |= after > before
        state = replace(  # a checkpoint may have the other
            state,
            best=np.where(worse[:, None, None], start, state.best),
            best_offsets=np.where(worse[:, None], start_offsets, state.best_offsets),
        )
        after = np.where(worse, before, after)
        return Computed(state, outcome, before, after, finishing.rest, engine.name, evaluation)


class _Holding:
    """An engine that leaves some nodes of every run where they are."""

    def __init__(self, engine: Engine, held: Bools) -> None:
        self.engine, self.held = engine, held
        self.specs, self.nearby, self.overhead = engine.specs, engine.nearby, 0.0

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, after each of which those nodes are put back."""
        points, offsets = state.points[:, self.held].copy(), state.offsets[:, self.held].copy()
        losses = []
        for _ in range(iterations):
            losses.append(self.engine.advance(state, 1))
            state.points[:, self.held], state.offsets[:, self.held] = points, offsets
        return np.concatenate(losses, axis=1)


def _final_objective(engine: Engine, points: Floats, offsets: Floats, spring: Floats) -> Floats:
    """[B] the loss at points [B, n, d] with offsets [B, n] and κ [B], as the last iteration sees
    it.
    """
    state = BatchState.start(list(points))
    state.offsets[:], state.record["spring"] = offsets, spring
    state.iteration = len(engine.specs[0].schedule) - 1
    return engine.evaluate(state).loss
