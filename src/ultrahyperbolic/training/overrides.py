"""What a user set about a training; the method decides the rest."""

from __future__ import annotations

from dataclasses import dataclass

from ..engines.base import Optimizer
from ..geometry.words import Dissimilarity
from ..objective import Scope
from .config import Settings, Stop


@dataclass(frozen=True)
class Overrides:
    """How to train; None leaves a setting to the method."""

    optimizer: Optimizer | None = None
    iterations: int | None = None
    temperature: float | tuple[float, float] | None = None
    dissimilarity: Dissimilarity | None = None
    epsilon: float | tuple[float, float] | None = None
    step: float | None = None
    max_step: float | tuple[float, float] | None = None
    stop: Stop | None = None
    scope: Scope | None = None
    popularity: bool | None = None

    @property
    def way_to_train(self) -> Settings:
        """The settings that say how to move."""
        found = Settings()
        if self.optimizer is not None:
            found["optimizer"] = self.optimizer
        if self.temperature is not None:
            found["temperature"] = _both_ends(self.temperature)
        if self.epsilon is not None:
            found["epsilon"] = _both_ends(self.epsilon)
        if self.step is not None:
            found["step"] = self.step
        if self.max_step is not None:
            found["max_step"], found["moves"] = _both_ends(self.max_step), "absolute"
        if self.scope is not None:
            found["scope"] = self.scope
        if self.popularity is not None:
            found["popularity"] = self.popularity
        return found

    @property
    def frame(self) -> Settings:
        """The other settings."""
        found = Settings()
        if self.iterations is not None:
            found["iterations"] = self.iterations
        if self.dissimilarity is not None:
            found["dissimilarity"] = self.dissimilarity
        if self.stop is not None:
            found["stop"] = self.stop
        return found


def _both_ends(value: float | tuple[float, float]) -> tuple[float, float]:
    return value if isinstance(value, tuple) else (float(value), float(value))
