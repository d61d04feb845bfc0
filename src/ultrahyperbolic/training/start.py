"""Where a training starts: the paper's points near the pole, or an eigendecomposition of the
graph's hops.

Of -cosh(c·hops), the most negative eigenpairs make the time coordinates and the most positive ones
the space coordinates. Large graphs have hops from some landmarks only, and every node is placed by
its products with those. Central nodes are then drawn in towards the middle of their component: hubs
have hops of like length to everybody, which a few eigenpairs do not show, and what starts far out
seldom comes in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AT_ONCE, Floats, Ints, in_blocks
from ..graph import Graph
from ..graph.flow import centrality_of
from ..graph.hops import SEARCH_BYTES, WORD, hops_from
from ..rounding import cosh_of_root
from ..spaces import Geometry

# Hops are measured from every node, or from this many landmarks where there are more; from fewer,
# down to _FEWEST, where the table of hops would exceed _ENTRIES.
_LANDMARKS, _FEWEST, _ENTRIES = 512, 64, 20_000_000
# Nodes that are placed at once by a spectrum, and by their neighbours.
_ROWS, _AMONG_NEIGHBORS = 4096, 512
# How far apart, in units of the radius, the ends of the longest path start; on the sphere, of at
# most half a turn.
_REACH = 1.5
# Decimals of the mean resistance that are kept: further ones could differ between processors.
_DIGITS = 6
# Relative to the radius: what makes two seeds differ, and nodes that the hops cannot tell.
_JITTER = 0.002


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
        rng = np.random.default_rng(seed)
        if geometry.is_flat:
            flat = self._between_neighbors(self._flat.coordinates(geometry.dim, 1.0))
            return np.asarray(scale * (flat + _jitter(rng, flat.shape)))
        time, space = geometry.time_dimensions, geometry.space_dimensions
        spectrum = self.hyperbolic if space else self._spherical
        found = spectrum.coordinates(time, -1.0), spectrum.coordinates(space, 1.0)
        points = self._between_neighbors(np.concatenate(found, axis=1))
        if points[:, 0].sum() < 0.0:
            points[:, 0] *= -1.0
        points += _jitter(rng, points.shape)
        self._draw_in(points[:, 1:])
        points[:, 1:] *= scale
        if time == 1:
            points[:, 0] = np.abs(points[:, 0])  # one sheet of two
        length = np.linalg.norm(points[:, :time], axis=1, keepdims=True)
        nowhere = length[:, 0] < 1e-9
        points[nowhere, 0], length[nowhere] = 1.0, 1.0
        # φ: the time part rescaled onto the manifold.
        points[:, :time] *= (
            np.sqrt(1.0 + np.square(points[:, time:]).sum(1, keepdims=True)) / length
        )
        return np.asarray(geometry.radius * points)

    def _between_neighbors(self, places: Floats) -> Floats:
        """Places [n, k]; where landmarks are few, each the mean over a node and its neighbours, as
        widely spread.
        """
        if _landmarks(len(places)) == min(len(places), _LANDMARKS):
            return places
        offsets, heads = self.graph.neighbor_lists
        found = places.copy()

        def add_neighbors(nodes: slice) -> None:
            own = offsets[nodes.start : nodes.stop + 1]
            joined = np.flatnonzero(np.diff(own))
            if len(joined):
                here = places[heads[own[0] : own[-1]]]
                found[nodes.start + joined] += np.add.reduceat(here, own[joined] - own[0], axis=0)

        in_blocks(add_neighbors, len(places), _AMONG_NEIGHBORS)
        found /= np.diff(offsets)[:, None] + 1
        found -= found.mean(0)
        found *= places.std(0) / np.maximum(found.std(0), 1e-300)
        return np.asarray(found + places.mean(0))

    def _draw_in(self, places: Floats) -> None:
        """Draw central nodes in towards the mean [k] of the places [n, k] of their component.

        By rank, the node with the k-th smallest mean resistance to all others gets the k-th
        shortest distance from there. By value, its distance shrinks in proportion to its resistance
        beyond the smallest, up to the mean. The rule that moves it less is taken: ranks alone would
        tell apart what hardly differs.
        """
        values, own = centrality_of(self.graph).values, self.graph.component
        far = np.divide(values.max(), values, out=np.zeros(len(values)), where=values > 0.0).round(
            _DIGITS
        )
        sizes = np.bincount(own)
        least = np.full(len(sizes), math.inf)
        np.minimum.at(least, own, far)
        more = far - least[own]
        middle = np.stack([np.bincount(own, column) / sizes for column in places.T], axis=1)[own]
        lengths = np.sqrt(np.square(places - middle).sum(1))
        by_rank = np.empty_like(lengths)
        by_rank[np.lexsort((lengths, far, own))] = lengths[np.lexsort((lengths, own))]
        by_value = lengths * more / np.maximum((np.bincount(own, more) / sizes)[own], 1e-300)
        shorter = np.minimum(
            1.0, np.maximum(by_rank, by_value) / np.where(lengths > 0.0, lengths, 1.0)
        )
        places[:] = middle + shorter[:, None] * (places - middle)

    @cached_property
    def hyperbolic(self) -> _Spectrum:
        """That of -cosh(c·hops) between the landmarks."""
        return self._of_angles(1.0)

    @cached_property
    def _spherical(self) -> _Spectrum:
        return self._of_angles(-1.0)

    @cached_property
    def _flat(self) -> _Spectrum:
        """Classical scaling: the coordinates whose squared distances are nearest to the squared
        hops.
        """
        hops, rows = self.hops
        most = int(hops.max(initial=0))
        squares = np.square(np.arange(most + 1) / max(most, 1))
        means = squares[hops.T[:, rows]].mean(0)

        def products(some: slice | Ints) -> Floats:
            found = squares[hops.T[:, some]]
            return np.asarray(-0.5 * (found - found.mean(0) - (means - means.mean())[:, None]))

        return _Spectrum(products, len(hops), rows)

    def _of_angles(self, sign: float) -> _Spectrum:
        """That of -cosh(c·hops), or with sign -1 of -cos(c·hops): a value for each number of
        hops.
        """
        hops, rows = self.hops
        most = int(hops.max(initial=0))
        unit = _REACH / max(most, 1)
        values = np.array([-cosh_of_root(sign * (unit * k) * (unit * k)) for k in range(most + 1)])
        return _Spectrum(lambda some: values[hops.T[:, some]], len(hops), rows)

    @cached_property
    def hops(self) -> tuple[NDArray[np.int32], Ints]:
        """Hops [n, k] to the landmarks, and which nodes those are; beyond a component, a little
        more than any path.
        """
        n = self.graph.n_nodes
        rows = np.sort(np.random.default_rng(0).permutation(n)[: _landmarks(n)])
        hops = hops_from(self.graph, rows)
        hops[hops < 0] = hops.max(initial=0) + 2
        return hops.T, rows


def start_bytes(n: int, m: int) -> int:
    """Bytes that spectral starts of n nodes and m edges take."""
    entries = n * _landmarks(n)
    return 4 * entries + max(AT_ONCE * (4 * WORD + 32) * n + SEARCH_BYTES, entries) + 64 * m


def _landmarks(n: int) -> int:
    return min(n, _LANDMARKS, max(_FEWEST, _ENTRIES // n))


class _Spectrum:
    """Eigenpairs of scalar products [k, n] with the landmarks ``rows``; ``products`` finds those of
    some nodes.
    """

    def __init__(self, products: Callable[[slice | Ints], Floats], n: int, rows: Ints) -> None:
        self.products, self.n = products, n
        if find_spec("numba") is None:
            self.values, self.vectors = np.linalg.eigh(products(rows).T)
        else:
            from .eigen import eigenvectors

            self.values, self.vectors = eigenvectors(products(rows).T)

    def coordinates(self, count: int, sign: float) -> Floats:
        """[n, count]: √|λ| times the eigenvectors of one sign; other nodes where their products
        with these say.
        """
        order = np.argsort(-sign * self.values, kind="stable")[:count]
        values, vectors = sign * self.values[order], self.vectors[:, order]
        large = values > 1e-9 * np.abs(self.values).max(initial=1e-300)
        products = np.zeros((len(order), self.n))

        def add_products(rows: slice) -> None:
            for vector, column in zip(vectors, self.products(rows), strict=True):
                products[:, rows] += (
                    vector[:, None] * column
                )  # a product of matrices, with its sums in this order

        in_blocks(add_products, self.n, _ROWS)
        found = sign * products.T / np.sqrt(np.where(large, values, 1.0)) * large
        return np.ascontiguousarray(np.pad(found, ((0, 0), (0, count - found.shape[1]))))


def near_pole(
    geometry: Geometry, n: int, seed: int, epsilon: float, *, perturb_first: bool
) -> Floats:
    """[n, d] the paper's start, ``Manifold.random_near_pole`` with sums in an order that no
    processor changes.

    Without ``perturb_first`` the first coordinate is not moved; in flat space it is 1, as in the
    authors' scripts.
    """
    generator = np.random.RandomState(seed & 0xFFFFFFFF)  # which torch's is, too
    time, radius = (0, 1.0) if geometry.is_flat else (geometry.time_dimensions, geometry.radius)
    left, points = np.arange(n), np.empty((n, geometry.ambient_dim))
    while len(left):  # nothing rescales a draw with ⟨z, z⟩ >= 0 onto the manifold
        z = _as_torch_draws(generator, len(left) * points.shape[1]).reshape(len(left), -1)
        z = epsilon * radius * (2.0 * z - 1.0)
        if not perturb_first:
            z[:, 0] = 1.0 if geometry.is_flat else 0.0
        if not time:
            return z
        z[:, 0] += radius
        # Coordinate after coordinate.
        square: Floats = sum(np.square(z[:, time:]).T, np.zeros(len(z))) - sum(
            np.square(z[:, :time]).T
        )
        good = square < 0.0
        points[left[good]] = z[good] * np.sqrt(radius * radius / -square[good])[:, None]
        left = left[~good]
    return points


def _as_torch_draws(generator: np.random.RandomState, count: int) -> Floats:
    """[count] uniform numbers from 0 to 1, as ``torch.rand`` draws them in float64: 53 bits of two
    words of 32.
    """
    words = generator.randint(0, 1 << 32, size=(count, 2), dtype=np.uint32).astype(np.uint64)
    whole = (words[:, 0] << np.uint64(32)) | words[:, 1]
    return np.asarray((whole & np.uint64((1 << 53) - 1)) * 2.0**-53)


def _jitter(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Uniform numbers of standard deviation ``_JITTER``: normal ones take a logarithm now and
    then.
    """
    return np.asarray(_JITTER * math.sqrt(3.0) * (2.0 * rng.random(shape) - 1.0))
