"""Where trainings begin."""

from __future__ import annotations

import ultrahyperbolic as uh
from ultrahyperbolic.training.start import SpectralStart


def test_components_start_farther_apart_than_any_path_is_long():
    graph = uh.Graph.from_edges([("a", "b"), ("b", "c"), ("x", "y")])
    hops, landmarks = SpectralStart(graph).hops
    assert landmarks.tolist() == [0, 1, 2, 3, 4]
    assert hops[:3, :3].tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert (hops[:3, 3:] == 4).all()
    assert (hops[3:, :3] == 4).all()
