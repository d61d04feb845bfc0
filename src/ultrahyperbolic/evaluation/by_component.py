"""δ where a graph has several components."""

import math
from collections.abc import Iterator
from typing import Unpack

import numpy as np
import torch
from torch import Tensor

from ..arrays import Floats, Ints
from ..geometry import Geometry, Manifold
from ..graph import Graph
from ..graph.hops import components
from ..pairs import PassOptions, pair_distances, row_sums
from ..pairs.reference import popularity_of

_AT_ONCE = 1 << 20  # pairs: it bounds the memory
_SMALL = 1000  # nodes: smaller components are measured together, larger ones by a pass over the pairs of each


def component_delta(graph: Graph, points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> Floats | None:
    """δ [n] on a graph of several components; None where it has one, and δ is the sum over all nodes.

    The distance between unrelated components has no meaning. So a node of another component counts as the largest
    distance within any component, the same for all.
    """
    popularity = popularity_of(options, points)
    component = components(graph)
    sizes = np.bincount(component)
    if len(sizes) < 2:
        return None
    n, farthest, own = graph.n_nodes, -math.inf, np.zeros(graph.n_nodes)
    # Of the points of another's manifold nothing is known but how far apart two are.
    known = Geometry.of_manifold(manifold) is not None
    for large in np.flatnonzero(sizes > _SMALL) if known else ():
        nodes = np.flatnonzero(component == large)
        rows = torch.from_numpy(nodes)
        some, mine = points.detach()[rows], options.copy()
        mine["popularity"] = None if popularity is None else popularity[rows]
        own[nodes] = row_sums(some, manifold, **mine).cpu().numpy()
        farthest = max(farthest, _farthest(some, manifold, **mine))
    small = np.arange(n) if not known else np.flatnonzero(sizes[component] <= _SMALL)
    for pairs in _pairs_within(component[small]):
        far = pair_distances(points, manifold, torch.from_numpy(small[pairs]), **options).double().cpu().numpy()
        for ends in pairs.T:
            own[small] += np.bincount(ends, weights=far, minlength=len(small))
        farthest = max(farthest, float(far.max()))
    return own + (n - sizes[component]) * (farthest if farthest > -math.inf else 0.0)


def _farthest(points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> float:
    """The largest distance among points [k, d] of the package's own manifolds.

    On either side of the light cone D_γ grows with the chord ⟨x - y, x - y⟩, which a product of matrices gives: of each
    point only the longest on both sides is measured. With a popularity that bounds the distances of a point, and those
    of the highest bounds are measured to all points until none can be farther.
    """
    rows, found = max(1, _AT_ONCE // len(points)), []
    popularity, plain = popularity_of(options, points), options.copy()
    plain["popularity"] = None
    for start in range(0, len(points), rows):
        chords = chord_table(points[start : start + rows], points[start:], manifold)
        first = torch.arange(start, start + len(chords), device=points.device)
        found += [torch.stack((first, start + ends), dim=1) for ends in (chords.argmin(1), chords.argmax(1))]
    pairs = torch.cat(found)
    reach = pair_distances(points, manifold, pairs, **plain)
    if popularity is None:
        return float(reach.max())
    longest = torch.zeros_like(popularity).scatter_reduce(0, pairs[:, 0], reach, "amax")
    bounds, order = (longest - popularity - popularity.min()).sort(descending=True)
    everyone, farthest = torch.arange(len(points), device=points.device), -math.inf
    for start in range(0, len(order), rows):
        if float(bounds[start]) <= farthest:
            break
        some = torch.cartesian_prod(order[start : start + rows], everyone)
        some = some[some[:, 0] != some[:, 1]]
        farthest = max(farthest, float(pair_distances(points, manifold, some, **options).max()))
    return farthest


def chord_table(x: Tensor, y: Tensor, manifold: Manifold) -> Tensor:
    """⟨x - y, x - y⟩ [r, c] of points x [r, d] and y [c, d], by a product of matrices."""
    signs = manifold.sqnorm(torch.eye(x.shape[1], dtype=x.dtype, device=x.device))
    return manifold.sqnorm(x)[:, None] + manifold.sqnorm(y) - 2.0 * (x * signs) @ y.T


def _pairs_within(component: Ints) -> Iterator[Ints]:
    """All pairs of nodes of one component, each once: positions [k, 2] at a time."""
    order = np.argsort(component, kind="stable")
    # With the nodes of a component side by side, each is paired with those after it.
    place, label = np.arange(len(order)), component[order]
    count = np.searchsorted(label, label, side="right") - 1 - place
    before = np.cumsum(count) - count
    start = 0
    while start < len(order):
        stop = max(start + 1, int(np.searchsorted(before, before[start] + _AT_ONCE)))
        first = np.repeat(place[start:stop], count[start:stop])
        second = first + 1 + np.arange(len(first)) - (before[first] - before[start])
        if len(first):
            yield order[np.column_stack((first, second))]
        start = stop
