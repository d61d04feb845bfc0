"""Geometries as plain data."""

from __future__ import annotations

import json
import math

import pytest

from ultrahyperbolic import Euclidean, Manifold, PseudoSphere
from ultrahyperbolic.geometry import Geometry


def test_names():
    for geometry, *names in (
        (Geometry.curved(3, 1, -4.0), "Q^{3,1}", "Q^(3,1)", "Q3_1", "Q^(3,1), beta -4"),
        (Geometry.of_flat(4), "R^4", "R^4", "R4", "R^4"),
    ):
        assert [geometry.name, geometry.plain_name, geometry.file_name, str(geometry)] == names


@pytest.mark.parametrize(
    "geometry",
    [Geometry.curved(p, q, beta) for p, q in ((3, 0), (0, 3), (1, 2)) for beta in (-0.25, -4.0)]
    + [Geometry.of_flat(1), Geometry.of_flat(5)],
    ids=str,
)
def test_manifold_and_json_lead_back(geometry):
    manifold = geometry.manifold
    assert Geometry.of_manifold(manifold) == geometry
    assert Geometry.from_json(json.loads(json.dumps(geometry.to_json()))) == geometry
    assert (geometry.dim, geometry.ambient_dim) == (manifold.dim, manifold.ambient_dim)
    assert geometry.space_dimensions + geometry.time_dimensions == geometry.ambient_dim
    assert geometry.is_flat == isinstance(manifold, Euclidean) == (geometry.time_dimensions == 0)
    assert manifold.quadric == (geometry.time_dimensions, geometry.beta)
    assert manifold.quadric.radius == geometry.radius
    assert geometry.manifold is not manifold


class Warped(Euclidean):
    pass


@pytest.mark.parametrize("manifold", [PseudoSphere(2, 1), Warped(3)], ids=repr)
def test_other_manifolds_have_no_geometry(manifold: Manifold):
    assert manifold.quadric is None
    assert Geometry.of_manifold(manifold) is None


def test_numbers_that_are_no_geometry():
    for numbers in ({}, {"p": 1}, {"q": 1}, {"p": 1, "q": 1, "flat": 2}, {"p": 1, "flat": 2}):
        with pytest.raises(ValueError, match="a geometry has p and q, or is flat, got p="):
            Geometry(**numbers)
    for beta in (0.0, 1.0, -math.inf, math.nan):
        with pytest.raises(ValueError, match="beta must be finite and negative"):
            Geometry.curved(2, 1, beta)
    with pytest.raises(ValueError, match="p must not be negative, got -1"):
        Geometry.curved(-1, 1)
    with pytest.raises(ValueError, match="dim must be at least 1, got 0"):
        Geometry.of_flat(0)


CURVED = {"kind": "pseudo_hyperboloid", "p": 1, "q": 1, "beta": -1}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"kind": "torus"}, "unknown manifold 'torus'"),
        ({"kind": "flat"}, "dim must be an integer, got None"),
        ({"kind": "flat", "dim": 0}, "dim must be at least 1, got 0"),
        (CURVED | {"beta": "-1"}, "beta must be a number, got '-1'"),
        (CURVED | {"beta": 1}, "beta must be finite and negative, got 1.0"),
        (CURVED | {"p": 1.0}, "p must be an integer, got 1.0"),
    ],
)
def test_json_that_is_no_geometry(data, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        Geometry.from_json(data)
