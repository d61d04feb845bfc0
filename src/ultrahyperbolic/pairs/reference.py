"""The pass over all pairs in plain torch, on any device: what faster backends are tested against.

Distances are evaluated a block of rows at a time and reduced at once, so that no array [n, n] ever
exists. A distance that is NaN (no geodesic joins the points) counts as +∞. Distances are compared
as they were computed, without a tolerance: two that are equal but for rounding may compare either
way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ..checks import as_integer, check_count
from ..lazy import Tensor, torch
from ..spaces.dissimilarities import Dissimilarity, check_dissimilarity

if TYPE_CHECKING:
    from ..geometry import Manifold

Backend = Literal["auto", "numba", "reference"]


class PassOptions(TypedDict, total=False):
    """The keyword options of every pass, all optional."""

    dissimilarity: Dissimilarity
    """How far apart two points are; ``"geodesic"``, D_γ, unless given."""
    epsilon: float | None
    """Of the smoothed dissimilarity."""
    block_rows: int | None
    """Rows of a block; default: what suits the device. Bounds memory, and changes rounding at
    most.
    """
    backend: Backend
    """``"reference"`` is torch, ``"numba"`` compiled; ``"auto"``, unless given, is what suits the
    points.
    """
    threads: int | None
    """Of the compiled pass; default: all. The results do not depend on it."""
    popularity: Tensor | NDArray[np.float64] | None
    """[n] of each point: the distance of a pair is d_ij less the popularity of i and of j."""


class Nearest(NamedTuple):
    """What `nearest` returns."""

    indices: Tensor
    """int64 [n, k]: the nearest first; of equally near ones the lower index first."""
    distances: Tensor
    """[n, k], ascending in each row, in the dtype of the points."""


class NeighborCounts(NamedTuple):
    """What `neighbor_counts` returns: an entry for each node u and each of its neighbours v, 2m in
    all.

    Entries are in the order of the nodes u, and for each node in ascending order of d(u, v).
    """

    nodes: Tensor
    """int64 [2m]: u."""
    neighbors: Tensor
    """int64 [2m]: how many neighbours v' of u have d(u, v') <= d(u, v), v itself included."""
    others: Tensor
    """int64 [2m]: how many nodes v' ≠ u that are no neighbours of u have d(u, v') <= d(u, v)."""


class RowStatistics(NamedTuple):
    """What `row_statistics` returns: what `row_sums`, `nearest`, `neighbor_counts` and
    `nonedge_counts` do.
    """

    sums: Tensor
    nearest: Nearest
    counts: NeighborCounts
    nonedges: Tensor
    """[0] without thresholds."""


def row_statistics(
    points: Tensor,
    manifold: Manifold,
    edges: Tensor | None = None,
    k: int = 0,
    thresholds: Tensor | None = None,
    *,
    count: int | None = None,
    upper: bool = False,
    **options: Unpack[PassOptions],
) -> RowStatistics:
    """All that `pairs` finds in one pass over rows; empty where there are no edges, no thresholds
    or k is 0.

    With ``upper`` only pairs i < j are looked at, and all but ``nonedges`` is left undefined. With
    a ``count`` only that many rows are, the first ones, and all but their ``sums`` and ``nearest``
    is.
    """
    n, device = len(points), points.device
    edges = (
        torch.empty(0, 2, dtype=torch.int64, device=device) if edges is None else edges.to(device)
    )
    bounds = (
        points.new_empty(0) if thresholds is None else thresholds.detach().to(device, copy=True)
    )
    ordered, order = _nan_is_far(bounds).sort()
    histogram = torch.zeros(len(ordered) + 1, dtype=torch.int64, device=device)
    rows, columns, offsets = _by_row(edges, n)
    nodes, heads, starts = _by_row(torch.cat((edges, edges.flip(1))), n)
    # The position of each neighbour among those of its node.
    slots = torch.arange(len(nodes), device=device) - torch.tensor(starts, device=device)[nodes]
    sums = points.new_zeros(n, dtype=torch.float64)
    found = Nearest(points.new_empty(n, k, dtype=torch.int64), points.new_empty(n, k))
    counts = NeighborCounts(nodes, torch.empty_like(nodes), torch.empty_like(nodes))
    for start, distances in _blocks(points, manifold, options, count=count, upper=upper):
        stop = start + len(distances)
        if len(ordered):
            here, later = (
                slice(offsets[start], offsets[stop]),
                distances if upper else distances[:, start:],
            )
            free = torch.ones_like(later, dtype=torch.bool).triu_(1)
            free[rows[here] - start, columns[here] - start] = False
            histogram += torch.bincount(
                torch.searchsorted(ordered, later[free]), minlength=len(histogram)
            )
        if upper:
            continue
        sums[start:stop] = (
            distances.sum(1, dtype=torch.float64) - distances.diagonal(start).double()
        )
        if k:
            found.indices[start:stop], found.distances[start:stop] = _nearest(distances, start, k)
        here = slice(starts[start], starts[stop])
        if here.start < here.stop:
            of_rows = _count_rows(distances, start, nodes[here] - start, heads[here], slots[here])
            counts.neighbors[here], counts.others[here] = of_rows
    nonedges = torch.empty_like(order)
    nonedges[order] = histogram[:-1].cumsum(0)
    return RowStatistics(sums, found, counts, nonedges)


def pair_distances(
    points: Tensor, manifold: Manifold, pairs: Tensor, **options: Unpack[PassOptions]
) -> Tensor:
    """As `pairs.pair_distances`."""
    function = manifold.pair_function(*dissimilarity_of(options))
    points, pairs = points.detach(), pairs.to(points.device)
    chunks = torch.split(pairs, max(1, _coordinates(points) // max(1, points.shape[-1])))
    found = torch.cat([function(points[some[:, 0]], points[some[:, 1]]) for some in chunks])
    found, popularity = _nan_is_far(found), popularity_of(options, points)
    if popularity is not None:
        found -= popularity[pairs].sum(1)
    return found


def table_of_rows(
    points: Tensor, manifold: Manifold, options: PassOptions, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The distances [k, n] from the nodes in k rows to all, as an array."""
    (dissimilarity, epsilon), popularity = dissimilarity_of(options), popularity_of(options, points)
    points, some = points.detach(), torch.from_numpy(rows).to(points.device)
    block_rows = max(1, _coordinates(points) // max(1, points.numel()))
    found = _nan_is_far(
        manifold.cdist(
            points[some],
            points,
            dissimilarity=dissimilarity,
            epsilon=epsilon,
            block_rows=block_rows,
        )
    )
    if popularity is not None:
        found = found - (popularity[some, None] + popularity)
    return np.asarray(found.double().cpu().numpy())


def popularity_of(options: PassOptions, points: Tensor) -> Tensor | None:
    """The popularity [n] of points, like them; raise unless each has one."""
    found = popularity_array(options, len(points))
    return None if found is None else torch.from_numpy(found).to(points)


def popularity_array(options: PassOptions, n: int) -> NDArray[np.float64] | None:
    """The same as an array."""
    given = options.get("popularity")
    if given is None:
        return None
    found = np.array(
        given.detach().cpu().numpy() if hasattr(given, "detach") else given, dtype=np.float64
    )
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"popularity must be [{n}] finite numbers, got shape {found.shape}")
    return found


def _nearest(distances: Tensor, start: int, k: int) -> tuple[Tensor, Tensor]:
    """The k nearest of a block [rows, n], and how far they are: [rows, k] each."""
    distances = distances.clone()
    distances.diagonal(start).fill_(math.inf)
    # topk takes any of several equal distances, so it only says how far the k-th is.
    cut = distances.topk(k, largest=False).values[:, -1:]
    closer, tied = distances < cut, distances == cut
    tied.diagonal(start).fill_(False)
    kept = closer | (tied & (tied.cumsum(1) <= k - closer.sum(1, keepdim=True)))
    indices = kept.nonzero()[:, 1].view(-1, k)
    ordered, order = distances.gather(1, indices).sort(dim=1, stable=True)
    return indices.gather(1, order), ordered


def _count_rows(
    distances: Tensor, start: int, row: Tensor, column: Tensor, slot: Tensor
) -> tuple[Tensor, Tensor]:
    """Neighbours, at (row, column), and others at most as far as each neighbour of a block;
    ``slot`` is its rank.
    """
    height, width = len(distances), int(slot.max()) + 1
    near = distances.new_full((height, width), math.inf)
    near[row, slot] = distances[row, column]
    near = near.sort(1).values
    free = torch.ones_like(distances, dtype=torch.bool)
    free.diagonal(start).fill_(False)
    free[row, column] = False
    # Others that lie between two neighbours share a bucket; one histogram serves all rows of the
    # block.
    bucket = torch.searchsorted(near, distances)
    bucket += torch.arange(height, device=distances.device)[:, None] * (width + 1)
    histogram = torch.bincount(bucket[free], minlength=height * (width + 1)).view(height, width + 1)
    degree = torch.bincount(row, minlength=height)
    # The padding of shorter rows is +∞, as a neighbour without a geodesic is: it must not be
    # counted with it.
    neighbors = torch.searchsorted(near, near, right=True).minimum(degree[:, None])
    return neighbors[row, slot], histogram.cumsum(1)[row, slot]


def _blocks(
    points: Tensor,
    manifold: Manifold,
    options: PassOptions,
    *,
    count: int | None = None,
    upper: bool = False,
) -> Iterator[tuple[int, Tensor]]:
    """The first row and the distances [rows, n] of each block; with ``upper``, from that column on:
    [rows, n - row].
    """
    (dissimilarity, epsilon), popularity = dissimilarity_of(options), popularity_of(options, points)
    points = points.detach()
    rows = block_rows_of(options) or max(1, _coordinates(points) // max(1, points.numel()))
    last = len(points) if count is None else count
    for start in range(0, last, rows):
        some, columns = slice(start, min(start + rows, last)), slice(start if upper else 0, None)
        distances = manifold.cdist(
            points[some],
            points[columns],
            dissimilarity=dissimilarity,
            epsilon=epsilon,
            block_rows=rows,
        )
        distances = _nan_is_far(distances)
        yield (
            start,
            distances
            if popularity is None
            else distances - (popularity[some, None] + popularity[columns]),
        )


def _coordinates(points: Tensor) -> int:
    """A block evaluates at once, rows · n · d: small enough for a CPU's cache, large enough to fill
    a GPU.
    """
    return 1 << 19 if points.device.type == "cpu" else 1 << 25


def block_rows_of(options: PassOptions) -> int | None:
    """The rows of a block, where given."""
    rows = options.get("block_rows")
    return None if rows is None else check_count("block_rows", rows, 1)


def check_k(k: int, n: int) -> int:
    """K as an int; raise unless 1 <= k < n."""
    k = as_integer("k", k)
    if not 1 <= k < n:
        raise ValueError(f"k must be at least 1 and below the number of points, {n}, got {k}")
    return k


def dissimilarity_of(options: PassOptions) -> tuple[Dissimilarity, float | None]:
    """The dissimilarity and its ε."""
    name, epsilon = (
        check_dissimilarity(options.get("dissimilarity", "geodesic")),
        options.get("epsilon"),
    )
    if epsilon is not None and name != "smoothed":
        raise ValueError(f"epsilon belongs to dissimilarity='smoothed', got dissimilarity={name!r}")
    return name, epsilon


def _nan_is_far(distances: Tensor) -> Tensor:
    """The same tensor, with +∞ for NaN."""
    return distances.masked_fill_(distances.isnan(), math.inf)


def _by_row(pairs: Tensor, n: int) -> tuple[Tensor, Tensor, list[int]]:
    """Rows and columns of the pairs, sorted by row, and where each row starts (n + 1 numbers)."""
    rows, order = pairs[:, 0].sort(stable=True)
    sizes = torch.bincount(rows, minlength=n)
    return rows, pairs[order, 1], [0, *sizes.cumsum(0).tolist()]
