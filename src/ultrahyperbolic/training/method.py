"""What a training does that nobody has tuned: where it starts, how hot, how far points move, and how it ends.

One training for every graph. Everything is in units of the radius √|β|; ``docs/optimisation.md`` tells how it was
found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from ..checks import check_choice
from ..graph import Graph
from .config import Settings, TrainingConfig

Goal = Literal["balanced", "hierarchy", "neighbours", "ties"]
GOALS: tuple[Goal, ...] = get_args(Goal)

# Moves are bounded by a share of the spread of the points: the mean degree over this, and at most all of it. What
# pulls a point comes from its neighbours, so the more it has, the less one move says.
_DEGREE = 33.0


def recipe(config: TrainingConfig, graph: Graph, goal: Goal = "balanced") -> TrainingConfig:
    """The training of a graph that nobody has tuned, in the geometry of ``config`` and with its iterations."""
    check_choice("goal", goal, GOALS)
    settings = _WITH_CONE if config.geometry.has_cone else _WITHOUT_CONE
    share = min(1.0, 2.0 * graph.n_edges / graph.n_nodes / _DEGREE)
    made = replace(config, **settings, moves="spread", max_step=(share, 1e-3 * share), finish=0.1)
    return in_units_of_radius(made)


# Where there is a light cone, signs of ⟨x - y, x - y⟩ order pairs at any scale: the points stay near the pole, and so
# small that they leave it slowly.
_WITH_CONE: Settings = {"start": "pole", "temperature": (0.04, 0.001), "epsilon": (0.01, 1e-5), "step": 0.1}
# Where there is none, only what is as large as the radius is curved.
_WITHOUT_CONE: Settings = {"start": "spectral", "temperature": (0.3, 0.03), "epsilon": (0.01, 1e-5), "step": 0.1}


def in_units_of_radius(config: TrainingConfig) -> TrainingConfig:
    """The settings of β = -1 for the β of a training."""
    radius = config.geometry.radius
    if radius == 1.0:
        return config
    longest = config.max_step
    if longest is not None and config.moves == "absolute":
        longest = longest[0] * radius, longest[1] * radius
    return replace(
        config,
        temperature=(config.temperature[0] * radius, config.temperature[1] * radius),
        epsilon=(config.epsilon[0] * radius**2, config.epsilon[1] * radius**2),
        step=config.step * radius**2,
        max_step=longest,
    )
