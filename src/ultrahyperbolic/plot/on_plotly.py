"""Scenes drawn by plotly; imported only where it is used."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.basedatatypes import BaseTraceType
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from ..arrays import Floats
from .graphs import Drawing
from .scene import Arrow, Curve, Piece, Scene, Surface

_LIGHTING = {"ambient": 0.65, "diffuse": 0.5, "specular": 0.15, "roughness": 0.6}


def scenes(panels: Sequence[Scene], *, columns: Sequence[float] | None = None) -> go.Figure:
    """Panels side by side, each to be turned with the mouse; a click on the legend hides a piece."""
    figure = make_subplots(
        rows=1, cols=len(panels), specs=[[{"type": "scene"}] * len(panels)], column_widths=columns,
        subplot_titles=[panel.title for panel in panels], horizontal_spacing=0.01,
    )  # fmt: skip
    for number, panel in enumerate(panels, start=1):
        for piece in panel.pieces:
            for trace in _traces(piece):
                figure.add_trace(trace, row=1, col=number)
        figure.update_scenes(_view(panel), row=1, col=number)
    figure.update_layout(
        template="plotly_white", margin={"l": 0, "r": 0, "t": 50, "b": 0}, height=560,
        legend={"orientation": "h", "yanchor": "top", "y": -0.02, "itemsizing": "constant"},
    )  # fmt: skip
    return figure


def _view(panel: Scene) -> dict[str, object]:
    up, around = (math.radians(angle) for angle in panel.view)
    up, far = up + math.radians(8.0), 2.0  # nearer than matplotlib's eye, so looking down more shows as much
    eye = {"x": far * math.cos(up) * math.cos(around), "y": far * math.cos(up) * math.sin(around)}
    camera = {"eye": eye | {"z": far * math.sin(up)}, "center": {"x": 0, "y": 0, "z": -0.1}}
    names = dict(zip(("xaxis", "yaxis", "zaxis"), panel.axes, strict=True))
    axes = {
        axis: {"title": {"text": name}, "showbackground": False, "gridcolor": "#E5E5E5", "nticks": 5}
        for axis, name in names.items()
    }
    return {"aspectmode": "data", "camera": camera, **axes}


def _traces(piece: Piece) -> list[BaseTraceType]:
    if isinstance(piece, Surface):
        x, y, z = np.moveaxis(piece.points, -1, 0)
        flat = [[0.0, piece.color], [1.0, piece.color]]
        return [
            go.Surface(
                x=x,
                y=y,
                z=z,
                colorscale=flat,
                showscale=False,
                opacity=piece.opacity,
                lighting=_LIGHTING,
                name=piece.name,
                showlegend=bool(piece.name),
                hoverinfo="name" if piece.name else "skip",
            )
        ]
    if isinstance(piece, Curve):
        x, y, z = piece.points.T
        line = {"color": piece.color, "width": 2.2 * piece.width, "dash": "dash" if piece.dashed else "solid"}
        return [_line(x, y, z, line, piece.name)]
    if isinstance(piece, Arrow):
        x, y, z = np.stack((piece.start, piece.end)).T
        u, v, w = 0.18 * (piece.end - piece.start)
        head = go.Cone(
            x=x[1:],
            y=y[1:],
            z=z[1:],
            u=[u],
            v=[v],
            w=[w],
            anchor="tip",
            sizemode="raw",
            showscale=False,
            colorscale=[[0.0, piece.color], [1.0, piece.color]],
            hoverinfo="skip",
        )
        return [_line(x, y, z, {"color": piece.color, "width": 7}, piece.name), head]
    x, y, z = piece.point[:, None]
    return [
        go.Scatter3d(
            x=x,
            y=y,
            z=z,
            mode="markers+text",
            text=[piece.text],
            textposition="top center",
            hoverinfo="skip",
            marker={"size": 5, "color": piece.color},
            textfont={"color": piece.color, "size": 15},
            showlegend=False,
        )
    ]


def _line(x: Floats, y: Floats, z: Floats, line: Mapping[str, object], name: str) -> BaseTraceType:
    return go.Scatter3d(
        x=x, y=y, z=z, mode="lines", line=line, name=name, showlegend=bool(name), hoverinfo="name" if name else "skip"
    )


def drawings(panels: Sequence[Drawing]) -> go.Figure:
    """Flat panels side by side; the mouse over a node names it."""
    figure = make_subplots(
        rows=1, cols=len(panels), horizontal_spacing=0.06,
        subplot_titles=[_markup(panel.title) for panel in panels],
    )  # fmt: skip
    known: set[str] = set()
    for number, panel in enumerate(panels, start=1):
        for trace in _flat_traces(panel, known):
            figure.add_trace(trace, row=1, col=number)
        x: dict[str, object] = {"title": {"text": panel.x}}
        y: dict[str, object] = {"title": {"text": panel.y}}
        if panel.nodes is not None:
            x |= {"visible": False}
            y |= {"autorange": "reversed", "zeroline": False} if panel.by_rank else {"visible": False}
            if not panel.by_rank:
                x |= {"scaleanchor": "y" if number == 1 else f"y{number}"}
        if panel.log:
            y |= {"type": "log"}
        figure.update_xaxes(x, row=1, col=number)
        figure.update_yaxes(y, row=1, col=number)
    figure.update_layout(template="plotly_white", height=560, hovermode="closest", margin={"l": 60, "r": 20, "t": 60})
    return figure


def _flat_traces(panel: Drawing, known: set[str]) -> list[BaseTraceType]:
    if panel.nodes is None:
        scale = sample_colorscale("Viridis", [0.93 * line.share for line in panel.lines])
        traces = []
        for line, color in zip(panel.lines, scale, strict=True):
            sizes = np.zeros(len(line.x))
            sizes[-1] = 8 * line.ended
            # One entry of the legend hides the curves of that name in all panels.
            trace = go.Scatter(
                x=line.x, y=line.y, mode="lines+markers", name=_markup(line.name), legendgroup=line.name,
                showlegend=line.name not in known, line={"color": color, "width": 1.8},
                marker={"size": sizes, "opacity": 1.0},
            )  # fmt: skip
            traces.append(trace)
            known.add(line.name)
        return traces
    nodes = panel.nodes
    ends = np.full((len(nodes.ties), 3, 2), np.nan)  # NaN lifts the pen
    ends[:, :2] = nodes.places[nodes.ties]
    x, y = ends.reshape(-1, 2).T
    ties = go.Scatter(
        x=x, y=y, mode="lines", line={"color": "rgba(138, 148, 163, 0.45)", "width": 1}, hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip
    about = [
        f"<b>{_markup(node)}</b><br>rank {rank}<br>δ {delta:.6g}"
        for node, rank, delta in zip(nodes.ids, nodes.ranks, nodes.deltas, strict=True)
    ]
    dots = go.Scatter(
        x=nodes.places[:, 0], y=nodes.places[:, 1], mode="markers", hovertext=about, hoverinfo="text", showlegend=False,
        marker={
            "size": 1.3 * nodes.sizes, "color": nodes.ranks, "colorscale": "Cividis",
            "line": {"color": "white", "width": 1},
        },
    )  # fmt: skip
    return [ties, dots]


def _markup(text: str) -> str:
    """Text that plotly takes for no tag and no formula; Q^{p,q} with its exponent raised.

    >>> _markup("<b>on</b> Q^{3,1}")
    '&lt;b&gt;on&lt;/b&gt; Q<sup>3,1</sup>'
    """
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")
    return re.sub(r"([QR])\^\{?(\d+(?:,\d+)?)\}?", r"\1<sup>\2</sup>", safe)
