"""Drawings in the plane: maps, hierarchies and losses."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from ..arrays import Floats, Ints
from ..embedding import Embedding
from ..graph import Graph
from .files import STYLE, NotebookFigure
from .labels import ALWAYS, draw_names, place_names, plain, shortened
from .layout import map_of, plane
from .maps import (
    PALETTE,
    REST,
    Column,
    Kinds,
    backbone,
    columns,
    edges_among,
    labels_of,
    names_of,
)

_MOST_NODES = 5_000  # on a map
_MARGIN = 28.0  # around the nodes, in points
_HEAD = 0.06  # the length of an arrow's, in inches
_NAMES = 60  # at most, in a hierarchy
_PANEL = (5.2, 4.6)  # inches
_INSET = (0.65, 0.55, 0.15, 0.45)  # inches around the axes of a panel: left, below, right, above
_THEMES = {  # paper, ink, ties
    "light": ("white", "#1b1f24", "#7d8894"),
    "dark": ("#12161b", "#e8ebee", "#8b96a1"),
}


def draw_map(
    embedding: Embedding,
    graph: Graph | None,
    *,
    colour: str,
    names: int,
    size: tuple[float, float],
    title: str,
    theme: Literal["light", "dark"],
) -> NotebookFigure:
    """See `ultrahyperbolic.plot.plot_map`."""
    graph = _ties_of(embedding, graph)
    rows = np.argsort(embedding.rank, kind="stable")[:_MOST_NODES]
    places = map_of(embedding, graph, rows)
    by_name = {column.name: column for column in columns(embedding, graph, rows)}
    if colour not in by_name:
        raise ValueError(f"colour must be one of {', '.join(map(repr, by_name))}, got {colour!r}")
    column = by_name[colour]
    paper, ink, _ = _THEMES[theme]
    with mpl.rc_context(STYLE):
        drawn = NotebookFigure(figsize=size, facecolor=paper)
        top = 0.93 if title else 1.0
        axis = drawn.add_axes((0.0, 0.0, 1.0, top))
        axis.set_axis_off()
        colours, is_kind = _colours(column), isinstance(column, Kinds)
        _draw_network(
            axis, embedding, graph, rows, places, colours, is_kind=is_kind, names=names, theme=theme
        )
        if title:
            drawn.text(
                0.02, 0.965, plain(title), color=ink, fontsize=14, fontweight="bold", va="center"
            )
    return drawn


def panels(draws: Sequence[Callable[[Axes], None]]) -> NotebookFigure:
    """Drawings side by side; those with a logarithmic scale share it."""
    width, height = _PANEL
    left, below, right, above = _INSET
    total = width * len(draws)
    with mpl.rc_context(STYLE):
        drawn = NotebookFigure(figsize=(total, height))
        for k, draw in enumerate(draws):
            corner = (k * width + left) / total, below / height
            extent = (width - left - right) / total, (height - below - above) / height
            axis = drawn.add_axes((*corner, *extent))
            axis.spines[["top", "right"]].set_visible(False)
            draw(axis)
        scaled = [axis for axis in drawn.axes if axis.get_yscale() == "log"]
        for other in scaled[1:]:
            other.sharey(scaled[0])
    return drawn


def draw_hierarchy(
    axis: Axes, embedding: Embedding, graph: Graph | None = None, title: str = ""
) -> None:
    """Height by rank, and left to right by the order along the first axis of the plane."""
    n = len(embedding)
    across = np.argsort(np.argsort(plane(embedding)[:, 0], kind="stable"), kind="stable")
    rows = np.argsort(embedding.rank, kind="stable")
    places = np.column_stack((across, -embedding.rank))[rows].astype(float)
    colours = list(mpl.colormaps["cividis"](np.linspace(0.0, 1.0, n)))
    points = _draw_network(
        axis, embedding, _ties_of(embedding, graph), rows, places, colours, names=_NAMES
    )
    geometry = embedding.geometry
    name = str(embedding.manifold) if geometry is None else geometry.name
    axis.set_title(_math(title or f"height by rank of δ on {name}"), fontsize=11.5)
    axis.spines["bottom"].set_visible(False)
    ticks = np.unique(np.linspace(1, n, min(n, 6)).astype(int))
    axis.set_xticks([])
    axis.set_yticks(points[ticks - 1, 1], [f"{tick:,}" for tick in ticks])
    axis.set_ylabel("rank")


def draw_losses(axis: Axes, runs: Mapping[str, Embedding], title: str) -> None:
    """The loss of each run; colours follow the order of the runs.

    A dot ends a run that stopped because it met every constraint.
    """
    if not runs:
        raise ValueError("losses needs at least one run")
    shades = mpl.colormaps["viridis"](np.linspace(0.0, 0.93, len(runs)))
    for (name, embedding), color in zip(runs.items(), shades, strict=True):
        record = embedding.record
        loss = np.asarray(record.loss, dtype=float)
        if not len(loss):
            raise ValueError(f"the run {name!r} holds no loss: it was not trained here, or not yet")
        iterations = np.arange(len(loss)) * record.loss_every
        axis.plot(iterations, loss, color=color, lw=1.5, label=_math(name))
        if record.result is not None and record.result.ordered_at is not None:
            axis.plot(iterations[-1], loss[-1], "o", color=color, ms=5, mec="white", zorder=3)
    axis.set(xlabel="iteration", ylabel="loss", yscale="log")
    axis.set_title(_math(title), fontsize=11.5)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(color="0.9", lw=0.7)
    axis.set_axisbelow(True)
    axis.margins(x=0.01)
    if len(runs) > 1:
        axis.legend(fontsize=8.5, frameon=False, ncols=2, columnspacing=1.2, handlelength=1.4)


def _math(text: str) -> str:
    r"""Text in which Q^{p,q} is set as a formula, and nothing else can become one.

    >>> _math("on Q^{3,1}, $5")
    'on $Q^{3,1}$, \\$5'
    """
    return re.sub(r"([QR]\^(?:\{\d+,\d+\}|\d+))", r"$\1$", plain(text))


def _ties_of(embedding: Embedding, graph: Graph | None) -> Graph | None:
    """The graph that was given, else the embedding's own, with its nodes in their order."""
    graph = embedding.ties if graph is None else graph
    if graph is None or list(graph.ids) == list(embedding.ids):
        return graph
    return graph.with_nodes(embedding.ids)


def _draw_network(
    axis: Axes,
    embedding: Embedding,
    graph: Graph | None,
    rows: Ints,
    places: Floats,
    colours: list[Any],
    *,
    is_kind: bool = False,
    names: int,
    theme: Literal["light", "dark"] = "light",
) -> Floats:
    """Draw the nodes at ``rows`` [r], the most central first, at ``places`` [r, 2] stretched to the
    axes, with ties and at most so many names.

    ``is_kind`` says that equal colours mean one kind, which ties within it share. Returns where the
    nodes are [r, 2], in points from the corner of the axes.
    """
    paper, ink, line = _THEMES[theme]
    inches = cast("NotebookFigure", axis.figure).get_size_inches()
    room: Floats = 72.0 * inches * axis.get_position().size
    span = np.maximum(np.ptp(places, axis=0), 1e-12)
    points: Floats = _MARGIN + (places - places.min(0)) / span * (room - 2.0 * _MARGIN)
    axis.set(xlim=(0, room[0]), ylim=(0, room[1]))
    if graph is not None:
        _draw_ties(axis, graph, rows, points, colours if is_kind else None, line)
    diameters = _diameters(graph, rows)
    x, y = points.T
    axis.scatter(x, y, s=diameters**2, c=colours, edgecolors=paper, linewidths=0.8, zorder=2)
    called = names_of(list(embedding.ids), labels_of(embedding, graph))
    texts = [shortened(called[int(row)]) for row in rows]
    order = np.arange(len(rows))
    if graph is not None:  # the top of the ranking is named first, and then the strongest
        order[ALWAYS:] = ALWAYS + np.argsort(-graph.strength[rows[ALWAYS:]], kind="stable")
    placed = place_names(texts, points, diameters / 2.0, room, order[:names])
    draw_names(axis, placed, points, ink, paper)
    return points


def _colours(column: Column) -> list[Any]:
    if isinstance(column, Kinds):
        shades = [
            PALETTE[k] if kind and k < len(PALETTE) else REST for k, kind in enumerate(column.kinds)
        ]
        return [shades[code] for code in column.codes]
    scale = mpl.colormaps["cividis"].with_extremes(bad=REST)
    return list(scale(Normalize()(np.ma.masked_invalid(column.values))))


def _diameters(graph: Graph | None, rows: Ints) -> Floats:
    """Diameters [n] in points."""
    n = len(rows)
    crowd = 0.45 if n > 1500 else 0.6 if n > 600 else 0.8 if n > 200 else 1.0
    if graph is None:
        return np.full(n, 8.0 * crowd)
    strength = graph.strength[rows]
    return crowd * (5.0 + 16.0 * np.sqrt(strength / max(float(strength.max(initial=0.0)), 1e-300)))


def _bow(first: Floats, last: Floats) -> Floats:
    """A tie as a slightly bent line, so that ties along one line can be distinguished."""
    share = np.linspace(0.0, 1.0, 25)[:, None]
    across = last - first
    bend = 0.08 * np.array([-across[1], across[0]]) * 4.0 * share * (1.0 - share)
    return first + share * across + bend


def _draw_ties(
    axis: Axes, graph: Graph, rows: Ints, points: Floats, kinds: list[Any] | None, line: str
) -> None:
    among, ends = edges_among(graph, rows)
    drawn = backbone(ends, graph.weights[among], len(rows))
    first, second = ends[drawn].T
    if not len(first):
        return
    share = np.arange(len(first)) / max(1, len(first) - 1)  # by strength
    crowd = float(np.clip(np.sqrt(500 / len(first)), 0.25, 1.0))
    colours = [line] * len(first)
    if kinds is not None:  # a tie within a kind has its colour
        pairs = [(kinds[a], kinds[b]) for a, b in zip(first, second, strict=True)]
        colours = [kind if kind == other != REST else line for kind, other in pairs]
    within = np.array(colours) != line
    opacity = crowd * (0.25 + 0.3 * share) * np.where(within, 1.2, 0.7)
    paths = [_bow(points[a], points[b]) for a, b in zip(first, second, strict=True)]
    widths = 0.4 + 1.6 * share**3
    axis.add_collection(
        LineCollection(paths, colors=colours, linewidths=widths, alpha=opacity, zorder=1)
    )
    if graph.directions is None:
        return
    # A tie that leads one way has the head of an arrow in its middle.
    ways = (graph.directions[among[drawn]] > 0.0) @ np.array([1.0, -1.0])
    led = np.flatnonzero(ways)
    along = (points[second] - points[first])[led] * ways[led, None]
    along *= _HEAD / np.linalg.norm(along, axis=1, keepdims=True)
    axis.quiver(
        *np.array(paths)[led, 12].T,
        *along.T,
        color=[colours[k] for k in led],
        alpha=0.8 * crowd,
        angles="xy",
        units="inches",
        scale_units="inches",
        scale=1.0,
        width=_HEAD / 4.0,
        headwidth=3.0,
        headlength=4.0,
        headaxislength=4.0,
        pivot="mid",
        zorder=1,
    )
