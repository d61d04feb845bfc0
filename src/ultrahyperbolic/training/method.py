"""What a training does that nobody has tuned: how hot it is, how far points move, and how it ends.

Everything is in units of the radius √|β|; ``docs/training.md`` describes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

from ..engines.base import MEETS, Machine
from ..engines.registry import FEWER, ends_exactly
from ..graph import Graph
from ..rounding import power
from ..spaces import Geometry
from .config import TrainingConfig

# The longest move of a point is the spread of the points times the mean degree over this, and at
# most the spread: with few neighbours a point is pulled about by each of them, and has to be slow.
_FULL_MOVE_DEGREE = 33.0
# The longest move at the end, in units of that at the start.
_LAST_MOVE = 1e-3
# Step size, at which moves of a training are bounded rather than shortened.
_STEP = 0.1
# ε at the start, in units of the radius squared.
_FIRST_EPSILON = 0.01
# √ε at the end where there is a light cone, in units of the radius and of the longest move: shorter
# dissimilarities are all alike, which is room where ties are many, and a loss where their order can
# be told.
_LAST_SMOOTHING = 0.01
# ε at the end where there is no cone: only equal points are smoothed, so that their gradient is
# finite.
_LAST_EPSILON_WITHOUT_CONE = 1e-5
# Nodes from which on pairs crowd the cone: ε then shrinks with their number. The start of such a
# graph knows less of it, and the first temperature rises with this power of the number of pairs.
_CROWDED_NODES = 10_000
_HOTTER = 0.2
# An iteration that looks at one of k parts of the pairs is noisier: the longest move is divided by
# this power of k, and where biases are learnt, which hear the noise too, by the root.
_NOISE = 1 / 6
_NOISE_OF_BIASES = 1 / 2
# Iterations at a mean degree of _SPARSE_DEGREE or less; in proportion to the degree above, as it
# takes longer to find a place among more ties, up to so many times more.
_ITERATIONS = 1600
_SPARSE_DEGREE = 4.0
_MOST_TIMES = 2.5
# The share of the usual iterations that finish.
_FINISH = 0.15
# The weight of what holds sums of distances to the centrality (``objective/closeness.py``), times
# the root of the mean degree, as more ties pull harder. More would hold them more truly, at the
# cost of neighbours.
_CENTRALITY = 0.5
# The first and the last temperature, in units of the radius. Where there is a light cone, the sign
# of ⟨x - y, x - y⟩ tells pairs apart at any scale.
_WITH_CONE = (0.04, 2.5e-3)
# Hyperbolic space has room where it is curved, as far out as the radius: the warmer a training
# ends, the more of the differences are those of the hierarchy.
_HYPERBOLIC = (0.2, 0.1)
# The sphere and flat space have none.
_OTHERWISE = (0.04, 2e-3)


def default_iterations(graph: Graph) -> int:
    """How many iterations a training has at most, where nothing is said."""
    return round(_ITERATIONS * min(max(1.0, _mean_degree(graph) / _SPARSE_DEGREE), _MOST_TIMES))


def _mean_degree(graph: Graph) -> float:
    return 2.0 * graph.n_edges / graph.n_nodes


def has_popularity(geometry: Geometry, asked: bool | None) -> bool:
    """Whether nodes have a popularity: in curved spaces, unless asked otherwise. Flat ones fit
    worse with it.
    """
    return not geometry.is_flat if asked is None else asked


def recipe(
    config: TrainingConfig,
    graph: Graph,
    *,
    meets: int = MEETS,
    everywhere: bool = False,
    popularity: bool | None = None,
) -> TrainingConfig:
    """The training of a graph that nobody has tuned, in the geometry of ``config`` and with its
    iterations.

    An iteration of descent compares each node with about ``meets`` others; without a light cone,
    where samples cost quality, with all unless ``everywhere``. `has_popularity` says whether nodes
    have a ``popularity``.
    """
    geometry, degree = config.geometry, _mean_degree(graph)
    popular = has_popularity(geometry, popularity)
    in_parts = (everywhere or geometry.has_cone) and config.stop != "ordered"
    parts = max(1, graph.n_nodes // meets) if in_parts else 1
    noise = power(parts, _NOISE_OF_BIASES if popular else _NOISE)
    # Bounded moves wander as far as the root of their number: of fewer, each is longer. More would
    # wander further, and the hierarchy fade: iterations beyond the usual number are for the finish.
    usual = default_iterations(graph) / config.iterations
    density = min(1.0, degree / _FULL_MOVE_DEGREE)
    longest = min(1.0, density / noise * math.sqrt(max(1.0, usual)))
    finish = _FINISH + (1.0 - _FINISH) * max(0.0, 1.0 - usual)
    temperature = _HYPERBOLIC if geometry.p else _OTHERWISE
    last_epsilon = _LAST_EPSILON_WITHOUT_CONE
    if geometry.has_cone:
        crowding = max(1.0, graph.n_nodes / _CROWDED_NODES) ** 2
        temperature = _WITH_CONE[0] * power(crowding, _HOTTER), _WITH_CONE[1]
        last_epsilon = _LAST_SMOOTHING * density * _LAST_SMOOTHING * density / crowding
    return in_units_of_radius(
        replace(
            config,
            start="spectral",
            temperature=temperature,
            epsilon=(_FIRST_EPSILON, last_epsilon),
            step=_STEP,
            moves="spread",
            max_step=(longest, _LAST_MOVE * longest),
            finish=finish,
            parts=parts,
            popularity=popular,
            centrality=0.0 if geometry.is_flat else _CENTRALITY * math.sqrt(degree),
        )
    )


def in_units_of_radius(config: TrainingConfig) -> TrainingConfig:
    """The settings of β = -1 for the β of a training."""
    radius, (hot, cold), (rough, fine) = config.geometry.radius, config.temperature, config.epsilon
    longest = config.max_step
    if longest is not None and config.moves == "absolute":
        longest = longest[0] * radius, longest[1] * radius
    return replace(
        config,
        temperature=(hot * radius, cold * radius),
        epsilon=(rough * radius * radius, fine * radius * radius),
        step=config.step * radius * radius,
        max_step=longest,
    )


def usual_iterations(graph: Graph, machine: Machine) -> int:
    """How many iterations there are at most on a resolved machine, where nothing is said."""
    times = 1.0 if ends_exactly(graph.n_nodes, machine) else FEWER
    return round(default_iterations(graph) * times)


def score(measures: Mapping[str, float]) -> float:
    """How well an embedding fits its graph, from its measures by name: the higher, the better.

    The mean of ``map`` (the neighbours of a node are the nodes nearest to it) and ``tie_order`` (of
    two ties, the stronger is the shorter), which is not defined where all weights are equal: the
    neighbours decide there.

    >>> score({"map": 0.9, "tie_order": 0.7}), score({"map": 0.9})
    (0.8, 0.9)
    """
    return fmean(measures[name] for name in ("map", "tie_order") if name in measures)
