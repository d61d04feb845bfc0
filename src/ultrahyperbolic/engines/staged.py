"""Sampled first, exact last: one engine descends by samples, another looks at all pairs where a training ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .base import BatchState, Engine, Evaluation, Floats, RunSpec


@dataclass
class StagedEngine:
    """Advances by one engine and evaluates by another, which compute the same runs."""

    first: Engine
    last: Engine

    @property
    def name(self) -> str:
        """Both, in their order."""
        return f"{self.first.name}, then {self.last.name}"

    @property
    def specs(self) -> Sequence[RunSpec]:
        """Those of both."""
        return self.first.specs

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """By the first."""
        return self.first.advance(state, iterations)

    def evaluate(self, state: BatchState) -> Evaluation:
        """By the last."""
        return self.last.evaluate(state)

    def nearby(self) -> Callable[[BatchState], Evaluation]:
        """By the last."""
        return self.last.nearby()

    @property
    def overhead(self) -> float:
        """Of the first."""
        return self.first.overhead

    def agree(self, word: str) -> str:
        """As the first does."""
        return self.first.agree(word)

    def close(self) -> None:
        """Both."""
        self.first.close()
        self.last.close()
