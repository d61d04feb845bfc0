"""Where trainings begin."""

from __future__ import annotations

import networkx as nx
import numpy as np

import ultrahyperbolic as uh
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training.start import SpectralStart


def test_components_start_farther_apart_than_any_path_is_long():
    graph = uh.Graph.from_edges([("a", "b"), ("b", "c"), ("x", "y")])
    hops, landmarks = SpectralStart(graph).hops
    assert landmarks.tolist() == [0, 1, 2, 3, 4]
    assert hops[:3, :3].tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert (hops[:3, 3:] == 4).all()
    assert (hops[3:, :3] == 4).all()


def test_nodes_with_few_hops_to_all_others_start_near_the_pole():
    """How far out nodes lie is as the spectrum has it, and who lies there follows closeness."""
    graph = uh.as_graph(nx.barabasi_albert_graph(150, 3, seed=4))
    start = SpectralStart(graph)
    points, hops = start(Geometry(3, 0), 0), start.hops[0].sum(1)
    lengths = np.linalg.norm(points[:, 1:], axis=1)
    order = np.lexsort((lengths, hops))
    assert (np.diff(lengths[order]) >= -1e-12).all()
    assert lengths.std() > 0.1 * lengths.mean()
