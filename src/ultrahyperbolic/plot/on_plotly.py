"""Scenes drawn by plotly; imported only where it is used."""

import math
import re
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.basedatatypes import BaseTraceType
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from ..arrays import Floats
from .pieces import Arrow, Curve, Drawing, Piece, Scene, Surface

_LIGHTING = {"ambient": 0.65, "diffuse": 0.5, "specular": 0.15, "roughness": 0.6}


def scenes(panels: Sequence[Scene], *, columns: Sequence[float] | None = None) -> go.Figure:
    """Panels side by side, each to be turned with the mouse; a click on the legend hides a
    piece.
    """
    figure = make_subplots(
        rows=1,
        cols=len(panels),
        specs=[[{"type": "scene"}] * len(panels)],
        column_widths=columns,
        subplot_titles=[panel.title for panel in panels],
        horizontal_spacing=0.01,
    )
    for number, panel in enumerate(panels, start=1):
        figure.add_traces(
            [trace for piece in panel.pieces for trace in _traces(piece)], rows=1, cols=number
        )
        figure.update_scenes(_view(panel), row=1, col=number)
    figure.update_layout(
        template="plotly_white",
        margin={"l": 0, "r": 0, "t": 50, "b": 0},
        height=560,
        legend={"orientation": "h", "yanchor": "top", "y": -0.02, "itemsizing": "constant"},
    )
    return figure


def _view(panel: Scene) -> dict[str, object]:
    up, around = (math.radians(angle) for angle in panel.view)
    up, far = (
        up + math.radians(8.0),
        2.0,
    )  # nearer than matplotlib's eye, so looking down more shows as much
    eye = {"x": far * math.cos(up) * math.cos(around), "y": far * math.cos(up) * math.sin(around)}
    camera = {"eye": eye | {"z": far * math.sin(up)}, "center": {"x": 0, "y": 0, "z": -0.1}}
    axes = {
        axis: {
            "title": {"text": name},
            "showbackground": False,
            "gridcolor": "#E5E5E5",
            "nticks": 5,
        }
        for axis, name in zip(("xaxis", "yaxis", "zaxis"), panel.axes, strict=True)
    }
    return {"aspectmode": "data", "camera": camera, **axes}


def _traces(piece: Piece) -> list[BaseTraceType]:
    if isinstance(piece, Surface):
        options = _at(piece.points) | _in(piece.color) | _called(piece.name)
        return [go.Surface(options, opacity=piece.opacity, lighting=_LIGHTING)]
    if isinstance(piece, Curve):
        line = {
            "color": piece.color,
            "width": 2.2 * piece.width,
            "dash": "dash" if piece.dashed else "solid",
        }
        return [go.Scatter3d(_at(piece.points) | _called(piece.name), mode="lines", line=line)]
    if isinstance(piece, Arrow):
        shaft = _at(np.stack((piece.start, piece.end))) | _called(piece.name)
        u, v, w = (piece.end - piece.start)[:, None] * 0.18
        head = _at(piece.end[None]) | _in(piece.color) | {"u": u, "v": v, "w": w}
        return [
            go.Scatter3d(shaft, mode="lines", line={"color": piece.color, "width": 7}),
            go.Cone(head, anchor="tip", sizemode="raw", hoverinfo="skip"),
        ]
    text = {
        "text": [piece.text],
        "textposition": "top center",
        "textfont": {"color": piece.color, "size": 15},
    }
    dot = _at(piece.point[None]) | _called("") | text
    return [go.Scatter3d(dot, mode="markers+text", marker={"size": 5, "color": piece.color})]


def _at(points: Floats) -> dict[str, object]:
    """Points [..., 3] as plotly takes them."""
    return dict(zip("xyz", np.moveaxis(points, -1, 0), strict=True))


def _in(color: str) -> dict[str, object]:
    """One colour all over."""
    return {"colorscale": [[0.0, color], [1.0, color]], "showscale": False}


def _called(name: str) -> dict[str, object]:
    """The name in the legend and under the mouse, if there is one."""
    return {"name": name, "showlegend": bool(name), "hoverinfo": "name" if name else "skip"}


def drawings(panels: Sequence[Drawing]) -> go.Figure:
    """Flat panels side by side; the mouse over a node names it."""
    figure = make_subplots(
        rows=1,
        cols=len(panels),
        horizontal_spacing=0.06,
        subplot_titles=[_markup(panel.title) for panel in panels],
    )
    known: set[str] = set()
    for number, panel in enumerate(panels, start=1):
        figure.add_traces(_flat_traces(panel, known), rows=1, cols=number)
        x: dict[str, object] = {"title": {"text": panel.x}}
        y: dict[str, object] = {"title": {"text": panel.y}}
        if panel.nodes is not None:
            x |= {"visible": False}
            y |= (
                {"autorange": "reversed", "zeroline": False}
                if panel.by_rank
                else {"visible": False}
            )
            if not panel.by_rank:
                x |= {"scaleanchor": "y" if number == 1 else f"y{number}"}
        if panel.log:
            y |= {"type": "log"}
        figure.update_xaxes(x, row=1, col=number)
        figure.update_yaxes(y, row=1, col=number)
    figure.update_layout(
        template="plotly_white", height=560, hovermode="closest", margin={"l": 60, "r": 20, "t": 60}
    )
    return figure


def _flat_traces(panel: Drawing, known: set[str]) -> list[BaseTraceType]:
    if panel.nodes is None:
        scale = sample_colorscale("Viridis", [0.93 * line.share for line in panel.lines])
        traces = []
        for line, color in zip(panel.lines, scale, strict=True):
            sizes = np.zeros(len(line.x))
            sizes[-1] = 8 * line.ended
            # One entry of the legend hides the curves of that name in all panels.
            traces.append(
                go.Scatter(
                    x=line.x,
                    y=line.y,
                    mode="lines+markers",
                    name=_markup(line.name),
                    legendgroup=line.name,
                    showlegend=line.name not in known,
                    line={"color": color, "width": 1.8},
                    marker={"size": sizes, "opacity": 1.0},
                )
            )
            known.add(line.name)
        return traces
    nodes = panel.nodes
    ends = np.full((len(nodes.ties), 3, 2), np.nan)  # NaN lifts the pen
    ends[:, :2] = nodes.places[nodes.ties]
    x, y = ends.reshape(-1, 2).T
    ties = go.Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": "rgba(138, 148, 163, 0.45)", "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    about = [
        f"<b>{_markup(node)}</b><br>rank {rank}<br>δ {delta:.6g}"
        for node, rank, delta in zip(nodes.ids, nodes.ranks, nodes.deltas, strict=True)
    ]
    dots = go.Scatter(
        x=nodes.places[:, 0],
        y=nodes.places[:, 1],
        mode="markers",
        hovertext=about,
        hoverinfo="text",
        showlegend=False,
        marker={
            "size": 1.3 * nodes.sizes,
            "color": nodes.ranks,
            "colorscale": "Cividis",
            "line": {"color": "white", "width": 1},
        },
    )
    return [ties, dots]


def _markup(text: str) -> str:
    """Text that plotly does not take for a tag or a formula; Q^{p,q} with its exponent raised.

    >>> _markup("<b>on</b> Q^{3,1}")
    '&lt;b&gt;on&lt;/b&gt; Q<sup>3,1</sup>'
    """
    safe = (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")
    )
    return re.sub(r"([QR])\^\{?(\d+(?:,\d+)?)\}?", r"\1<sup>\2</sup>", safe)
