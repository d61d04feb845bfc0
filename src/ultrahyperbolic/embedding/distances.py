"""How far one node is from all others, by the formulas of ``geometry.separation`` in numpy: queries need no torch."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from ..arrays import Floats

# From ‖t‖‖t′‖ = 4|β| on two points are far from the pole.
_FAR = 4.0
_TOLERANCE = 1e-8


class PointSpace(NamedTuple):
    """Q^{p,q}_β or R^d, as far as distances need it; `space_of` finds it, or a product."""

    time: int  # q + 1; 0 of flat space
    ambient_dim: int
    scale: float = 1.0  # |β|; 1 of flat space

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The space that ``embedding.parquet`` names; ``ValueError`` where it names none."""
        if not isinstance(data, Mapping):
            raise ValueError(f"no manifold: {data}")
        kind = data.get("kind")
        if kind == "flat":
            return cls(0, _count(data, "dim", 1))
        if kind == "pseudo_hyperboloid":
            p, q, beta = _count(data, "p", 0), _count(data, "q", 0), data.get("beta")
            if not isinstance(beta, int | float) or isinstance(beta, bool) or not -math.inf < beta < 0:
                raise ValueError(f"beta must be finite and negative, got {beta!r}")
            return cls(q + 1, p + q + 1, float(-beta))
        raise ValueError(f"unknown manifold {kind!r}")

    def holds(self, points: Floats) -> bool:
        """Whether points [n, d] are on it, as `Embedding` asks of them."""
        if not np.isfinite(points).all():
            return False
        if self.time == 0:
            return True
        squares = points**2
        inner = squares[:, self.time :].sum(1) - squares[:, : self.time].sum(1)
        off = np.abs(inner + self.scale) > _TOLERANCE * np.maximum(squares.sum(1), self.scale)
        return not off.any() and (self.time > 1 or bool((points[:, 0] > 0).all()))

    def distances(self, x: Floats, points: Floats) -> Floats:
        """[n] D_γ (Eq. 9) of a point [d] to points [n, d]; on flat space the squared distance."""
        if self.time == 0:
            return np.asarray(((points - x) ** 2).sum(1))
        if self.time == 1:
            # w for q = 0: the chord of x and (x_0/y_0) y has no time part, so nothing cancels.
            ratio = x[0] / points[:, 0]
            angular = ((ratio[:, None] * points - x) ** 2).sum(1)
            angle = _hyperbolic_angle((angular + (1.0 - ratio) ** 2 * self.scale) / (4.0 * self.scale * ratio))
        else:
            w = self._w(x, points)
            near = 2.0 * np.arcsin(np.sqrt(np.maximum(-np.maximum(w, -0.5), 0.0)))
            angle = np.where(w >= -0.5, near + _hyperbolic_angle(np.maximum(w, 0.0)), math.pi / 2 - 1.0 - 2.0 * w)
        return angle * math.sqrt(self.scale)

    def _w(self, x: Floats, points: Floats) -> Floats:
        """w = (⟨x, y⟩/β - 1)/2 by the chord that loses the fewest digits."""
        time, scale = self.time, self.scale
        products = points * x
        total = products.sum(1)
        if self.ambient_dim == time:
            side = np.copysign(1.0, total)
            turn = ((side[:, None] * points - x) ** 2).sum(1) / (-2.0 * scale)
        else:
            dot = products[:, :time].sum(1)
            cosine = (total - 2.0 * dot) / -scale
            height, depth = np.linalg.norm(x[:time]), np.linalg.norm(points[:, :time], axis=1)
            room = height * depth
            side, close = np.copysign(1.0, dot), 2.0 * np.abs(dot) >= room
            stretch = np.where(room <= _FAR * scale, 1.0, height / depth)
            whole = np.minimum(np.round(stretch), 1.0)
            chord = (side * whole)[:, None] * points - x + (side * (stretch - whole))[:, None] * points
            squares = chord**2
            inner = squares.sum(1) - 2.0 * squares[:, :time].sum(1)
            turn = np.where(close, (inner / scale + (stretch - 1.0) ** 2) / (2.0 * stretch), side * cosine - 1.0)
        return np.asarray(np.where(side > 0, 0.5 * turn, -1.0 - 0.5 * turn))


class ProductSpace(NamedTuple):
    """A product: spaces side by side."""

    spaces: Sequence[PointSpace]
    weights: Sequence[float]

    @property
    def ambient_dim(self) -> int:
        """How many coordinates a point has."""
        return sum(space.ambient_dim for space in self.spaces)

    def _split(self, points: Floats) -> list[Floats]:
        return np.split(points, np.cumsum([space.ambient_dim for space in self.spaces])[:-1], axis=-1)

    def holds(self, points: Floats) -> bool:
        """Whether points [n, d] are on it."""
        return all(space.holds(own) for space, own in zip(self.spaces, self._split(points), strict=True))

    def distances(self, x: Floats, points: Floats) -> Floats:
        """[n] √(Σ w_k D_k²) of a point [d] to points [n, d]."""
        total = np.zeros(len(points))
        for space, weight, a, b in zip(self.spaces, self.weights, self._split(x), self._split(points), strict=True):
            found = space.distances(a, b)
            total += weight * (found if space.time == 0 else found**2)
        return np.sqrt(total)


def space_of(data: object) -> PointSpace | ProductSpace:
    """The space or the product that ``embedding.parquet`` names; ``ValueError`` where it names none."""
    if not isinstance(data, Mapping) or data.get("kind") != "product":
        return PointSpace.from_json(data)
    factors, weights = data.get("factors"), data.get("weights")
    if not isinstance(factors, Sequence) or not isinstance(weights, Sequence) or len(factors) != len(weights):
        raise ValueError("a product has a weight for each factor")
    if not factors or not all(isinstance(w, int | float) and 0 < w < math.inf for w in weights):
        raise ValueError(f"the weights of a product must be positive, got {weights!r}")
    return ProductSpace([PointSpace.from_json(factor) for factor in factors], [float(weight) for weight in weights])


def _hyperbolic_angle(w: Floats) -> Floats:
    """2 asinh √w for w >= 0, without cancellation."""
    return np.log1p(2.0 * (w + np.sqrt(np.maximum(w + w * w, 0.0))))


def _count(data: Mapping[str, object], name: str, least: int) -> int:
    value = data.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be at least {least}, and a whole number, got {value!r}")
    return value
