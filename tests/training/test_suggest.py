"""Ties that may be missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training import suggest as module
from ultrahyperbolic.training.suggest import calibrate

CLUB = uh.datasets.karate()
ADVICE = Graph.from_edges(
    [(i, j, 1.0 + i) for i in range(14) for j in range(14) if i != j and (3 * i + j) % 5 < 2],
    directed=True,
)


@pytest.fixture(scope="module")
def club():
    return uh.embed(CLUB, iterations=200, quiet=True)


def test_the_table(club):
    table = club.suggest(6)
    assert list(table.columns) == ["node", "neighbor", "distance", "score", "reason"]
    assert table["score"].between(0, 1).all()
    assert table["score"].is_monotonic_decreasing
    first = table.iloc[0]
    assert first["distance"] == pytest.approx(club.distance(first["node"], first["neighbor"]))
    assert table.attrs["precision"] == calibrate(club).precision[5]
    named = replace(club, graph=None, labels={node: f"member {node}" for node in CLUB.ids})
    named = named.suggest(1, graph=CLUB).iloc[0]
    assert named["neighbor_label"] == f"member {named['neighbor']}"
    one = club.suggest(3, node="34")
    assert set(one["node"]) == {"34"}
    ties = {frozenset((CLUB.ids[i], CLUB.ids[j])) for i, j in CLUB.edges.tolist()}
    assert not any(
        frozenset(pair) in ties for pair in zip(one["node"], one["neighbor"], strict=True)
    )
    assert len(club.suggest(10_000)) == 34 * 33 // 2 - 78


def test_a_reason_counts_common_neighbours_and_looks_at_the_map(club):
    table, network = club.suggest(10_000), CLUB.to_networkx()
    hops = {node: set(network[node]) for node in network}
    for row in table.itertuples():
        shared = len(hops[row.node] & hops[row.neighbor])
        words = row.reason.split("; ")
        if shared:
            assert words[0] == f"{shared} common neighbour{'s' * (shared > 1)}"
        else:
            three = any(hops[node] & hops[row.neighbor] for node in hops[row.node])
            assert words[0] == ("their neighbours are tied" if three else "no short path")
    near = table[table["reason"].str.endswith("near on the map")]
    assert 0 < len(near) < len(table)
    for row in near.itertuples():
        nearer = [
            len(club.closer_than(a, club.distance(a, b)))
            for a, b in ((row.node, row.neighbor), (row.neighbor, row.node))
        ]
        assert min(nearer) <= 3


def test_a_directed_graph_gets_ties_from_one_node_to_another():
    embedding = uh.embed(ADVICE, iterations=60, quiet=True)
    table = embedding.suggest(20)
    ties = {(ADVICE.ids[i], ADVICE.ids[j]) for i, j in ADVICE.arcs[0].tolist()}
    found = list(zip(table["node"], table["neighbor"], strict=True))
    assert not ties & set(found)
    for (i, j), words, far in zip(found, table["reason"], table["distance"], strict=True):
        assert words.startswith("tied the other way") == ((j, i) in ties)
        assert far == pytest.approx(embedding.scores([embedding.index(i)])[0][embedding.index(j)])
    both = embedding.suggest(20, node=3)
    assert set(both["node"]) > {3}
    assert ((both["node"] == 3) | (both["neighbor"] == 3)).all()


def test_a_loaded_embedding_suggests_from_the_ties_in_its_folder(club, tmp_path):
    club.with_record(replace(club.record, suggest=calibrate(club).to_json())).save(
        tmp_path / "club"
    )
    loaded = uh.load(tmp_path / "club")
    assert loaded.suggest(3).equals(club.suggest(3))
    assert loaded.suggest(3, graph=CLUB).equals(club.suggest(3))


def test_an_embedding_without_ties_says_that_it_needs_the_graph(club):
    with pytest.raises(ValueError, match=r"needs the graph.*holds no ties.*graph="):
        replace(club, graph=None).suggest(3)


def test_what_is_learnt_is_kept_and_is_of_one_graph(club, monkeypatch):
    found = calibrate(club)
    assert calibrate(club) is found
    other = replace(
        club, graph=CLUB.unweighted(), record=replace(club.record, suggest=found.to_json())
    )
    assert calibrate(other).fingerprint == CLUB.unweighted().fingerprint
    kept = replace(club, record=replace(club.record, suggest=found.to_json()))
    monkeypatch.setattr(module, "learn", None)
    assert calibrate(kept) == found


def test_few_ties_have_no_scores():
    small = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    table = uh.embed(small, iterations=20, quiet=True).suggest(3)
    assert len(table) == 3
    assert table["score"].isna().all()
    assert "precision" not in table.attrs


def test_a_complete_graph_has_nothing_to_suggest():
    full = Graph.from_edges([(i, j, 1.0 + i) for i in range(8) for j in range(i)])
    assert len(uh.embed(full, iterations=20, quiet=True).suggest(3)) == 0
