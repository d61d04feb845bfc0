"""Who is above whom by the directions of ties: SpringRank's linear system."""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats, Ints
from .graph import components_of

_TOLERANCE, _ITERATIONS = 1e-10, 10_000


class Flow(NamedTuple):
    """What `flow` returns. ``down``, ``circulation`` and ``returned`` are shares of all weight and
    add up to 1.
    """

    down: float
    """What heights explain: 1 in a tree or a chain."""
    circulation: float
    """What goes round in cycles of three nodes or more: 1 in a ring."""
    returned: float
    """What comes straight back: 1 where every tie has a reverse of the same weight."""
    incoherence: float
    """Trophic incoherence, min_h Σ w_ij (h_i - h_j - 1)² / Σ w_ij, which is ``circulation`` +
    ``returned``.
    """


_Pairs = tuple[Ints, Ints, Floats, Floats]
"""Pairs of nodes i < j that ties join, and the weights from i to j and from j to i: four times
[p].
"""


def heights(
    n: int,
    arcs: Ints,
    weights: Floats,
    *,
    by_rank: bool = True,
    alpha: float = 1e-3,
    held: Floats | None = None,
) -> Floats:
    """SpringRank (De Bacco, Larremore & Moore, 2018): the height of each node [n].

    Each tie is a spring which wants its first node one step above its second: this is the minimum
    of Σ v_ij (h_i - h_j - 1)² + alpha Σ h_i² over ties i → j, ``arcs`` [m, 2]. With ``by_rank``
    only the order of the ``weights`` [m] counts: v is 2 · rank / (m + 1), whose mean is 1, and
    equal weights share the mean of their ranks. Else v is the weight. A node without a tie has
    height 0. ``held`` [n] are heights that stay, NaN the others.

    >>> heights(3, np.array([[0, 1], [1, 2]]), np.ones(2), alpha=0.0).tolist()
    [1.0, 0.0, -1.0]
    """
    springs = weights
    if by_rank:
        _, which, counts = np.unique(weights, return_inverse=True, return_counts=True)
        springs = 2.0 * (np.cumsum(counts) - 0.5 * (counts - 1))[which] / (len(weights) + 1)
    return _solution(n, _pairs(n, arcs, springs), alpha, held)


def trophic_levels(n: int, arcs: Ints, weights: Floats) -> Floats:
    """The trophic levels [n] of MacKay, Johnson & Sansom (2020), with cycles or without: 1 is the
    least of a component.

    A tie, from the eaten to the eater, leads one level up: these are heights without ``alpha``,
    upside down.

    >>> trophic_levels(4, np.array([[0, 1], [1, 2], [0, 2]]), np.ones(3)).round(3).tolist()
    [1.0, 1.667, 2.333, 1.0]
    """
    levels = -_solution(n, _pairs(n, arcs, weights), 0.0)
    component = components_of(n, arcs)
    lowest: Floats = np.full(n, np.inf)
    np.minimum.at(lowest, component, levels)
    levels -= lowest[component]
    return levels + 1.0


def flow(n: int, arcs: Ints, weights: Floats) -> Flow:
    """How much weight flows downhill, goes round and comes straight back; NaN without ties.

    The net flow w_ij - w_ji between two nodes is split into the part that differences of heights
    make and the rest, at right angles where a pair counts as 1 / (w_ij + w_ji): Helmholtz's and
    Hodge's decomposition.

    >>> flow(3, np.array([[0, 1], [1, 2], [2, 0]]), np.ones(3))
    Flow(down=0.0, circulation=1.0, returned=0.0, incoherence=1.0)
    """
    if not len(arcs):
        return Flow(math.nan, math.nan, math.nan, math.nan)
    _, _, there, back = pairs = _pairs(n, arcs, weights)
    both, net = there + back, there - back
    total = float(np.add.reduce(both))
    returned = float(np.add.reduce(4.0 * there * (back / both))) / total
    down = _product(_solution(n, pairs, 0.0), _spread(n, pairs, net)) / total
    down = min(max(down, 0.0), 1.0 - returned)  # but for rounding
    return Flow(down, 1.0 - returned - down, returned, 1.0 - down)


def _pairs(n: int, arcs: Ints, weights: Floats) -> _Pairs:
    """The ties by pairs: in a symmetric graph the net flow of each is 0 without rounding."""
    low, high = np.minimum(*arcs.T), np.maximum(*arcs.T)
    codes, which = np.unique(low * n + high, return_inverse=True)
    there = arcs[:, 0] < arcs[:, 1]
    forth, back = (_sums(len(codes), which[way], weights[way]) for way in (there, ~there))
    return codes // max(n, 1), codes % max(n, 1), forth, back


def _sums(n: int, places: Ints, values: Floats) -> Floats:
    """[n] the sum of the values at each place."""
    return np.bincount(places, values, n).astype(np.float64, copy=False)


def _spread(n: int, pairs: _Pairs, values: Floats) -> Floats:
    """[n] what leaves each node less what arrives, of values [p] that go from i to j."""
    return _sums(n, pairs[0], values) - _sums(n, pairs[1], values)


def _product(a: Floats, b: Floats) -> float:
    """Σ a·b; the sum of a library for matrices would depend on the processor."""
    return float(np.add.reduce(a * b))


def _solution(n: int, pairs: _Pairs, alpha: float, held: Floats | None = None) -> Floats:
    """[n] the solution of (diag(k_out + k_in) - (V + Vᵀ) + alpha) h = k_out - k_in, by conjugate
    gradients.

    Rows whose heights are ``held`` are left out. With alpha 0 it is fixed up to a constant in each
    component, and the mean height by k_out + k_in there is 0. Graphs that would take more than
    10,000 iterations, such as longer chains, are left with what these find.
    """
    i, j, there, back = pairs
    both, net = there + back, there - back
    top = both.max(initial=0.0) or 1.0  # so that squares neither overflow nor vanish
    both, net, alpha = both / top, net / top, alpha / top
    strength = _sums(n, i, both) + _sums(n, j, both) + alpha
    scale = np.divide(1.0, strength, out=np.zeros(n), where=strength > 0.0)
    found, residual = np.zeros(n), _spread(n, pairs, net)
    free: Floats | Bools | float = 1.0

    def product(h: Floats) -> Floats:
        """The matrix times h."""
        return _spread(n, pairs, both * (h[i] - h[j])) + alpha * h

    if held is not None:
        asked = np.isnan(held)
        found, free = np.where(asked, 0.0, held), asked
        residual = free * (residual - product(found))
    direction = scale * residual
    fall, enough = _product(residual, direction), _TOLERANCE**2 * _product(residual, residual)
    for _ in range(_ITERATIONS):
        if _product(residual, residual) <= enough:
            break
        moved = free * product(direction)
        step = fall / _product(direction, moved)
        found += step * direction
        residual -= step * moved
        ahead = scale * residual
        before, fall = fall, _product(residual, ahead)
        direction = ahead + (fall / before) * direction
    return found
