"""The map of an embedding: near nodes lie together, names do not overlap, colours tell kinds."""

from __future__ import annotations

import numpy as np
import pytest

from ultrahyperbolic import Embedding, Euclidean, Graph, PseudoHyperboloid, datasets, plot
from ultrahyperbolic.plot import maps
from ultrahyperbolic.plot.layout import map_of, near_links
from ultrahyperbolic.plot.maps import Kinds, Numbers, backbone, columns


def clumps(count=4, each=15, far=20.0, seed=0):
    """Points of the plane in clumps, and the clump of each."""
    rng = np.random.default_rng(seed)
    clump = np.repeat(np.arange(count), each)
    centres = far * np.column_stack((np.cos(np.arange(count)), np.sin(np.arange(count))))
    return centres[clump] + rng.normal(size=(len(clump), 2)), clump


def embedded():
    """Les Misérables at points of a curved space, by their places in the plane."""
    graph, manifold = datasets.lesmis(), PseudoHyperboloid(2, 1)
    space = np.random.default_rng(0).normal(size=(77, 2))
    points = np.column_stack((np.sqrt(1.0 + (space**2).sum(1)), np.zeros(77), space))
    return Embedding(graph.ids, points, manifold, {}, graph)


def laid_out(points, graph=None):
    """The map of points of the plane."""
    nodes = np.arange(len(points))
    return map_of(Embedding(nodes.tolist(), points, Euclidean(2)), graph, nodes)


# --- the layout ------------------------------------------------------------


def test_near_nodes_lie_together():
    points, clump = clumps()
    places = laid_out(points)
    far = np.linalg.norm(places[:, None] - places, axis=2) + np.diag(np.full(len(points), np.inf))
    nearest = np.argsort(far, axis=1)[:, :5]
    assert (clump[nearest] == clump[:, None]).mean() > 0.97


def test_a_map_is_finite_and_the_same_each_time():
    embedding = embedded()
    first, again = (map_of(embedding, embedding.graph, np.arange(77)) for _ in range(2))
    assert np.isfinite(first).all()
    assert np.array_equal(first, again)
    apart = np.linalg.norm(first[:, None] - first, axis=2)[np.triu_indices(77, 1)]
    assert apart.min() > 1e-3  # no two in one place


def test_components_lie_side_by_side():
    component = np.repeat([0, 1, 2, 3], [40, 12, 12, 2])
    points = np.random.default_rng(0).normal(
        size=(66, 2)
    )  # mixed: the points know nothing of the components
    chained = np.flatnonzero(np.diff(component) == 0)
    places = laid_out(points, Graph.from_arrays(chained, chained + 1, ids=range(66)))
    middles = np.array([places[component == k].mean(0) for k in range(4)])
    radii = [np.linalg.norm(places[component == k] - middles[k], axis=1).max() for k in range(4)]
    for a in range(4):
        for b in range(a):
            assert np.linalg.norm(middles[a] - middles[b]) > 0.8 * (radii[a] + radii[b])
    assert np.linalg.norm(middles, axis=1).argmin() == 0  # the largest in the middle


def test_few_nodes_and_nodes_in_one_place_have_a_map_too():
    for points in (*(np.eye(4, 2)[:n] for n in range(5)), np.zeros((20, 2))):
        places = laid_out(points)
        assert places.shape == points.shape
        assert np.isfinite(places).all()


def test_popular_nodes_are_near_to_more():
    points = np.random.default_rng(0).normal(size=(40, 2))
    popularity = np.zeros(40)
    popularity[7] = 100.0
    ends, _ = near_links(points, Euclidean(2), popularity=popularity)
    assert (ends == 7).any(axis=1).sum() == 39


# --- ties, names, colours ------------------------------------------------------------


def test_of_many_ties_each_node_keeps_its_strongest(monkeypatch):
    monkeypatch.setattr(maps, "MAP_TIES", 20)
    rng = np.random.default_rng(0)
    ends = np.array([(a, b) for a in range(30) for b in range(a)])
    weights = rng.random(len(ends))
    drawn = backbone(ends, weights, 30)
    assert 20 <= drawn.sum() <= 60
    for node in range(30):
        own = np.flatnonzero((ends == node).any(axis=1))
        assert drawn[own[weights[own].argmax()]]


def test_communities_are_found_where_they_are_plain():
    points, clump = clumps()
    embedding = Embedding(list(range(60)), points, Euclidean(2))
    # In whatever order the nodes are asked for, and of a part of them.
    rng = np.random.default_rng(0)
    for rows in (np.arange(60), rng.permutation(60), rng.permutation(60)[:50]):
        (found,) = columns(embedding, None, rows)
        assert isinstance(found, Kinds)
        assert all(len(set(found.codes[clump[rows] == k].tolist())) == 1 for k in np.unique(clump))
        sizes = np.bincount(found.codes)
        assert len(sizes) >= 3
        assert (np.diff(sizes) <= 0).all()  # the largest first


def test_whole_numbers_are_kinds_where_they_are_few():
    points, _ = clumps()
    embedding = Embedding(list(range(60)), points, Euclidean(2))
    vars(embedding)["attributes"] = {"year": np.arange(60), "floor": np.arange(60) % 3}
    rows = np.arange(60)
    _, year, floor = columns(embedding, None, rows)
    assert isinstance(year, Numbers)
    assert isinstance(floor, Kinds)
    assert sorted(floor.kinds) == ["0", "1", "2"]


# --- the picture ------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_map_is_a_picture_with_names(theme, tmp_path):
    image = pytest.importorskip("PIL.Image")
    figure = plot.plot_map(embedded(), title="Les $Misérables$", theme=theme)
    (axis,) = figure.axes
    shown = {text.get_text() for text in axis.texts}
    top = [str(node) for node in embedded().hierarchy()["node"][:10]]
    assert set(top) <= shown
    with image.open(plot.save(figure, tmp_path / "map.png", dpi=50)) as drawn:
        corner = drawn.convert("L").getpixel((1, 1))
    assert (corner > 250) == (theme == "light")


def test_names_on_a_figure_do_not_overlap():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    people = embedded()
    figure = plot.hierarchy(people)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axis,) = figure.axes
    boxes = [Text.get_window_extent(text, canvas.get_renderer()) for text in axis.texts]
    assert {text.get_text() for text in axis.texts} >= {
        str(node) for node in people.hierarchy()["node"][:10]
    }
    for k, box in enumerate(boxes):
        assert axis.bbox.fully_contains(*box.min)
        assert axis.bbox.fully_contains(*box.max)
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_ties_that_lead_one_way_have_arrows():
    quiver = pytest.importorskip("matplotlib.quiver")
    graph = Graph.from_edges(
        [("a", "b", 2), ("b", "c", 1), ("c", "b", 1), ("d", "a", 3)], directed=True
    )
    points = np.array([[0.0, 0.0], [1.0, 0.3], [2.0, -1.0], [-1.0, 2.0]])
    found = Embedding(graph.ids, points, Euclidean(2), {}, graph)
    (axis,) = plot.plot_map(found).axes
    (heads,) = (drawn for drawn in axis.collections if isinstance(drawn, quiver.Quiver))
    dots = next(
        drawn for drawn in axis.collections if len(drawn.get_offsets()) == 4 and drawn is not heads
    )
    places = dict(zip(found.hierarchy()["node"], dots.get_offsets(), strict=True))
    along = {
        tuple(np.sign(places[second] - places[first])) for first, second in (("a", "b"), ("d", "a"))
    }
    assert len(heads.U) == 2
    assert {tuple(np.sign(each)) for each in np.column_stack((heads.U, heads.V))} == along
    both = Graph.from_edges([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")], directed=True)
    assert plot.plot_map(Embedding(both.ids, points[:3], Euclidean(2), {}, both)).axes


def test_a_map_without_ties_and_what_is_refused():
    alone = Embedding([f"n{k}" for k in range(60)], clumps()[0], Euclidean(2))
    assert plot.plot_map(alone, names=3).axes[0].texts
    with pytest.raises(ValueError, match="colour must be one of 'community', got 'height'"):
        plot.plot_map(alone, colour="height")
    with pytest.raises(ValueError, match="theme must be 'light' or 'dark', got 'blue'"):
        plot.plot_map(alone, theme="blue")


def test_labels_are_on_the_picture_and_can_colour_it():
    ids = list(range(12))
    graph = Graph.from_edges(
        [(k, (k + 1) % 12) for k in ids], nodes={k: f"Person {k}" for k in ids}
    )
    embedding = Embedding(ids, clumps(2, 6)[0], Euclidean(2), {}, graph)
    shown = {text.get_text() for text in plot.plot_map(embedding).axes[0].texts}
    assert shown
    assert all(text.startswith("Person ") for text in shown)
    sides = graph.with_nodes({k: "left" if k < 6 else "right" for k in ids})
    assert plot.plot_map(
        Embedding(ids, embedding.points, Euclidean(2), {}, sides), colour="label"
    ).axes
