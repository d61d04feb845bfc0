from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from ultrahyperbolic.graph import read_graph

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "linear.py"


@pytest.fixture(scope="module")
def linear():
    spec = importlib.util.spec_from_file_location("linear", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_graphs_have_hubs_and_ten_ties_a_node(linear, tmp_path):
    linear.write_power_law(tmp_path / "ties.parquet", 3000)
    graph = read_graph(tmp_path / "ties.parquet")
    assert 25_000 < graph.n_edges <= 30_000
    assert graph.degree.max() > 10 * np.median(graph.degree)
    linear.write_power_law(tmp_path / "again.parquet", 3000)
    assert read_graph(tmp_path / "again.parquet").fingerprint == graph.fingerprint


def test_slopes_are_exponents(linear):
    ties = [1e5, 1e6, 1e7]
    assert linear.slope(ties, [3e-6 * m**1.5 for m in ties]) == pytest.approx(1.5)


def test_figures_are_drawn(linear, tmp_path):
    rows = [dict.fromkeys(linear.PARTS, 1.0) | {"ties": m} for m in (1e6, 2e6)]
    linear.plot(rows, {"slope_all": 1.0}, tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 5000
