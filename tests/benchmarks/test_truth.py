"""What the benchmark of truths counts on the board, and what it makes: a growing graph, and
likelihoods of others.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from truth import main, trained

from ultrahyperbolic.graph import Graph


def test_runs_of_every_order_are_given_in_the_order_of_the_graph():
    star = Graph.from_arrays(
        np.zeros(6, dtype=int), np.arange(1, 7), ids=8
    )  # the last node has no tie
    deltas, measures = trained(star, seeds=1, orders=3)
    assert deltas.argmin(1).tolist() == [0, 0, 0]
    assert deltas.argmax(1).tolist() == [7, 7, 7]
    assert all(0.0 < each["map"] <= 1.0 and each["seconds"] > 0.0 for each in measures)


@pytest.fixture
def figures(tmp_path, monkeypatch):
    """Run a part on the bundled club, and read the figures it writes."""

    def run(part):
        path = tmp_path / "figures.json"
        monkeypatch.setattr(
            sys, "argv", ["truth.py", part, "--graphs", "karate", "--json", str(path)]
        )
        main()
        return json.loads(path.read_text())

    return run


def test_the_board_counts_what_runs_answer_and_how_far_they_agree(figures, capsys):
    found = figures("board")
    for key in ("map", "recall_at_1", "tie_order", "strongest_tie", "rho_centrality", "stability"):
        assert 0.5 < found[f"karate:{key}"] <= 1.0
        assert found[f"looked:{key}"] == found[f"both:{key}"] == found[f"karate:{key}"]
        assert found[f"unseen:{key}"] is None
    assert found["karate:least_stability"] <= found["karate:stability"]
    assert 0.0 <= found["karate:first_five"] <= 5.0
    assert "| looked |" in capsys.readouterr().out
