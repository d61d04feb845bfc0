"""What the page says of a choice of geometry."""

from __future__ import annotations

import re

import pytest

from ultrahyperbolic import datasets, select
from ultrahyperbolic.report.fit import selection


def text_of(markup):
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


def heads_of(markup):
    return re.findall(r"<th [^>]*>(.*?)</th>", markup)


@pytest.fixture(scope="module")
def two_seeds():
    return select(datasets.karate(), dim=2, seeds=2, iterations=40, quiet=True)


def test_a_choice_by_the_graph(two_seeds):
    markup = selection(two_seeds.to_json())
    assert heads_of(markup) == [
        "geometry",
        "score",
        "mAP",
        "tie order",
        "violated orders",
        "difference from the best",
        "seeds",
        "iterations",
        "trained",
    ]
    text, second = text_of(markup), two_seeds.rows[1]
    assert "Chosen: " + re.sub(r"\^{?|}", " ", two_seeds.best.name).strip() in text.replace(
        " .", "."
    )
    assert f"{second.difference:+.4f} ± {second.difference_error:.4f}" in text
    assert "The score is the mean of mAP and tie order" in text
    assert text.count("dropped early") == 2


def test_one_seed_has_no_error():
    found = select(datasets.karate(), dim=1, iterations=16, quiet=True)
    text = text_of(selection(found.to_json()))
    assert "With one seed, differences may be noise." in text
    assert "standard error" not in text


def test_a_choice_by_links():
    found = select(datasets.karate(), dim=1, by="links", seeds=2, iterations=16, quiet=True)
    markup = selection(found.to_json())
    assert "held-out accuracy" in heads_of(markup)
    assert "held-out errors" not in heads_of(markup)
    assert "closer together than an untied pair" in text_of(markup)


def test_the_record_of_an_earlier_version():
    row = {
        "geometry": "Q^{3,1}",
        "seeds": 1,
        "violated_orders": 0.01,
        "held_out": 0.1,
        "iterations": 500,
        "kept": True,
    }
    record = {
        "rows": [row],
        "winner": "Q^{3,1}",
        "within_noise": True,
        "within_noise_of": ["Q^{2,2}"],
    }
    markup = selection(record)
    assert heads_of(markup)[:3] == ["geometry", "violated orders", "held-out errors"]
    assert "With one seed it cannot be distinguished from Q 2,2 ." in text_of(markup)
    assert "score" not in text_of(markup)


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("balanced", "the mean of mAP, tie order and ρ"),
        ("hierarchy", "is ρ"),
        ("neighbours", "is mAP"),
        ("ties", "is tie"),
    ],
)
def test_the_record_of_a_version_with_goals(goal, said):
    row = {
        "geometry": "Q^{3,1}",
        "seeds": 1,
        "score": 0.7,
        "map": 0.8,
        "spearman_all": 0.6,
        "kept": True,
    }
    markup = selection({"rows": [row], "winner": "Q^{3,1}", "goal": goal, "by": "graph"})
    assert heads_of(markup)[:4] == ["geometry", f"score ({goal})", "mAP", "ρ"]
    assert said in text_of(markup)


def test_nothing_is_markup_that_came_from_a_record():
    row = {
        "geometry": "<b>",
        "score": "<b>",
        "map": "<b>",
        "difference": "<b>",
        "seeds": "<b>",
        "kept": "<b>",
    }
    markup = selection(
        {"rows": [row], "winner": "<b>", "by": "<b>", "goal": "<b>", "within_noise_of": ["<b>"]}
    )
    assert "<b>" not in markup
