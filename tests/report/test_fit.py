"""What the page says of the fit and of a choice of geometry."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from report.conftest import points_on
from ultrahyperbolic import PseudoHyperboloid, datasets, select
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.report import render
from ultrahyperbolic.report.fit import by_chance, selection


def text_of(markup):
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


def heads_of(markup):
    return re.findall(r"<th [^>]*>(.*?)</th>", markup)


def test_a_choice_by_the_graph():
    found = select(datasets.karate(), dim=2, seeds=2, iterations=40, quiet=True)
    markup = selection(found.to_json())
    assert heads_of(markup)[:4] == ["geometry", "score", "mAP", "tie order"]
    text, second = text_of(markup), found.rows[1]
    assert "Chosen: " + re.sub(r"\^{?|}", " ", found.best.name).strip() in text.replace(" .", ".")
    assert f"{second.difference:+.4f} ± {second.difference_error:.4f}" in text
    assert text.count("(chosen)") == 1
    assert "^" not in text  # no TeX


def test_a_choice_by_links_with_one_seed():
    found = select(datasets.karate(), dim=1, by="links", seeds=1, iterations=16, quiet=True)
    markup = selection(found.to_json())
    assert "held-out accuracy" in heads_of(markup)
    assert "With one seed, differences may be noise." in text_of(markup)


def test_nothing_is_markup_that_came_from_a_record():
    row = dict.fromkeys(("geometry", "score", "map", "difference", "iterations", "kept"), "<b>")
    more = {"winner": "<b>", "by": "<b>", "within_noise_of": ["<b>"], "prior": {"<b>": "<b>"}}
    assert "<b>" not in selection({"rows": [row], **more})


@pytest.mark.parametrize(
    ("held_out", "words"),
    [
        ({}, "no prediction; to test it on hidden ties: ultrahyperbolic evaluate FOLDER"),
        ({"auc": 0.9}, "a hidden tie is shorter than a non-tie in 90 % of comparisons (chance: 50"),
        ({"auc": 0.51}, "in 51 % of comparisons (chance: 50 %), hardly more than by chance"),
    ],
)
def test_the_fit_says_that_it_predicts_nothing_or_how_well(club, held_out, words):
    run = {**club.run, "held_out": held_out}
    page = render(Embedding(club.ids, club.points, club.manifold, run, club.graph))
    fit = page.partition('<section id="fit"')[2].partition("</section>")[0]
    assert words in text_of(fit)
    assert ("hardly more" in fit) == ("hardly more" in words)
    assert fit.index("hidden") < fit.index("Neighbours"), "it is said first"


def test_guessing_is_what_random_points_do():
    graph = datasets.karate()
    manifold = PseudoHyperboloid(4, 0)
    found = [
        evaluate(graph, torch.from_numpy(points_on(manifold, 34, seed=seed)), manifold)
        for seed in range(60)
    ]
    expected = by_chance(graph)
    for name in ("recall_at_1", "map"):
        values = [some[name] for some in found]
        assert np.mean(values) == pytest.approx(
            expected[name], abs=4 * np.std(values) / np.sqrt(len(values))
        )
