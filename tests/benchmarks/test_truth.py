"""What the benchmark of truths counts on the board, and what it makes: a growing graph, and
likelihoods of others.
"""

from __future__ import annotations

import json
import math
import sys

import networkx as nx
import numpy as np
import pytest
import torch
from truth import cylinder, duplicated, main, rival, spacetime, trained

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


def test_a_graph_that_grows_by_duplication_is_connected_and_always_the_same():
    arcs = duplicated(60, 0.7, 1)
    np.testing.assert_array_equal(arcs, duplicated(60, 0.7, 1))
    grown = nx.DiGraph(arcs.tolist())
    assert len(grown) == 60
    assert grown.number_of_edges() == len(arcs)
    assert nx.is_weakly_connected(grown)


def test_time_goes_round_on_the_cylinder_alone():
    x, own = (
        0.3 * torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64),
        torch.zeros(4),
    )
    turned = x.clone()
    turned[2, 0] += 2.0 * math.pi
    torch.testing.assert_close(cylinder(turned, own), cylinder(x, own))
    assert not torch.allclose(spacetime(turned, own), spacetime(x, own))


def test_rivals_learn_the_ties_and_their_directions():
    arcs = np.array([(i, j) for i in range(8) for j in range(i + 1, 8)])
    for chance in (cylinder, spacetime):
        scores = rival(chance, arcs, 8, 0)[f"{chance.__name__}_240"]
        there, back = scores[tuple(arcs.T)], scores[tuple(arcs.T[::-1])]
        assert np.mean(there < back) > 0.9
