"""The pass over all pairs in plain torch, on any device: what the compiled one is tested against.

Distances are evaluated a block of rows at a time and reduced at once, so that no array [n, n] ever
exists. A distance that is NaN (no geodesic joins the points) counts as +∞. Distances are compared
as they were computed, without a tolerance: two that are equal but for rounding may compare either
way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..lazy import Tensor, torch
from ..spaces.dissimilarities import Dissimilarity
from .statistics import RowArrays, sorted_ties, with_counts

if TYPE_CHECKING:
    from ..geometry import Manifold


class MeasuredTensor(NamedTuple):
    """Points and what is measured between them."""

    points: Tensor
    """[n, d]"""
    manifold: Manifold
    dissimilarity: Dissimilarity
    epsilon: float | None
    popularity: Floats | None
    """[n] what is taken from the distances of a point."""

    @property
    def block_rows(self) -> int:
        """Rows that are evaluated at once: they fit a CPU's cache, or fill a GPU."""
        coordinates = 1 << 19 if self.points.device.type == "cpu" else 1 << 25
        return max(1, coordinates // max(1, self.points.numel()))


def measure_rows(space: MeasuredTensor, rows: Ints) -> Floats:
    """The distances [k, n] of the nodes ``rows`` [k] to all; 0 to themselves."""
    distances: Floats = _rows(space, rows).cpu().double().numpy()
    distances[np.arange(len(rows)), rows] = 0.0
    return distances


def _rows(space: MeasuredTensor, rows: Ints) -> Tensor:
    distances = space.manifold.cdist(
        space.points[torch.from_numpy(rows)],
        space.points,
        dissimilarity=space.dissimilarity,
        epsilon=space.epsilon,
        block_rows=space.block_rows,
    )
    distances = distances.masked_fill(distances.isnan(), math.inf)
    if space.popularity is not None:
        both = space.popularity[rows][:, None] + space.popularity
        distances = distances - torch.from_numpy(both).to(distances)
    return distances


def measure_pairs(space: MeasuredTensor, pairs: Ints) -> Floats:
    """The distance of each of the pairs [m, 2]."""
    function = space.manifold.pair_function(space.dissimilarity, space.epsilon)
    parts = [np.empty(0)]
    size = max(1, space.block_rows * len(space.points))
    for start in range(0, len(pairs), size):
        ends = pairs[start : start + size]
        first, second = torch.from_numpy(ends.T.copy())
        lengths = function(space.points[first], space.points[second])
        lengths = lengths.masked_fill(lengths.isnan(), math.inf)
        if space.popularity is not None:
            lengths = lengths - torch.from_numpy(space.popularity[ends].sum(1)).to(lengths)
        parts.append(lengths.cpu().double().numpy())
    return np.concatenate(parts)


def reduce_rows(
    space: MeasuredTensor, edges: Ints, k: int, thresholds: Floats, count: int | None
) -> RowArrays:
    """What `pairs.rows_of` returns."""
    n, device = len(space.points), space.points.device
    last = n if count is None else count
    order = np.argsort(thresholds)
    bounds = torch.from_numpy(thresholds[order]).to(space.points)
    histogram = np.zeros(len(thresholds) + 1, np.int64)
    sums, farthest = np.empty(last), np.full(last, -math.inf)
    indices, distances = np.empty((last, k), np.int64), np.empty((last, k))
    ends = np.concatenate((edges, edges[:, ::-1]))
    by_node = np.argsort(ends[:, 0], kind="stable")
    ends = ends[by_node]
    offsets = np.searchsorted(ends[:, 0], np.arange(n + 1))
    lengths, at_most = np.empty(len(ends)), np.empty(len(ends), np.int64)
    for start in range(0, last, space.block_rows):
        stop = min(start + space.block_rows, last)
        table = _rows(space, np.arange(start, stop))
        table.diagonal(start).fill_(0.0)
        sums[start:stop] = table.sum(1, dtype=torch.float64).cpu()
        table.diagonal(start).fill_(math.nan)  # which is sorted to the end
        ordered, nearest = table.sort(dim=1, stable=True)
        if n > 1:
            farthest[start:stop] = ordered[:, -2].cpu()
        indices[start:stop] = nearest[:, :k].cpu()
        distances[start:stop] = ordered[:, :k].cpu()
        here = slice(offsets[start], offsets[stop])
        row, column = torch.from_numpy(ends[here].T.copy()).to(device)
        row -= start
        if here.start < here.stop:
            slot = np.arange(here.start, here.stop) - offsets[ends[here, 0]]
            limits = table.new_zeros(stop - start, int(slot.max()) + 1)
            slots = torch.from_numpy(slot).to(device)
            limits[row, slots] = table[row, column]
            places = torch.searchsorted(ordered[:, :-1].contiguous(), limits, right=True)
            lengths[here] = table[row, column].cpu()
            at_most[here] = places[row, slots].cpu()
        if len(bounds):
            free = torch.ones_like(table, dtype=torch.bool).triu_(start + 1)
            free[row, column] = False
            places = torch.searchsorted(bounds, table[free])
            histogram += torch.bincount(places, minlength=len(histogram)).cpu().numpy()
    nonedges = np.empty(len(thresholds), np.int64)
    nonedges[order] = np.cumsum(histogram[:-1])
    back = np.argsort(by_node)
    ties = sorted_ties(edges, lengths[back], n)
    at_most = at_most[back][np.lexsort((lengths[back], edges.T.ravel()))]
    return with_counts(sums, indices, distances, ties, at_most, nonedges, farthest)
