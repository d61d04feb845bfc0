"""How a training ends: quasi-Newton steps through φ at its last temperature and smoothing, until
they gain nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from ..arrays import Bools, Floats
from ..engines.base import BatchState, Evaluation, RunSpec
from ..loop import Ending, Stopped
from ..spaces.lbfgs import PhiLBFGS, Reached

# A run has converged when _WINDOW iterations have lowered its loss by no more than this share of
# it, or of 1: an order that is violated costs about as much.
_WINDOW, _GAIN = 10, 1e-3
# Iterations after which the curvature is learnt anew: from there a training that was stopped goes
# on.
_BLOCK = 50


class Evaluates(Protocol):
    """What a finish needs of an engine."""

    specs: Sequence[RunSpec]
    overhead: float

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """As of `Engine`."""

    def nearby(self) -> Callable[[BatchState], Evaluation]:
        """As of `Engine`."""


class Finishing:
    """An engine whose iterations after ``descents`` are quasi-Newton steps, one for every run at a
    time.

    It proceeds in blocks. Within one, ``best`` is what moves, and the points of the batch stay
    where it began: a training that is gone on with begins its block again, and comes to the same
    end. With ``converge`` it stops once nothing is gained. ``asked`` says, before every pass over
    all pairs, whether someone wants it to stop now. Nodes outside of ``moves`` [n] stay where they
    are in these steps.
    """

    def __init__(
        self,
        engine: Evaluates,
        descents: int,
        *,
        converge: bool,
        asked: Callable[[], bool] = bool,
        moves: Bools | None = None,
    ) -> None:
        self.engine, self.descents, self.converge, self.asked = engine, descents, converge, asked
        self._moves: Bools | slice = slice(None) if moves is None else moves
        self._runs: list[_FinishingRun] = []

    @property
    def overhead(self) -> float:
        """The engine's."""
        return self.engine.overhead

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform some iterations, changing the state; the losses [B, iterations performed]."""
        if state.iteration < self.descents:
            return self.engine.advance(state, min(iterations, self.descents - state.iteration))
        if not self._runs:
            self._begin(state)
        moving = [run for run in self._runs if not state.resting[run.number]]
        values = np.full((len(self._runs), 1), np.nan)
        if not moving:
            state.stopped = self.rest
            return values[:, :0]
        self._step(moving)
        for run in moving:
            run.write_to(state)
            values[run.number] = run.here.value
            if run.is_stuck or (self.converge and run.has_converged):
                state.rested[run.number] = state.iteration + 1
        state.iteration += 1
        if state.iteration == self.resumes_at(state.iteration):
            state.points[:] = np.where(state.done[:, None, None], state.points, state.best)
            state.offsets[:] = np.where(state.done[:, None], state.offsets, state.best_offsets)
            self._runs = []
        return values

    @property
    def rest(self) -> Ending:
        """Why a run rests."""
        if self.converge:
            return Ending(Stopped.CONVERGED, Stopped.CONVERGED.value)
        return Ending(Stopped.STUCK, f"{Stopped.STUCK.value} lowers the loss")

    def go_on(self, state: BatchState) -> None:
        """Take a batch that was stopped back to where its block began, with the runs that came to
        rest within it.
        """
        state.iteration = self.resumes_at(state.iteration)
        state.rested[state.rested > state.iteration] = -1

    def resumes_at(self, iteration: int) -> int:
        """From which iteration on a training goes on that was stopped at one."""
        beyond = max(0, iteration - self.descents)
        return min(iteration, self.descents + beyond // _BLOCK * _BLOCK)

    def _begin(self, state: BatchState) -> None:
        """Evaluate where the descent has led all runs; those that are nowhere rest."""
        self._at = BatchState.start(list(state.points))
        self._at.offsets[:], self._at.record["spring"] = state.offsets, state.record["spring"]
        self._at.iteration = self.descents - 1
        self._evaluate = self.engine.nearby()
        found = self._evaluate(self._at)
        self._runs = [
            _FinishingRun(k, spec, found, state, self._moves)
            for k, spec in enumerate(self.engine.specs)
        ]
        state.rested[~state.resting & ~np.isfinite(found.loss)] = state.iteration

    def _step(self, runs: Sequence[_FinishingRun]) -> None:
        """One step of each run: what they ask for is evaluated together."""
        asking = {run: run.steps.asking(run.here) for run in runs}
        answers: dict[_FinishingRun, tuple[float, Floats] | None] = dict.fromkeys(asking)
        while asking:
            for run, step in list(asking.items()):
                try:
                    with np.errstate(all="ignore"):  # what is not finite is refused
                        points = step.send(answers[run])  # type: ignore[arg-type]  # None begins a generator
                except StopIteration as end:
                    run.reach(end.value)
                    del asking[run]
                else:
                    run.write(points, self._at.points, self._at.offsets)
            if asking:
                if self.asked():
                    raise KeyboardInterrupt
                found = self._evaluate(self._at)
                answers = {run: run.found_in(found) for run in asking}


class _FinishingRun:
    """Where a run stands in its finish: the rows of nodes that move, and with popularity the offset
    as a last coordinate of each.
    """

    def __init__(
        self,
        number: int,
        spec: RunSpec,
        at_start: Evaluation,
        state: BatchState,
        moves: Bools | slice,
    ) -> None:
        self.number, self.width, self.popularity = number, spec.space.ambient_dim, spec.popularity
        self.moves = moves
        self.steps = PhiLBFGS(spec.space, flat=int(spec.popularity))
        points = self._joined(state.points, state.offsets)
        self.here = Reached(points, *self.found_in(at_start))
        self.values = [self.here.value]
        self.is_stuck = False

    def found_in(self, evaluation: Evaluation) -> tuple[float, Floats]:
        """The loss of this run and its gradient."""
        loss = float(evaluation.loss[self.number])
        return loss, self._joined(evaluation.gradient, evaluation.offsets)

    def _joined(self, points: Floats, offsets: Floats) -> Floats:
        """What is of this run, [n, d] or with offsets [n, d + 1]."""
        mine = points[self.number, self.moves, : self.width]
        if self.popularity:
            mine = np.column_stack((mine, offsets[self.number, self.moves]))
        return mine.copy()

    def write(self, joined: Floats, points: Floats, offsets: Floats) -> None:
        """The reverse, into those of a batch."""
        points[self.number, self.moves, : self.width] = joined[:, : self.width]
        if self.popularity:
            offsets[self.number, self.moves] = joined[:, self.width]

    def reach(self, reached: Reached | None) -> None:
        """Be where a step led; stuck where no step lowers the loss."""
        self.is_stuck = reached is None
        if reached is not None:
            self.here = reached
            self.values.append(reached.value)

    @property
    def has_converged(self) -> bool:
        """Whether the last iterations gained next to nothing."""
        values = self.values
        return len(values) > _WINDOW and values[-1 - _WINDOW] - values[-1] <= _GAIN * max(
            values[-1 - _WINDOW], 1.0
        )

    def write_to(self, state: BatchState) -> None:
        """Let the batch know."""
        self.write(self.here.points, state.best, state.best_offsets)
        state.record["best_loss"][self.number] = self.here.value
        state.record["best_iteration"][self.number] = state.iteration
