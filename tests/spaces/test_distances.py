"""Distances in numpy are those of torch, near and far, on every kind of space."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean
from ultrahyperbolic.geometry import Geometry


def space_of(manifold):
    return Geometry.from_json(Geometry.of_manifold(manifold).to_json())


def points_of(manifold, spread):
    generator = torch.Generator().manual_seed(3)
    near = manifold.random_near_pole(30, epsilon=1e-6, generator=generator)
    far = manifold.random(60, generator=generator)
    tangent = manifold.proju(
        far, spread * torch.randn(far.shape, generator=generator, dtype=far.dtype)
    )
    moved = manifold.expmap(far, tangent)
    points = torch.cat(
        (near, far, moved, far[:1], -far[1:2] if manifold.p == 0 or manifold.q else far[1:2])
    )
    ok = [bool(manifold.check_point(point, tolerance=1e-8).ok) for point in points]
    return points[torch.tensor(ok)]


@pytest.mark.parametrize("spread", [1e-3, 1.0, 4.0])
def test_curved_spaces(manifold, spread):
    points = points_of(manifold, spread)
    assert len(points) > 80
    space = space_of(manifold)
    assert space.holds(points.numpy())
    for row in range(0, len(points), 7):
        expected = manifold.dissimilarity(points[row], points).numpy()
        found = space.distances(points[row].numpy(), points.numpy())
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_flat_space():
    points = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected = Euclidean(3).dissimilarity(points[5], points).numpy()
    np.testing.assert_allclose(
        space_of(Euclidean(3)).distances(points[5].numpy(), points.numpy()), expected, rtol=1e-12
    )


def test_points_that_are_off_are_seen(manifold):
    points = points_of(manifold, 1.0).numpy().copy()
    points[3] *= 1.001
    assert not space_of(manifold).holds(points)
    points[3] = np.nan
    assert not space_of(manifold).holds(points)


@pytest.mark.parametrize(
    "described",
    [
        None,
        {},
        {"kind": "flat", "dim": 0},
        {"kind": "flat", "dim": True},
        {"kind": "pseudo_hyperboloid", "p": 2, "q": 1, "beta": 1.0},
        {"kind": "pseudo_hyperboloid", "p": 2, "q": 1},
    ],
)
def test_what_is_no_space_is_refused(described):
    with pytest.raises(ValueError, match=r"manifold|dim must|beta must"):
        Geometry.from_json(described)
