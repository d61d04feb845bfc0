"""The diagonal of the inverse of a large Laplacian, estimated: hubs exactly, and the way to them by
random signs.

Some nodes, drawn in proportion to their degree, are pivots. With A the Laplacian of the other
nodes, P = A⁻¹ W the chances that a walk from a node reaches each pivot first, and M the inverse for
the pivots alone,

    diag(inverse) = diag(A⁻¹) + diag(P M Pᵀ)

of which the second part is exact. For the first, random signs on the ties make right-hand sides b
with E[b bᵀ] = A, so that y = A⁻¹ b has E[y²] = diag(A⁻¹) (Spielman & Srivastava, 2008). As y = b /
s + (neighbours' mean of y), most of the variance of y² is that of y b and of y (neighbours' mean of
b), whose expectations are known: they are control variates.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from types import ModuleType

import numpy as np

from ..arrays import Floats, Ints, Words, positions_in
from ..lazy import torch
from .ids import mixed
from .network import Array, Inverse, Network, both_ways, grounded_inverse

log = logging.getLogger("ultrahyperbolic")

_PIVOTS = 256
_BLOCKS = 4
"""Times 64 random signs per tie."""
_CHANCES = 1 << 28
"""Entries of the table [nodes, pivots] at most."""
_TABLE = {"cpu": 1 << 19, "cuda": 1 << 28}
"""Entries of right-hand sides that are solved for at once: on the CPU those that its cache
holds.
"""
_TOLERANCE = 1e-8
"""Of residuals, relative to the right-hand sides."""
_SOLVED = 1e-7
"""The relative error that is left where nothing is sampled: that of solutions and of rounded
values.
"""
_ITERATIONS = 2000
_WRONG = 1e-3
"""Chances that add up to 1 but for more than this are worth a warning."""


def estimated_inverse(network: Network, device: str) -> Inverse:
    """The diagonal with standard errors, and the rest as exactly as conjugate gradients find it."""
    n, arrays = len(network.component), _Arrays(device)
    free = np.flatnonzero(~network.is_ground)
    most = min(_PIVOTS, len(free) // 2, _CHANCES // n)
    degree = np.bincount(network.ends.ravel(), minlength=n)[free]
    pivots = np.sort(
        np.random.default_rng(0).choice(free, most, replace=False, p=degree / degree.sum())
    )
    inner = np.setdiff1d(free, pivots, assume_unique=True)
    row, pivot = positions_in(inner, n), positions_in(pivots, n)

    k, count, to_ground = len(pivots), len(inner), np.where(network.is_ground, 0, -1)
    is_inner = (row[network.ends] >= 0).all(1)
    tails, heads, weights = both_ways(network.ends[~is_inner], network.weights[~is_inner])

    def ties(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Array:
        """The ties of pivots and grounds between nodes with a place in ``rows`` and in ``columns``,
        a sparse matrix.
        """
        these = (rows[tails] >= 0) & (columns[heads] >= 0)
        return arrays.sparse(rows[tails[these]], columns[heads[these]], weights[these], shape)

    strength = np.bincount(network.ends.ravel(), np.repeat(network.weights, 2), n)[inner]
    own_ties = arrays.sparse(
        *both_ways(row[network.ends[is_inner]], network.weights[is_inner]), (count, count)
    )
    system = _System(own_ties, arrays.dense(strength)[:, None], arrays)
    to_pivots = ties(row, pivot, (count, k))
    chances = arrays.zeros((count, k))
    for start in range(0, k, arrays.columns(n)):
        some = slice(start, min(start + arrays.columns(n), k))
        unit = arrays.zeros((k, some.stop - start))
        unit[range(start, some.stop), range(some.stop - start)] = 1.0
        chances[:, some] = system.solve(to_pivots @ unit)
    one = arrays.dense(np.ones((1, 1)))
    ground_chance = system.solve(ties(row, to_ground, (count, 1)) @ one)
    wrong = float(abs(chances.sum(1) + ground_chance[:, 0] - 1.0).max())
    if wrong > _WRONG:
        log.warning(
            "the centrality is unreliable: after %d iterations currents are still off by %.1g; "
            "the graph is too long "
            "and thin, or its weights differ too much, for an estimate",
            _ITERATIONS,
            wrong,
        )
    back = ties(pivot, row, (k, count))
    reduced = ties(pivot, pivot, (k, k)) @ arrays.identity(k) + back @ chances
    grounded = ties(pivot, to_ground, (k, 1)) @ one + back @ ground_chance
    inverse = grounded_inverse(reduced, grounded[:, 0])
    inner_potentials = system.solve(arrays.dense(np.ones((count, 1))))
    at_pivots = inverse @ (1.0 + chances.sum(0))
    potentials, diagonal, errors = np.zeros(n), np.zeros(n), np.zeros(n)
    potentials[pivots] = arrays.back(at_pivots)
    potentials[inner] = arrays.back(inner_potentials[:, 0] + chances @ at_pivots)
    exact = np.concatenate(
        [
            arrays.back(
                ((chances[start : start + 65536] @ inverse) * chances[start : start + 65536]).sum(1)
            )
            for start in range(0, count, 65536)
        ]
    )
    diagonal[pivots] = arrays.back(inverse.diagonal())
    diagonal[inner] = exact
    traces: Floats = np.bincount(network.component, diagonal).astype(np.float64)
    component = arrays.sparse(
        network.component[inner], np.arange(count), np.ones(count), (len(traces), count)
    )
    sampled, error = _sampled(network, row, system, component, arrays)
    diagonal[inner] += sampled[:count]
    errors[inner] = error[:count]
    traces += sampled[count:]
    errors += _SOLVED * (traces / np.bincount(network.component))[network.component]
    return Inverse(
        diagonal, potentials, traces[network.component], errors, error[count:][network.component]
    )


def _sampled(
    network: Network, row: Ints, system: _System, component: Array, arrays: _Arrays
) -> tuple[Floats, Floats]:
    """diag(A⁻¹) from random signs, and its sums by component, with their standard errors: [n' +
    components] each.
    """
    count, kept = len(system.strength), (row[network.ends] >= 0).any(1)
    roots, ends = np.sqrt(network.weights[kept]), row[network.ends[kept]].T.ravel()
    tie = np.arange(len(roots))
    inside = ends >= 0
    incidence = arrays.sparse(
        ends[inside],
        np.tile(tie, 2)[inside],
        np.concatenate((roots, -roots))[inside],
        (count, len(tie)),
    )
    rows = count + component.shape[0]
    seeds = mixed(tie.astype(np.uint64))
    sums, products = [arrays.zeros(rows) for _ in range(3)], [arrays.zeros(rows) for _ in range(6)]
    for block in range(_BLOCKS):
        words = mixed(seeds + np.uint64(block))
        for start in range(0, 64, arrays.columns(rows)):
            stop = min(start + arrays.columns(rows), 64)
            b = incidence @ arrays.signs(words, start, stop)
            y = system.solve(b)
            scaled = y / system.strength
            values = (
                y * y,
                scaled * b - 1.0 / system.strength,
                scaled * (system.ties @ (b / system.strength)),
            )
            square, first, second = (arrays.stack(each, component @ each) for each in values)
            pairs = (
                (square, square),
                (first, first),
                (second, second),
                (first, second),
                (square, first),
                (square, second),
            )
            for total, each in zip(sums, (square, first, second), strict=True):
                total += each.sum(1)
            for total, (one, other) in zip(products, pairs, strict=True):
                total += (one * other).sum(1)
    return _controlled(
        [arrays.back(each) for each in sums], [arrays.back(each) for each in products]
    )


def _controlled(sums: list[Floats], products: list[Floats]) -> tuple[Floats, Floats]:
    """The mean [n] of samples less what control variates of mean 0 explain of it, and its standard
    error.

    ``sums`` are those of the samples y and of the controls u and v, ``products`` those of yy, uu,
    vv, uv, yu and yv.
    """
    samples = 64 * _BLOCKS
    y, u, v = (each / samples for each in sums)
    yy, uu, vv, uv, yu, yv = (
        each / samples - a * b
        for each, (a, b) in zip(
            products, ((y, y), (u, u), (v, v), (u, v), (y, u), (y, v)), strict=True
        )
    )
    # What the second control adds to the first; nothing where it is a multiple of it.
    first = np.divide(yu, uu, out=np.zeros_like(y), where=uu > 0.0)
    overlap = np.divide(uv, uu, out=np.zeros_like(y), where=uu > 0.0)
    rest = vv - overlap * uv
    second = np.divide(yv - overlap * yu, rest, out=np.zeros_like(y), where=rest > 1e-9 * vv)
    mean = y - first * u - second * (v - overlap * u)
    left = np.maximum(yy - first * yu - second * (yv - overlap * yu), 0.0)
    return mean, np.sqrt(left / (samples - 3))


class _System:
    """diag(``strength``) - ``ties``, and conjugate gradients for several right-hand sides at
    once.
    """

    def __init__(self, ties: Array, strength: Array, arrays: _Arrays) -> None:
        self.ties, self.strength, self._where = ties, strength, arrays.library.where

    def solve(self, right: Array) -> Array:
        """[n, c]"""
        found, residual = 0.0 * right, 1.0 * right
        ahead = residual / self.strength
        direction, fall = 1.0 * ahead, (residual * ahead).sum(0)
        enough = _TOLERANCE**2 * fall
        for _ in range(_ITERATIONS):
            going = fall > enough
            if not going.any():
                break
            moved = self.ties @ direction
            moved -= self.strength * direction
            steepness = -(direction * moved).sum(0)
            step = self._where(going, fall / self._where(going, steepness, 1.0), 0.0)
            found += step * direction
            residual += step * moved
            ahead = residual / self.strength
            before, fall = fall, (residual * ahead).sum(0)
            direction *= self._where(going, fall / self._where(going, before, 1.0), 0.0)
            direction += ahead
        return found


class _Arrays:
    """Tables on a device: numpy's with scipy's sparse matrices on the CPU, where scipy is there,
    else torch's.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.is_numpy = device == "cpu" and find_spec("scipy") is not None
        self.library: ModuleType = np if self.is_numpy else torch
        self._table = _TABLE[device.partition(":")[0]]

    def columns(self, n: int) -> int:
        """How many columns of n entries are worked on at once."""
        return max(8, min(64, self._table // n))

    def dense(self, values: Floats) -> Array:
        return values if self.is_numpy else torch.from_numpy(values).to(self.device)

    def zeros(self, shape: int | tuple[int, int]) -> Array:
        return (
            np.zeros(shape)
            if self.is_numpy
            else torch.zeros(shape, dtype=torch.float64, device=self.device)
        )

    def identity(self, n: int) -> Array:
        return self.dense(np.eye(n))

    def stack(self, above: Array, below: Array) -> Array:
        return np.concatenate((above, below)) if self.is_numpy else torch.cat((above, below))

    def back(self, values: Array) -> Floats:
        """As an array of numpy."""
        return values if self.is_numpy else np.asarray(values.cpu().numpy())

    def sparse(self, rows: Ints, columns: Ints, values: Floats, shape: tuple[int, int]) -> Array:
        """A sparse matrix by rows."""
        if self.is_numpy:
            from scipy.sparse import csr_array

            return csr_array((values, (rows, columns)), shape)
        places = torch.from_numpy(np.stack((rows, columns))).to(self.device)
        return torch.sparse_coo_tensor(
            places, torch.from_numpy(values).to(self.device), shape
        ).to_sparse_csr()

    def signs(self, words: Words, start: int, stop: int) -> Array:
        """The bits from ``start`` to ``stop`` of the words [m] as ±1: [m, stop - start]."""
        if self.is_numpy:
            return (
                2.0 * ((words[:, None] >> np.arange(start, stop, dtype=np.uint64)) & np.uint64(1))
                - 1.0
            )
        places = torch.arange(start, stop, device=self.device)
        bits = (torch.from_numpy(words.view(np.int64)).to(self.device)[:, None] >> places) & 1
        return 2.0 * bits.double() - 1.0
