"""The board: its graphs, what it keeps and counts, and that its parts run."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ultrahyperbolic import datasets
from ultrahyperbolic.geometry import Geometry

NAMES = (
    "tree_with_cycles",
    "weighted_blocks",
    "power_law",
    "star_with_path",
    "lattice",
    "forest_fire",
    "hyperbolic_disc",
    "co_occurrence",
    "nested_blocks",
    "core_and_rim",
    "hubs",
    "planted_tree",
    "planted_tree_weighted",
    "planted_random_tree",
)


@pytest.fixture(autouse=True)
def same_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def board(tmp_path, monkeypatch):
    """Run a part, and read the figures it writes."""
    import board

    def run(*words, path=tmp_path / "out" / "figures.json"):
        monkeypatch.setattr(sys, "argv", ["board.py", *map(str, words), "--json", str(path)])
        board.main()
        return json.loads(
            path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON")
        )

    return run


def test_the_halves_are_those_of_the_docs():
    import board_graphs

    looked, unseen = board_graphs.of_half("looked"), board_graphs.of_half("unseen")
    assert (len(looked), len(unseen)) == (12, 12)
    assert board_graphs.of_half("both") == looked + unseen
    assert {"dolphins", "polbooks", "adjnoun", "jazz", "cora", "mammals"} < set(unseen)
    from graphs import GENERATED

    assert set(GENERATED) == set(NAMES)
    assert len(set(GENERATED) & set(unseen)) == 6


def pieces(made):
    """The number of components."""
    ends = made.edges.T
    return connected_components(coo_array((np.ones(ends.shape[1]), ends), shape=(made.n, made.n)))[
        0
    ]


@pytest.mark.parametrize("name", NAMES)
def test_generated_graphs_are_what_they_say_and_always_the_same(name):
    from graphs import GENERATED

    known = GENERATED[name]
    made, again = known.make(), known.make()
    assert made.graph() == again.graph()
    assert (pieces(made) == 1) == known.connected
    assert made.graph().n_edges == len(made.edges)  # no pair twice, no node tied to itself
    if made.depth is not None:
        i, j = made.edges.T
        assert (np.bincount(made.depth) > 0).all()
        # All but the root have a tie to a node that is one step nearer to it.
        below = np.concatenate((i[made.depth[j] < made.depth[i]], j[made.depth[i] < made.depth[j]]))
        assert set(below) == set(range(1, made.n))


def test_depth_is_the_fewest_steps_below_the_root():
    from graphs import depth_below

    # 3 is below 1 and, two steps deeper, below 2; 5 is above the root, and not reached.
    parents = [(1, 0), (4, 0), (2, 4), (3, 2), (3, 1), (0, 5)]
    assert depth_below(parents, 6, root=0).tolist() == [0, 1, 2, 2, 1, -1]


RUN = ("run", "--geometries", "Q2_2", "R4", "--seeds", "2", "--iterations", "40")


def test_a_run_writes_its_measures(board, capsys):
    found = board(*RUN, "--graphs", "karate", "--which", "new,paper")
    assert (found["karate/half"], found["karate/strengths"], found["run:iterations"]) == (
        "looked",
        21,
        40,
    )
    for stem in (
        f"karate/{key}/{which}/{seed}"
        for key in ("Q2_2", "R4")
        for which in ("new", "paper")
        for seed in "01"
    ):
        assert 0.0 < found[f"{stem}/map"] <= 1.0
        assert {
            f"{stem}/{what}" for what in ("recall_at_1", "tie_order", "spearman_all", "seconds")
        } <= set(found)
        assert found[f"{stem}/finite"] == 1
    assert found["karate/Q2_2/new/0/map"] != found["karate/Q2_2/new/1/map"]
    assert "[1 of 1" in capsys.readouterr().out


def test_a_run_gives_what_embed_gives(board):
    from ultrahyperbolic import embed

    found = board(*RUN, "--graphs", "karate")
    alone = embed(datasets.karate(), p=2, q=2, seed=1, iterations=40, quiet=True).record.measures
    for what in ("map", "recall_at_1", "tie_order", "spearman_all"):
        assert found[f"karate/Q2_2/new/1/{what}"] == pytest.approx(alone[what])


def test_rankings_are_those_of_embed_with_its_popularity():
    from board import deltas
    from board_graphs import load_graph
    from board_run import How, Job, train

    from ultrahyperbolic import embed

    loaded, how = load_graph("karate"), How(iterations=40)
    (found,) = deltas(loaded, train(loaded, [Job(Geometry(3, 3), 1)], "new", how), how)
    np.testing.assert_allclose(
        found, embed(loaded.graph, seed=1, iterations=40, quiet=True).delta, rtol=1e-9
    )


@pytest.mark.slow
def test_an_interrupted_run_goes_on(board, monkeypatch, tmp_path):
    import board_run

    trained, real = [], board_run.train

    def train(loaded, jobs, which, how):
        if loaded.name == "star_with_path" and len(trained) == 1:
            raise KeyboardInterrupt
        trained.append((loaded.name, len(jobs)))
        return real(loaded, jobs, which, how)

    monkeypatch.setattr(board_run, "train", train)
    words = (*RUN, "--graphs", "karate", "star_with_path")
    with pytest.raises(KeyboardInterrupt):
        board(*words)
    before = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert any(key.startswith("karate/R4/new/1") for key in before)
    trained.append(("interrupted", 0))
    after = board(*words)
    assert trained == [("karate", 4), ("interrupted", 0), ("star_with_path", 4)]
    assert {key: after[key] for key in before} == before
    board(*words, "--again")
    assert trained[3:] == [("karate", 4), ("star_with_path", 4)]
    with pytest.raises(SystemExit, match="other iterations"):
        board(*RUN[:-1], "20", "--graphs", "karate")


def test_a_file_is_a_graph_of_the_board(board, tmp_path):
    from board_graphs import load_graph

    (tmp_path / "three.tsv").write_text("a\tb\t2\nb\tc\t1\n")
    name, half, graph, depth = load_graph(str(tmp_path / "three.tsv"))
    assert (name, half, graph.weights.tolist(), depth) == ("three", "apart", [2.0, 1.0], None)


SHORT = ("--iterations", "20")


def test_the_club_s_leaders_are_counted(board):
    found = board("karate", "--seeds", "3", *SHORT)
    assert found["karate:leaders_among_three"] in (0.0, 1 / 3, 2 / 3, 1.0)
    assert 0.0 < found["karate:map"] <= 1.0
