"""A fast part of the accuracy study, and checks of the truth it judges by."""

from __future__ import annotations

import importlib.util
import random
import statistics
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _load_study() -> ModuleType:
    file = Path(__file__).parents[2] / "benchmarks" / "accuracy.py"
    spec = importlib.util.spec_from_file_location("accuracy_study", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while it is being executed.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


study = _load_study()
mp = study.mp
CAUSAL_TYPES = ("space-like", "null", "time-like")
DTYPES = ("float64", "float32")


def _norms(*exponents: float) -> list[Any]:
    return [mp.mpf(10) ** exponent for exponent in exponents]


@pytest.fixture(
    scope="module",
    params=[(-8, -2, 0, 1), pytest.param((-5, 0.5), marks=pytest.mark.slow)],
    ids=str,
)
def records(request: pytest.FixtureRequest) -> list[Any]:
    signatures = ((4, 0), (0, 4), (3, 1), (2, 2))
    found: list[Any] = study.study(1, 1, signatures=signatures, norms=_norms(*request.param))
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", CAUSAL_TYPES)
@pytest.mark.parametrize("function", study.FUNCTIONS)
def test_error_is_at_most_16_times_what_rounding_the_inputs_costs(
    records: list[Any], function: str, causal: str, dtype: str
) -> None:
    chosen = [r for r in records if (r.function, r.causal, r.dtype) == (function, causal, dtype)]
    decided = [r for r in chosen if not r.undecided]
    assert len(decided) > 0.98 * len(chosen) > 50
    worst = max(decided, key=lambda record: record.ratio)
    assert worst.ratio <= study.BAR, worst


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("signature", [(4, 0), (0, 4), (2, 2)])
def test_the_textbook_distance_misses_the_bar_at_small_separations(
    signature: tuple[int, int], dtype: str
) -> None:
    space = study.Space(*signature, -0.25)
    cases = [
        c for c in study.regular_cases(space, random.Random(0), 3, _norms(-4)) if "d" in c.targets
    ]
    x, xi, y = (
        study.to_tensor((getattr(c, name) for c in cases), study.DTYPES[dtype])
        for name in ("x", "xi", "y")
    )
    results = study.computed(space, x, xi, y)

    def ratios(name: str) -> list[float]:
        values = [study.to_numbers(row) for row in results[name]]
        pairs = zip(values, cases, strict=True)
        return [
            study.error_ratio(value, c.targets["d"], study.ROUNDOFF[dtype]) for value, c in pairs
        ]

    assert statistics.median(ratios("naive")) > study.BAR
    assert max(ratios("d")) <= study.BAR


# --- the truth ------------------------------------------------------------


@pytest.fixture(params=[(4, 0), (0, 4), (1, 3), (2, 2)], ids=lambda s: f"p{s[0]}q{s[1]}")
def cases(request: pytest.FixtureRequest) -> list[Any]:
    space = study.Space(*request.param, -4.0)
    return list(study.regular_cases(space, random.Random(0), 1, _norms(-8, -1, 0.5)))


def test_points_and_tangents_are_exact_and_of_their_type(cases: list[Any]) -> None:
    for c in cases:
        square = study.inner(c.space, c.xi, c.xi)
        assert abs(study.inner(c.space, c.x, c.x) - c.space.beta) < 1e-90
        assert abs(study.inner(c.space, c.y, c.y) - c.space.beta) < 1e-90
        assert abs(study.inner(c.space, c.x, c.xi)) < 1e-90
        assert {
            "space-like": square > 1e-30,
            "null": abs(square) < 1e-90,
            "time-like": square < -1e-30,
        }[c.causal]


def test_the_logarithm_and_the_distance_undo_the_exponential_map(cases: list[Any]) -> None:
    for c in cases:
        for recovered, exact in zip(c.targets["log"].truth, c.xi, strict=True):
            assert abs(recovered - exact) < 1e-50 * c.norm
        if c.causal != "null":
            length = mp.sqrt(abs(study.inner(c.space, c.xi, c.xi)))
            assert abs(c.targets["d"].truth[0] / length - 1) < 1e-50


def _difference_sums(function: Any, inputs: list[Any]) -> list[Any]:
    """Σ|∂f_j/∂x_i||x_i| by central differences, [j]."""
    step = mp.mpf(10) ** -30
    sums = [mp.zero] * len(function(inputs))
    for i, value in enumerate(inputs):
        up, down = (function([*inputs[:i], value + h, *inputs[i + 1 :]]) for h in (step, -step))
        slopes = [(a - b) / (2 * step) for a, b in zip(up, down, strict=True)]
        sums = [total + abs(slope * value) for total, slope in zip(sums, slopes, strict=True)]
    return sums


def _assert_close(sums: list[Any], expected: list[Any]) -> None:
    for total, reference in zip(sums, expected, strict=True):
        assert abs(total - reference) <= 1e-9 * (reference + 1e-20)


def _ambient_function(space: Any, function: str, form: Any) -> Any:
    """log, d or D written through one form of the cosine, of the 2d coordinates of x and y."""

    def value(inputs: list[Any]) -> list[Any]:
        x, y = inputs[: len(inputs) // 2], inputs[len(inputs) // 2 :]
        values: list[Any] = study.closed_form(space, function, form.cosine(space, x, y), x, y)
        # Of ±d² and d² only the former is differentiable at null pairs; the study judges both by
        # its slope.
        return [values[0], values[0]] if function.endswith("²") else values

    return value


def test_sensitivities_are_those_of_central_differences(cases: list[Any]) -> None:
    for c in cases[:: len(cases) // 6]:
        space, n = c.space, len(c.x)
        expected = _difference_sums(
            lambda z, s=space, n=n: study.exponential(s, z[:n], z[n:]), c.x + c.xi
        )
        _assert_close(study.exponential_sensitivity(space, c.x, c.xi), expected)
        for function in c.targets.keys() - {"exp"}:
            for form in study.FORMS[function]:
                expected = _difference_sums(_ambient_function(space, function, form), c.x + c.y)
                _assert_close(study.sensitivity(space, function, form, c.x, c.y), expected)


@pytest.mark.parametrize("signature", [(4, 0), (3, 1), (2, 2)], ids=lambda s: f"p{s[0]}q{s[1]}")
def test_near_pairs_far_out_lose_no_more_than_rounding_the_inputs_costs(
    signature: tuple[int, int],
) -> None:
    space = study.Space(*signature, -4.0)
    cases = list(study.far_out_cases(space, random.Random(0), 2))
    assert {c.height for c in cases} == {1.0, 1e2, 1e4, 1e6}
    records = list(study.judge(space, cases, "float64"))
    worst = max(records, key=lambda record: record.ratio)
    assert worst.ratio <= study.BAR, worst
    farthest = [r.relative for r in records if r.function == "d" and r.height == 1e6]
    ours, _, half_chord, rounding = (
        statistics.median(column) for column in zip(*farthest, strict=True)
    )
    assert ours <= rounding < 1e-6
    assert half_chord > 1e3 * ours


def test_points_far_out_are_exact() -> None:
    space = study.Space(2, 2, -0.25)
    for c in study.far_out_cases(space, random.Random(0), 1):
        place = c.x[space.q + 1 :]
        assert abs(study.dot(place, place) / (c.height * space.radius) ** 2 - 1) < 1e-80
        assert abs(study.inner(space, c.x, c.x) / space.beta - 1) < 1e-80
        assert abs(study.inner(space, c.x, c.xi)) < 1e-80
        length = mp.sqrt(abs(study.inner(space, c.xi, c.xi)))
        assert abs(length / (study.NEAR * space.radius) - 1) < 1e-80
