"""The benchmark of suggestions: what it counts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

spec = importlib.util.spec_from_file_location(
    "suggest", Path(__file__).parents[2] / "benchmarks" / "suggest.py"
)
suggest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(suggest)


def test_equal_scores_count_as_if_their_order_were_drawn(monkeypatch):
    monkeypatch.setattr(suggest, "_FIRST", 2)
    scores, hidden = np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False])
    assert suggest.auc(scores, hidden) == pytest.approx((2 + 1.5) / 4)
    assert suggest.precision(scores, hidden) == pytest.approx((1 + 0.5) / 2)


def test_figures_have_flat_keys_and_bars(monkeypatch, tmp_path):
    words = ["suggest.py", "--graphs", "karate", "--repeats", "1", "--json"]
    monkeypatch.setattr("sys.argv", [*words, str(tmp_path / "s.json")])
    suggest.main()
    figures = json.loads((tmp_path / "s.json").read_text())
    assert 0.5 < figures["karate_auc"] <= 1.0
    assert figures["karate_ece"] == figures["mean_ece"]
    assert {"bars:auc_of_each", "bars:auc_mean", "bars:ece", "bars:p20", "bars:failed"} <= set(
        figures
    )
