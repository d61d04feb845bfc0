"""How far the orders of several trainings agree, and what the measures let one say."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from ultrahyperbolic.evaluation import reservations, stability
from ultrahyperbolic.verdict import TIE_ORDER_FROM


def test_what_is_said_on_both_sides_of_a_threshold():
    assert reservations({"tie_order": TIE_ORDER_FROM}) == reservations({}) == []
    (chance,) = reservations({"tie_order": TIE_ORDER_FROM - 0.01, "spearman_all": -0.4})
    assert "the stronger is shorter in only 59 % of comparisons" in chance


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        (
            {"map": 0.5},
            {"map": 0.49},
            "near nodes are often not neighbours (mAP 0.490; 1 is perfect)",
        ),
        (
            {"violated_orders": 0.25},
            {"violated_orders": 0.26},
            "in 26.0 % of comparisons an untied pair lies closer",
        ),
    ],
)
def test_a_poor_fit_is_said(good, bad, words):
    assert reservations(good) == []
    (said,) = reservations(bad)
    assert said.startswith("the fit is poor: ")
    assert words in said
    assert "another geometry may help" in said
    (said,) = reservations(bad, unfinished=True)
    assert words in said
    assert said.endswith("The training is unfinished")


def test_stability_is_the_mean_of_spearman_over_pairs_of_trainings():
    # Some δ are equal: they share the mean of their ranks.
    deltas = np.random.default_rng(0).integers(0, 30, (5, 40)).astype(float)
    truth = np.mean([spearmanr(a, b).statistic for a, b in itertools.combinations(deltas, 2)])
    assert stability(deltas) == pytest.approx(truth, abs=1e-12)
    assert stability(np.tile(deltas[0], (3, 1))) == pytest.approx(1.0, abs=1e-12)
    assert stability([deltas[0], -deltas[0]]) == pytest.approx(-1.0, abs=1e-12)


def test_stability_that_is_not_defined():
    deltas = np.random.default_rng(0).normal(size=(3, 10))
    deltas[1] = 7.0
    assert math.isnan(stability(deltas))
    deltas[1, 2] = math.nan
    assert math.isnan(stability(deltas))
    with pytest.raises(
        ValueError, match=r"deltas must be \[N, n\] of N >= 2 trainings, got shape \(1, 10\)"
    ):
        stability(deltas[:1])
