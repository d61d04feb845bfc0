"""How nodes are ranked, and how far sums of distances agree with other rankings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints, positions_in
from ..checks import as_integer
from ..graph import Graph
from ..graph.centrality import pagerank, ranks
from ..graph.flow import centrality_of
from ..graph.rows import ROUNDING, without_rounding
from ..pairs import PassOptions, Points, lengths_of, popularity_array, rows_of
from ..spaces import Space
from .inputs import as_array, as_scores, check_points, in_order

_TOPS = (5, 10)  # of the strongest nodes
_AT_ONCE = 1 << 20  # pairs: it bounds the memory
# nodes: smaller components are measured together, larger ones by a pass over the pairs of each
_SMALL = 1000


def delta(
    points: Points, manifold: Space, graph: Graph | None = None, **options: Unpack[PassOptions]
) -> Floats:
    """δ_i = Σ_j d(x_i, x_j): how far a node is from all others, small for those high in the
    hierarchy (float64 [n]).

    The distance between components has no meaning: with a ``graph`` of several, each node of
    another component counts as far as the farthest pair of nodes within any component. ``options``
    are those of `ultrahyperbolic.pairs.PassOptions`. The default measure is the one that is trained
    with: D_γ on curved manifolds, the squared distance on flat ones.
    """
    if graph is not None:
        check_points(graph, points)
        inner, inside, moved = in_order(graph, points, options)
        found = component_delta(inner, inside, manifold, **moved)
        found = rows_of(inside, manifold, **moved).sums if found is None else found
        return found[positions_in(graph.node_order)]
    return rows_of(points, manifold, **options).sums


def component_delta(
    graph: Graph, points: Points, manifold: Space, **options: Unpack[PassOptions]
) -> Floats | None:
    """`delta` [n] on a graph of several components; None where it has one, and δ is the sum over
    all nodes.
    """
    component = graph.component
    sizes = np.bincount(component)
    if len(sizes) < 2:
        return None
    n, farthest, own = graph.n_nodes, -math.inf, np.zeros(graph.n_nodes)
    popularity = popularity_array(options, n)
    for large in np.flatnonzero(sizes > _SMALL):
        nodes, inside = np.flatnonzero(component == large), options.copy()
        inside["popularity"] = None if popularity is None else popularity[nodes]
        rows = rows_of(points[nodes], manifold, **inside)
        own[nodes] = rows.sums
        farthest = max(farthest, float(rows.farthest.max()))
    small = np.flatnonzero(sizes[component] <= _SMALL)
    for pairs in pairs_within(component[small]):
        far = lengths_of(points, manifold, small[pairs], **options)
        for ends in pairs.T:
            own[small] += np.bincount(ends, weights=far, minlength=len(small))
        farthest = max(farthest, float(far.max()))
    return own + (n - sizes[component]) * (farthest if farthest > -math.inf else 0.0)


def pairs_within(component: Ints) -> Iterator[Ints]:
    """All pairs of nodes of one component, each once: positions [k, 2] at a time."""
    order = np.argsort(component, kind="stable")
    # With the nodes of a component side by side, each is paired with those after it.
    place, label = np.arange(len(order)), component[order]
    count = np.searchsorted(label, label, side="right") - 1 - place
    before = np.cumsum(count) - count
    start = 0
    while start < len(order):
        stop = max(start + 1, int(np.searchsorted(before, before[start] + _AT_ONCE)))
        first = np.repeat(place[start:stop], count[start:stop])
        second = first + 1 + np.arange(len(first)) - (before[first] - before[start])
        if len(first):
            yield order[np.column_stack((first, second))]
        start = stop


def norm_proxy(points: Points) -> Floats:
    """‖x_i‖, the Euclidean norm of the points [n, d]: the usual proxy of hyperbolic embeddings for
    δ (float64 [n]).
    """
    return np.asarray(np.linalg.norm(as_array(points).astype(np.float64), axis=-1))


def ranks_of(delta: Floats) -> Ints:
    """The rank of each node by δ [n], 1 for the smallest; equal values share a rank, NaN comes
    last.

    >>> ranks_of(np.array([5.0, 1.0, 3.0, 1.0])).tolist()
    [4, 1, 3, 1]
    """
    return ranks(-delta)


def leader_ranks(delta: ArrayLike | Points, leaders: Sequence[int]) -> Ints:
    """The ranks that δ gives to the nodes at some positions, as `ranks_of` gives them, the best
    ranked first.

    >>> leader_ranks([5.0, 1.0, 3.0, 2.0], leaders=[2, 1]).tolist()
    [1, 3]
    """
    scores = as_scores("delta", delta)
    positions = np.asarray(leaders)
    if (
        positions.ndim != 1
        or positions.dtype.kind not in "iu"
        or len(np.unique(positions)) < len(positions)
    ):
        raise ValueError(f"leaders must be different positions of nodes, got {leaders!r}")
    if positions.min() < 0 or positions.max() >= len(scores):
        raise ValueError(f"leaders must be positions from 0 to {len(scores) - 1}, got {leaders!r}")
    return np.sort(ranks_of(scores)[positions])


def hierarchy_spearman(graph: Graph, delta: ArrayLike | Points) -> float:
    """Spearman's ρ between strength and -δ among the nodes of a component: the mean over components
    by their sizes.

    Nodes that no path joins do not stand above or below each other. Components in which ρ is not
    defined are left out, such as a pair of nodes; NaN where it is in none. In a connected graph
    this is `strength_spearman`.

    >>> ties = [("a", "b", 3), ("b", "c", 1), ("d", "e", 1), ("e", "f", 2), ("f", "g", 1)]
    >>> graph = Graph.from_edges(ties)
    >>> sums = [8.0, 7.0, 9.0, 2.0, 1.0, 1.5, 2.5]
    >>> hierarchy_spearman(graph, sums) == strength_spearman(graph, range(7))
    False
    """
    return within_components(graph, graph.strength, -as_scores("delta", delta, graph.n_nodes))


def within_components(graph: Graph, a: Floats, b: Floats) -> float:
    """Spearman's ρ of two scores [n] among the nodes of a component: the mean over components by
    their sizes.
    """
    component = graph.component
    parts = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))[:-1])
    found = [(_spearman(a[part], b[part]), len(part)) for part in parts if len(part) > 1]
    known = [(rho, size) for rho, size in found if not math.isnan(rho)]
    return (
        sum(rho * size for rho, size in known) / sum(size for _, size in known)
        if known
        else math.nan
    )


def strength_spearman(
    graph: Graph,
    delta: ArrayLike | Points,
    *,
    top: int | None = None,
    at_least: float | None = None,
) -> float:
    """Spearman's ρ between strength s_i and -δ_i: positive when strong nodes are central.

    ``delta`` is δ [n], or any other score that is small for central nodes, such as `norm_proxy`.
    ``top`` takes only that number of the strongest nodes, with all that are as strong as the last,
    ``at_least`` only nodes with s_i at least this. Equal values share the mean of their ranks. NaN
    where ρ is not defined: fewer than two nodes, equal strengths or equal scores throughout, or a
    score that is NaN.

    >>> graph = Graph.from_edges([("a", "b", 3), ("b", "c", 1), ("c", "d", 1)])
    >>> strength_spearman(graph, [1.0, 0.5, 2.0, 4.0])
    1.0
    """
    scores = as_scores("delta", delta, graph.n_nodes)
    if top is not None and at_least is not None:
        raise ValueError("give top or at_least, not both")
    chosen = np.arange(graph.n_nodes)
    if top is not None:
        top = as_integer("top", top)
        if not 1 <= top <= graph.n_nodes:
            raise ValueError(
                f"top must be between 1 and the number of nodes, {graph.n_nodes}, got {top}"
            )
        chosen = np.flatnonzero(graph.strength >= np.sort(graph.strength)[-top])
    elif at_least is not None:
        chosen = np.flatnonzero(graph.strength >= at_least * (1.0 - ROUNDING))
    return _spearman(graph.strength[chosen], -scores[chosen])


def correlations(graph: Graph, scores: Floats, suffix: str = "") -> dict[str, float]:
    """Spearman's ρ of a score that is small for central nodes, over all nodes and over the
    strongest, by name.
    """
    found = {f"spearman_all{suffix}": hierarchy_spearman(graph, scores)}
    tops = (top for top in _TOPS if top <= graph.n_nodes)
    return found | {
        f"spearman_top{top}{suffix}": strength_spearman(graph, scores, top=top) for top in tops
    }


def _spearman(a: Floats, b: Floats) -> float:
    """The correlation of the ranks of two arrays [n]; NaN where it is not defined."""
    if np.isnan(a).any() or np.isnan(b).any():
        return math.nan
    a, b = centred_ranks(a), centred_ranks(b)
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return max(-1.0, min(1.0, float(a @ b) / scale)) if scale > 0 else math.nan


def centred_ranks(values: Floats) -> Floats:
    """Ranks minus their mean; values that are equal, but for rounding, share the mean of their
    ranks.
    """
    _, which, counts = np.unique(without_rounding(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - 0.5 * (counts - 1))[which] - 0.5 * (len(values) + 1))


def stability(deltas: ArrayLike) -> float:
    """The mean of Spearman's ρ between two of N trainings, over all pairs of them, from their δ [N,
    n].

    NaN where ρ is not defined: if all δ of a training are equal, or one of them is NaN.

    >>> round(stability([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 2.0, 1.0]]), 6)
    -0.333333
    """
    sums = _sums(deltas)
    ranks = np.array([centred_ranks(row) for row in sums])
    scale = np.square(ranks).sum(1)
    if np.isnan(sums).any() or not scale.all():
        return math.nan
    # Σ_{a ≠ b} ρ_ab from the sum of all, of which N are each with itself.
    together, count = float(np.square((ranks / np.sqrt(scale)[:, None]).sum(0)).sum()), len(ranks)
    return max(-1.0, min(1.0, (together - count) / (count * (count - 1))))


def _sums(deltas: ArrayLike) -> Floats:
    """[N, n] of several trainings."""
    sums: Floats = np.asarray(deltas, dtype=np.float64)
    if sums.ndim != 2 or len(sums) < 2:
        raise ValueError(f"deltas must be [N, n] of N >= 2 trainings, got shape {sums.shape}")
    return sums


def baselines(graph: Graph) -> dict[str, Floats]:
    """Scores [n] of the nodes by name, ``strength``, ``pagerank`` and ``centrality``: the higher,
    the more central.
    """
    return {
        "strength": graph.strength.copy(),
        "pagerank": pagerank(graph),
        "centrality": centrality_of(graph).values,
    }
