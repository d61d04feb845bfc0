"""How certain ranks are: intervals and agreement of trainings with different seeds."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints
from .hierarchy import centred_ranks, ranks_of


class RankIntervals(NamedTuple):
    """What `rank_intervals` returns: for each node the ranks from ``low`` [n] to ``high`` [n]."""

    low: Ints
    high: Ints
    coverage: float
    """The chance, at least, that the rank of one further training lies in the interval of its node."""


def rank_intervals(deltas: ArrayLike, coverage: float = 0.9) -> RankIntervals:
    """An interval for the rank of each node, from the δ [N, n] of N trainings with different seeds.

    The interval runs from the k-th lowest to the k-th highest of a node's N ranks, k = ⌊(1 - coverage)/2 · (N + 1)⌋ or
    1. As the N trainings and a further one are alike, the rank of the further one is in it with a chance of at least
    (N + 1 - 2k)/(N + 1): that is the ``coverage`` of the result. With 20 seeds, from the lowest to the highest, 0.905.

    >>> rank_intervals([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])[:2]
    (array([1, 1, 3]), array([2, 2, 3]))
    """
    sums = _sums(deltas)
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage}")
    ranks = np.sort([ranks_of(row) for row in sums], axis=0)
    # Rounding must not make 2 of 1.9999999999999996.
    k = max(1, math.floor((1.0 - coverage) / 2.0 * (len(ranks) + 1) + 1e-9))
    return RankIntervals(ranks[k - 1], ranks[-k], (len(ranks) + 1 - 2 * k) / (len(ranks) + 1))


def stability(deltas: ArrayLike) -> float:
    """The mean of Spearman's ρ between two of N trainings, over all pairs of them, from their δ [N, n].

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
