"""Eigenvectors of a symmetric matrix, with the same bits on every processor: Householder's method,
then QL steps.

LAPACK is a few times as fast, and its last digits are those of the processor it was written for.
"""

from __future__ import annotations

import math
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np

from ..arrays import Floats
from ..pairs.numba.portable import inner, jit, vectorized

_MOST_STEPS = 60  # of QL to one eigenvalue; three are usual
# The first matrix of a process with no more rows than this takes less time in Python than to
# compile for; more matrices are worth it.
_INTERPRETED, _calls = 100, count()


def eigenvectors(matrix: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues [k] of a symmetric matrix [k, k], ascending, and its eigenvectors [k, k], one
    per column.
    """
    basis, tridiagonal, diagonalise = np.eye(len(matrix)), _tridiagonal, _diagonalise
    if next(_calls) == 0 and len(matrix) <= _INTERPRETED:
        tridiagonal, diagonalise = _interpreted(tridiagonal), _interpreted(diagonalise)
    with np.errstate(all="ignore"):
        diagonal, beside = tridiagonal(matrix.copy(), basis)
        if not diagonalise(diagonal, beside, basis):
            raise np.linalg.LinAlgError(
                "the QL steps did not converge: the matrix has entries that are not finite"
            )
    order = np.argsort(diagonal, kind="stable")
    return diagonal[order], basis[order].T


@vectorized
def _add(row, factor, other, first):
    """row += factor·other, from one column on."""
    for j in range(first, len(row)):
        row[j] += factor * other[j]


@inner
def _dot(a, b, first):
    """Σ a·b from one entry on, in four sums."""
    s0, s1, s2, s3, n = 0.0, 0.0, 0.0, 0.0, len(a)
    j = first
    while j + 4 <= n:
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
        j += 4
    while j < n:
        s0 += a[j] * b[j]
        j += 1
    return (s0 + s1) + (s2 + s3)


@jit
def _tridiagonal(a, basis):
    """Reflect a [k, k] until only its diagonal and what is beside it are left; these, and the
    reflections in basis.
    """
    k = len(a)
    v, w, along = np.zeros(k), np.zeros(k), np.zeros(k)
    for j in range(k - 2):
        length = math.sqrt(_dot(a[j], a[j], j + 1))
        if length == 0.0:
            continue
        for i in range(j + 1, k):
            v[i] = a[j, i]
        v[j + 1] += length if v[j + 1] > 0.0 else -length
        scale = 2.0 / _dot(v, v, j + 1)
        for i in range(j + 1, k):
            w[i] = scale * _dot(a[i], v, j + 1)
            along[i] = 0.0
        half = 0.5 * scale * _dot(w, v, j + 1)
        for i in range(j + 1, k):
            w[i] -= half * v[i]
        for i in range(j + 1, k):
            _add(a[i], -v[i], w, j + 1)
            _add(a[i], -w[i], v, j + 1)
        a[j, j + 1] = -length if v[j + 1] > 0.0 else length
        along[:] = 0.0
        for i in range(j + 1, k):
            _add(along, scale * v[i], basis[i], 0)
        for i in range(j + 1, k):
            _add(basis[i], -v[i], along, 0)
    diagonal, beside = np.empty(k), np.zeros(k)
    for i in range(k):
        diagonal[i] = a[i, i]
        if i + 1 < k:
            beside[i] = a[i, i + 1]
    return diagonal, beside


@vectorized
def _rotate(upper, lower, cosine, sine):
    """Turn two rows into one another."""
    for j in range(len(upper)):
        x, y = upper[j], lower[j]
        upper[j] = cosine * x - sine * y
        lower[j] = sine * x + cosine * y


@jit
def _diagonalise(diagonal, beside, basis):
    """QL steps with implicit shifts; the rows of basis become eigenvectors. False where they do not
    converge.
    """
    k, norm = len(diagonal), 0.0
    for i in range(k):
        norm = max(norm, abs(diagonal[i]) + abs(beside[i]))
    for first in range(k):
        for step in range(_MOST_STEPS + 1):
            last = first
            while last + 1 < k:
                # Reflections have left this much behind, also beside eigenvalues that are 0 but for
                # that.
                if abs(beside[last]) <= 1.1e-16 * norm:
                    break
                last += 1
            if last == first:
                break
            if step == _MOST_STEPS:
                return False
            # The shift is the eigenvalue of the first two rows that is nearer to the first.
            ratio = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first])
            root = math.sqrt(ratio * ratio + 1.0)
            g = (
                diagonal[last]
                - diagonal[first]
                + beside[first] / (ratio + (root if ratio >= 0.0 else -root))
            )
            cosine, sine, shift, ended = 1.0, 1.0, 0.0, False
            for i in range(last - 1, first - 1, -1):
                f, b = sine * beside[i], cosine * beside[i]
                root = math.sqrt(f * f + g * g)
                beside[i + 1] = root
                if root == 0.0:
                    diagonal[i + 1] -= shift
                    beside[last] = 0.0
                    ended = True
                    break
                sine, cosine = f / root, g / root
                g = diagonal[i + 1] - shift
                root = (diagonal[i] - g) * sine + 2.0 * cosine * b
                shift = sine * root
                diagonal[i + 1] = g + shift
                g = cosine * root - b
                _rotate(basis[i], basis[i + 1], cosine, sine)
            if not ended:
                diagonal[first] -= shift
                beside[first] = g
                beside[last] = 0.0
    return True


def _interpreted(function: Any) -> Any:
    """A compiled function as Python performs it, with the same bits; what it does to rows is done
    by numpy.
    """

    def add(row: Floats, factor: float, other: Floats, first: int) -> None:
        row[first:] += factor * other[first:]

    def dot(a: Floats, b: Floats, first: int) -> Any:
        products = a[first:] * b[first:]
        whole = len(products) // 4 * 4
        s0, s1, s2, s3 = products[:whole].reshape(-1, 4).sum(0)
        for product in products[whole:]:
            s0 += product
        return (s0 + s1) + (s2 + s3)

    def rotate(upper: Floats, lower: Floats, cosine: float, sine: float) -> None:
        upper[:], lower[:] = cosine * upper - sine * lower, sine * upper + cosine * lower

    rows = {"_add": add, "_dot": dot, "_rotate": rotate}
    return FunctionType(function.py_func.__code__, {**globals(), **rows})
