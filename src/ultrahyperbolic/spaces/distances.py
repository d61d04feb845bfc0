"""D_γ and what is on a manifold, by the formulas of ``geometry.separation`` in numpy: most commands
need no torch.
"""

import math

import numpy as np

from ..arrays import Floats

# From ‖t‖‖t′‖ = 4|β| on two points are far from the pole.
_FAR = 4.0
_TOLERANCE = 1e-8


def hold(points: Floats, time: int, scale: float) -> bool:
    """Whether points [n, d] are on the quadric with ``time`` time coordinates and |β| = ``scale``,
    or in flat space.
    """
    if not np.isfinite(points).all():
        return False
    if time == 0:
        return True
    squares = points**2
    inner = squares[:, time:].sum(1) - squares[:, :time].sum(1)
    off = np.abs(inner + scale) > _TOLERANCE * np.maximum(squares.sum(1), scale)
    return not off.any() and (time > 1 or bool((points[:, 0] > 0).all()))


def dissimilarities(x: Floats, y: Floats, time: int, scale: float) -> Floats:
    """D_γ (Eq. 9) of points x and y [..., d] of the same; in flat space the squared distance."""
    if time == 0:
        return np.asarray(((y - x) ** 2).sum(-1))
    if time == 1:
        # w for q = 0: the chord of x and (x_0/y_0) y has no time part, so nothing cancels.
        ratio = x[..., 0] / y[..., 0]
        angular = ((ratio[..., None] * y - x) ** 2).sum(-1)
        angle = _hyperbolic_angle((angular + (1.0 - ratio) ** 2 * scale) / (4.0 * scale * ratio))
    else:
        w = _half_chord(x, y, time, scale)
        near = 2.0 * np.arcsin(np.sqrt(np.maximum(-np.maximum(w, -0.5), 0.0)))
        angle = np.where(
            w >= -0.5, near + _hyperbolic_angle(np.maximum(w, 0.0)), math.pi / 2 - 1.0 - 2.0 * w
        )
    return angle * math.sqrt(scale)


def _half_chord(x: Floats, y: Floats, time: int, scale: float) -> Floats:
    """w = (⟨x, y⟩/β - 1)/2 by the chord that loses the fewest digits."""
    products = y * x
    total = products.sum(-1)
    if y.shape[-1] == time:
        side = np.copysign(1.0, total)
        turn = ((side[..., None] * y - x) ** 2).sum(-1) / (-2.0 * scale)
    else:
        dot = products[..., :time].sum(-1)
        cosine = (total - 2.0 * dot) / -scale
        height, depth = (np.linalg.norm(z[..., :time], axis=-1) for z in (x, y))
        room = height * depth
        side, close = np.copysign(1.0, dot), 2.0 * np.abs(dot) >= room
        stretch = np.where(room <= _FAR * scale, 1.0, height / depth)
        whole = np.minimum(np.round(stretch), 1.0)
        chord = (side * whole)[..., None] * y - x + (side * (stretch - whole))[..., None] * y
        squares = chord**2
        inner = squares.sum(-1) - 2.0 * squares[..., :time].sum(-1)
        turn = np.where(
            close, (inner / scale + (stretch - 1.0) ** 2) / (2.0 * stretch), side * cosine - 1.0
        )
    return np.asarray(np.where(side > 0, 0.5 * turn, -1.0 - 0.5 * turn))


def _hyperbolic_angle(w: Floats) -> Floats:
    """2 asinh √w for w >= 0, without cancellation."""
    return np.log1p(2.0 * (w + np.sqrt(np.maximum(w + w * w, 0.0))))
