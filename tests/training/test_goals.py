"""What a goal asks of an embedding."""

from __future__ import annotations

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.training.method import GOALS, score

NEIGHBOURLY = {"map": 0.9, "tie_order": 0.5, "spearman_all": 0.1, "recall_at_1": 0.0}
TIED = {"map": 0.5, "tie_order": 0.8, "spearman_all": 0.3}
RANKED = {"map": 0.6, "tie_order": 0.6, "spearman_all": 0.7}


def test_each_goal_has_its_measure():
    assert [score(goal, NEIGHBOURLY) for goal in ("neighbours", "ties", "hierarchy")] == [0.9, 0.5, 0.1]
    assert score("balanced", NEIGHBOURLY) == pytest.approx(0.5)


def test_the_goal_changes_what_is_best():
    best = {goal: max((NEIGHBOURLY, TIED, RANKED), key=lambda found: score(goal, found)) for goal in GOALS}
    assert best == {"neighbours": NEIGHBOURLY, "ties": TIED, "hierarchy": RANKED, "balanced": RANKED}


def test_neighbours_decide_where_a_measure_is_not_defined():
    assert score("ties", {"map": 0.4, "spearman_all": 0.9}) == 0.4
    assert score("hierarchy", {"map": 0.4, "tie_order": 0.9}) == 0.4
    assert score("balanced", {"map": 0.4, "tie_order": 0.9}) == pytest.approx(0.65)
    assert score("balanced", {"map": 0.4}) == 0.4


def test_neighbors_are_neighbours():
    club = uh.datasets.karate()
    assert score("neighbors", NEIGHBOURLY) == score("neighbours", NEIGHBOURLY)
    short = {"iterations": 4, "quiet": True}
    american, british = (uh.embed(club, p=1, q=1, goal=goal, **short) for goal in ("neighbors", "neighbours"))
    assert np.array_equal(american.points, british.points)
    assert american.popularity is not None
    assert uh.select(club, dim=1, goal="neighbors", **short).goal == "neighbours"


def test_a_goal_that_is_none_is_refused():
    with pytest.raises(ValueError, match="goal must be one of balanced, hierarchy, neighbours, ties, got 'beauty'"):
        score("beauty", TIED)
