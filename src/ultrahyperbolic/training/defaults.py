"""What a training does that nobody has tuned: where it starts, how hot, how far it moves, and how often it tries.

Everything is in units of the radius √|β|. ``docs/optimisation.md`` tells how it was found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .config import TrainingConfig

# Graphs of up to this many nodes are trained in several ways at once, and the best is kept.
TRIES_NODES = 1500
# The warm training is kept where it violates at most this share of the orders, unless another has fewer than the second
# of what it violates: where it does not fit, there is no hierarchy to show.
_WARM_AT_MOST, _WARM_UNLESS = 0.05, 0.4

# Differences below 1 to 2 radii are smoothed away: what is left to order is the hierarchy.
_WARM: dict[str, Any] = {
    "start": "spectral", "temperature": (0.105, 0.105), "epsilon": (1.0, 4.0), "step": 1e-3, "max_step": (0.1, 0.1),
}  # fmt: skip
_TRIES: tuple[dict[str, Any], ...] = (
    {"start": "spectral", "temperature": (0.03, 0.003)},
    {"start": "spectral", "temperature": (0.3, 0.01), "epsilon": (1e-3, 1e-6)},
    {"start": "pole", "temperature": (0.1, 0.01)},
    {"start": "spectral", "temperature": (0.01, 0.001)},
)
# A large graph is trained once: colder, or where there are several time dimensions slowly and from the pole, which
# ranks best on NIPS for q = 2 and worst for q = 3.
_LARGE: dict[str, Any] = {"start": "spectral", "temperature": (0.01, 0.001)}
_LARGE_HYPERBOLIC: dict[str, Any] = {"start": "spectral", "temperature": (0.01, 0.01)}
_LARGE_TIMES: dict[str, Any] = {"start": "pole", "temperature": (0.1, 0.01), "max_step": (0.05, 1e-3)}


def in_units_of_radius(config: TrainingConfig) -> TrainingConfig:
    """The settings of β = -1 for the β of a training."""
    if config.flat is not None:
        return config
    radius = math.sqrt(-config.beta)
    return replace(
        config,
        temperature=(config.temperature[0] * radius, config.temperature[1] * radius),
        epsilon=(config.epsilon[0] * radius**2, config.epsilon[1] * radius**2),
        step=config.step * radius**2,
        max_step=None if config.max_step is None else (config.max_step[0] * radius, config.max_step[1] * radius),
    )


def tries(config: TrainingConfig, n_nodes: int) -> list[TrainingConfig]:
    """The trainings of which the best is kept: one for a large graph, several for a small one."""
    if n_nodes > TRIES_NODES:
        several_time_dimensions = config.p and (config.q or 0) >= 2
        settings = [
            _LARGE_TIMES if several_time_dimensions else _LARGE_HYPERBOLIC if config.p and config.q == 0 else _LARGE
        ]
    else:
        settings = [*([_WARM] if _has_warm(config) else []), *_TRIES]
    return [in_units_of_radius(replace(config, **setting)) for setting in settings]


def choose(configs: Sequence[TrainingConfig], violated: Sequence[float]) -> int:
    """Which of the tries to keep: that of the fewest violated orders over all classes, the warm one if it is near."""
    found = [0.0 if math.isnan(share) else share for share in violated]
    least = min(found)
    # Only the warm one smooths more and more.
    warm = configs[0].epsilon[0] < configs[0].epsilon[1]
    if warm and found[0] <= _WARM_AT_MOST and _WARM_UNLESS * found[0] <= least:
        return 0
    return found.index(least)


def at_temperature(temperature: float, config: TrainingConfig) -> dict[str, Any]:
    """A training that ends at a temperature: start, smoothing and moves in units of it.

    The loss depends on d/τ, so a small τ wants points that start that near and move that little. Where flat space has
    squared distances, lengths are √τ.
    """
    flat = config.flat is not None
    radius = 1.0 if flat else math.sqrt(-config.beta)
    squared = flat and config.dissimilarity not in ("distance", "extrinsic", "broken")
    length = math.sqrt(temperature) if squared else temperature
    return {
        "temperature": (3.0 * temperature, temperature),
        "epsilon": (10.0 * temperature, 0.01 * temperature) if squared else ((10.0 * length) ** 2, (0.1 * length) ** 2),
        "max_step": (3.0 * length, 0.1 * length),
        "step": radius**2,
        "scale": min(1.0, 10.0 * length / radius),
    }


def _has_warm(config: TrainingConfig) -> bool:
    """Whether a small graph is also trained warm: hyperbolic space and signatures of one further time dimension."""
    return bool(config.p) and config.q in (0, 1)
