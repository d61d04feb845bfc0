"""A covering sample of a Cartesian product: few cases in which every pair of values still meets."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations


def covering(cases: Sequence[Sequence[Hashable]], strength: int = 2) -> list[int]:
    """Which of the cases to keep so that each combination of ``strength`` values that occurs in
    them still does.

    ``cases`` [n, parameters] lists the values of each case. Greedy and deterministic: each next
    case is the first of those that add most. The indices come in ascending order.
    """
    wanted = [set(combinations(enumerate(case), min(strength, len(case)))) for case in cases]
    missing = set().union(*wanted)
    kept: list[int] = []
    while missing:
        best = max(range(len(cases)), key=lambda k: len(wanted[k] & missing))
        missing -= wanted[best]
        kept.append(best)
    return sorted(kept)
