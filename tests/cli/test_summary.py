"""What ``embed`` prints of an embedding: the five things one expects, and nothing that the measures
do not bear out.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ultrahyperbolic import datasets, embed
from ultrahyperbolic.cli.output import in_words, print_summary, summary_as_json
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.flow import Centrality

INTERVALS = "in brackets: the interval of ranks that the standard errors leave open"


def test_the_five_things_come_first_and_in_order():
    names = ["map", "recall_at_1", "violated_orders", "tie_order", "delta_centrality"]
    words = (
        "precision of the neighbours 0.500",
        "is a neighbour for 50.00 %",
        "than a non-tie in 50.00 %",
        "the stronger is shorter in 50.00 % (chance: 50 %)",
        "agrees with centrality: ρ = 0.500",
    )
    lines = in_words(dict.fromkeys(reversed(names), 0.5) | {"spearman_all": 0.9})
    assert len(lines) == 5
    assert all(part in line for part, line in zip(words, lines, strict=True))
    assert in_words({}) == []


def test_the_ranking_follows_under_its_name(club, capsys):
    loaded = Embedding.load(club)
    print_summary(loaded, datasets.karate(), club)
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("the most central nodes:") + 1
    assert lines[start].split() == ["rank", "node", "centrality", "strength"]
    assert [line.split()[:2] for line in lines[start + 1 : start + 3]] == [["1", "34"], ["2", "1"]]
    strength = dict(zip(loaded.ids, datasets.karate().strength, strict=True))
    assert [float(line.split()[-1]) for line in lines[start + 1 : start + 11]] == [
        strength[node] for node in loaded.hierarchy()["node"][:10]
    ]
    bare = Embedding(loaded.ids, loaded.points, loaded.manifold, loaded.run)
    print_summary(bare, datasets.karate(), club)
    assert "\nthe nodes of smallest delta:\nrank  node " in capsys.readouterr().out


def test_of_a_directed_graph_the_highest_nodes_are_listed(tmp_path, capsys):
    rows = [
        ("eve", "ann", 5.0),
        ("ann", "bob", 12.0),
        ("bob", "cid", 3.0),
        ("cid", "dan", 7.0),
        ("eve", "bob", 1.0),
    ]
    graph = Graph.from_edges(rows, directed=True)
    embedding = embed(graph, iterations=60, quiet=True)
    embedding.save(tmp_path)
    print_summary(embedding, graph, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("the highest nodes, from which ties point down:")
    assert lines[start + 1].split() == ["rank", "node", "height", "strength"]
    listed = [line.split() for line in lines[start + 2 : start + 7]]
    order = np.argsort(-embedding.heights)
    assert (
        [words[-3] for words in listed]
        == [graph.ids[k] for k in order]
        == ["eve", "ann", "bob", "cid", "dan"]
    )
    assert [words[-2] for words in listed] == [
        f"{height:.4f}" for height in embedding.heights[order]
    ]
    top = summary_as_json(embedding, tmp_path)["top"]
    assert [row["node"] for row in top] == [graph.ids[k] for k in order]


def test_a_tie_order_near_chance_is_told(club, capsys):
    loaded = Embedding.load(club)
    print_summary(
        Embedding(
            loaded.ids,
            loaded.points,
            loaded.manifold,
            loaded.run | {"measures": {"tie_order": 0.59}},
        ),
        datasets.karate(),
        club,
    )
    said = "  note: of two ties, the stronger is shorter in only 59 % of comparisons (chance: 50 %)"
    assert said in capsys.readouterr().out


def test_ranks_that_are_estimated_have_intervals_for_people_and_scripts(club, capsys):
    loaded = Embedding.load(club)
    assert "rank_low" not in summary_as_json(loaded, Path(club))["top"][0]
    vars(loaded)["centrality"] = Centrality(
        -np.arange(34.0), np.full(34, 0.4)
    )  # of which the neighbours overlap
    print_summary(loaded, datasets.karate(), club)
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("the most central nodes:") + 2
    assert [" ".join(line.split()[:2]) for line in lines[start : start + 3]] == [
        "1 (1–2)",
        "2 (1–3)",
        "3 (2–4)",
    ]
    assert lines[start + 10].startswith(INTERVALS)
    top = json.loads(json.dumps(summary_as_json(loaded, Path(club))))["top"]
    assert [(row["node"], row["rank_low"], row["rank_high"]) for row in top[:2]] == [
        ("1", 1, 2),
        ("2", 1, 3),
    ]
