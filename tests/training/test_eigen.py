"""Eigenvectors of our own, against LAPACK."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest

from ultrahyperbolic.training import eigen
from ultrahyperbolic.training.eigen import eigenvectors


@pytest.mark.parametrize("k", [1, 2, 3, 10, 77])
def test_eigenvectors_diagonalise(k):
    rng = np.random.default_rng(k)
    matrix = rng.standard_normal((k, k))
    matrix += matrix.T
    given = matrix.copy()
    values, vectors = eigenvectors(matrix)
    np.testing.assert_array_equal(matrix, given)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-12 * k)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12 * k)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-13 * k)


def test_equal_eigenvalues_have_orthogonal_vectors():
    matrix = np.ones((30, 30))
    values, vectors = eigenvectors(matrix)
    np.testing.assert_allclose(values, [0.0] * 29 + [30.0], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(30), atol=1e-13)


@pytest.mark.parametrize(("k", "seed"), [(100, 0), (100, 2), (200, 0)])
def test_a_matrix_of_low_rank_has_eigenvalues_that_are_0_but_for_rounding(k, seed):
    some = np.random.default_rng(seed).standard_normal((k, 4))
    matrix = (some * [1.0, 1e-3, 1e-6, 1e-9]) @ some.T
    values, vectors = eigenvectors(matrix)
    np.testing.assert_allclose(values[:-4], 0.0, atol=1e-12 * k)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12 * k)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-13 * k)


@pytest.mark.parametrize("call", [0, 1], ids=["in Python", "compiled"])
def test_a_matrix_that_is_not_finite_is_refused(monkeypatch, call):
    monkeypatch.setattr(eigen, "_calls", repeat(call))
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        eigenvectors(np.full((3, 3), np.nan))


def test_what_python_computes_has_the_bits_of_compiled_code(monkeypatch):
    rng = np.random.default_rng(0)
    some = [rng.standard_normal((k, k)) for k in (1, 2, 3, 4, 9, 34, 77)]
    given = [a + a.T for a in some] + [np.ones((30, 30)), np.eye(7)]
    monkeypatch.setattr(eigen, "_calls", repeat(0))
    interpreted = [eigenvectors(a) for a in given]
    monkeypatch.setattr(eigen, "_calls", repeat(1))
    for matrix, found in zip(given, interpreted, strict=True):
        assert [array.tobytes() for array in eigenvectors(matrix)] == [
            array.tobytes() for array in found
        ]
