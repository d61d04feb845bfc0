"""Functions made of + - × ÷ √ alone, against high precision, and sums whose order is fixed."""

from __future__ import annotations

import math

import mpmath
import numba
import numpy as np
import pytest

from ultrahyperbolic.pairs.numba import portable
from ultrahyperbolic.pairs.numba.functions import _COEFFICIENTS, _NODES
from ultrahyperbolic.rounding import asinh as numpy_asinh
from ultrahyperbolic.rounding import cosh_of_root, geometric, power

exp, log, log1p, asin, asinh, sinh, sin, cosh_sinhc = map(
    portable.entry,
    (
        portable.exp,
        portable.log,
        portable.log1p,
        portable.asin,
        portable.asinh,
        portable.sinh,
        portable.sin,
        portable.cosh_sinhc,
    ),
)
EPS = 2.0**-53
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("function", "truth", "values", "roundings"),
    [
        # A polynomial of degree 11 leaves 7e-15 of e^x.
        (exp, mpmath.exp, RNG.uniform(-700, 700, 200), 80),
        (exp, mpmath.exp, np.array([0.0, 1.0, -1.0, 705.0, -705.0]), 80),
        (log, mpmath.log, np.exp(RNG.uniform(-700, 700, 200)), 4),
        (log, mpmath.log, RNG.uniform(0.5, 2, 200), 8),
        (log1p, mpmath.log1p, 10.0 ** RNG.uniform(-20, 20, 200), 8),
        (asin, mpmath.asin, RNG.uniform(0, 1, 200), 10),
        (asin, mpmath.asin, 10.0 ** RNG.uniform(-12, -1, 100), 10),
        (asinh, mpmath.asinh, 10.0 ** RNG.uniform(-12, 6, 200), 10),
        (sinh, mpmath.sinh, RNG.uniform(0, 300, 100), 90),
        (sin, mpmath.sin, RNG.uniform(0, 1.6, 100), 6),
        (
            lambda x: numpy_asinh(np.array([x]))[0],
            mpmath.asinh,
            10.0 ** RNG.uniform(-12, 6, 200),
            10,
        ),
        (lambda x: cosh_of_root(x * x), mpmath.cosh, RNG.uniform(0, 1.5, 50), 4),
        (lambda x: power(7.0, x), lambda x: mpmath.mpf(7) ** x, RNG.uniform(-3, 3, 50), 2),
    ],
)
def test_functions_agree_with_high_precision(function, truth, values, roundings):
    with mpmath.workprec(150):
        for x in values.tolist():
            exact = truth(mpmath.mpf(x))
            assert abs(mpmath.mpf(float(function(x))) - exact) <= roundings * EPS * abs(exact)


def test_cosines_beyond_one_turn_agree_with_high_precision():
    for x in RNG.uniform(1, 1e4, 200).tolist():
        cosine, sine_over_x = cosh_sinhc(-x * x)
        with mpmath.workprec(150):
            angle = mpmath.sqrt(mpmath.mpf(x * x))
            assert abs(cosine - mpmath.cos(angle)) < 4e-12
            assert abs(sine_over_x * x - mpmath.sin(angle)) < 4e-12


def test_functions_at_their_ends():
    assert exp(-np.inf) == 0.0
    assert exp(np.inf) == np.inf
    assert exp(-745.0) == 5e-324
    assert np.isnan(exp(np.nan))
    assert log(0.0) == -np.inf
    assert log(np.inf) == np.inf
    assert np.isnan(log(-1.0))
    assert log1p(1e-300) == 1e-300


def test_a_function_for_compiled_callers_refuses_python():
    with pytest.raises(TypeError, match="not iterable"):
        portable.exp(1.0)


def test_lanes_add_in_the_order_that_is_written():
    @numba.njit
    def added(values):
        sums = portable.splat(0.0)
        for j in range(0, len(values), portable.WIDTH):
            sums = portable.add(sums, portable.load(values, j))
        return portable.total(sums)

    values = RNG.standard_normal(portable.WIDTH * 25) * 10.0 ** RNG.uniform(
        -8, 8, portable.WIDTH * 25
    )
    lanes = np.zeros(portable.WIDTH)
    for row in values.reshape(-1, portable.WIDTH):
        lanes += row
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    assert added(values) == lanes[0]


def test_fma_rounds_once():
    @numba.njit
    def fused(a, b, c):
        return portable.fma(a, b, c)

    # 1 - 2^-60 is no double: rounded first, the product would be 1 and the sum 0.
    assert fused(1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0) == -(2.0**-60)


def test_interpolation_is_exact_for_polynomials():
    values = _NODES**5 - 3.0 * _NODES**2 + 0.5
    np.testing.assert_allclose(_COEFFICIENTS @ values, [0.5, 0.0, -3.0, 0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(_NODES, 0.5 * np.cos(np.pi * (np.arange(6) + 0.5) / 6), rtol=1e-15)


def test_geometric_numbers_have_one_ratio():
    found = geometric(0.04, 7e-4, 3000)
    assert found[0] == 0.04
    assert found[-1] == 7e-4
    np.testing.assert_allclose(found, np.geomspace(0.04, 7e-4, 3000), rtol=1e-12)
    assert geometric(2.0, 5.0, 1).tolist() == [2.0]
    assert math.isclose(power(2.0, 0.5), math.sqrt(2.0))
