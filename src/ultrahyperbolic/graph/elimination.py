# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False
# (numba infers the types when it compiles)
"""Sparse elimination of the nodes of a resistor network, and the way back to the diagonal of the
inverse.

A node v with ties of weights w_u, whose sum is s, is replaced by ties w_u w_u' / s between its
neighbours: star-mesh transformation, or Gaussian elimination of the Laplacian. Nothing is ever
subtracted, so that small weights beside large ones keep their digits (Grassmann, Taksar & Heyman,
1985).
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Floats, Ints, positions_in

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")

_DENSE = 8
"""Nodes are eliminated while the least degree is below this part of the nodes that are left: then a
dense matrix is faster.
"""
_PENDING = 8
"""Ties that are appended to a list are merged into it when they exceed this part of it."""


class Elimination(NamedTuple):
    """Eliminated nodes, and for every node the list of its ties, as it was when it was
    eliminated.
    """

    heads: NDArray[np.int32]
    weights: Floats
    start: Ints
    """[n] where the list of each node begins in ``heads`` and ``weights``."""
    length: Ints
    """[n] of the lists."""
    order: Ints
    """The eliminated nodes, first to last."""
    is_core: Bools
    """[n] whether a node is left; grounds are."""

    def ties_of(self, nodes: Ints) -> tuple[Ints, Floats]:
        """The lists of some nodes, one after the other."""
        length = self.length[nodes]
        listed = np.repeat(self.start[nodes] - np.cumsum(length) + length, length) + np.arange(
            length.sum()
        )
        return self.heads[listed].astype(np.int64), self.weights[listed]


def eliminate(
    offsets: Ints, neighbors: Ints, weights: Floats, is_ground: Bools, budget: int
) -> Elimination:
    """Eliminate nodes of few ties, never the grounds [n], until what is left is dense.

    The ties of node i are those from ``offsets[i]`` to ``offsets[i + 1]``. Stops early where all
    lists together exceed the ``budget`` of entries: too many nodes are left then.
    """
    n, length = len(is_ground), np.diff(offsets)
    is_core, order = np.ones(n, dtype=np.bool_), np.empty(n, dtype=np.int64)
    heads, values, done = _eliminate(
        neighbors.astype(np.int32),
        weights.copy(),
        start := offsets[:-1].copy(),
        length,
        length.copy(),
        length.copy(),
        length.copy(),
        is_ground,
        is_core,
        order,
        np.full((4, n + 1), -1),
        n - int(is_ground.sum()),
        budget,
    )
    return Elimination(heads, values, start, length, order[:done], is_core)


def substitute(parts: Elimination, core: Ints, inverse: Floats) -> tuple[Floats, Floats]:
    """The diagonal of the inverse of the whole Laplacian, and its row sums, [n] each, from the
    ``inverse`` [k, k].

    The inverse is that for the nodes ``core`` [k], which are left.
    """
    n = len(parts.start)
    found, place, currents = np.zeros((2, n)), positions_in(core, n), np.ones(n)
    _forward(*parts[:5], currents)
    found[0, core], found[1, core] = inverse.diagonal(), inverse @ currents[core]
    _back(*parts, place, inverse, currents, np.empty(len(parts.heads)), np.zeros((2, n)), found)
    return found[0], found[1]


@_jit
def _link(v, degree, first, following, before):
    """Put a node into the list of those of its degree."""
    d = degree[v]
    following[v], before[v] = first[d], -1
    if first[d] >= 0:
        before[first[d]] = v
    first[d] = v


@_jit
def _unlink(v, degree, first, following, before):
    if before[v] >= 0:
        following[before[v]] = following[v]
    else:
        first[degree[v]] = following[v]
    if following[v] >= 0:
        before[following[v]] = before[v]


@_jit
def _merged(heads, weights, begin, stop, is_core, place):
    """Add up ties to the same node and drop those to eliminated ones, in place: how many are
    left.
    """
    kept = begin
    for k in range(begin, stop):
        u = heads[k]
        if is_core[u]:
            if place[u] < 0:
                place[u] = kept
                heads[kept] = u
                weights[kept] = weights[k]
                kept += 1
            else:
                weights[place[u]] += weights[k]
    for k in range(begin, kept):
        place[heads[k]] = -1
    return kept - begin


@_jit
def _grown(values, size):
    larger = np.empty(size, values.dtype)
    for k in range(len(values)):
        larger[k] = values[k]
    return larger


@_jit
def _eliminate(
    heads,
    weights,
    start,
    length,
    room,
    exact,
    degree,
    is_ground,
    is_core,
    order,
    scratch,
    left,
    budget,
):
    """Eliminate in place, but for ``heads`` and ``weights``, which grow: these, and how many nodes
    were eliminated.

    ``room`` [n] is that of the lists, ``exact`` [n] their length when ties to one node were last
    added up, and ``degree`` [n] bounds the number of neighbours.
    """
    place, first, following, before = scratch
    end = total = len(heads)
    done, least = 0, 0
    for v in range(len(start)):
        if not is_ground[v]:
            _link(v, degree, first, following, before)
    while left > 0 and total <= budget:
        while first[least] < 0:
            least += 1
        if _DENSE * least > left + 1:
            break
        v = first[least]
        _unlink(v, degree, first, following, before)
        own = start[v]
        d = _merged(heads, weights, own, own + length[v], is_core, place)
        total += d - length[v]
        length[v] = d
        is_core[v] = False
        order[done] = v
        done += 1
        left -= 1
        strength = 0.0
        for k in range(own, own + d):
            strength += weights[k]
        for k in range(own, own + d):
            u = heads[k]
            if not is_ground[u]:
                _unlink(u, degree, first, following, before)
            count = length[u] + d - 1
            if count > room[u]:
                room[u] = 2 * count
                if end + room[u] > len(heads):
                    heads = _grown(heads, 2 * (end + room[u]))
                    weights = _grown(weights, len(heads))
                for m in range(length[u]):
                    heads[end + m] = heads[start[u] + m]
                    weights[end + m] = weights[start[u] + m]
                start[u] = end
                end += room[u]
            at, part = start[u] + length[u], weights[k] / strength
            for m in range(own, own + d):
                if m != k:
                    heads[at] = heads[m]
                    weights[at] = part * weights[m]
                    at += 1
            total += d - 1
            length[u] = count
            degree[u] = min(degree[u] + d - 2, len(start))
            if _PENDING * (count - exact[u]) > exact[u]:
                length[u] = _merged(heads, weights, start[u], start[u] + count, is_core, place)
                total += length[u] - count
                exact[u] = degree[u] = length[u]
            if not is_ground[u]:
                least = min(least, degree[u])
                _link(u, degree, first, following, before)
    for v in range(len(start)):
        if is_core[v]:
            length[v] = _merged(heads, weights, start[v], start[v] + length[v], is_core, place)
    return heads, weights, done


@_jit
def _forward(heads, weights, start, length, order, currents):
    """Pass the currents [n] that enter at the nodes on to the neighbours of each eliminated node in
    its turn.
    """
    for v in order:
        strength = 0.0
        for k in range(start[v], start[v] + length[v]):
            strength += weights[k]
        for k in range(start[v], start[v] + length[v]):
            currents[heads[k]] += currents[v] * (weights[k] / strength)


@_jit
def _back(
    heads, weights, start, length, order, is_core, place, inverse, currents, entries, scratch, found
):
    """Fill in the diagonal of the inverse and the potentials that the currents make: ``found`` [2,
    n].

    ``entries`` has room for the inverse at each tie of an eliminated node.
    """
    diagonal, potentials = found
    chance, column = scratch
    for at in range(len(order) - 1, -1, -1):
        v = order[at]
        begin, stop = start[v], start[v] + length[v]
        strength = 0.0
        for k in range(begin, stop):
            strength += weights[k]
        potential = currents[v] / strength
        for k in range(begin, stop):
            u = heads[k]
            chance[u] = weights[k] / strength
            potential += chance[u] * potentials[u]
        for k in range(begin, stop):
            u = heads[k]
            if place[u] >= 0:
                for m in range(begin, stop):
                    if place[heads[m]] >= 0:
                        column[u] += chance[heads[m]] * inverse[place[u], place[heads[m]]]
            elif not is_core[u]:
                column[u] += chance[u] * diagonal[u]
                for m in range(start[u], start[u] + length[u]):
                    column[u] += chance[heads[m]] * entries[m]
                    column[heads[m]] += chance[u] * entries[m]
        own = 1.0 / strength
        for k in range(begin, stop):
            entries[k] = column[heads[k]]
            own += chance[heads[k]] * column[heads[k]]
        for k in range(begin, stop):
            u = heads[k]
            chance[u] = column[u] = 0.0
            if not is_core[u]:
                for m in range(start[u], start[u] + length[u]):
                    column[heads[m]] = 0.0
        diagonal[v] = own
        potentials[v] = potential
