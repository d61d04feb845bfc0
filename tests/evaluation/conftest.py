"""Small weighted graphs with tied weights, and points of theirs with tied distances."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.graph import Graph


def random_graph(n=20, share=0.25, weights=4, seed=0):
    """Whole weights from 1 to ``weights``; the last node is isolated, as others may be."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n - 1, 1)
    chosen = rng.random(len(i)) < share
    return Graph.from_arrays(
        i[chosen], j[chosen], rng.integers(1, weights + 1, chosen.sum()), ids=n
    )


def lattice_points(n, seed=0, dtype=torch.float64):
    """Squared distances are small whole numbers: exact in every dtype and block, and often
    equal.
    """
    return torch.randint(0, 3, (n, 3), generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.fixture
def make_graph():
    return random_graph


@pytest.fixture(params=["lattice64", "lattice32", "hyperbolic", "ultrahyperbolic", "sphere"])
def embed(request):
    """A function of a graph and a seed that gives points and their manifold."""
    spaces = {
        "hyperbolic": PseudoHyperboloid(3, 0, -0.25),
        "ultrahyperbolic": PseudoHyperboloid(2, 2, -4.0),
        "sphere": PseudoHyperboloid(0, 3),
    }

    def points_of(graph, seed=0):
        if request.param.startswith("lattice"):
            dtype = torch.float64 if request.param == "lattice64" else torch.float32
            return lattice_points(graph.n_nodes, seed, dtype), Euclidean(3)
        space = spaces[request.param]
        return space.random(graph.n_nodes, generator=torch.Generator().manual_seed(seed)), space

    return points_of


@pytest.fixture
def table_of():
    """The distances of all ordered pairs of points, as lists of Python floats."""
    return lambda points, space: space.cdist(points, dissimilarity="geodesic").double().tolist()


COMPLETE = Graph.from_arrays([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], [1, 2, 2, 3, 1, 1])
SINGLE = Graph.from_arrays([0], [1])
DEGENERATE = {
    "complete": COMPLETE,
    "complete, equal weights": COMPLETE.unweighted(),
    "single edge": SINGLE,
    "single edge among others": Graph.from_arrays([1], [3], ids=5),
    "no edges": Graph.from_arrays([], [], ids=4),
    "equal weights": random_graph(weights=1),
}


@pytest.fixture(params=DEGENERATE, ids=lambda name: name.replace(" ", "-"))
def degenerate(request):
    return DEGENERATE[request.param]
