"""Where a training starts: the paper's points near the pole, or an eigendecomposition of the graph's hops.

A matrix of scalar products of rank (p, q+1) is what eigenvectors give. Take T = -cosh(c·hops): its most negative
eigenpairs make the time coordinates and its most positive ones the space coordinates. Large graphs have hops from some
landmarks only, and every node is placed by its products with those.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry import Manifold, PseudoHyperboloid
from ..graph import Graph

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Hops are measured from every node up to this many, and from so many landmarks beyond, or fewer where n is so large
# that the table of hops would exceed _ENTRIES.
_LANDMARKS, _FEWEST, _ENTRIES = 512, 64, 20_000_000
# How far apart, in units of the radius, the ends of the longest path start; on the sphere, of at most half a turn.
_REACH = 1.5
# Relative to the radius: what makes two seeds differ, and nodes that the hops cannot tell.
_JITTER = 0.02


@dataclass(frozen=True)
class SpectralStart:
    """Starts for one graph: the hops are counted once for every geometry and seed."""

    graph: Graph

    def __call__(self, manifold: Manifold, seed: int, scale: float = 1.0) -> Floats:
        """[n, d] points on a manifold; ``scale`` draws them together, towards the pole."""
        rng = np.random.default_rng(seed)
        if not isinstance(manifold, PseudoHyperboloid):
            flat = self._flat.coordinates(manifold.ambient_dim, 1.0)
            drawn: Floats = scale * (flat + _JITTER * rng.standard_normal(flat.shape))
            return drawn
        time = manifold.q + 1
        spectrum = self._hyperbolic if manifold.p else self._spherical
        points = np.concatenate((spectrum.coordinates(time, -1.0), spectrum.coordinates(manifold.p, 1.0)), axis=1)
        if points[:, 0].sum() < 0.0:
            points[:, 0] *= -1.0
        points += _JITTER * rng.standard_normal(points.shape)
        points[:, 1:] *= scale
        if time == 1:
            points[:, 0] = np.abs(points[:, 0])  # one sheet of two
        length = np.linalg.norm(points[:, :time], axis=1, keepdims=True)
        nowhere = length[:, 0] < 1e-9
        points[nowhere, 0], length[nowhere] = 1.0, 1.0
        # φ: the time part rescaled onto the manifold.
        points[:, :time] *= np.sqrt(1.0 + np.square(points[:, time:]).sum(1, keepdims=True)) / length
        found: Floats = math.sqrt(-manifold.beta.item()) * points
        return found

    @property
    def spectrum(self) -> Floats:
        """The eigenvalues of -cosh(c·hops) between the landmarks."""
        values: Floats = self._hyperbolic.values
        return values

    @cached_property
    def _hyperbolic(self) -> _Spectrum:
        return _Spectrum(-np.cosh(self._angles), self.hops[1])

    @cached_property
    def _spherical(self) -> _Spectrum:
        return _Spectrum(-np.cos(self._angles), self.hops[1])

    @cached_property
    def _flat(self) -> _Spectrum:
        """Classical scaling: the coordinates whose squared distances are nearest to the squared hops."""
        hops, rows = self.hops
        squares = (hops / max(hops.max(initial=0.0), 1.0)) ** 2
        among = squares[rows]
        return _Spectrum(-0.5 * (squares - squares.mean(1, keepdims=True) - among.mean(0) + among.mean()), rows)

    @property
    def _angles(self) -> Floats:
        hops = self.hops[0]
        angles: Floats = hops * (_REACH / max(hops.max(initial=0.0), 1.0))
        return angles

    @cached_property
    def hops(self) -> tuple[Floats, Ints]:
        """Hops [n, k] to the landmarks, and which nodes those are; beyond a component, a little more than any path."""
        n = self.graph.n_nodes
        count = min(n, _LANDMARKS, max(_FEWEST, _ENTRIES // n))
        rows = np.arange(n) if count == n else np.sort(np.random.default_rng(0).permutation(n)[:count])
        hops = hops_from(self.graph, rows)
        apart = hops < 0
        hops[apart] = hops.max(initial=0) + 2
        return hops.T.astype(np.float64), rows


def hops_from(graph: Graph, sources: Ints) -> NDArray[np.int32]:
    """The length of the shortest path from each source to every node: [k, n], -1 where there is none.

    All sources go on by one edge at a time, so the work is k·m and the calls as many as the longest path has edges.
    """
    n, edges = graph.n_nodes, graph.edges
    ends = np.concatenate((edges, edges[:, ::-1]))
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    offsets = np.searchsorted(ends[:, 0], np.arange(n + 1))
    neighbors = ends[:, 1]
    hops = np.full((len(sources), n), -1, dtype=np.int32)
    source, node = np.arange(len(sources)), np.asarray(sources)
    hops[source, node] = 0
    latest = np.empty_like(hops)
    level = 0
    while len(node):
        level += 1
        degree = offsets[node + 1] - offsets[node]
        first = np.repeat(offsets[node] - np.concatenate(([0], np.cumsum(degree)[:-1])), degree)
        reached = neighbors[first + np.arange(len(first))]
        source = np.repeat(source, degree)
        fresh = hops[source, reached] < 0
        source, node = source[fresh], reached[fresh]
        hops[source, node] = level
        # A node may have been reached along several edges: the last of them goes on.
        number = np.arange(len(node))
        latest[source, node] = number
        once = latest[source, node] == number
        source, node = source[once], node[once]
    return hops


class _Spectrum:
    """Eigenpairs of scalar products [n, k] with the landmarks ``rows``."""

    def __init__(self, products: Floats, rows: Ints) -> None:
        self.products = products
        with _one_thread():
            self.values, self.vectors = np.linalg.eigh(products[rows])

    def coordinates(self, count: int, sign: float) -> Floats:
        """[n, count]: those of the largest eigenvalues of one sign.

        For the landmarks this is √|λ| times the eigenvector; another node is placed where its products with them say.
        """
        order = np.argsort(-sign * self.values, kind="stable")[:count]
        values, vectors = sign * self.values[order], self.vectors[:, order]
        large = values > 1e-9 * np.abs(self.values).max(initial=1e-300)
        with _one_thread():
            products = self.products @ vectors
        found = sign * products / np.sqrt(np.where(large, values, 1.0)) * large
        points: Floats = np.pad(found, ((0, 0), (0, count - found.shape[1])))
        return points


def _one_thread() -> AbstractContextManager[Any]:
    """One thread of the linear algebra: its last digits depend on how many there are. All without threadpoolctl."""
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    """The linear algebra that is loaded; numpy's is from the start, so it is looked for once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
