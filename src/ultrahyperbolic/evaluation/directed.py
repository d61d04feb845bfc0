"""How well scores of ordered pairs find the ties of a directed graph, and their directions.

A score s_ij is small where a tie i → j is likely. Scores are asked for a few rows at a time, so that no table of all
pairs is held. Ties are ``arcs`` [m, 2], from the first node to the second.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from ..arrays import Bools, Floats, Ints
from .sampled import drawn_nodes

Score = Callable[[Ints], Floats]
"""From nodes [k] to the scores [k, n] of the pairs from each of them to every node."""

_ALL_NODES, _AT_ONCE = 5000, 1 << 21  # with more nodes some are drawn; scores at once


def directed_measures(score: Score, score_in: Score, arcs: Ints, weights: Floats, heights: Floats) -> dict[str, float]:
    """Measures of a directed embedding by name; 1 is the best of each. One that is not defined is left out.

    ``map_out``, ``map_in``: mean average precision of the nodes that a node's ties lead to, and come from
    ``direction``: the share of ties without a reverse that have the right direction, `direction`
    ``average_precision``: of ties among all ordered pairs, `average_precision`
    ``weight_down``: the share of the ``weights`` [m] of ties that lead from a higher node to a lower one

    ``score_in`` gives the scores of the pairs to each of some nodes, from every node. ``heights`` are [n]. With more
    than 5,000 nodes the first four are estimated from the ties and pairs of at most 2,000 nodes, drawn with a seed.
    """
    n = len(heights)
    nodes = np.arange(n)
    if n > _ALL_NODES:
        nodes = np.sort(np.random.default_rng(0).choice(n, drawn_nodes(n), replace=False))
    drawn = np.zeros(n, dtype=bool)
    drawn[nodes] = True
    outward, inward = arcs[drawn[arcs[:, 0]]], arcs[drawn[arcs[:, 1]]]
    total, down = float(weights.sum()), heights[arcs[:, 0]] > heights[arcs[:, 1]]
    found = {
        "map_out": mean_average_precision(score, outward),
        "map_in": mean_average_precision(score_in, inward[:, ::-1]),
        "direction": direction(score, score_in, outward[~have_reverse(arcs, n)[drawn[arcs[:, 0]]]]),
        "average_precision": average_precision(score, outward, nodes),
        "weight_down": float(weights[down].sum()) / total if total else math.nan,
    }
    return {name: value for name, value in found.items() if not math.isnan(value)}


def have_reverse(arcs: Ints, n: int) -> Bools:
    """[m] whether a tie leads back."""
    return np.isin(arcs[:, 1] * n + arcs[:, 0], arcs[:, 0] * n + arcs[:, 1])


def mean_average_precision(score: Score, arcs: Ints) -> float:
    """The mean over the nodes that ties lead from of the mean precision at the other ends of these ties.

    The precision at j is the share of the node's ties among all pairs that score at most s_ij, equal ones included, as
    in `ultrahyperbolic.evaluation.reconstruction`; all other nodes are candidates. NaN without ties.
    """
    arcs = arcs[np.argsort(arcs[:, 0], kind="stable")]
    nodes, starts = np.unique(arcs[:, 0], return_index=True)
    heads, found = np.split(arcs[:, 1], starts[1:]), []
    for first, rows in _blocks(score, nodes):
        for row, ends in zip(rows, heads[first : first + len(rows)], strict=True):
            own = np.sort(row[ends])
            found.append(float(np.mean(_at_most(own, own) / _at_most(np.sort(row), own))))
    return float(np.mean(found)) if found else math.nan


def direction(score: Score, score_in: Score, arcs: Ints) -> float:
    """The share of ties i → j with s_ij < s_ji; equal scores count as half, a guess. NaN without ties."""
    if not len(arcs):
        return math.nan
    there, back = tie_scores(score, arcs), tie_scores(score_in, arcs)
    return float(np.mean(there < back) + 0.5 * np.mean(there == back))


def average_precision(score: Score, arcs: Ints, nodes: Ints) -> float:
    """The mean over ties of the share of ties among all ordered pairs that score at most as much; NaN without ties.

    The pairs are those from ``nodes`` [k], to any other node; ``arcs`` must be all ties from these.
    """
    if not len(arcs):
        return math.nan
    own = np.sort(tie_scores(score, arcs))
    pairs = np.zeros(len(own), dtype=np.int64)
    for _, rows in _blocks(score, nodes):
        pairs += _at_most(np.sort(rows, axis=None), own)
    return float(np.mean(_at_most(own, own) / pairs))


def tie_scores(score: Score, arcs: Ints) -> Floats:
    """[m] the scores of ties."""
    nodes, place = np.unique(arcs[:, 0], return_inverse=True)
    found = np.empty(len(arcs))
    order = np.argsort(place, kind="stable")
    for first, rows in _blocks(score, nodes):
        here = order[slice(*np.searchsorted(place[order], (first, first + len(rows))))]
        found[here] = rows[place[here] - first, arcs[here, 1]]
    return found


def _blocks(score: Score, nodes: Ints) -> Iterator[tuple[int, Floats]]:
    """The scores of some nodes at a time, and how many came before; a node is infinitely far from itself."""
    start, size = 0, 1  # until a row tells how many nodes there are
    while start < len(nodes):
        some = nodes[start : start + size]
        rows = np.array(score(some))
        rows[np.arange(len(some)), some] = np.inf
        yield start, rows
        start, size = start + len(some), max(1, _AT_ONCE // rows.shape[1])


def _at_most(ordered: Floats, limits: Floats) -> Ints:
    """How many of the numbers, in ascending order, are at most each limit."""
    found: Ints = np.searchsorted(ordered, limits, side="right")
    return found
