"""How a training by samples differs: how many iterations it has, how far it moves, and whether all pairs end it."""

from __future__ import annotations

from dataclasses import replace

from ..engines.base import Machine
from ..engines.registry import ends_exactly
from ..engines.sampled import default_sizes
from ..graph import Graph
from .config import TrainingConfig
from .method import Goal, default_iterations, recipe

# Where a batch is a small part of the ties a node is moved less often: there are at most so many times as many
# iterations, and what is missing then is made up for by longer moves.
_MOST_TIMES = 4.0


def moved_share(graph: Graph, machine: Machine) -> float:
    """The share of the points that an iteration moves, about, on a resolved machine."""
    ends = 2 * default_sizes(graph.n_edges, machine.torch_device).ties
    return min(1.0, ends / graph.n_nodes)


def usual_iterations(graph: Graph, machine: Machine) -> int:
    """How many iterations there are at most on a resolved machine, where nothing is said."""
    times = min(_MOST_TIMES, 1.0 / moved_share(graph, machine)) if machine.backend == "sampled" else 1.0
    return round(default_iterations(graph) * times)


def sampled_recipe(
    config: TrainingConfig, graph: Graph, goal: Goal, machine: Machine, *, popularity: bool | None = None
) -> TrainingConfig:
    """The training of a graph by samples, in the geometry of ``config`` and with its iterations.

    Where there are not too many nodes it ends by all pairs. The loss of a batch is too noisy to take steps back by.
    """
    moved = moved_share(graph, machine)
    made = recipe(config, graph, goal, everywhere=True, popularity=popularity, moved=moved)
    return replace(made, step_back=False, centrality=0.0, finish=made.finish if ends_exactly(graph.n_nodes) else 0.0)
