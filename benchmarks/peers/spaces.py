"""How far apart the points of a peer are, as a manifold of ours: so one code measures everybody."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from peer import Floats
from torch import Tensor

from ultrahyperbolic.geometry import Euclidean, Geometry, Manifold

Function = Callable[[Tensor, Tensor], Tensor]


def euclidean(x: Tensor, y: Tensor) -> Tensor:
    return (x - y).square().sum(-1).sqrt()


def poincare(x: Tensor, y: Tensor) -> Tensor:
    """Of the unit ball."""
    to_rim = (1.0 - x.square().sum(-1)) * (1.0 - y.square().sum(-1))
    return 2.0 * torch.asinh(euclidean(x, y) / to_rim.clamp(min=1e-300).sqrt())


def lorentz(x: Tensor, y: Tensor) -> Tensor:
    """Of the hyperboloid, time first: from half the chord, which keeps its digits where points are near."""
    square = (x - y).square()
    chord = (square[..., 1:].sum(-1) - square[..., 0]).clamp(min=0.0)
    return 2.0 * torch.asinh(0.5 * chord.sqrt())


def sphere(x: Tensor, y: Tensor) -> Tensor:
    """Of the unit sphere."""
    return 2.0 * torch.asin((0.5 * euclidean(x, y)).clamp(max=1.0))


def cosine(x: Tensor, y: Tensor) -> Tensor:
    return 1.0 - torch.cosine_similarity(x, y, dim=-1)


def wembed(x: Tensor, y: Tensor) -> Tensor:
    """WEmbed's: the distance over (w_x w_y)^(1/d), the weight of a node being its last number."""
    weights = x[..., -1] * y[..., -1]
    return euclidean(x[..., :-1], y[..., :-1]) / weights ** (1.0 / (x.shape[-1] - 1))


def table(values: Floats) -> Function:
    """Of a matrix [n, n]; a point is the position of its node."""
    known = torch.from_numpy(values)
    return lambda x, y: known[x[..., 0].long(), y[..., 0].long()]


FUNCTIONS: dict[str, Function] = {
    "euclidean": euclidean, "poincare": poincare, "lorentz": lorentz, "sphere": sphere, "cosine": cosine,
    "wembed": wembed,
}  # fmt: skip


class PeerSpace(Euclidean):
    """Coordinates with a dissimilarity of their own; the last coordinate is 1 of a node that has no place, else 0."""

    def __init__(self, function: Function, d: int) -> None:
        super().__init__(d + 1)
        self.function = function

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """[...]: ∞ where one of the nodes has no place."""
        placeless = (x[..., -1] + y[..., -1]) > 0.0
        return self.function(x[..., :-1], y[..., :-1]).masked_fill(placeless, torch.inf)


def placed(coordinates: Floats, function: Function) -> tuple[Tensor, Manifold]:
    """Points and their manifold; NaN coordinates are of a node without a place."""
    missing = ~np.isfinite(coordinates).all(1, keepdims=True)
    points = np.column_stack((np.where(missing, 0.0, coordinates), missing))
    return torch.from_numpy(points), PeerSpace(function, coordinates.shape[1])


def space_of(coordinates: Floats, dissimilarity: str, **numbers: float) -> tuple[Tensor, Manifold]:
    """What a peer wrote: its points, and the manifold by which they are measured. ``geometry`` is one of ours."""
    if dissimilarity == "geometry":
        flat = int(numbers["flat"])
        geometry = (
            Geometry(flat=flat) if flat else Geometry(int(numbers["p"]), int(numbers["q"]), None, numbers["beta"])
        )
        return torch.from_numpy(coordinates), geometry.manifold
    return placed(coordinates, FUNCTIONS[dissimilarity])
