"""Ties that may be missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation import hold_out_edges
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training import suggest as module
from ultrahyperbolic.training.suggest import Calibration, _descending, _fitted, base_rate, calibrate, nearest_untied

CLUB = uh.datasets.karate()


@pytest.fixture(scope="module")
def club():
    embedding = uh.embed(CLUB, iterations=200, quiet=True)
    calibrate(embedding)
    return embedding


def untied(embedding, node=None):
    """All pairs without a tie, nearest first, as the definition has it."""
    apart = embedding.distances()
    tied = {tuple(edge) for edge in embedding.graph.edges.tolist()}
    pairs = [(i, j) for i in range(len(embedding)) for j in range(i + 1, len(embedding)) if (i, j) not in tied]
    if node is not None:
        pairs = [pair for pair in pairs if node in pair]
    return sorted(pairs, key=lambda pair: apart[pair])


@pytest.mark.parametrize("goal", ["balanced", "neighbours"])
def test_they_are_the_nearest_pairs_without_a_tie(goal, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 100)
    embedding = uh.embed(CLUB, goal=goal, iterations=60, quiet=True)
    pairs, apart = nearest_untied(embedding, 25)
    assert [tuple(pair) for pair in pairs.tolist()] == untied(embedding)[:25]
    assert (np.diff(apart) >= 0).all()
    of_one, _ = nearest_untied(embedding, 5, 33)
    assert [tuple(sorted(pair)) for pair in of_one.tolist()] == untied(embedding, 33)[:5]
    assert (of_one[:, 0] == 33).all()


def test_the_table(club):
    table = club.suggest(6)
    assert list(table.columns) == ["node", "neighbor", "distance", "score"]
    assert table["score"].between(0, 1).all()
    assert table["score"].is_monotonic_decreasing
    first = table.iloc[0]
    assert first["distance"] == pytest.approx(club.distance(first["node"], first["neighbor"]))
    named = replace(club, graph=CLUB.with_nodes({node: f"member {node}" for node in CLUB.ids})).suggest(1).iloc[0]
    assert named["neighbor_label"] == f"member {named['neighbor']}"
    one = club.suggest(3, node="34")
    assert set(one["node"]) == {"34"}
    ties = {frozenset((CLUB.ids[i], CLUB.ids[j])) for i, j in CLUB.edges.tolist()}
    assert not any(frozenset(pair) in ties for pair in zip(one["node"], one["neighbor"], strict=True))
    assert len(club.suggest(10_000)) == 34 * 33 // 2 - 78


def test_all_chances_together_are_the_ties_that_are_missing(club):
    total = club.suggest(10_000)["score"].sum()
    assert total == pytest.approx(78 / 9, rel=0.3)


def test_a_loaded_embedding_is_given_its_graph(club, tmp_path):
    record = replace(club.record, suggest=calibrate(club).to_json())
    club.with_record(record).save(tmp_path / "club")
    loaded = uh.load(tmp_path / "club")
    with pytest.raises(ValueError, match=r"needs the graph.*graph="):
        loaded.suggest(3)
    assert loaded.suggest(3, graph=CLUB)["score"].tolist() == club.suggest(3)["score"].tolist()


def test_what_is_learnt_is_kept_and_is_of_one_graph(club, monkeypatch):
    found = calibrate(club)
    assert calibrate(club) is found
    assert Calibration.from_json(found.to_json()) == found
    other = replace(club, graph=CLUB.unweighted(), record=replace(club.record, suggest=found.to_json()))
    trained = []
    monkeypatch.setattr(module, "_held_out_shares", lambda *a: trained.append(a) or np.array([0.1, 0.2]))
    assert calibrate(other).fingerprint == CLUB.unweighted().fingerprint
    assert len(trained) == 10


@pytest.mark.parametrize("data", [None, 7, {}, {"ranks": [0.1], "lift": [], "held_out": 3, "fingerprint": "x"},
                                  {"ranks": [0.1], "lift": [-1.0], "held_out": 3, "fingerprint": "x"}])  # fmt: skip
def test_nonsense_is_not_believed(data):
    assert Calibration.from_json(data) is None


def test_chances_are_right_where_the_truth_is_known():
    """Ranks of held-out ties drawn from a known law: what is promised is what comes true."""
    rng, pairs, ties = np.random.default_rng(0), 100_000, 3000
    found = _fitted(rng.beta(0.3, 1.0, ties), 50, pairs)
    shares = np.arange(1, pairs + 1) / pairs
    base = ties / pairs
    chance = found.chance(shares, base)
    assert (np.diff(chance) <= 0).all()
    assert chance.sum() == pytest.approx(ties, rel=0.15)
    for low, high in ((1e-3, 1e-2), (1e-2, 0.1), (0.1, 1.0)):
        here = (shares > low) & (shares <= high)
        assert chance[here].sum() == pytest.approx(ties * (high**0.3 - low**0.3), rel=0.15)
    top = found.chance(np.array([1e-9]), base)[0]
    assert 0 < top <= 1.0


def test_few_ties_have_no_scores():
    small = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    table = uh.embed(small, iterations=20, quiet=True).suggest(3)
    assert len(table) == 3
    assert table["score"].isna().all()


def test_a_complete_graph_has_nothing_to_suggest():
    full = Graph.from_edges([(i, j, 1.0 + i) for i in range(8) for j in range(i)])
    assert len(uh.embed(full, iterations=20, quiet=True).suggest(3)) == 0


def test_values_that_never_ascend():
    assert _descending(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 3.0])).tolist() == [3.0, 1.75, 1.75]
    assert _descending(np.array([1.0, 2.0, 3.0]), np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_the_base_rate_is_that_of_one_tie_in_ten():
    split = hold_out_edges(CLUB, 0.1, 0)
    missing = len(split.edges)
    rest = split.graph
    assert base_rate(rest) * (34 * 33 // 2 - rest.n_edges) == pytest.approx(missing, rel=0.05)
