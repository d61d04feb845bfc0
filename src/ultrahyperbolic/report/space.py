"""Points of any manifold in three coordinates, to be drawn in 3-D."""

from typing import NamedTuple

import numpy as np
import torch

from ..arrays import Floats
from ..geometry import Geometry, Manifold, PseudoHyperboloid


class SpaceView(NamedTuple):
    """Points in three coordinates, and what these are."""

    coordinates: Floats  # [n, 3]
    axes: tuple[str, str, str]  # what stands at each axis; nothing where there is nothing to show
    explanation: str  # what is seen, in words


def in_space(points: Floats, manifold: Manifold) -> SpaceView:
    """Points [n, d] of any manifold as points of ordinary space."""
    geometry = Geometry.of_manifold(manifold)
    if geometry is None or geometry.is_flat:
        return _flat(points)
    p, q = geometry.space_dimensions, geometry.time_dimensions - 1
    image = PseudoHyperboloid(p, q, geometry.beta).psi(torch.from_numpy(np.array(points))).numpy()
    time, space = image[:, : q + 1], image[:, q + 1 :]
    if p == 0:
        return _sphere(time, q)
    if q == 0:
        return _hyperbolic(space, p)
    return _curved(time, space, p, q)


def _flat(points: Floats) -> SpaceView:
    found, share = _principal(points, 3)
    d = points.shape[1]
    if d <= 3:
        return SpaceView(found, _names("axis", d), "The embedding is flat and is shown as it is.")
    text = f"The embedding is flat and has {d} dimensions. Shown are the three directions in which it spreads most, "
    return SpaceView(found, _names("axis", 3), text + f"with {_percent(share)} of its variance.")


def _sphere(time: Floats, q: int) -> SpaceView:
    axes = _names("time", q + 1)
    if q <= 2:
        return SpaceView(_padded(time), axes, f"The points lie on a {('circle', 'sphere')[q - 1]}, shown as it is.")
    values, directions = np.linalg.eigh(time.T @ time)
    share = float(values[-3:].sum() / values.sum())
    text = (
        f"The points lie on a sphere with {q} dimensions. Shown is its shadow on the three directions that hold most "
        f"of it, {_percent(share)} of the points’ squared length, so points may lie inside the ball."
    )
    return SpaceView(time @ directions[:, ::-1][:, :3], axes, text)


def _hyperbolic(space: Floats, p: int) -> SpaceView:
    if p <= 2:
        height = np.sqrt(1.0 + (space**2).sum(1, keepdims=True))
        axes, kind = (("space 1", "space 2", "time"), "sheet") if p == 2 else (("space 1", "time", ""), "branch")
        text = f"The points lie on a {kind} of a hyperboloid, shown as it is in units of √|β|."
        return SpaceView(_padded(np.hstack((space, height))), axes, text)
    found, share = _principal(space, 3)
    text = (
        "In hyperbolic space the space coordinates, in units of √|β|, determine the time coordinate. Shown are the "
        f"three directions in which the space coordinates spread most, with {_percent(share)} of their variance."
    )
    return SpaceView(found, _names("space", 3), text)


def _curved(time: Floats, space: Floats, p: int, q: int) -> SpaceView:
    along, beside, kept = _great_circle(time)
    angle = np.degrees(np.arctan2(beside, along))
    words = (
        "Each point has a time part, which is a direction, and a space part, which is a place in ordinary space, in "
        "units of √|β|. "
    )
    if q == 1:
        words += "With two time coordinates the direction is an angle, measured from the mean direction; "
        words += "180° and -180° are the same. "
    else:
        words += (
            f"The direction is a point on a sphere with {q} dimensions; shown is its angle along one great circle, "
            f"through the mean and along the widest spread, which keeps {_percent(kept)} of it. "
        )
    if p == 1:
        # On a cylinder no angle is cut.
        text = words + "The angle goes around the cylinder, the space part up and down."
        return SpaceView(np.column_stack((along, beside, space[:, 0])), ("time 1", "time 2", "space"), text)
    found, share = _principal(space, 2)
    words += "Height is the angle; the floor is the space part"
    if p > 2:
        words += f", in the two of its {p} directions with the widest spread ({_percent(share)} of its variance)"
    return SpaceView(np.column_stack((found, angle)), ("space 1", "space 2", "time angle (°)"), words + ".")


def _great_circle(unit: Floats) -> tuple[Floats, Floats, float]:
    """Coordinates [n] of unit vectors in the plane of their mean and widest spread, and how much of them it holds."""
    mean = unit.mean(0)
    length = np.linalg.norm(mean)
    pole = mean / length if length > 1e-9 else np.eye(unit.shape[1])[0]
    rest = unit - np.outer(unit @ pole, pole)
    directions = np.linalg.eigh(rest.T @ rest)[1]
    side = _signed(directions[:, -1])
    along, beside = unit @ pole, unit @ side
    return along, beside, float((along**2 + beside**2).mean())


def _principal(values: Floats, k: int) -> tuple[Floats, float]:
    """The first k principal coordinates, and their share of the variance; values [n, d] with d <= k are not rotated."""
    if values.shape[1] <= k:
        return _padded(values)[:, :k] if k < 3 else _padded(values), 1.0
    centred = values - values.mean(0)
    variances, directions = np.linalg.eigh(centred.T @ centred)
    chosen = np.apply_along_axis(_signed, 0, directions[:, ::-1][:, :k])
    total = variances.sum()
    return centred @ chosen, float(variances[-k:].sum() / total) if total > 0 else 1.0


def _signed(direction: Floats) -> Floats:
    """The direction, or its opposite if its largest component is negative: so drawings do not flip by chance."""
    return direction if direction[np.abs(direction).argmax()] > 0 else -direction


def _padded(values: Floats) -> Floats:
    return np.hstack((values, np.zeros((len(values), 3 - values.shape[1]))))


def _names(word: str, count: int) -> tuple[str, str, str]:
    first, second, third = (f"{word} {k + 1}" if k < count else "" for k in range(3))
    return first, second, third


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
