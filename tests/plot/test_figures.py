"""Figures are of points that the manifold vouches for, and are returned, not shown."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from ultrahyperbolic import Embedding, Euclidean, PseudoHyperboloid, datasets, embed, plot
from ultrahyperbolic.plot import scenes
from ultrahyperbolic.plot.scenes import Arrow, Curve, Mark, Surface

BETAS = (-1.0, -0.25, -4.0)


@pytest.fixture(scope="module")
def club():
    return embed(datasets.karate(), p=3, q=1, iterations=60, quiet=True)


def of(scene, kind):
    return [piece for piece in scene.pieces if isinstance(piece, kind)]


def residual(manifold, points):
    points = torch.from_numpy(np.ascontiguousarray(points))
    return (
        ((manifold.inner(points, points) - manifold.beta).abs() / points.square().sum(-1))
        .max()
        .item()
    )


# --- the scenes ------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
def test_the_family_is_of_the_manifold(beta):
    manifold, root = PseudoHyperboloid(2, 1, beta), (-beta) ** 0.5
    for level in (0.0, 0.3, 1.0, 1.0001, 2.0):
        grid = scenes.level_surface(manifold, level).reshape(-1, 3)
        x2, x3, x1 = grid[np.isfinite(grid).all(1)].T
        points = np.stack((np.full_like(x1, level * root), x1, x2, x3), axis=1)
        assert residual(manifold, points) < 1e-14
        assert x2**2 + x3**2 - x1**2 == pytest.approx(
            level**2 * -beta + beta, abs=1e-13 * -beta * 10
        )
        # Two sheets keep away from x_1 = 0, one sheet from the axis, and the cone from neither.
        gap = root * max(0.0, 1.0 - level**2) ** 0.5
        waist = root * max(0.0, level**2 - 1.0) ** 0.5
        assert np.abs(x1).min() == pytest.approx(gap, abs=1e-12)
        assert np.hypot(x2, x3).min() == pytest.approx(waist, abs=1e-7)
        assert (x1 > 0).any()
        assert (x1 < 0).any()


def test_the_family_shows_all_three_kinds():
    together, *alone = scenes.family(-4.0)
    assert [scene.title.partition(": ")[2] for scene in alone] == [
        "two sheets",
        "a cone",
        "one sheet",
    ]
    surfaces = of(together, Surface)
    assert len({surface.color for surface in surfaces}) == len(surfaces)


@pytest.mark.parametrize("beta", BETAS)
def test_geodesics_are_of_three_kinds(beta):
    manifold, root = PseudoHyperboloid(1, 1, beta), (-beta) ** 0.5
    scene = scenes.geodesics(beta)
    space, ray, other, time = of(scene, Curve)
    for curve in (space, ray, other, time):
        assert residual(manifold, curve.points) < 1e-14
        middle = curve.points[len(curve.points) // 2]
        assert middle == pytest.approx([root, 0.0, 0.0])
    assert time.points[0] == pytest.approx(time.points[-1], abs=1e-12)
    assert np.abs(np.diff(ray.points, n=2, axis=0)).max() < 1e-12  # a straight line
    assert np.abs(np.diff(space.points, n=2, axis=0)).max() > 1e-6
    assert space.points[:, 1] == pytest.approx(0.0, abs=1e-12)
    assert space.name.startswith("space-like")


@pytest.mark.parametrize("beta", BETAS)
def test_exp_and_log_are_the_manifold_s(beta):
    manifold = PseudoHyperboloid(1, 1, beta)
    scene = scenes.exp_log(beta)
    x, tip, y = (torch.from_numpy(mark.point) for mark in of(scene, Mark))
    assert torch.allclose(manifold.expmap(x, tip - x), y, atol=1e-12)
    assert manifold.check_tangent(x, tip - x).ok
    (arrow,) = of(scene, Arrow)
    assert np.allclose(arrow.end - arrow.start, manifold.logmap(x, y).vector)
    reached, not_reached, plane = of(scene, Surface)
    for surface, expected in ((reached, True), (not_reached, False)):
        points = torch.from_numpy(
            surface.points[:, 1:-1]
        )  # the rays between the parts belong to neither
        height = points[..., 2].abs() > 1e-9
        assert residual(manifold, points.numpy()) < 1e-14
        assert (manifold.logmap(x.expand_as(points), points).exists[height] == expected).all()
    offsets = torch.from_numpy(plane.points.reshape(-1, 3)) - x
    assert manifold.check_tangent(x.expand_as(offsets), offsets).ok


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


@pytest.mark.slow
def test_nothing_is_shown_or_left_open():
    code = (
        "import sys\n"
        "from ultrahyperbolic import plot\n"
        "assert not {'matplotlib', 'PIL'} & set(sys.modules), 'loaded before use'\n"
        "plot.figure2()\n"
        "assert 'matplotlib.pyplot' not in sys.modules, 'pyplot keeps and shows figures'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
