"""What the benchmark of directed graphs makes itself: a graph that grows, and the likelihoods of others."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import torch
from truth import cylinder, duplicated, rival, spacetime


def test_a_graph_that_grows_by_duplication_is_connected_and_always_the_same():
    arcs = duplicated(60, 0.7, 1)
    np.testing.assert_array_equal(arcs, duplicated(60, 0.7, 1))
    grown = nx.DiGraph(arcs.tolist())
    assert len(grown) == 60
    assert grown.number_of_edges() == len(arcs)
    assert nx.is_weakly_connected(grown)


def test_time_goes_round_on_the_cylinder_alone():
    x, own = 0.3 * torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64), torch.zeros(4)
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
