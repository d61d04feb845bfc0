"""The comparison on Cora: settings are chosen by validation, and every geometry gets the same
network.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

import ultrahyperbolic as uh

spec = importlib.util.spec_from_file_location(
    "cora", Path(__file__).parents[2] / "benchmarks" / "cora.py"
)
cora = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cora)


def small():
    """Two groups of papers with words of their own."""
    generator = torch.Generator().manual_seed(0)
    n, words = 40, 12
    labels = torch.arange(n) % 2
    features = (torch.rand(n, words, generator=generator) < 0.5).float()
    features[:, : words // 2] *= labels[:, None]
    ties = torch.randint(0, n // 2, (2, 60), generator=generator) * 2 + torch.randint(
        0, 2, (60,), generator=generator
    )
    edges, weights = uh.nn.normalized_edges(
        torch.cat((ties, ties.flip(0)), dim=1), n, dtype=torch.float32
    )
    rows = torch.randperm(n, generator=generator)
    return cora.Cora(
        features.to_sparse().coalesce(), edges, weights, labels, rows[:10], rows[10:20], rows[20:]
    )


FLAT, *CURVED = cora.geometries()


@pytest.mark.parametrize(
    "name", [FLAT, *(pytest.param(name, marks=pytest.mark.slow) for name in CURVED)]
)
def test_every_geometry_learns(name):
    manifold = cora.geometries()[name]
    assert manifold.dim == 4
    task = cora.Task(small(), 40, "tanh")
    validation, test = cora.run(task, manifold, 0, 0.1, 5e-4)
    assert validation >= 0.8
    assert test >= 0.7
    assert cora.run(task, manifold, 0, 0.1, 5e-4) == (validation, test)


def test_validation_alone_chooses(monkeypatch):
    asked = []

    def scripted(task, manifold, seed, rate, decay):
        asked.append((seed, rate, decay))
        good = (rate, decay) == (0.03, 5e-3)
        return (0.8 if good else 0.5, 0.1 if good else 0.9)

    monkeypatch.setattr(cora, "run", scripted)
    found = cora.compared(None, None, 5)
    assert (found.lr, found.weight_decay) == (0.03, 5e-3)
    assert found.test == [10.0] * 5
    assert len(asked) == len(set(asked)) == 6 * cora.TUNED + 2
