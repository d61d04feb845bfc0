"""Arithmetic that gives the same bits on every processor, unlike the powers and logarithms of
libraries.

It is made of + - × ÷ √, which every processor rounds alike, of sums whose order numpy fixes, or of
Python's decimals.
"""

from decimal import Decimal
from typing import Any

import numpy as np

from .arrays import Floats

_LOG2, _LOG2_REST = 0.6931471803691238, 1.9082149292705877e-10


def power(base: float, exponent: float) -> float:
    """base^exponent of a positive base."""
    return float((Decimal(base).ln() * Decimal(exponent)).exp())


def geometric(first: float, last: float, count: int) -> Floats:
    """[count] numbers from ``first`` to ``last``, each the same multiple of the one before."""
    found = np.full(count, first)
    if count > 1:
        found[1:] = power(last / first, 1.0 / (count - 1))
        np.multiply.accumulate(found, out=found)
        found[-1] = last
    return found


def dot(a: Any, b: Any) -> float:
    """Σ a·b over all entries of two arrays, or of two tensors in the order that their device
    takes.
    """
    products = a * b
    return float(
        np.add.reduce(products.ravel()) if isinstance(products, np.ndarray) else products.sum()
    )


def root(x: Any) -> Any:
    """√x; numpy's is exact, torch's may be that of a vector library, which is not."""
    return np.sqrt(x) if isinstance(x, np.ndarray) else x.sqrt()


def asinh(x: Floats) -> Floats:
    """The area hyperbolic sine of x >= 0."""
    y = x + x * x / (1.0 + np.sqrt(1.0 + x * x))
    u = 1.0 + y
    part, power_of_two = np.frexp(u)
    small = part < np.sqrt(0.5)
    part, power_of_two = np.where(small, 2.0 * part, part), power_of_two - small
    s = (part - 1.0) / (part + 1.0)
    series = np.zeros_like(s)
    for k in range(23, 0, -2):
        series = series * (s * s) + 2.0 / k
    log = power_of_two * _LOG2 + (s * series + power_of_two * _LOG2_REST)
    return np.where(u == 1.0, y, log * (y / np.where(u == 1.0, 1.0, u - 1.0)))


def cosh_of_root(z: float) -> float:
    """cosh √z, which for z < 0 is cos √-z, of |z| <= 3."""
    found = 1.0
    for k in range(24, 0, -2):
        found = 1.0 + found * z / (k * (k - 1))
    return found
