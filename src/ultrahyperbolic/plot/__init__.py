"""Figures for notebooks and files. They are matplotlib or plotly objects; nothing opens a window.

>>> from ultrahyperbolic import plot
>>> type(plot.geodesics(library="matplotlib")).__mro__[1].__module__
'matplotlib.figure'
"""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from ..embedding import Embedding
from ..files import replace_file
from ..graph import Graph
from ..graph.errors import need
from . import pieces
from .maps import COMMUNITIES
from .pieces import Drawing, hierarchy_drawing, losses_drawing, map_drawing, plane

Library = Literal["plotly", "matplotlib"]
Drawn = Any  # a figure of plotly, which has no types, or of matplotlib
SUFFIXES = (".png", ".pdf", ".svg", ".html")

__all__ = [
    "exp_log",
    "family",
    "figure2",
    "geodesics",
    "hierarchy",
    "losses",
    "map",
    "plane",
    "plot_map",
    "save",
]


def family(*, beta: float = -1.0, library: Library = "plotly") -> Drawn:
    """Figure 1: Q^{2,1}_β projected along x_0. The hyperboloids x_2² + x_3² - x_1² = x_0² + β, and
    one of each kind.
    """
    return _library(library).scenes(pieces.family(beta), columns=[1.3, 0.9, 0.9, 0.9])


def geodesics(*, beta: float = -1.0, library: Library = "plotly") -> Drawn:
    """Figure 2, left: the three kinds of geodesic of Q^{1,1}_β (Eq. 5)."""
    return _library(library).scenes(pieces.geodesics(beta))


def exp_log(*, beta: float = -1.0, library: Library = "plotly") -> Drawn:
    """Figure 2, right: exp and log with the tangent plane, and what no geodesic from x reaches."""
    return _library(library).scenes(pieces.exp_log(beta))


def figure2(*, beta: float = -1.0, library: Library = "plotly") -> Drawn:
    """Figure 2, both halves."""
    return _library(library).scenes(
        [*pieces.geodesics(beta), *pieces.exp_log(beta)], columns=[1.2, 1.2]
    )


def hierarchy(
    embedding: Embedding, graph: Graph | None = None, *, library: Library = "plotly"
) -> Drawn:
    """Figure 3, left: nodes by rank, the top of the hierarchy above, with the ties of the graph."""
    return draw([hierarchy_drawing(embedding, graph)], library=library)


def losses(
    runs: Mapping[str, Embedding], *, title: str = "loss of Eq. 17", library: Library = "plotly"
) -> Drawn:
    """Figure 3, right: the loss of trainings over their iterations, by name."""
    return draw([losses_drawing(runs, title)], library=library)


def map(embedding: Embedding, graph: Graph | None = None, *, library: Library = "plotly") -> Drawn:
    """Nodes in the plane (see `plane`); more central ones are larger."""
    return draw([map_drawing(embedding, graph)], library=library)


def plot_map(
    embedding: Embedding,
    graph: Graph | None = None,
    *,
    colour: str = COMMUNITIES,
    names: int = 60,
    size: tuple[float, float] = (9.0, 6.0),
    title: str = "",
    theme: Literal["light", "dark"] = "light",
) -> Drawn:
    """The map that the report shows first, as a still picture with names: a matplotlib figure.

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
    options = {"colour": colour, "names": names, "size": size, "title": title, "theme": theme}
    return _library("matplotlib").draw_map(embedding, graph, **options)


def draw(panels: Sequence[Drawing], *, library: Library = "plotly") -> Drawn:
    """Flat panels side by side."""
    return _library(library).drawings(panels)


def save(figure: Drawn, path: str | os.PathLike[str], *, dpi: float = 100) -> Path:
    """Write a figure by the suffix of its name: PNG, PDF and SVG by matplotlib, HTML by plotly.

    An HTML file holds all it needs and works without a network.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{target}: figures are written as {', '.join(SUFFIXES)}")
    if hasattr(figure, "write_html") != (suffix == ".html"):
        library = "plotly" if suffix == ".html" else "matplotlib"
        raise ValueError(
            f"{target}: {suffix} is written of a figure of {library}: draw it with "
            f"library={library!r}"
        )
    if suffix == ".html":
        replace_file(target, figure.to_html(include_plotlyjs=True, full_html=True))
    else:
        replace_file(target, _library("matplotlib").written(figure, suffix.removeprefix("."), dpi))
    return target


def _library(name: Library) -> ModuleType:
    if name not in ("plotly", "matplotlib"):
        raise ValueError(f"library must be 'plotly' or 'matplotlib', got {name!r}")
    need(name, "drawing")
    return import_module(f".on_{name}", __name__)
