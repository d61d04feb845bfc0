"""Triadic closure against networkx."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from ultrahyperbolic.datasets import karate
from ultrahyperbolic.evaluation import closure, triadic_closure
from ultrahyperbolic.graph import Graph


def random(n, m, seed):
    i, j = np.random.default_rng(seed).integers(0, n, (2, m))
    return Graph.from_arrays(i[i != j], j[i != j], ids=n)


GRAPHS = {
    "karate": karate(),
    "sparse": random(500, 900, 0),
    "dense": random(60, 1500, 1),
    "hub": Graph.from_edges(
        [*((0, k) for k in range(1, 200)), *((k, k + 1) for k in range(1, 199))]
    ),
    "clique": Graph.from_edges([(i, j) for i in range(12) for j in range(i)]),
    "cycle": Graph.from_edges([(k, (k + 1) % 9) for k in range(9)]),
    "tree": Graph.from_edges([(k, (k - 1) // 2) for k in range(1, 63)]),
}


@pytest.mark.parametrize("at_once", [1, 100, closure._AT_ONCE])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_against_networkx(graph, at_once, monkeypatch):
    monkeypatch.setattr(closure, "_AT_ONCE", at_once)
    found = triadic_closure(graph)
    assert found.transitivity == pytest.approx(nx.transitivity(graph.to_networkx()), rel=1e-12)
    assert found.transitivity + found.open_wedges == pytest.approx(1.0)


def test_the_ends_of_the_scale():
    assert triadic_closure(GRAPHS["tree"]) == (0.0, 1.0)
    assert triadic_closure(GRAPHS["cycle"]) == (0.0, 1.0)
    assert triadic_closure(GRAPHS["clique"]) == (1.0, 0.0)


@pytest.mark.parametrize("graph", [Graph.from_arrays([0], [1]), Graph.from_arrays([], [], ids=3)])
def test_without_a_wedge_it_is_not_defined(graph):
    assert all(map(math.isnan, triadic_closure(graph)))
