"""A notebook shows a table; ids in it are text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from ultrahyperbolic import Embedding, Euclidean, PseudoHyperboloid, datasets, embed
from ultrahyperbolic.embedding import forms as html
from ultrahyperbolic.evaluation import RankIntervals

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
    assert reader.tags <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "i", "sup"}
    return reader.cells


def test_what_is_shown():
    club = embed(datasets.karate(), p=3, q=1, beta=-4.0, iterations=50, quiet=True)
    cells = read(club)
    assert cells[:4] == ["nodes", "34", "geometry", "Q3,1, β = -4"]
    assert "reached 50 iterations" in " ".join(cells)
    assert f"{club.run['measures']['map']:.4g}" in cells
    top = club.hierarchy().head(5)
    shown = cells[cells.index("δ") + 1 :]
    assert [shown[3 * k + 1] for k in range(5)] == top["node"].tolist()


def captions(embedding):
    return re.findall("<caption>(.*?)</caption>", embedding._repr_html_())


def test_a_hierarchy_is_named_only_where_there_is_one():
    points = np.arange(10.0).reshape(5, 2)

    def shown(**measures):
        return Embedding(list("abcde"), points, Euclidean(2), {"measures": measures})

    assert captions(shown(spearman_all=0.3)) == ["Embedding", "The top of the hierarchy"]
    assert captions(shown(spearman_all=0.29)) == captions(shown()) == ["Embedding", "Nodes by δ"]
    assert "no clear hierarchy in this geometry" in " ".join(read(shown(spearman_all=0.29)))
    assert "hardly nearer than chance" in " ".join(read(shown(tie_order=0.5)))
    assert "note" not in read(shown(spearman_all=0.3, tie_order=0.6))


def test_ranks_have_their_intervals_over_the_seeds():
    embedding = Embedding(list("abcde"), np.arange(10.0).reshape(5, 2), Euclidean(2))
    ends = RankIntervals(np.maximum(embedding.rank - 1, 1), embedding.rank, 1 / 3)
    ranked = embedding.with_ranks(ends, seeds=2, first_seed=0)
    cells = read(ranked)
    assert [cells[cells.index("δ") + 1 + 3 * k] for k in range(3)] == ["1 (1–1)", "2 (1–2)", "3 (2–3)"]
    assert "in 2 trainings that differ by their seed" in ranked._repr_html_()


def test_ids_are_text():
    ids = ["<script>alert(1)</script>", "&lt;", '"><img src=x onerror=y>', "x" * 500, "</td></table>"]
    embedding = Embedding(ids, np.arange(10.0).reshape(5, 2), Euclidean(2), {"graph": {"source": "<b>"}, "seed": 0})
    cells = read(embedding)
    assert {ids[0], ids[1], ids[2], ids[4], "x" * 79 + "…", "<b>", "R2"} <= set(cells)


def test_showing_starts_no_long_work(monkeypatch):
    monkeypatch.setattr(html, "_SUMMED_NODES", 3)
    manifold = PseudoHyperboloid(2, 1)
    points = manifold.random(4, generator=torch.Generator().manual_seed(0)).numpy()
    embedding = Embedding(list("abcd"), points, manifold)
    assert "δ" not in read(embedding)
    assert "delta" not in vars(embedding)
    assert embedding.delta.shape == (4,)
    assert "δ" in read(embedding)
