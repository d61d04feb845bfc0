"""Measures of directed graphs against loops and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from ultrahyperbolic.evaluation import directed
from ultrahyperbolic.evaluation.directed import directed_measures


def drawn(seed, n=17, m=70, levels=40):
    """Ties, weights, and scores [n, n], of which some are equal; the last two nodes have no tie."""
    rng = np.random.default_rng(seed)
    codes = rng.choice((n - 2) ** 2, m, replace=False)
    arcs = np.column_stack((codes // (n - 2), codes % (n - 2)))
    arcs = arcs[arcs[:, 0] != arcs[:, 1]]
    return (
        arcs,
        rng.random(len(arcs)),
        rng.integers(0, levels, (n, n)).astype(float),
        rng.integers(0, 5, n).astype(float),
    )


def measured(arcs, weights, table, heights):
    return directed_measures(
        lambda rows: table[rows], lambda rows: table.T[rows], arcs, weights, heights
    )


def by_loops(arcs, weights, table, heights):
    n, ties = len(table), {tuple(ends) for ends in arcs.tolist()}
    found, turned = {}, {(j, i) for i, j in ties}
    for name, tied, scores in (("map_out", ties, table), ("map_in", turned, table.T)):
        precisions = []
        for i in range(n):
            labels = [(i, j) in tied for j in range(n) if j != i]
            if any(labels):
                precisions.append(
                    average_precision_score(labels, [-scores[i, j] for j in range(n) if j != i])
                )
        found[name] = np.mean(precisions)
    one_way = [(i, j) for i, j in ties if (i, j) not in turned]
    found["direction"] = np.mean([(1 + np.sign(table[j, i] - table[i, j])) / 2 for i, j in one_way])
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    found["average_precision"] = average_precision_score(
        [pair in ties for pair in pairs], [-table[pair] for pair in pairs]
    )
    down = sum(
        w for (i, j), w in zip(arcs.tolist(), weights, strict=True) if heights[i] > heights[j]
    )
    return {**found, "weight_down": down / weights.sum()}


@pytest.mark.parametrize("seed", range(3))
def test_against_loops(seed):
    given = drawn(seed)
    assert measured(*given) == pytest.approx(by_loops(*given), abs=1e-12)


def test_scores_of_the_ties_themselves_are_perfect():
    arcs, weights, table, _ = drawn(0)
    table = np.ones_like(table)
    table[tuple(arcs.T)] = 0.0
    heights = np.zeros(len(table))
    wanted = {
        "map_out": 1.0,
        "map_in": 1.0,
        "direction": 1.0,
        "average_precision": 1.0,
        "weight_down": 0.0,
    }
    assert measured(arcs, weights, table, heights) == wanted


def test_symmetric_scores_guess_the_direction():
    arcs, weights, table, heights = drawn(1)
    assert measured(arcs, weights, table + table.T, heights)["direction"] == 0.5


def test_ties_both_ways_have_no_direction_and_no_ties_no_measure():
    arcs, _, table, heights = drawn(1)
    both = np.unique(np.concatenate((arcs, arcs[:, ::-1])), axis=0)
    assert set(measured(both, np.ones(len(both)), table, heights)) == {
        "map_out",
        "map_in",
        "average_precision",
        "weight_down",
    }
    assert measured(both[:0], np.empty(0), table, heights) == {}


def test_many_nodes_are_measured_by_a_sample_of_them(monkeypatch):
    n, rng = 600, np.random.default_rng(0)
    place = rng.permutation(n).astype(float)
    table = 0.01 * (place[:, None] - place - 3.0) ** 2 + rng.random((n, n))
    arcs = np.argwhere((table + np.eye(n) < 0.6) & (rng.random((n, n)) < 0.5))
    exact = measured(arcs, np.ones(len(arcs)), table, place)
    monkeypatch.setattr(directed, "_ALL_NODES", 599)
    monkeypatch.setattr(directed, "drawn_nodes", lambda n: 200)
    asked = []
    found = directed_measures(
        lambda rows: (asked.extend(rows.tolist()), table[rows])[1],
        lambda rows: table.T[rows],
        arcs,
        np.ones(len(arcs)),
        place,
    )
    assert len(set(asked)) <= 200
    assert found == pytest.approx(exact, abs=0.05)
    assert found["weight_down"] == exact["weight_down"]
