"""The points in three coordinates, how far apart edges and non-edges are, and which kind of
geodesic joins them.
"""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..evaluation.hierarchy import pairs_within
from ..evaluation.inputs import are_edges
from ..graph import Graph
from ..pairs import lengths_of
from ..spaces import Geometry, Space

KINDS = {
    "space-like": "joined by a path that runs away, as in hyperbolic space; any distance is "
    "possible",
    "null": "in the same place, or on each other’s light cone: distance 0",
    "time-like": "joined by a path that closes, as on a sphere; the distance is below π√|β|",
    "joined by no geodesic": "no shortest path joins them; D_γ continues linearly from π/2 √|β|",
}
_BINS = 48
_DRAWN = 500_000
_CHUNK = 1 << 20
_LONG = 8


class LongTie(NamedTuple):
    """A strong edge that came out long."""

    ends: tuple[int, int]  # rows
    weight: float
    length: float
    longer_than: float  # the share of the edges that are shorter


class Distances(NamedTuple):
    """Histograms and kinds of the edges and of the other pairs."""

    bins: Floats  # [b + 1]; the last bin holds what is farther too
    edges: Ints  # [b] how many edges fall into each
    others: Ints  # [b] how many pairs without an edge; all pairs where there is no graph
    edge_kinds: Ints  # [4] how many edges are of each of KINDS
    other_kinds: Ints  # [4]
    all_edges: bool  # whether every edge was looked at; else _DRAWN were drawn
    all_pairs: bool  # whether every pair was
    long: list[LongTie]  # the strong edges that came out longest, the longest first


def distances(
    points: Floats, manifold: Space, graph: Graph | None, popularity: Floats | None
) -> Distances:
    """All edges and all pairs; where there are more than ``_DRAWN``, that number of them."""
    measured = partial(_measured, points, manifold, popularity)
    n = len(points)
    edges, weights = (
        (np.empty((0, 2), np.int64), np.empty(0)) if graph is None else (graph.edges, graph.weights)
    )
    all_edges, all_pairs = len(edges) <= _DRAWN, n * (n - 1) // 2 <= _DRAWN
    rng = np.random.default_rng(0)
    if not all_edges:
        drawn = rng.integers(len(edges), size=_DRAWN)
        edges, weights = edges[drawn], weights[drawn]
    tied = measured(edges[k : k + _CHUNK] for k in range(0, len(edges), _CHUNK))
    pairs: Iterable[Ints] = pairs_within(np.zeros(n, np.int64))
    if not all_pairs:
        node = rng.integers(n, size=_DRAWN)
        pairs = [np.column_stack((node, (node + rng.integers(1, n, size=_DRAWN)) % n))]
    free = measured(some if graph is None else some[~are_edges(graph, *some.T)] for some in pairs)
    # Equal bins from 0, or the least distance, to one that all but a thousandth of the pairs are
    # within.
    known = [lengths for lengths, _ in (tied, free) if len(lengths)]
    last = max((float(np.quantile(part, 0.999)) for part in known), default=0.0)
    first = min([0.0, *(float(part.min()) for part in known)])
    bins = np.linspace(first, last if last > first else first + 1.0, _BINS + 1)
    near, far = (
        np.histogram(np.minimum(lengths, bins[-1]), bins)[0] for lengths, _ in (tied, free)
    )
    edge_kinds, other_kinds = (
        np.bincount(kinds, minlength=len(KINDS)) for _, kinds in (tied, free)
    )
    long = _long(edges, weights, tied[0])
    return Distances(bins, near, far, edge_kinds, other_kinds, all_edges, all_pairs, long)


def _long(edges: Ints, weights: Floats, lengths: NDArray[np.float32]) -> list[LongTie]:
    """Of the strongest quarter of the edges, those that are longer than half of all; the weakest
    are never strong.
    """
    stronger = weights > weights.min(initial=np.inf)
    if not stronger.any():
        return []
    shorter = np.searchsorted(np.sort(lengths), lengths) / len(lengths)
    strong = np.flatnonzero(stronger & (weights >= np.quantile(weights, 0.75)) & (shorter >= 0.5))
    strong = strong[np.argsort(-lengths[strong], kind="stable")][:_LONG]
    return [
        LongTie(
            (int(edges[e, 0]), int(edges[e, 1])), *map(float, (weights[e], lengths[e], shorter[e]))
        )
        for e in strong
    ]


def _measured(
    points: Floats, manifold: Space, popularity: Floats | None, chunks: Iterable[Ints]
) -> tuple[NDArray[np.float32], Ints]:
    """Distances of pairs and their kinds, as positions in ``KINDS``."""
    lengths, kinds = [np.empty(0, np.float32)], [np.empty(0, np.int8)]
    for pairs in chunks:
        lengths.append(
            lengths_of(points, manifold, pairs, popularity=popularity).astype(np.float32)
        )
        kinds.append(_kinds(points[pairs[:, 0]], points[pairs[:, 1]], manifold))
    return np.concatenate(lengths), np.concatenate(kinds).astype(np.int64)


def _kinds(x: Floats, y: Floats, manifold: Space) -> NDArray[np.int8]:
    """Positions in ``KINDS`` of pairs of points [m, d], from ⟨x, y⟩; null is what rounding cannot
    tell from it.
    """
    geometry = Geometry.of_manifold(manifold)
    if geometry is None or geometry.is_flat:
        return np.asarray((x == y).all(-1), dtype=np.int8)
    radius_square, products = -geometry.beta, x * y
    along = products[:, geometry.time_dimensions :].sum(1) - products[
        :, : geometry.time_dimensions
    ].sum(1)
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    rounding = 4 * geometry.ambient_dim * np.finfo(x.dtype).eps * lengths
    kind = np.where(along < -radius_square, 0, np.where(along < radius_square, 2, 3)).astype(
        np.int8
    )
    # A definite metric has one kind of geodesic; antipodes of a sphere are joined by all of them.
    if not geometry.has_cone:
        kind[:] = 0 if geometry.q == 0 else 2
    kind[np.abs(along + radius_square) <= rounding] = 1
    return kind


class SpaceView(NamedTuple):
    """Points in three coordinates, and what these are."""

    coordinates: Floats  # [n, 3]
    axes: tuple[str, ...]  # what stands at each axis; nothing where there is nothing to show
    explanation: str  # what is seen, in words


def in_space(points: Floats, manifold: Space) -> SpaceView:
    """Points [n, d] of any manifold as points of ordinary space."""
    geometry = Geometry.of_manifold(manifold)
    if geometry is None or geometry.is_flat:
        return _flat(points)
    p, q = geometry.space_dimensions, geometry.time_dimensions - 1
    time, space = points[:, : q + 1], points[:, q + 1 :] / geometry.radius
    time = time / np.linalg.norm(time, axis=1, keepdims=True)  # ψ (Theorem 4.1)
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
    text = (
        f"The embedding is flat and has {d} dimensions. Shown are the three directions in which "
        "it spreads most, "
    )
    return SpaceView(found, _names("axis", 3), text + f"with {_percent(share)} of its variance.")


def _sphere(time: Floats, q: int) -> SpaceView:
    axes = _names("time", q + 1)
    if q <= 2:
        return SpaceView(
            np.pad(time, ((0, 0), (0, 2 - q))),
            axes,
            f"The points lie on a {('circle', 'sphere')[q - 1]}, shown as it is.",
        )
    values, directions = np.linalg.eigh(time.T @ time)
    share = float(values[-3:].sum() / values.sum())
    text = (
        f"The points lie on a sphere with {q} dimensions. Shown is its shadow on the three "
        "directions that hold most "
        f"of it, {_percent(share)} of the points’ squared length, so points may lie inside the "
        "ball."
    )
    return SpaceView(time @ directions[:, ::-1][:, :3], axes, text)


def _hyperbolic(space: Floats, p: int) -> SpaceView:
    if p <= 2:
        height = np.sqrt(1.0 + (space**2).sum(1, keepdims=True))
        axes, kind = (
            (("space 1", "space 2", "time"), "sheet")
            if p == 2
            else (("space 1", "time", ""), "branch")
        )
        text = f"The points lie on a {kind} of a hyperboloid, shown as it is in units of √|β|."
        return SpaceView(np.pad(np.hstack((space, height)), ((0, 0), (0, 2 - p))), axes, text)
    found, share = _principal(space, 3)
    text = (
        "In hyperbolic space the space coordinates, in units of √|β|, determine the time "
        "coordinate. Shown are the "
        f"three directions in which the space coordinates spread most, with {_percent(share)} of "
        "their variance."
    )
    return SpaceView(found, _names("space", 3), text)


def _curved(time: Floats, space: Floats, p: int, q: int) -> SpaceView:
    along, beside, kept = _great_circle(time)
    angle = np.degrees(np.arctan2(beside, along))
    words = (
        "Each point has a time part, which is a direction, and a space part, which is a place in "
        "ordinary space, in "
        "units of √|β|. "
    )
    if q == 1:
        words += (
            "With two time coordinates the direction is an angle, measured from the mean "
            "direction; "
        )
        words += "180° and -180° are the same. "
    else:
        words += (
            f"The direction is a point on a sphere with {q} dimensions; shown is its angle along "
            "one great circle, "
            f"through the mean and along the widest spread, which keeps {_percent(kept)} of it. "
        )
    if p == 1:
        # On a cylinder no angle is cut.
        text = words + "The angle goes around the cylinder, the space part up and down."
        return SpaceView(
            np.column_stack((along, beside, space[:, 0])), ("time 1", "time 2", "space"), text
        )
    found, share = _principal(space, 2)
    words += "Height is the angle; the floor is the space part"
    if p > 2:
        words += (
            f", in the two of its {p} directions with the widest spread ({_percent(share)} of its "
            "variance)"
        )
    return SpaceView(
        np.column_stack((found, angle)), ("space 1", "space 2", "time angle (°)"), words + "."
    )


def _great_circle(unit: Floats) -> tuple[Floats, Floats, float]:
    """Coordinates [n] of unit vectors in the plane of their mean and widest spread, and how much of
    them it holds.
    """
    mean = unit.mean(0)
    length = np.linalg.norm(mean)
    pole = mean / length if length > 1e-9 else np.eye(unit.shape[1])[0]
    along = unit @ pole
    rest = unit - np.outer(along, pole)
    beside = unit @ _signed(np.linalg.eigh(rest.T @ rest)[1][:, -1])
    return along, beside, float((along**2 + beside**2).mean())


def _principal(values: Floats, k: int) -> tuple[Floats, float]:
    """The first k principal coordinates, and their share of the variance; values [n, d] with d <= k
    are not rotated.
    """
    if values.shape[1] <= k:
        return np.pad(values, ((0, 0), (0, k - values.shape[1]))), 1.0
    centred = values - values.mean(0)
    variances, directions = np.linalg.eigh(centred.T @ centred)
    chosen = np.apply_along_axis(_signed, 0, directions[:, ::-1][:, :k])
    total = variances.sum()
    return centred @ chosen, float(variances[-k:].sum() / total) if total > 0 else 1.0


def _signed(direction: Floats) -> Floats:
    """The direction, or its opposite if its largest component is negative: so drawings do not flip
    by chance.
    """
    return direction if direction[np.abs(direction).argmax()] > 0 else -direction


def _names(word: str, count: int) -> tuple[str, ...]:
    return tuple(f"{word} {k + 1}" if k < count else "" for k in range(3))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
