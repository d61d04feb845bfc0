"""What ``embed`` prints of an embedding: the four things one expects, and nothing that the measures do not bear out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ultrahyperbolic import datasets, embed
from ultrahyperbolic.cli.output import in_words, print_summary, summary_as_json
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.evaluation import RankIntervals
from ultrahyperbolic.graph import Graph

GOOD = {"spearman_all": 0.3, "tie_order": 0.6}


@pytest.fixture
def printed(club, capsys):
    """What is printed of the club with other measures."""

    def lines(measures: dict[str, float], *, ranked: bool = False) -> list[str]:
        loaded = Embedding.load(club)
        embedding = Embedding(loaded.ids, loaded.points, loaded.manifold, loaded.run | {"measures": measures})
        if ranked:
            ends = RankIntervals(np.maximum(embedding.rank - 1, 1), np.minimum(embedding.rank + 2, 34), 19 / 21)
            embedding = embedding.with_ranks(ends, seeds=20, first_seed=0)
        print_summary(embedding, datasets.karate(), club)
        return capsys.readouterr().out.splitlines()

    return lines


def test_the_four_things_come_first_and_in_order():
    names = ["map", "recall_at_1", "violated_orders", "tie_order", "spearman_all"]
    words = ("precision of the neighbours 0.500", "is a neighbour for 50.00 %", "than a non-tie in 50.00 %",
             "the stronger is shorter in 50.00 % (chance: 50 %)", "rank agrees with strength: ρ = 0.500")  # fmt: skip
    lines = in_words(dict.fromkeys(reversed(names), 0.5) | {"spearman_all_pagerank": 0.9})
    assert len(lines) == 5
    assert all(part in line for part, line in zip(words, lines, strict=True))
    assert lines[-1].endswith("(PageRank 0.900)")
    assert in_words({}) == []


def test_a_hierarchy_is_named_only_where_there_is_one(printed):
    good = printed(GOOD)
    assert "the top of the hierarchy:" in good
    assert not any("note" in line for line in good)
    bad = printed(GOOD | {"spearman_all": 0.29})
    assert "the top of the hierarchy:" not in bad
    said = "this graph shows no clear hierarchy in this geometry: rank hardly agrees with strength (ρ = 0.29)"
    assert f"  note: {said}" in bad
    start = bad.index("nodes by delta:")
    assert bad[start + 1 : start + 12] == good[start : start + 11], "the same nodes"


def test_the_strongest_node_is_listed_wherever_it_ranks(club, capsys):
    graph, found = datasets.karate(), Embedding.load(club)
    print_summary(found, graph, club)
    assert "strongest" not in capsys.readouterr().out
    last = int(found.rank.argmax())
    weights = graph.weights + 1000.0 * (graph.edges == last).any(1)
    heavier = Graph.from_arrays(*graph.edges.T, weights, ids=graph.ids)
    print_summary(found, heavier, club)
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("the top of the hierarchy, and the strongest node:")
    rank, *_, delta, strength = lines[start + 12].split()
    assert (rank, delta, strength) == ("34", f"{found.delta[last]:.4f}", f"{heavier.strength[last]:g}")
    # Of two that are equally strong, one is among the first.
    near, other = np.flatnonzero(found.rank <= 10)[-1], np.flatnonzero(found.rank > 10)[0]
    pair = Graph.from_arrays([near], [other], [5.0], ids=34)
    print_summary(found, pair, club)
    assert "strongest" not in capsys.readouterr().out


def test_of_a_directed_graph_the_highest_nodes_are_listed(tmp_path, capsys):
    rows = [("eve", "ann", 5.0), ("ann", "bob", 12.0), ("bob", "cid", 3.0), ("cid", "dan", 7.0), ("eve", "bob", 1.0)]
    graph = Graph.from_edges(rows, directed=True)
    embedding = embed(graph, iterations=60, quiet=True)
    embedding.save(tmp_path)
    print_summary(embedding, graph, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("the highest nodes:")
    assert lines[start + 1].split() == ["rank", "node", "height", "strength"]
    listed = [line.split() for line in lines[start + 2 : start + 7]]
    order = np.argsort(-embedding.heights)
    assert [words[-3] for words in listed] == [graph.ids[k] for k in order] == ["eve", "ann", "bob", "cid", "dan"]
    assert [words[-2] for words in listed] == [f"{height:.4f}" for height in embedding.heights[order]]
    assert "the height is computed from a random sample of the ties" in lines[start + 7]
    top = summary_as_json(embedding, tmp_path)["top"]
    assert [row["node"] for row in top] == [graph.ids[k] for k in order]


def test_where_there_is_no_rho_nothing_is_claimed(printed):
    lines = printed({})
    assert "nodes by delta:" in lines
    assert not any("hierarchy" in line for line in lines)


def test_a_tie_order_near_chance_is_told(printed):
    said = "  note: of two ties, the stronger is hardly nearer than chance in this geometry (59 %; chance: 50 %)"
    assert said in printed(GOOD | {"tie_order": 0.59})


def test_ranks_have_their_intervals_over_the_seeds(printed):
    lines = printed(GOOD, ranked=True)
    start = lines.index("the top of the hierarchy:") + 2
    assert [" ".join(line.split()[:2]) for line in lines[start : start + 3]] == ["1 (1–3)", "2 (1–4)", "3 (2–5)"]
    assert lines[start + 10] == (
        "in brackets: the interval of ranks found in 20 trainings that differ by their seed; "
        "a further training falls into it with a probability of 90 %"
    )
    assert "in brackets: the interval that holds 90 % of a node's ranks" in "\n".join(printed(GOOD))


def test_scripts_are_told_too(club):
    loaded = Embedding.load(club)
    assert summary_as_json(loaded, Path(club))["ranks"] is None
    ranked = loaded.with_ranks(RankIntervals(loaded.rank, loaded.rank, 0.9), seeds=20, first_seed=5)
    said = summary_as_json(ranked, Path(club))
    assert said["ranks"] == {"seeds": 20, "first_seed": 5, "coverage": 0.9}
    assert said["top"][1]["rank_low"] == said["top"][1]["rank_high"] == 2
