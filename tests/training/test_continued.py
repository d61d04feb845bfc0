"""Trainings that continue from an earlier embedding."""

from __future__ import annotations

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.continued import start_from

CLUB = uh.datasets.karate()
TRIPLES = [
    (CLUB.ids[i], CLUB.ids[j], w)
    for (i, j), w in zip(CLUB.edges.tolist(), CLUB.weights.tolist(), strict=True)
]


@pytest.fixture(scope="module")
def club():
    return uh.embed(CLUB, quiet=True)


def order_of_pairs(embedding, ids):
    rows = [embedding.index(node) for node in ids]
    pairs = embedding.distances()[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)]
    return np.argsort(np.argsort(pairs))


def agreement(a, b, ids):
    return np.corrcoef(order_of_pairs(a, ids), order_of_pairs(b, ids))[0, 1]


def test_what_is_there_is_kept(club):
    changed = Graph.from_edges([*TRIPLES[3:], ("new", "34", 5.0), ("new", "33", 3.0)])
    found = uh.embed(changed, continue_from=club, quiet=True)
    anew = uh.embed(changed, quiet=True)
    assert set(found.ids) == {*CLUB.ids, "new"}
    assert agreement(club, found, CLUB.ids) > 0.85 > agreement(club, anew, CLUB.ids)
    assert found.record.measures["map"] > 0.95
    assert found.record.config["start"] == "given"
    assert "continue_from" in found.record.call


def test_nodes_that_are_gone_vanish(club, tmp_path):
    left = Graph.from_edges([tie for tie in TRIPLES if "34" not in tie])
    club.save(tmp_path / "club")
    found = uh.embed(left, continue_from=tmp_path / "club", iterations=50, quiet=True)
    assert "34" not in set(found.ids)
    assert found.geometry == club.geometry


def test_old_nodes_start_where_they_were_and_strangers_where_they_would(club):
    graph = Graph.from_edges([*TRIPLES, ("new", "34", 5.0), ("x", "y", 1.0)])
    usual = TrainingConfig(p=3, q=3, start="pole", seed=4)
    start = start_from(club, graph, usual)
    for node in ("1", "34"):
        assert (start.points[graph.index(node)] == club.points[club.index(node)]).all()
    assert (start.points[graph.index("x")] == usual.starting_points(graph)[graph.index("x")]).all()
    assert (
        start.points[graph.index("new")] != usual.starting_points(graph)[graph.index("new")]
    ).any()


def test_the_geometry_is_the_earlier_one():
    old = uh.embed(CLUB, p=2, q=1, beta=-4.0, iterations=30, quiet=True)
    found = uh.embed(CLUB, continue_from=old, iterations=30, quiet=True)
    assert found.geometry == old.geometry
    again = uh.embed(CLUB, continue_from=old, p=2, q=1, beta=-4.0, iterations=5, quiet=True)
    assert again.geometry == old.geometry
    with pytest.raises(ValueError, match=r"beta -4, and beta = -1\.0 is another geometry"):
        uh.embed(CLUB, continue_from=old, beta=-1.0, quiet=True)


def test_popularity_goes_on():
    old = uh.embed(CLUB, iterations=60, quiet=True)
    found = uh.embed(CLUB, continue_from=old, iterations=1, quiet=True)
    assert found.popularity is not None
    assert np.corrcoef(found.popularity, old.popularity)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            {"p": 2, "q": 2},
            r"on Q\^\(3,3\), beta -1, and p = 2 is another geometry: leave the geometry out",
        ),
        ({"dim": 4}, "dim = 4"),
        ({"flat": True}, "flat = True"),
        ({"beta": -4.0}, "beta = -4"),
        ({"seeds": 3}, "seeds asks for others"),
        ({"preset": "paper"}, "preset asks for others"),
    ],
)
def test_contradictions_are_refused(club, overrides, said):
    with pytest.raises(ValueError, match=said):
        uh.embed(CLUB, continue_from=club, quiet=True, **overrides)


def test_strangers_are_refused(club):
    with pytest.raises(ValueError, match=r"no node of .* is in the earlier embedding"):
        uh.embed(Graph.from_edges([(1, 2), (2, 3)]), continue_from=club, quiet=True)
    with pytest.raises(
        TypeError, match="continue_from must be an Embedding or the folder of one, got int"
    ):
        uh.embed(CLUB, continue_from=7, quiet=True)


def test_given_points_are_needed():
    config = TrainingConfig(p=3, q=3, start="given", iterations=5)
    with pytest.raises(ValueError, match="continue from them again"):
        uh.training.embed_many(CLUB, [config])
    with pytest.raises(ValueError, match="starts from given points"):
        config.starting_points(CLUB)
