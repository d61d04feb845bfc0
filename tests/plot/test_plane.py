"""Classical scaling: points of the plane whose distances are like the dissimilarities."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Embedding, Euclidean, PseudoHyperboloid
from ultrahyperbolic.plot import plane


@pytest.mark.parametrize(
    ("p", "q", "beta"), [(3, 0, -1.0), (0, 3, -0.25), (2, 1, -4.0), (1, 2, -1.0)]
)
def test_the_plane_suits_any_signature(p, q, beta):
    manifold = PseudoHyperboloid(p, q, beta)
    points = manifold.random(40, generator=torch.Generator().manual_seed(1)).numpy()
    embedding = Embedding(list(range(40)), points, manifold)
    places = plane(embedding)
    assert places.shape == (40, 2)
    assert np.isfinite(places).all()
    assert np.abs(places.mean(0)).max() < 1e-9
    assert np.array_equal(places, plane(embedding))
    # Classical scaling: the Gram matrix nearest to the centred dissimilarities among those of rank
    # 2.
    table = embedding.distances()
    centre = np.eye(40) - 1 / 40
    values = np.linalg.eigvalsh(-0.5 * centre @ table @ centre)
    assert np.linalg.eigvalsh(places.T @ places)[::-1] == pytest.approx(
        np.maximum(values[:-3:-1], 0.0), rel=1e-9
    )


def test_points_of_a_plane_are_found_again():
    points = np.random.default_rng(0).normal(size=(300, 2))
    embedding = Embedding(list(range(300)), points, Euclidean(2))
    for landmarks in (300, 20):  # all nodes, or those few that the others are placed by
        places = plane(embedding, landmarks=landmarks)
        between = np.linalg.norm(places[:, None] - places, axis=-1)
        assert between == pytest.approx(np.linalg.norm(points[:, None] - points, axis=-1), abs=1e-9)


def test_nodes_in_one_place_or_on_a_line():
    assert np.array_equal(
        plane(Embedding([1, 2, 3], np.ones((3, 2)), Euclidean(2))), np.zeros((3, 2))
    )
    places = plane(Embedding([1, 2, 3], np.array([[0.0], [1.0], [3.0]]), Euclidean(1)))
    assert np.abs(places[:, 1]).max() < 1e-6
    assert np.abs(np.diff(places[:, 0])) == pytest.approx([1.0, 2.0])
