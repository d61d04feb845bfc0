"""What a three-dimensional figure shows, as plain data that any library can draw."""

from collections.abc import Sequence
from typing import NamedTuple

from ..arrays import Floats

# Colours that people with any kind of colour vision tell apart (Okabe and Ito).
BLUE, SKY, GREEN, ORANGE, VERMILION, BLACK = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#222222"
GREY = "#A9B0BA"


class Surface(NamedTuple):
    """A grid of points."""

    points: Floats  # [a, b, 3]
    color: str
    opacity: float = 1.0
    name: str = ""  # for the legend; surfaces without a name are not in it


class Curve(NamedTuple):
    """A line through points."""

    points: Floats  # [n, 3]
    color: str
    name: str = ""
    width: float = 2.5
    dashed: bool = False


class Arrow(NamedTuple):
    """A tangent vector."""

    start: Floats  # [3]
    end: Floats
    color: str
    name: str = ""


class Mark(NamedTuple):
    """A point with its label."""

    point: Floats  # [3]
    text: str
    color: str = BLACK
    shift: tuple[float, float, float] = (0.0, 0.0, 0.12)  # where the label stands from the point


Piece = Surface | Curve | Arrow | Mark


class Scene(NamedTuple):
    """One panel of a figure. The last of the three coordinates is drawn upward."""

    title: str
    axes: tuple[str, str, str]
    pieces: Sequence[Piece]
    limits: tuple[float, float, float]  # the panel shows -limit … limit along each axis
    view: tuple[float, float] = (18.0, -60.0)  # elevation and azimuth of the eye, in degrees
