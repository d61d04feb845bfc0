"""How long a training will take, and how many iterations there is time for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from ..engines.base import MEETS, BatchState, Machine, Problem
from ..engines.communicator import communicator
from ..engines.registry import make_engine
from ..evaluation import SAMPLED_NODES
from ..evaluation.sampled import drawn_nodes
from ..graph import Graph
from .config import TrainingConfig
from .train import problem_of

# Evaluations of an iteration of the finish, about, and the share of a time limit that is planned for.
_EVALUATIONS, _PLANNED = 1.25, 0.85
# Measures take as long as this many evaluations, about.
_MEASURES = 15.0
# Iterations that are timed, and the fewest that a schedule is fitted to.
_TIMED, _FEWEST = 3, 20


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

    def measuring(self, n_nodes: int) -> float:
        """Seconds that the measures of a graph take, about."""
        if n_nodes <= SAMPLED_NODES:
            return _MEASURES * self.evaluation
        return _MEASURES * self.descent * drawn_nodes(n_nodes) / MEETS

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
        evaluation = _seconds(lambda: engine.evaluate(state))
        engine.advance(state, 1)
        return _seconds(lambda: engine.advance(state, timed)) / timed if timed else evaluation, evaluation


def in_words(seconds: float) -> str:
    """A duration, roughly.

    >>> in_words(12.3), in_words(100.0), in_words(9000.0)
    ('12 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
