"""Figures are of points that the manifold vouches for, and are returned, not shown."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from ultrahyperbolic import Embedding, Euclidean, PseudoHyperboloid, datasets, embed, plot
from ultrahyperbolic.plot import scenes

BETAS = (-1.0, -0.25, -4.0)


@pytest.fixture(scope="module")
def club():
    return embed(datasets.karate(), p=3, q=1, iterations=60, quiet=True)


def residual(manifold, points):
    """How far points are off the manifold, of their squared length."""
    points = torch.from_numpy(np.ascontiguousarray(points))
    off = (manifold.inner(points, points) - manifold.beta).abs() / points.square().sum(-1)
    return off.max().item()


# --- the scenes ------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
def test_the_family_is_of_the_manifold(beta):
    manifold, root = PseudoHyperboloid(2, 1, beta), (-beta) ** 0.5
    for level in (0.0, 0.3, 1.0, 1.0001, 2.0):
        grid = scenes.level_surface(manifold, level).reshape(-1, 3)
        x2, x3, x1 = grid[np.isfinite(grid).all(1)].T
        points = np.stack((np.full_like(x1, level * root), x1, x2, x3), axis=1)
        assert residual(manifold, points) < 1e-14
        # Two sheets keep away from x_1 = 0, one sheet from the axis, and the cone from neither.
        gap = root * max(0.0, 1.0 - level**2) ** 0.5
        waist = root * max(0.0, level**2 - 1.0) ** 0.5
        assert np.abs(x1).min() == pytest.approx(gap, abs=1e-12)
        assert np.hypot(x2, x3).min() == pytest.approx(waist, abs=1e-7)
        assert x1.min() < 0.0 < x1.max()


@pytest.mark.parametrize("beta", BETAS)
def test_geodesics_are_of_three_kinds(beta):
    manifold, root = PseudoHyperboloid(1, 1, beta), (-beta) ** 0.5
    axis = plot.figure2(beta=beta).axes[0]
    curves = [np.transpose(line.get_data_3d()) for line in axis.lines]
    space, _, ray, other, time, _ = (points for points in curves if len(points) == 181)
    for points in (space, ray, other, time):
        assert residual(manifold, points) < 1e-14
        assert points[90] == pytest.approx([root, 0.0, 0.0])
    assert time[0] == pytest.approx(time[-1], abs=1e-12)
    for straight in (ray, other):
        assert np.abs(np.diff(straight, n=2, axis=0)).max() < 1e-12
    assert np.abs(np.diff(space, n=2, axis=0)).max() > 1e-6
    assert space[:, 1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_exp_reaches_one_part_and_log_exists_there_alone(beta):
    manifold = PseudoHyperboloid(1, 1, beta)
    x = manifold.origin()
    for part, expected in zip(scenes.parts(manifold), (True, False), strict=True):
        points = torch.from_numpy(part[:, 1:-1])  # the rays between the parts belong to neither
        height = points[..., 2].abs() > 1e-9
        assert residual(manifold, points.numpy()) < 1e-14
        assert (manifold.logmap(x.expand_as(points), points).exists[height] == expected).all()


# --- the drawings ------------------------------------------------------------


def test_the_hierarchy_stands_by_rank(club):
    (axis,) = plot.hierarchy(club).axes
    dots = next(drawn for drawn in axis.collections if len(drawn.get_offsets()) == 34)
    across, up = dots.get_offsets().T
    assert (np.diff(up) < 0).all()  # the most central nodes come first, and stand above
    assert len(set(np.round(across, 6))) == 34
    assert [text.get_text() for text in axis.get_yticklabels()][::5] == ["1", "34"]


def test_losses_are_drawn_as_recorded_and_say_what_they_lack(club):
    (line,) = plot.losses({"a": club}).axes[0].lines
    assert line.get_ydata().tolist() == club.run["loss"]
    with pytest.raises(ValueError, match="at least one run"):
        plot.losses({})
    with pytest.raises(ValueError, match="'b' holds no loss"):
        plot.losses({"b": Embedding(club.ids, club.points, club.manifold)})


FIGURES = {
    "family": lambda club: plot.family(beta=-2.0),
    "figure2": lambda club: plot.figure2(beta=-2.0),
    "hierarchy": plot.hierarchy,
    "losses": lambda club: plot.losses({"Q^{3,1}": club, "$x$ & <b>": club}),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "losses")) for name in FIGURES],
)
def test_figures_are_written(name, club, tmp_path):
    image = pytest.importorskip("PIL.Image")
    figure = FIGURES[name](club)
    with image.open(plot.save(figure, tmp_path / "f.png", dpi=40)) as drawn:
        inked = (np.asarray(drawn.convert("L")) < 245).mean()
        assert 0.01 < inked < 0.9
    assert plot.save(figure, tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_ids_in_figures_are_text(tmp_path):
    ids = ["$x^", "<script>alert(1)</script>", "\\frac", "$a$", "_^\\", "a" * 400]
    embedding = Embedding(ids, np.arange(12.0).reshape(6, 2) ** 1.5, Euclidean(2))
    plot.save(plot.plot_map(embedding, title="$\\x"), tmp_path / "f.png", dpi=30)
    plot.save(plot.hierarchy(embedding), tmp_path / "g.png", dpi=30)


def test_what_is_refused(tmp_path, monkeypatch):
    for name in ("f.jpg", "f.html"):
        with pytest.raises(ValueError, match=rf"{name}: figures are written as"):
            plot.save(None, tmp_path / name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"drawing needs matplotlib, .*: pip install matplotlib"):
        plot.figure2()
