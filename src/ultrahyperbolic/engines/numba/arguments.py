"""What compiled loops are given, as named tuples; of the space they are told by `KernelSpace`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...objective import Closeness

# Up to this many nodes all pairs are kept and every loop runs over them all; tiles and slabs would
# cost more.
SMALL_NODES = 96


class Run(NamedTuple):
    """The arrays of one run; points are [d, n], coordinate after coordinate."""

    points: Floats
    pair_points: NDArray[np.floating]
    """The points in the precision of pairs."""
    free: Floats
    best: Floats
    record: Floats
    gradient: Floats
    """[d, n] Euclidean, in the points; where nodes have offsets [d + 1, n], the last row in
    these.
    """
    scratch: Floats
    """[6, m], for a small graph [6, 2m] or more, and for all pairs."""
    offsets: Floats
    """[n] of each node, where they are learnt: what is compared is d_ij - a_i - a_j; else [0]."""
    best_offsets: Floats


class Rules(NamedTuple):
    """What decides about the steps of a run, besides its schedule."""

    optimizer: int
    drop_below: float
    drop_factor: float
    settled: int
    best_every: int
    stop_when_ordered: bool
    parts: int
    centrality: float
    """The weight of the term that holds sums of distances to closeness; 0 for none."""


class Edges(NamedTuple):
    """The pairs with an edge, of m."""

    ends: NDArray[np.int64]
    """[m, 2], from the weakest capacity class to the strongest."""
    weaker: NDArray[np.int64]
    """[m] where the class of the edge begins."""
    offsets: NDArray[np.int64]
    """[n + 1] where the neighbours of each node begin."""
    neighbors: NDArray[np.int64]
    """[m] the neighbours j > i of each node i, ascending."""
    positions: NDArray[np.int64] | None
    """[m] positions among all pairs (0, 1), (0, 2), …, (1, 2), … of a small graph; None for a large
    one.
    """
    closeness: Closeness
    """What sums of distances are held to."""
    heights: Floats | None
    """[n] of a directed graph, whose edges are ordered pairs."""
    silent: int
    """How many of the first edges have no term: they are missing reverses of ties."""


class Moment(NamedTuple):
    """What the schedule of a run says of an iteration."""

    tau: float
    epsilon: float
    step: float
    max_step: float
    parts: int
    """An iteration looks at one of ``parts`` parts of the pairs; 1 for all."""
    part: int


class Prepared(NamedTuple):
    """What all slabs of a pass share."""

    hot: bool
    """Whether exp(-d/τ) itself is the table."""
    slack: float
    """By how much what sums are relative to may exceed the least dissimilarity; 0 where that is
    asked for.
    """
    reach: float
    """Where the table ends."""
    above: int
    """Its octaves above w = 0."""
    below: int
    """Its octaves below."""
    tabled: int
    """The kind of dissimilarity that the table holds."""
