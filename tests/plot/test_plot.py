"""Figures are of points that the manifold vouches for, and are returned, not shown."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from ultrahyperbolic import Embedding, Euclidean, PseudoHyperboloid, datasets, embed, plot
from ultrahyperbolic.plot import pieces
from ultrahyperbolic.plot.pieces import (
    Arrow,
    Curve,
    Mark,
    Surface,
    hierarchy_drawing,
    losses_drawing,
    map_drawing,
)

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
        grid = pieces.level_surface(manifold, level).reshape(-1, 3)
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
    together, below, at, above = pieces.family(-4.0)
    assert [scene.title for scene in (below, at, above)] == [
        "x₀ below 2: two sheets",
        "x₀ at 2: a cone",
        "x₀ above 2: one sheet",
    ]
    names = [surface.name for surface in of(together, Surface)]
    assert names[0] == "x₀ = 0: two sheets"
    assert "x₀ = 2: a cone" in names
    assert names[-1].endswith("one sheet")
    assert len({surface.color for surface in of(together, Surface)}) == len(names)


@pytest.mark.parametrize("beta", BETAS)
def test_geodesics_are_of_three_kinds(beta):
    manifold, root = PseudoHyperboloid(1, 1, beta), (-beta) ** 0.5
    (scene,) = pieces.geodesics(beta)
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
    (scene,) = pieces.exp_log(beta)
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
    nodes = hierarchy_drawing(club).nodes
    assert nodes.places[:, 1].tolist() == club.rank.tolist()
    assert sorted(nodes.places[:, 0]) == list(range(34))
    assert len(nodes.ties) == 78
    assert nodes.strengths.max() == 1.0
    alone = Embedding(club.ids, club.points, club.manifold)
    assert len(hierarchy_drawing(alone).nodes.ties) == 0
    ordered = club.graph.with_nodes(list(club.ids)[::-1])
    given = hierarchy_drawing(alone, ordered).nodes
    pairs = [
        {frozenset(club.ids[i] for i in tie) for tie in found.ties} for found in (nodes, given)
    ]
    assert pairs[0] == pairs[1]


def test_the_map_is_the_plane(club):
    assert np.array_equal(map_drawing(club).nodes.places, plot.plane(club))


def test_losses_say_what_they_lack(club):
    (line,) = losses_drawing({"a": club}, "loss").lines
    assert line.y.tolist() == club.run["loss"]
    with pytest.raises(ValueError, match="at least one run"):
        losses_drawing({}, "loss")
    with pytest.raises(ValueError, match="'b' holds no loss"):
        losses_drawing({"b": Embedding(club.ids, club.points, club.manifold)}, "loss")


FIGURES = {
    "family": lambda club, **o: plot.family(beta=-2.0, **o),
    "geodesics": lambda club, **o: plot.geodesics(beta=-2.0, **o),
    "exp_log": lambda club, **o: plot.exp_log(beta=-2.0, **o),
    "hierarchy": lambda club, **o: plot.hierarchy(club, **o),
    "losses": lambda club, **o: plot.losses({"Q^{3,1}": club, "$x$ & <b>": club}, **o),
    "map": lambda club, **o: plot.map(club, **o),
}


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_figures(name, club, tmp_path):
    go = pytest.importorskip("plotly.graph_objects")
    figure = FIGURES[name](club)
    assert isinstance(figure, go.Figure)
    path = plot.save(figure, tmp_path / "f.html")
    text = path.read_text(encoding="utf-8")
    assert "Plotly.newPlot" in text
    assert not any(
        f'{tag} src="http' in text for tag in ("script", "link", "img")
    )  # nothing is fetched
    with pytest.raises(ValueError, match="library='matplotlib'"):
        plot.save(figure, tmp_path / "f.png")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in {"hierarchy", "map"}))
        for name in FIGURES
    ],
)
def test_matplotlib_figures(name, club, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    figure = FIGURES[name](club, library="matplotlib")
    assert isinstance(figure, matplotlib.figure.Figure)
    with image.open(plot.save(figure, tmp_path / "f.png", dpi=40)) as drawn:
        inked = (np.asarray(drawn.convert("L")) < 245).mean()
        assert 0.01 < inked < 0.9
    assert plot.save(figure, tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(ValueError, match="library='plotly'"):
        plot.save(figure, tmp_path / "f.html")
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.slow
def test_nothing_is_shown_or_left_open(club):
    pytest.importorskip("matplotlib")
    code = (
        "import sys\n"
        "from ultrahyperbolic import plot\n"
        "assert not {'matplotlib', 'plotly', 'PIL'} & set(sys.modules), 'loaded before use'\n"
        "plot.geodesics(library='matplotlib')\n"
        "assert 'matplotlib.pyplot' not in sys.modules, 'pyplot keeps and shows figures'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ids_in_figures_are_text(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    ids = ["$x^", "<script>alert(1)</script>", "\\frac", "$a$", "%{x}", "a" * 400]
    embedding = Embedding(ids, np.arange(12.0).reshape(6, 2) ** 1.5, Euclidean(2))
    path = plot.save(plot.map(embedding), tmp_path / "f.html")
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    plot.save(plot.map(embedding, library="matplotlib"), tmp_path / "f.png", dpi=30)
    short = Embedding(["$", "$$", "_^", "\\", "a$b", "<"], embedding.points, Euclidean(2))
    plot.save(plot.hierarchy(short, library="matplotlib"), tmp_path / "g.png", dpi=30)


def test_what_is_refused(club, tmp_path):
    with pytest.raises(ValueError, match="library must be 'plotly' or 'matplotlib', got 'gnuplot'"):
        plot.map(club, library="gnuplot")
    with pytest.raises(ValueError, match=r"f\.jpg: figures are written as"):
        plot.save(None, tmp_path / "f.jpg")


def test_an_extra_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "ultrahyperbolic.plot.on_matplotlib", raising=False)
    with pytest.raises(ImportError, match=r"drawing needs matplotlib, .*: pip install matplotlib"):
        plot.geodesics(library="matplotlib")
