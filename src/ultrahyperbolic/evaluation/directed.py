"""How well scores of ordered pairs, asked for a row at a time, find the ties of a directed graph.

A score s_ij is small where a tie i → j is likely. Ties are ``arcs`` [m, 2], from the first node to
the second.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from ..arrays import Floats, Ints
from .summary import drawn_nodes

Score = Callable[[Ints], Floats]
"""From nodes [k] to the scores [k, n] of the pairs from each of them to every node."""

_ALL_NODES = 2000  # with more nodes some are drawn


def directed_measures(
    score: Score, score_in: Score, arcs: Ints, weights: Floats, heights: Floats
) -> dict[str, float]:
    """Measures of a directed embedding by name; 1 is the best of each. One that is not defined is
    left out.

    ``map_out``, ``map_in``: mean average precision of the nodes that a node's ties lead to, and
    come from ``direction``: the share of ties without a reverse i → j that have the right
    direction, s_ij < s_ji ``average_precision``: mean over ties of the share of ties among all
    ordered pairs that score at most as much ``weight_down``: the share of the ``weights`` [m] of
    ties that lead from a higher node to a lower one

    ``score_in`` gives the scores of the pairs to each of some nodes, from every node. ``heights``
    are [n]. With more than 2,000 nodes the first four are estimated from the ties and pairs of at
    most 2,000 nodes, drawn with a seed.
    """
    n = len(heights)
    nodes = np.arange(n)
    if n > _ALL_NODES:
        nodes = np.sort(np.random.default_rng(0).choice(n, drawn_nodes(n), replace=False))
    drawn = np.zeros(n, dtype=bool)
    drawn[nodes] = True
    outward, inward = arcs[drawn[arcs[:, 0]]], arcs[drawn[arcs[:, 1]]]
    total, down = float(weights.sum()), heights[arcs[:, 0]] > heights[arcs[:, 1]]
    # Rows cost most of the time: what comes of the same ones is found together.
    map_out, there = _looked_up(score, outward, outward)
    map_in, back = _looked_up(score_in, inward[:, ::-1], outward)
    one_way = ~np.isin(
        outward[:, 1] * n + outward[:, 0], arcs[:, 0] * n + arcs[:, 1]
    )  # which no tie leads back along
    ahead, behind = (
        there[one_way],
        back[one_way],
    )  # equal scores are a guess, right half of the time
    found = {
        "map_out": map_out,
        "map_in": map_in,
        "direction": float(np.mean(ahead < behind) + 0.5 * np.mean(ahead == behind))
        if len(ahead)
        else math.nan,
        "average_precision": _precision(score, there, nodes),
        "weight_down": float(weights[down].sum()) / total if total else math.nan,
    }
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _looked_up(score: Score, ranked: Ints, asked: Ints) -> tuple[float, Floats]:
    """The mean average precision of some ties, and the scores [m] of ``asked`` pairs [m, 2].

    The precision at j is the share of the node's ties among all pairs that score at most s_ij,
    equal ones included, as in `ultrahyperbolic.evaluation.reconstruction`; the mean over ties is
    averaged over the nodes. NaN without ties.
    """
    nodes = np.unique(np.concatenate((ranked[:, 0], asked[:, 0])))
    (heads, starts), (ends, begins) = (_by_node(pairs, nodes) for pairs in (ranked, asked))
    found, scores = [], np.empty(len(asked))
    for at, row in enumerate(_rows(score, nodes)):
        own = np.sort(row[ranked[heads[starts[at] : starts[at + 1]], 1]])
        if len(own):
            found.append(float(np.mean(_at_most(own, own) / _at_most(np.sort(row), own))))
        here = ends[begins[at] : begins[at + 1]]
        scores[here] = row[asked[here, 1]]
    return float(np.mean(found)) if found else math.nan, scores


def _by_node(pairs: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """The numbers [m] of pairs, those from one node side by side, and where those of each of the
    nodes begin.
    """
    order: Ints = np.argsort(pairs[:, 0], kind="stable")
    return order, np.append(np.searchsorted(pairs[order, 0], nodes), len(pairs))


def _precision(score: Score, ties: Floats, nodes: Ints) -> float:
    """The mean over ``ties`` [m] of the share of ties among the pairs from ``nodes`` that score at
    most as much.
    """
    if not len(ties):
        return math.nan
    own = np.sort(ties)
    between = np.zeros(len(own) + 1, dtype=np.int64)  # how many pairs lie between two ties
    for row in _rows(score, nodes):
        np.add.at(between, np.searchsorted(own, row), 1)
    return float(np.mean(_at_most(own, own) / between[:-1].cumsum()))


def _rows(score: Score, nodes: Ints) -> Iterator[Floats]:
    """The scores [n] of some nodes, one after the other; that of a node with itself is infinite."""
    for node in nodes:
        row = np.array(score(np.array([node]))[0])
        row[node] = np.inf
        yield row


def _at_most(ordered: Floats, limits: Floats) -> Ints:
    """How many of the numbers, in ascending order, are at most each limit."""
    return np.searchsorted(ordered, limits, side="right")
