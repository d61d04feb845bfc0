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

# Moves are bounded by a share of the spread of the points: the mean degree over this, and at most
# all of it. With few neighbours a point is pulled about by each of them, and has to be slow.
_DEGREE = 33.0
# The light cone is smoothed down to this length, √ε, times that share: shorter dissimilarities are
# all alike, which is room where ties are many, and a loss where their order can be told.
_SMOOTH = 0.01
# The pairs of a graph with more nodes than this crowd the cone: what is smoothed shrinks as they
# grow in number. Its start knows less of it, and is hotter by this power of that.
_CROWD, _HOTTER = 10_000, 0.2
# Without a cone nothing but equal points is smoothed, and only so that their gradient is finite.
_EQUAL = 1e-5
# What a sample says is noisier than what all pairs say: the share is divided by this power of the
# parts.
_NOISE = 1 / 6
# Popularity hears the noise of a sample too: the share is divided by the root of the parts.
_POPULAR_NOISE = 1 / 2
# Iterations of a graph of mean degree 4 or less; the more ties a node has, the longer it takes to
# find a place among them: up to _MOST times more.
_ITERATIONS, _SPARSE, _MOST = 1600, 4.0, 2.5
# The share of these that finish.
_FINISH = 0.15
# Where a batch is a small part of the ties a node is moved less often: there are up to this many
# times more iterations, and what is missing then is made up for by longer moves.
_MOST_TIMES = 4.0

# The weight of what holds sums of distances to the centrality (``objective/closeness.py``), times
# the root of the mean degree, as more ties pull harder. More would hold them more truly, at the
# cost of neighbours.
_CENTRALITY = 0.5
# The first and the last temperature. Where there is a light cone, the sign of ⟨x - y, x - y⟩ tells
# pairs apart at any scale.
_WITH_CONE = (0.04, 2.5e-3)
# Where there is no cone, only what is as large as the radius is curved. In hyperbolic space there
# is room for that: the warmer it ends, the more of the differences are those of the hierarchy.
_HYPERBOLIC = (0.2, 0.1)
# On the sphere and in flat space there is not.
_OTHERWISE = (0.04, 2e-3)


def default_iterations(graph: Graph) -> int:
    """How many iterations a training has at most, where nothing is said."""
    return round(_ITERATIONS * min(max(1.0, _mean_degree(graph) / _SPARSE), _MOST))


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
    moved: float = 1.0,
) -> TrainingConfig:
    """The training of a graph that nobody has tuned, in the geometry of ``config`` and with its
    iterations.

    An iteration of descent compares each node with about ``meets`` others; without a light cone,
    where samples cost quality, with all unless ``everywhere``. `has_popularity` says whether nodes
    have a ``popularity``. ``moved`` is the share of the points that an iteration moves.
    """
    popular = has_popularity(config.geometry, popularity)
    sample = (everywhere or config.geometry.has_cone) and config.stop != "ordered"
    parts = max(1, graph.n_nodes // meets) if sample else 1
    dense = min(1.0, _mean_degree(graph) / _DEGREE)
    # Bounded moves wander as far as the root of their number: of fewer, each is longer, up to all
    # of the spread. More would wander further, and the hierarchy fade: what there is beyond the
    # usual number is for the finish.
    usual = default_iterations(graph) / (config.iterations * moved)
    share = min(
        1.0,
        dense / power(parts, _POPULAR_NOISE if popular else _NOISE) * math.sqrt(max(1.0, usual)),
    )
    finish = _FINISH + (1.0 - _FINISH) * max(0.0, 1.0 - usual)
    temperature = _HYPERBOLIC if any(part.p for part in config.geometry.parts) else _OTHERWISE
    smooth, held = (
        _EQUAL,
        0.0 if config.geometry.is_flat else _CENTRALITY * math.sqrt(_mean_degree(graph)),
    )
    if config.geometry.has_cone:
        crowd, (hot, cold) = max(1.0, graph.n_nodes / _CROWD) ** 2, _WITH_CONE
        temperature, smooth = (
            (hot * power(crowd, _HOTTER), cold),
            _SMOOTH * dense * _SMOOTH * dense / crowd,
        )
    made = replace(
        config,
        start="spectral",
        temperature=temperature,
        epsilon=(0.01, smooth),
        popularity=popular,
    )
    made = replace(made, centrality=held, finish=finish, parts=parts)
    return in_units_of_radius(
        replace(made, step=0.1, moves="spread", max_step=(share, 1e-3 * share))
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


def moved_share(graph: Graph, machine: Machine) -> float:
    """The share of the points that an iteration moves, about, on a resolved machine."""
    from ..engines.sampled import default_sizes

    ends = 2 * default_sizes(graph.n_edges, machine.torch_device).ties
    return min(1.0, ends / graph.n_nodes)


def usual_iterations(graph: Graph, machine: Machine) -> int:
    """How many iterations there are at most on a resolved machine, where nothing is said."""
    times = 1.0
    if machine.backend == "sampled":
        times = min(_MOST_TIMES, 1.0 / moved_share(graph, machine))
    elif not ends_exactly(graph.n_nodes, machine):
        times = FEWER
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
