"""Where a training starts: the paper's points near the pole, or an eigendecomposition of the graph's hops.

A matrix of scalar products of rank (p, q+1) is what eigenvectors give. Take T = -cosh(c·hops): its most negative
eigenpairs make the time coordinates and its most positive ones the space coordinates. Large graphs have hops from some
landmarks only, and every node is placed by its products with those.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry import Geometry
from ..graph import Graph
from ..graph.hops import SEARCH_BYTES, hops_from

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Hops are measured from every node up to this many, and from so many landmarks beyond, or fewer where n is so large
# that the table of hops would exceed _ENTRIES.
_LANDMARKS, _FEWEST, _ENTRIES = 512, 64, 20_000_000
# How far apart, in units of the radius, the ends of the longest path start; on the sphere, of at most half a turn.
_REACH = 1.5
# Relative to the radius: what makes two seeds differ, and nodes that the hops cannot tell.
_JITTER = 0.02


class Given(NamedTuple):
    """Where a training starts that continues another."""

    points: Floats
    """[n, d]"""
    offsets: Floats
    """[n] the popularity of the nodes; 0 where they have none."""


@dataclass(frozen=True)
class SpectralStart:
    """Starts for one graph: the hops are counted once for every geometry and seed."""

    graph: Graph

    def __call__(self, geometry: Geometry, seed: int, scale: float = 1.0) -> Floats:
        """[n, d] points of a geometry; ``scale`` draws them together, towards the pole."""
        if len(geometry.parts) > 1:
            return np.concatenate([self(part, seed + k, scale) for k, part in enumerate(geometry.parts)], axis=1)
        (geometry,) = geometry.parts
        rng = np.random.default_rng(seed)
        if geometry.is_flat:
            flat = self._flat.coordinates(geometry.dim, 1.0)
            drawn: Floats = scale * (flat + _JITTER * rng.standard_normal(flat.shape))
            return drawn
        time, space = geometry.time_dimensions, geometry.space_dimensions
        spectrum = self._hyperbolic if space else self._spherical
        points = np.concatenate((spectrum.coordinates(time, -1.0), spectrum.coordinates(space, 1.0)), axis=1)
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
        found: Floats = geometry.radius * points
        return found

    @property
    def spectrum(self) -> Floats:
        """The eigenvalues of -cosh(c·hops) between the landmarks."""
        values: Floats = self._hyperbolic.values
        return values

    @cached_property
    def _hyperbolic(self) -> _Spectrum:
        angles = self._angles
        return _Spectrum(np.negative(np.cosh(angles, out=angles), out=angles), self.hops[1])

    @cached_property
    def _spherical(self) -> _Spectrum:
        angles = self._angles
        return _Spectrum(np.negative(np.cos(angles, out=angles), out=angles), self.hops[1])

    @cached_property
    def _flat(self) -> _Spectrum:
        """Classical scaling: the coordinates whose squared distances are nearest to the squared hops."""
        hops, rows = self.hops
        products: Floats = hops / max(hops.max(initial=0), 1)
        products *= products
        among = products[rows]
        products -= products.mean(1, keepdims=True)
        products -= among.mean(0)
        products += among.mean()
        products *= -0.5
        return _Spectrum(products, rows)

    @property
    def _angles(self) -> Floats:
        """[n, k], for the caller to compute in: of a large graph, this table is what a start takes most memory for."""
        hops = self.hops[0]
        angles: Floats = hops * (_REACH / max(hops.max(initial=0), 1))
        return angles

    @cached_property
    def hops(self) -> tuple[NDArray[np.int32], Ints]:
        """Hops [n, k] to the landmarks, and which nodes those are; beyond a component, a little more than any path."""
        n = self.graph.n_nodes
        count = _landmarks(n)
        rows = np.arange(n) if count == n else np.sort(np.random.default_rng(0).permutation(n)[:count])
        hops = hops_from(self.graph, rows)
        hops[hops < 0] = hops.max(initial=0) + 2
        return hops.T, rows


def start_bytes(n: int, m: int, spectra: int) -> int:
    """Bytes that the spectral starts of a graph of n nodes and m edges take.

    ``spectra`` is how many kinds of geometry start: hyperboloids, spheres and flat space have a table of products each,
    beside the table of hops.
    """
    entries = n * _landmarks(n)
    counting, placing = 4 * entries + SEARCH_BYTES, (5 + 8 * spectra) * entries
    return max(counting, placing) + 64 * m if spectra else 0


def _landmarks(n: int) -> int:
    return min(n, _LANDMARKS, max(_FEWEST, _ENTRIES // n))


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
