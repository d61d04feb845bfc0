from __future__ import annotations

import math

import numpy as np
import pytest

from report.conftest import points_on
from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.report.space import in_space


def test_every_geometry_has_three_finite_coordinates(geometry):
    view = in_space(points_on(geometry, 30), geometry)
    assert view.coordinates.shape == (30, 3)
    assert np.isfinite(view.coordinates).all()
    named = [bool(axis) for axis in view.axes]
    assert named == [bool(np.ptp(column)) for column in view.coordinates.T]
    assert view.explanation.endswith(".")


def test_flat_space_of_three_dimensions_is_drawn_as_it_is():
    points = points_on(Euclidean(3), 20)
    np.testing.assert_array_equal(in_space(points, Euclidean(3)).coordinates, points)


def test_a_sheet_is_the_sheet():
    manifold = PseudoHyperboloid(2, 0, -4.0)
    view = in_space(points_on(manifold, 20), manifold)
    s1, s2, t = view.coordinates.T
    np.testing.assert_allclose(s1**2 + s2**2 - t**2, -1.0, atol=1e-9)


def test_a_globe_is_the_globe():
    manifold = PseudoHyperboloid(0, 2, -4.0)
    np.testing.assert_allclose(
        np.linalg.norm(in_space(points_on(manifold, 20), manifold).coordinates, axis=1), 1.0
    )


def test_a_cylinder_is_the_cylinder():
    manifold = PseudoHyperboloid(1, 1, -0.5)
    points = points_on(manifold, 20)
    first, second, height = in_space(points, manifold).coordinates.T
    np.testing.assert_allclose(first**2 + second**2, 1.0)
    np.testing.assert_allclose(height, points[:, 2] / math.sqrt(0.5))


def test_the_angle_is_that_of_the_time_part():
    manifold = PseudoHyperboloid(2, 1, -4.0)
    angles = np.radians([-30.0, -10.0, 0.0, 40.0])
    space = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5], [-1.0, -2.0]])
    length = np.sqrt(4.0 + (space**2).sum(1))
    points = np.column_stack((length * np.cos(angles), length * np.sin(angles), space))
    view = in_space(points, manifold)
    np.testing.assert_allclose(view.coordinates[:, :2], space / 2.0)
    # From the mean direction, and either way round.
    turned = view.coordinates[:, 2] * np.sign(view.coordinates[3, 2] - view.coordinates[0, 2])
    np.testing.assert_allclose(np.diff(turned), np.diff(np.degrees(angles)), atol=1e-9)


def test_more_dimensions_say_how_much_is_seen():
    manifold = PseudoHyperboloid(3, 1)
    rng = np.random.default_rng(0)
    space = rng.normal(size=(400, 3)) * [3.0, 0.01, 1.0]
    points = np.column_stack((np.sqrt(1 + (space**2).sum(1)), np.zeros(400), space))
    view = in_space(points, manifold)
    assert "100 % of its variance" in view.explanation
    assert np.corrcoef(view.coordinates[:, 0], space[:, 0])[0, 1] == pytest.approx(1.0, abs=1e-6)
