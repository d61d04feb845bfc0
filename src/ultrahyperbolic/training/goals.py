"""What a goal asks of an embedding, as one number."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from .method import GivenGoal, as_goal

_MEASURES = {"neighbours": "map", "ties": "tie_order", "hierarchy": "spearman_all"}


def score(goal: GivenGoal, measures: Mapping[str, float]) -> float:
    """How well an embedding does what the goal asks, from its measures by name: the higher, the better.

    - ``"neighbours"``: the neighbours of a node are the nodes nearest to it (``map``).
    - ``"ties"``: of two ties, the stronger is the shorter (``tie_order``).
    - ``"hierarchy"``: strong nodes rank high (``spearman_all``).
    - ``"balanced"``: the mean of these three.

    Some graphs do not define all of them: where all weights are equal no tie is stronger, and where all strengths are
    equal no node ranks higher. The neighbours decide there, and the mean is over those that are defined.

    >>> score("balanced", {"map": 0.9, "spearman_all": 0.5}), score("ties", {"map": 0.9, "spearman_all": 0.5})
    (0.7, 0.9)
    """
    goal = as_goal(goal)
    if goal == "balanced":
        return fmean(measures[name] for name in _MEASURES.values() if name in measures)
    return measures.get(_MEASURES[goal], measures["map"])
