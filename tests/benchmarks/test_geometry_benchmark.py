"""The geometry benchmark runs from end to end and writes the figures it promises; how fast is not
judged here.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "geometry.py"
DIMENSIONS = (4, 8, 16)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    path = tmp_path_factory.mktemp("benchmark") / "geometry.json"
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    result: dict[str, float] = json.loads(path.read_text())
    for key in (
        "expmap_ratio",
        "logmap_ratio",
        "dist_ratio",
        "chi_exponent",
        "gram_schmidt_exponent",
    ):
        assert key in run.stdout
    return result


def test_every_figure_is_finite(figures: dict[str, float]) -> None:
    assert [key for key, value in figures.items() if not math.isfinite(value)] == []


def test_ratios_are_the_larger_of_the_two_limits(figures: dict[str, float]) -> None:
    for operation in ("expmap", "logmap"):
        limits = [figures[f"{limit}_{operation}_ratio"] for limit in ("lorentz", "sphere")]
        assert figures[f"{operation}_ratio"] == max(limits)
    assert figures["dist_ratio"] == figures["lorentz_dist_ratio"]
    assert figures["sphere_dist_ratio"] > 0


def test_nearby_distances_keep_their_digits(figures: dict[str, float]) -> None:
    for limit in ("lorentz", "sphere"):
        assert (
            figures[f"{limit}_dist_error_nearby"]
            < 1e-7
            < figures[f"geoopt_{limit}_dist_error_nearby"]
        )


@pytest.mark.parametrize("d", DIMENSIONS)
def test_gram_schmidt_bases_are_orthonormal_in_small_dimensions(
    figures: dict[str, float], d: int
) -> None:
    for variant in ("", "classical_", "time_first_", "space_first_"):
        assert figures[f"gram_schmidt_{variant}orthonormality_d{d}"] < 1e-6


def test_directions_are_timed_side_by_side(figures: dict[str, float]) -> None:
    assert all(
        figures[f"{name}_us_d{d}"] > 0
        for name in ("chi", "surrogate", "gram_schmidt")
        for d in DIMENSIONS
    )


def test_exponents_are_there(figures: dict[str, float]) -> None:
    assert {"chi_exponent", "gram_schmidt_exponent", "threads", "points"} <= figures.keys()
    assert {"chi_tail_exponent", "gram_schmidt_tail_exponent"} <= figures.keys()


def test_exponents_are_fitted_over_all_dimensions(figures: dict[str, float]) -> None:
    for name in ("chi", "gram_schmidt"):
        times = [math.log(figures[f"{name}_us_d{d}"]) for d in DIMENSIONS]
        # d doubles from each to the next, so the least-squares slope is half the logarithm of last
        # over first.
        assert figures[f"{name}_exponent"] == pytest.approx(
            (times[-1] - times[0]) / (2 * math.log(2))
        )


def test_the_section_of_the_docs_is_written_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    marks = "<!-- geometry: written by benchmarks/geometry.py -->", "<!-- end of geometry -->"
    page.write_text(f"before\n{marks[0]}\nold\n{marks[1]}\nafter\n")
    command = [sys.executable, str(SCRIPT), "--quick", "--docs", str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    before, section = page.read_text().split(marks[0])
    section, after = section.split(marks[1])
    assert (before, after) == ("before\n", "\nafter\n")
    assert "old" not in section
    assert "`gram_schmidt_exponent`" in section
    page.write_text("no marks")
    assert (
        b"must have one <!-- geometry -->"
        in subprocess.run(command, capture_output=True, check=False).stderr
    )
