"""A notebook shows a table; ids in it are text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from ultrahyperbolic import Embedding, Euclidean, Graph, PseudoHyperboloid, datasets, embed
from ultrahyperbolic.embedding import forms as html
from ultrahyperbolic.graph.flow import Centrality

pytest.importorskip("pandas")


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.cells = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def read(embedding):
    reader = Reader()
    reader.feed(embedding._repr_html_())
    reader.close()
    assert reader.open == []
    assert reader.tags <= {
        "div",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "i",
        "sup",
    }
    return reader.cells


def test_what_is_shown():
    club = embed(datasets.karate(), p=3, q=1, beta=-4.0, iterations=50, quiet=True)
    cells = read(club)
    assert cells[:4] == ["nodes", "34", "geometry", "Q3,1, β = -4"]
    assert "reached 50 iterations" in " ".join(cells)
    assert f"{club.run['measures']['map']:.4g}" in cells
    top = club.hierarchy().head(5)
    shown = cells[cells.index("centrality") + 1 :]
    assert [shown[3 * k + 1] for k in range(5)] == top["node"].tolist()


def captions(embedding):
    return re.findall("<caption>(.*?)</caption>", embedding._repr_html_())


def test_whom_the_ranking_lists_first_is_said():
    few = {"p": 2, "q": 1, "iterations": 5, "quiet": True}
    ties = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c")]
    bare = Embedding(list("abcde"), np.arange(10.0).reshape(5, 2), Euclidean(2))
    assert captions(embed(ties, **few))[1] == "The most central nodes"
    assert captions(embed(Graph.from_edges(ties, directed=True), **few))[1].startswith(
        "The highest nodes"
    )
    assert captions(bare)[1] == "The nodes of smallest delta"


def test_notes_say_what_the_points_do_not_show():
    def shown(**measures):
        return read(
            Embedding(
                list("abcde"), np.arange(10.0).reshape(5, 2), Euclidean(2), {"measures": measures}
            )
        )

    assert "the stronger is shorter in only 50 %" in " ".join(shown(tie_order=0.5))
    assert "note" not in shown(spearman_all=0.1, tie_order=0.6)


def test_ranks_that_are_estimated_have_intervals():
    embedding = Embedding(list("abc"), np.arange(6.0).reshape(3, 2), Euclidean(2))
    vars(embedding)["centrality"] = Centrality(np.array([1.0, 5.0, 4.9]), np.array([0.0, 0.1, 0.2]))
    cells = read(embedding)
    assert [cells[cells.index("centrality") + 1 + 3 * k] for k in range(3)] == [
        "1 (1–2)",
        "2 (1–2)",
        "3 (3–3)",
    ]


def test_ids_are_text():
    ids = [
        "<script>alert(1)</script>",
        "&lt;",
        '"><img src=x onerror=y>',
        "x" * 500,
        "</td></table>",
    ]
    embedding = Embedding(
        ids, np.arange(10.0).reshape(5, 2), Euclidean(2), {"graph": {"source": "<b>"}, "seed": 0}
    )
    cells = read(embedding)
    assert {ids[0], ids[1], ids[2], ids[4], "x" * 79 + "…", "<b>", "R2"} <= set(cells)


def test_showing_starts_no_long_work(monkeypatch):
    monkeypatch.setattr(html, "_SUMMED_NODES", 3)
    manifold = PseudoHyperboloid(2, 1)
    points = manifold.random(4, generator=torch.Generator().manual_seed(0)).numpy()
    embedding = Embedding(list("abcd"), points, manifold)
    assert len(captions(embedding)) == 1
    assert "delta" not in vars(embedding)
    assert embedding.delta.shape == (4,)
    assert len(captions(embedding)) == 2


def test_of_a_large_graph_the_ranking_is_shown_after_training(monkeypatch):
    monkeypatch.setattr(html, "_SUMMED_NODES", 33)
    assert captions(embed(datasets.karate(), p=2, q=1, iterations=5, quiet=True))[1:] == [
        "The most central nodes"
    ]
