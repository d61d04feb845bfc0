"""A graph as resistors, and what is wanted of the inverse of its Laplacian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..lazy import torch
from .graph import Graph

Array: TypeAlias = Any
"""Of numpy or torch, dense or sparse."""
LEAST = 1e-280
"""What weights are at least, in units of the largest: resistances must not overflow."""
_BLOCK = 64
"""Rows of a matrix below which a GPU has nothing to do."""


class Network(NamedTuple):
    """A graph as resistors, with a ground in each component, where the potential is 0."""

    ends: Ints
    """[m, 2] of the ties."""
    weights: Floats
    """[m] in units of the largest."""
    component: Ints
    is_ground: Bools
    """[n] whether a node is the strongest of its component, or the first of these."""

    @classmethod
    def of(cls, graph: Graph, component: Ints, unit: float) -> Network:
        """That of a graph whose components are known."""
        weights = np.maximum(graph.weights / unit, LEAST)
        strength = np.bincount(graph.edges.ravel(), np.repeat(weights, 2), graph.n_nodes)
        by_strength = np.lexsort((-strength, component))
        is_ground = np.zeros(graph.n_nodes, dtype=np.bool_)
        is_ground[by_strength[np.diff(component[by_strength], prepend=-1) > 0]] = True
        return cls(graph.edges, weights, component, is_ground)

    def sums(self, values: Floats) -> Floats:
        """[n] the sum of values [n] over the component of each node."""
        return np.bincount(self.component, values).astype(np.float64)[self.component]


def both_ways(ends: Ints, weights: Floats) -> tuple[Ints, Ints, Floats]:
    """The nodes [2m] at both ends of each tie, listed from either, and the weights."""
    i, j = ends.T
    return np.concatenate((i, j)), np.concatenate((j, i)), np.tile(weights, 2)


class Inverse(NamedTuple):
    """What is wanted of M, [n] each."""

    diagonal: Floats
    potentials: Floats
    """Σ_j M_ij."""
    traces: Floats
    """Σ_j M_jj, by component."""
    errors: Floats | float = 0.0
    """Standard errors of the diagonal."""
    trace_errors: Floats | float = 0.0
    """Those of the traces."""


def dense_ties(tails: Ints, heads: Ints, weights: Floats, place: Ints) -> tuple[Floats, Floats]:
    """The ties [k, k] between the nodes that have a place, and of each those to others, which are
    grounds, [k].
    """
    k = int(place.max(initial=-1)) + 1
    tails, heads = place[tails], place[heads]
    inside, outside = (tails >= 0) & (heads >= 0), (tails >= 0) & (heads < 0)
    ties = np.zeros((k, k))
    ties[tails[inside], heads[inside]] = weights[inside]
    return ties, np.bincount(tails[outside], weights[outside], k).astype(np.float64)


def on_device(device: str, function: Callable[..., Array], *arrays: Floats) -> Array:
    """What a function finds on a device, in numpy's arrays on the CPU."""
    if device == "cpu":
        return function(*arrays)
    return function(*(torch.from_numpy(array).to(device) for array in arrays)).cpu().numpy()


def grounded_inverse(ties: Array, grounded: Array) -> Array:
    """The inverse [k, k] of diag(row sums + ``grounded``) - ``ties``: arrays of numpy, or tensors.

    ``ties`` [k, k] are positive or 0 (the diagonal does not count), and ``grounded`` [k] those to
    the ground. The first half of the nodes is eliminated at once, by its own inverse: every entry
    is a sum of positive products.
    """
    k = len(grounded)
    if k < 2:
        return 1.0 / grounded[:, None]
    if k <= _BLOCK and not isinstance(ties, np.ndarray):
        return torch.from_numpy(grounded_inverse(ties.cpu().numpy(), grounded.cpu().numpy())).to(
            ties.device
        )
    half = k // 2
    across = ties[:half, half:]
    first = grounded_inverse(ties[:half, :half], grounded[:half] + across.sum(1))
    chances = first @ across
    rest = grounded_inverse(
        ties[half:, half:] + across.T @ chances,
        grounded[half:] + across.T @ (first @ grounded[:half]),
    )
    mixed = chances @ rest
    inverse = np.empty((k, k)) if isinstance(ties, np.ndarray) else ties.new_empty((k, k))
    inverse[:half, :half] = first + mixed @ chances.T
    inverse[:half, half:] = mixed
    inverse[half:, :half] = mixed.T
    inverse[half:, half:] = rest
    return inverse
