"""Figures for notebooks and files, drawn by matplotlib; nothing opens a window.

>>> from ultrahyperbolic import plot
>>> type(plot.figure2()).__mro__[1].__module__
'matplotlib.figure'
"""

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from ..embedding import Embedding
from ..files import replace_file
from ..graph import Graph
from ..graph.errors import need
from .layout import plane
from .maps import COMMUNITIES

SUFFIXES = (".png", ".pdf", ".svg")
Figure = Any  # of matplotlib, which is imported when something is drawn

__all__ = ["family", "figure2", "hierarchy", "losses", "plane", "plot_map", "save"]


def plot_map(
    embedding: Embedding,
    graph: Graph | None = None,
    *,
    colour: str = COMMUNITIES,
    names: int = 60,
    size: tuple[float, float] = (9.0, 6.0),
    title: str = "",
    theme: Literal["light", "dark"] = "light",
) -> Figure:
    """The map that the report shows first, as a still picture with names.

    Parameters
    ----------
    embedding
        What to draw; at most the 5,000 most central nodes.
    graph
        The graph that was embedded, where the embedding does not have its ties. Without one there
        are none.
    colour
        ``"community"``, or a column of the table of nodes.
    names
        How many nodes to name at most, the most central first. The first ten always get their
        names; the others only where there is room.
    size, title, theme
        Width and height in inches; a line above the map; light or dark.
    """
    if theme not in ("light", "dark"):
        raise ValueError(f"theme must be 'light' or 'dark', got {theme!r}")
    return _drawn_by("flat").draw_map(
        embedding, graph, colour=colour, names=names, size=size, title=title, theme=theme
    )


def hierarchy(embedding: Embedding, graph: Graph | None = None) -> Figure:
    """Figure 3, left: nodes by rank, the top of the hierarchy above, with the ties of the graph."""
    flat = _drawn_by("flat")
    return flat.panels([lambda axis: flat.draw_hierarchy(axis, embedding, graph)])


def losses(runs: Mapping[str, Embedding], *, title: str = "loss of Eq. 17") -> Figure:
    """Figure 3, right: the loss of trainings over their iterations, by name."""
    flat = _drawn_by("flat")
    return flat.panels([lambda axis: flat.draw_losses(axis, runs, title)])


def family(*, beta: float = -1.0) -> Figure:
    """Figure 1: Q^{2,1}_β projected along x_0. The hyperboloids x_2² + x_3² - x_1² = x_0² + β, and
    one of each kind.
    """
    return _drawn_by("scenes").family(beta)


def figure2(*, beta: float = -1.0) -> Figure:
    """Figure 2: the three kinds of geodesic of Q^{1,1}_β (Eq. 5); exp and log with the tangent
    plane, and what no geodesic from x reaches.
    """
    return _drawn_by("scenes").figure2(beta)


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: float = 100) -> Path:
    """Write a figure as PNG, PDF or SVG, by the suffix of the name."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{target}: figures are written as {', '.join(SUFFIXES)}")
    replace_file(target, _drawn_by("files").written(figure, suffix.removeprefix("."), dpi))
    return target


def _drawn_by(module: str) -> Any:
    """A module of this room that imports matplotlib."""
    need("matplotlib", "drawing")
    return import_module(f".{module}", __name__)
