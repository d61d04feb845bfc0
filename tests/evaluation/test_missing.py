"""How likely pairs without a tie are to have one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation import missing as module
from ultrahyperbolic.evaluation.links import hold_out_ties
from ultrahyperbolic.evaluation.missing import (
    Calibration,
    Evidence,
    _precision,
    _Sample,
    _sample,
    _steps,
    learn,
    likeliest,
)
from ultrahyperbolic.graph import Graph

CLUB = uh.datasets.karate()
ADVICE = Graph.from_edges(
    [(i, j, 1.0 + i) for i in range(14) for j in range(14) if i != j and (3 * i + j) % 5 < 2],
    directed=True,
)


def every_part(evidence, rows=None, **ways):
    """All free pairs [p, 2] with their evidence [f, p]."""
    ends, values = [], []
    for some, found, free in evidence.parts(
        np.arange(evidence.graph.n_nodes) if rows is None else rows, **ways
    ):
        others, which = np.nonzero(free)
        pair = (others, some[which]) if ways.get("into") else (some[which], others)
        ends.append(np.column_stack(pair))
        values.append(found[:, others, which])
    return np.concatenate(ends), np.concatenate(values, axis=1)


def test_evidence_is_heat_degrees_common_neighbours_and_paths_of_three():
    matrix, weights = (CLUB.adjacency().toarray() > 0).astype(float), CLUB.adjacency().toarray()
    strong = np.where(
        weights > 0, 1 + np.log(np.where(weights > 0, weights, 1) / CLUB.weights.min()), 0
    )
    root, degree = np.sqrt(strong.sum(0)), matrix.sum(0)
    heat = expm(3 * strong / root / root[:, None])
    adamic = matrix @ np.diag(1 / np.log(np.maximum(degree, 1.0001)) * (degree > 1)) @ matrix
    three = matrix @ (matrix / np.sqrt(degree) / np.sqrt(degree)[:, None]) @ matrix
    rows = np.array([0, 5, 33])
    found = Evidence(CLUB).of(rows)
    np.testing.assert_allclose(np.exp(found[0]) - 0.1, heat[:, rows], atol=1e-3)
    np.testing.assert_allclose(found[1], np.log(np.outer(degree, degree))[:, rows])
    np.testing.assert_allclose(found[2], np.log(np.minimum.outer(degree, degree))[:, rows])
    np.testing.assert_allclose(np.expm1(found[3]) / 10, adamic[:, rows])
    np.testing.assert_allclose(
        np.expm1(found[4]) / 100, (matrix @ np.diag(1 / degree) @ matrix)[:, rows]
    )
    np.testing.assert_allclose(np.expm1(found[5]) / 100, three[:, rows])


def test_evidence_of_weights_whose_ratio_overflows_is_finite():
    factors = np.where(np.arange(CLUB.n_edges) % 2, 1e200, 1e-200)
    graph = Graph(CLUB.ids, CLUB.edges, CLUB.weights * factors)
    assert np.isfinite(Evidence(graph).of(np.arange(34))).all()
    assert learn(graph).held_out


@pytest.mark.parametrize("graph", [CLUB, ADVICE], ids=["undirected", "directed"])
def test_every_pair_without_a_tie_comes_once(graph, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 3 * graph.n_nodes)
    ends, _ = every_part(Evidence(graph))
    pairs = {
        tuple(pair) for pair in (ends if graph.is_directed else np.sort(ends, axis=1)).tolist()
    }
    ties = {tuple(tie) for tie in (graph.arcs[0] if graph.is_directed else graph.edges).tolist()}
    n = graph.n_nodes
    assert len(pairs) == len(ends) == n * (n - 1) // (1 if graph.is_directed else 2) - len(ties)
    assert not pairs & ties


def test_ties_into_a_node_have_the_evidence_that_ties_from_the_others_have():
    evidence = Evidence(ADVICE)
    ends, values = every_part(evidence)
    there, theirs = every_part(evidence, np.array([4]), into=True)
    mine = {tuple(pair): column for pair, column in zip(ends.tolist(), values.T, strict=True)}
    assert len(there)
    for pair, column in zip(there.tolist(), theirs.T, strict=True):
        np.testing.assert_allclose(column, mine[tuple(pair)], atol=1e-12)


def test_a_tenth_of_the_directed_ties_is_hidden_one_way_each():
    rest, hidden = hold_out_ties(ADVICE, 0.1, 3)
    every = {tuple(tie) for tie in ADVICE.arcs[0].tolist()}
    left, gone = ({tuple(tie) for tie in ties.tolist()} for ties in (rest.arcs[0], hidden))
    assert len(gone) == round(0.1 * len(every))
    assert left | gone == every
    assert not left & gone
    with pytest.raises(ValueError, match="ties on both sides"):
        hold_out_ties(ADVICE, 0.0)


def test_hidden_ties_are_found_and_their_chances_come_true():
    """Two groups with many ties inside and few between: a tie inside is likelier, and chances add
    up.
    """
    rng, group = np.random.default_rng(5), np.arange(60) // 30
    rate = np.where(group[:, None] == group, 0.5, 0.02)
    truth = Graph.from_arrays(*np.nonzero(np.triu(rng.random((60, 60)) < rate, 1)), ids=60)
    rest, hidden = hold_out_ties(truth, 0.1, 1)
    known = learn(rest)
    ends, values = every_part(Evidence(rest))
    was = {tuple(pair) for pair in hidden.tolist()}
    scores = known.scores(values)
    missing = np.array([tuple(sorted(pair)) in was for pair in ends.tolist()])
    assert scores[missing].mean() > scores[~missing].mean() + 1.0
    assert known.chance(scores).sum() == pytest.approx(len(hidden), rel=0.4)
    inside = group[ends[:, 0]] == group[ends[:, 1]]
    assert known.chance(scores)[inside].mean() > 5 * known.chance(scores)[~inside].mean()


@pytest.mark.parametrize("node", [None, 3])
@pytest.mark.parametrize("graph", [CLUB, ADVICE], ids=["undirected", "directed"])
def test_the_likeliest_pairs_are_those_of_the_highest_scores(graph, node, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 2 * graph.n_nodes)
    known, evidence = learn(graph), Evidence(graph)
    ends, values = every_part(evidence)
    if node is not None:
        mine = (ends == node).any(1)
        ends, values = ends[mine], values[:, mine]
    best, scores = likeliest(evidence, known, 7, node)
    np.testing.assert_allclose(scores, np.sort(known.scores(values))[::-1][:7], atol=1e-9)
    assert len({tuple(pair) for pair in best.tolist()}) == 7


def test_of_a_large_graph_the_nodes_with_strong_evidence_are_looked_at(monkeypatch):
    """A ring has none; two nodes of it that share three neighbours more do."""
    ring = [(k, (k + 1) % 200) for k in range(200)]
    graph = Graph.from_edges([*ring, *((end, 200 + k) for end in (10, 90) for k in range(3))])
    monkeypatch.setattr(module, "_ALL_NODES", 100)
    monkeypatch.setattr(module, "_SOME_NODES", 20)
    evidence = Evidence(graph)
    rows = evidence.rows()
    assert len(rows) == len(np.unique(rows)) == 20
    assert {graph.index(10), graph.index(90)} <= set(rows.tolist())
    by_common_neighbours = Calibration((0.0,) * 6, (1.0,) * 6, (0.0, 0.0, 0.0, 0.0, 1.0, 0.0))
    best, _ = likeliest(evidence, by_common_neighbours, 4)
    assert {10, 90} in [{graph.ids[i], graph.ids[j]} for i, j in best.tolist()]


def test_few_ties_leave_heat_alone_and_no_chances():
    known = learn(Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)]))
    assert known.slopes == (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert known.rounds == 0
    assert np.isnan(known.chance(np.zeros(3))).all()


def test_what_is_learnt_can_be_kept():
    known = learn(CLUB)
    assert known.rounds == 10
    assert known.held_out == 80
    assert Calibration.from_json(known.to_json()) == known


GOOD = Calibration((0.0,), (1.0,), (1.0,), (2.0, 1.0), (0.5, 0.1), (1.0,), 3, 1, "x").to_json()


@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        {},
        GOOD | {"spread": [0.0]},
        GOOD | {"slopes": []},
        GOOD | {"steps": [1.0]},
        GOOD | {"held_out": "3"},
        GOOD | {"centre": ["a"]},
        GOOD | {"more": 1},
    ],
)
def test_nonsense_is_not_believed(data):
    assert Calibration.from_json(GOOD) is not None
    assert Calibration.from_json(data) is None


def test_precision_counts_pairs_that_stand_for_several():
    sample = _Sample(
        np.zeros((1, 4)),
        np.array([True, False, True, False]),
        np.array([1.0, 2.0, 1.0, 50.0]),
        np.array([4.0, 3.0, 2.0, 1.0]),
    )
    found = _precision(sample)
    assert found[0] == 1.0
    assert found[3] == pytest.approx(2 / 4)
    assert found[-1] == pytest.approx(2 / 54)


def test_chances_allow_for_ties_that_were_missing_before_others_were_hidden():
    """Of 100 pairs alike, 20 were hidden; 20 / 0.9 more are missing, among the 80 that are left."""
    _, chances = _steps(alike(10_000, 0.2))
    assert chances == pytest.approx([20 / 0.9 / 80] * len(chances), rel=0.1)


def test_chances_allow_for_none_where_more_ties_came_back_than_could_if_some_were_missing():
    """Of 100 pairs alike 60 were hidden: there is no room for as many that are missing."""
    _, chances = _steps(alike(1000, 0.6))
    assert chances == pytest.approx([0.6] * len(chances), rel=0.1)


def alike(pairs, share):
    """Pairs of one score, of which this share was hidden, evenly spread."""
    hidden = np.diff(np.floor(share * np.arange(pairs + 1) + 1e-6)) > 0
    return _Sample(np.zeros((1, pairs)), hidden, np.ones(pairs), np.zeros(pairs))


def test_a_directed_graph_without_gaps_is_promised_no_more_than_came_back():
    """In each of four groups almost everybody asks all those above, so that two thirds of the best
    pairs come back.
    """
    rng, n = np.random.default_rng(3), 60
    group, height = np.arange(n) % 4, np.arange(n) // 4
    rate = np.where((group[:, None] == group) & (height[:, None] < height), 0.97, 0.01)
    graph = Graph.from_arrays(
        *np.nonzero((rng.random((n, n)) < rate) & ~np.eye(n, dtype=bool)), ids=n, directed=True
    )
    known = learn(graph)
    _, scores = likeliest(Evidence(graph), known, 3)
    assert known.chance(scores).mean() == pytest.approx(known.precision[19], abs=0.15)


def test_chances_never_ascend():
    rng = np.random.default_rng(4)
    hidden = rng.random(5000) < np.linspace(0.1, 0.3, 5000)
    _, chances = _steps(
        _Sample(np.zeros((1, 5000)), hidden, np.ones(5000), np.linspace(1.0, 0.0, 5000))
    )
    assert (np.diff(chances) <= 1e-12).all()


def test_pairs_of_much_heat_are_all_kept(monkeypatch):
    """Sixty cliques of six, each without one tie: such a pair must not stand for others, nor be
    left out.
    """
    monkeypatch.setattr(module, "_KEPT", 4000)
    ties = [
        (6 * k + i, 6 * k + j)
        for k in range(60)
        for i in range(6)
        for j in range(i)
        if (i, j) != (1, 0)
    ]
    sample = _sample(Graph.from_edges(ties), None)
    hot = sample.evidence[3] > 0
    assert hot.sum() == 60
    assert (sample.weights[hot] == 1.0).all()
