"""Intervals of ranks over seeds, and what the measures let one say."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation import rank_intervals, ranks_of, reservations, shows_hierarchy, stability
from ultrahyperbolic.training import train
from ultrahyperbolic.verdict import HIERARCHY_FROM, TIE_ORDER_FROM


def test_twenty_seeds_give_the_lowest_and_the_highest_rank():
    deltas = np.random.default_rng(0).normal(size=(20, 8))
    found = rank_intervals(deltas)
    ranks = np.array([[sorted(row).index(value) + 1 for value in row] for row in deltas.tolist()])
    assert found.low.tolist() == ranks.min(0).tolist()
    assert found.high.tolist() == ranks.max(0).tolist()
    assert found.coverage == pytest.approx(19 / 21)
    assert found.low.dtype == found.high.dtype == np.int64


@pytest.mark.parametrize(
    ("seeds", "coverage", "k"), [(2, 0.9, 1), (19, 0.9, 1), (39, 0.9, 2), (99, 0.9, 5), (20, 0.5, 5), (9, 0.8, 1)]
)
def test_the_kth_from_both_ends(seeds, coverage, k):
    deltas = np.random.default_rng(1).normal(size=(seeds, 30))
    found = rank_intervals(deltas, coverage)
    for node in range(30):
        ranks = sorted(int(ranks_of(row)[node]) for row in deltas)
        assert (found.low[node], found.high[node]) == (ranks[k - 1], ranks[-k])
    assert found.coverage == pytest.approx((seeds + 1 - 2 * k) / (seeds + 1))


def test_a_further_training_falls_into_it_as_often_as_it_says():
    rng = np.random.default_rng(2)
    levels, hits = np.arange(12) / 3.0, []
    for _ in range(300):
        deltas = levels + rng.normal(size=(21, 12))
        found = rank_intervals(deltas[:20], 0.7)
        last = ranks_of(deltas[20])
        hits.append(((found.low <= last) & (last <= found.high)).mean())
    assert found.coverage == pytest.approx(15 / 21)
    # Ranks are whole numbers, so that it holds more often than it must.
    assert found.coverage - 0.02 < np.mean(hits) < found.coverage + 0.2


def test_equal_delta_ranks_in_the_order_of_the_nodes():
    found = rank_intervals(np.ones((3, 4)))
    assert found.low.tolist() == found.high.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("deltas", [np.ones((1, 4)), np.ones(4), np.ones((0, 4))])
def test_it_needs_two_trainings(deltas):
    with pytest.raises(ValueError, match="N >= 2 trainings"):
        rank_intervals(deltas)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1.0, float("nan")])
def test_coverage_is_a_chance(coverage):
    with pytest.raises(ValueError, match="coverage must be"):
        rank_intervals(np.ones((2, 4)), coverage)


def test_what_is_said_on_both_sides_of_the_thresholds():
    good = {"spearman_all": HIERARCHY_FROM, "tie_order": TIE_ORDER_FROM}
    assert shows_hierarchy(good)
    assert reservations(good) == reservations({}) == []
    bad = {"spearman_all": HIERARCHY_FROM - 0.01, "tie_order": TIE_ORDER_FROM - 0.01}
    assert not shows_hierarchy(bad)
    none, chance = reservations(bad)
    assert "no clear hierarchy in this geometry" in none
    assert "0.29" in none
    assert "the stronger is hardly nearer than chance" in chance
    assert len(reservations(good | {"spearman_all": -0.4})) == len(reservations(good | {"tie_order": 0.2})) == 1


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ({"map": 0.5}, {"map": 0.49}, "near nodes are often not neighbours (mAP 0.490; 1 is perfect)"),
        ({"violated_orders": 0.25}, {"violated_orders": 0.26}, "in 26.0 % of comparisons an untied pair lies closer"),
    ],
)
def test_a_poor_fit_is_said(good, bad, words):
    assert reservations(good) == []
    (said,) = reservations(bad)
    assert said.startswith("the fit is poor: ")
    assert words in said


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
    with pytest.raises(ValueError, match=r"deltas must be \[N, n\] of N >= 2 trainings, got shape \(1, 10\)"):
        stability(deltas[:1])


@pytest.mark.parametrize("sampled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_trainings_with_several_seeds_record_their_stability(sampled, monkeypatch):
    if sampled:
        monkeypatch.setattr(train, "SAMPLED_NODES", 33)
    words = {"p": 2, "q": 1, "iterations": 5, "backend": "reference", "quiet": True}
    each = [uh.embed(uh.datasets.karate(), seed=seed, **words).delta for seed in range(3)]
    found = uh.embed(uh.datasets.karate(), seeds=3, **words).record.measures
    assert found["stability"] == pytest.approx(stability(each), abs=0.02 if sampled else 1e-9)
    assert {"map", "spearman_all_norm"} <= found.keys()
    assert "stability" not in uh.embed(uh.datasets.karate(), **words).record.measures
