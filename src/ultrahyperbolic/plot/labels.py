"""Names on a matplotlib figure, beside their nodes, without overlaps."""

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

from ..arrays import Floats, Ints

ALWAYS = 10  # this many nodes get a name, wherever there is room
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (0.8, -0.8), (-0.8, 0.8), (-0.8, -0.8))
_RING = [(float(np.cos(turn)), float(np.sin(turn))) for turn in 2 * np.pi * np.arange(16) / 16]
_WORST = 60.0  # beyond this, a name that covers more dots is no worse: it stays near its node
_FIRST = 25  # this many names may cover a small dot
_FARTHEST = 220.0  # points that a name may stand away from its node
_LINE = {"arrowstyle": "-", "lw": 0.6, "alpha": 0.6, "shrinkA": 0.0, "shrinkB": 0.0}
_SIZES = (7.5, 9.5)  # of a name in points, and of an important one


class Name(NamedTuple):
    """A name and where it stands, in points from the lower left corner."""

    node: int
    text: str
    middle: Floats
    size: Floats  # [2] its width and height
    important: bool
    led: bool  # whether a line leads to its node


def place_names(
    texts: list[str], points: Floats, radii: Floats, size: Floats, order: Ints
) -> list[Name]:
    """Names inside a picture of a size in points, none over another: the first ten always, others
    if there is room.
    """
    boxes: list[tuple[Floats, Floats]] = []
    found: list[Name] = []

    def best_of(node: int, extent: Floats, away: float, sides: Any) -> tuple[Floats | None, float]:
        """The free place ``away`` from a node that covers the fewest dots, if any; earlier
        ``sides`` cost less.
        """
        free: list[tuple[Floats, float]] = []
        for number, side in enumerate(np.array(sides)):
            middle = points[node] + away * side + 0.5 * np.sign(np.round(2.0 * side)) * extent
            low, high = middle - extent / 2.0, middle + extent / 2.0
            is_outside = (low < 3.0).any() or (high > size - 3.0).any()
            if not is_outside and not any(
                (low < top).all() and (bottom < high).all() for bottom, top in boxes
            ):
                hit = _covers(low, high, points, radii, node)
                free.append((middle, min(float((3.0 + radii[hit]).sum()), _WORST) + 0.4 * number))
        return min(free, key=lambda place: place[1], default=(None, math.inf))

    for number, node in enumerate(order.tolist()):
        text, important = texts[node], number < ALWAYS
        extent = _extent(text, _SIZES[important], bold=important)
        middle, cost = best_of(node, extent, radii[node] + 2.5, _SIDES)
        led = False
        away = radii[node] + 12.0
        while important and away < _FARTHEST and (middle is None or cost > 24.0):
            other, price = best_of(node, extent, away, _RING)
            if other is not None and (middle is None or price + away / 2.0 < cost):
                middle, cost, led = other, price + away / 2.0, True
            away += 10.0
        if middle is None or (not important and cost >= (8.0 if number < _FIRST else 3.0)):
            continue
        boxes.append((middle - extent / 2.0, middle + extent / 2.0))
        found.append(Name(node, text, middle, extent, important, led))
    return found


def _extent(text: str, size: float, *, bold: bool = False) -> Floats:
    if not text.strip():
        return np.array([size, size])
    wide = TextPath((0, 0), plain(text), size=size).get_extents().width
    return np.array([wide * (1.18 if bold else 1.06) + 4.0, 1.25 * size])


def _covers(
    low: Floats, high: Floats, points: Floats, radii: Floats, own: int
) -> NDArray[np.bool_]:
    """Which dots [n] a box touches, except its own."""
    gap = np.maximum(np.maximum(low - points, points - high), 0.0)
    hit: NDArray[np.bool_] = (gap**2).sum(1) < radii**2
    hit[own] = False
    return hit


def draw_names(axis: Axes, placed: list[Name], points: Floats, ink: str, paper: str) -> None:
    """Draw names beside their nodes, with a line if one is farther away; ``points`` start at the
    corner of the axes.
    """
    for name in placed:
        axis.annotate(
            plain(name.text),
            tuple(points[name.node]),
            tuple(name.middle),
            "axes points",
            "axes points",
            arrowprops=_LINE | {"color": ink} if name.led else None,
            ha="center",
            va="center",
            color=ink,
            zorder=4,
            fontsize=_SIZES[name.important],
            fontweight="bold" if name.important else "normal",
            path_effects=[withStroke(linewidth=2.2, foreground=paper, alpha=0.85)],
        )


def shortened(text: str) -> str:
    """An id, shortened to 24 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 24 else line[:23] + "…"


def plain(text: str) -> str:
    """Text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")
