"""Which geometry: Q^{p,q}_β, R^d or a product of them as plain data, with its names, its JSON and
its distances.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..arrays import Floats
from ..checks import check_count, check_positive, format_number, is_number
from ..lazy import explained
from . import distances

if TYPE_CHECKING:
    from ..geometry import Manifold

Space: TypeAlias = "Manifold | Geometry"
"""A manifold, or the geometry of one where plain data will do."""
Plain = str | int | float | Sequence["Plain"] | Mapping[str, "Plain"]
# A factor: p,q with maybe @β, or flat and a dimension; and maybe * and a weight.
_FACTOR = re.compile(
    r"\s*(?:([0-9]{1,9})\s*,\s*([0-9]{1,9})(?:@(-[0-9.eE-]+))?|flat([0-9]{1,9}))(?:\*([0-9.eE-]+))?\s*"
)


class Quadric(NamedTuple):
    """{x : ‖s‖² - ‖t‖² = β}, time coordinates t first, or flat space: what compiled loops need to
    know.
    """

    time: int
    """How many coordinates are time; 0 in flat space."""
    beta: float
    """Negative; -1 in flat space, where it means nothing."""

    @property
    def radius(self) -> float:
        """√|β|."""
        return math.sqrt(-self.beta)


@dataclass(frozen=True)
class Geometry:
    """A pseudo-hyperboloid of p space and q further time dimensions, or flat space of dimension
    ``flat``.

    >>> Geometry.curved(3, 1).name, Geometry.of_flat(4).name
    ('Q^{3,1}', 'R^4')
    """

    p: int | None = None
    q: int | None = None
    flat: int | None = None
    beta: float = -1.0
    """Negative; -1 for flat space, where it has no meaning."""

    def __post_init__(self) -> None:
        if (self.p is None) != (self.q is None) or (self.p is None) == (self.flat is None):
            raise ValueError(
                f"a geometry has p and q, or is flat, got p={self.p}, q={self.q} and "
                f"flat={self.flat}"
            )
        if self.flat is not None and self.beta != -1.0:
            raise ValueError(
                "beta curves a manifold, and flat space has no curvature: leave it out, got "
                f"{self.beta}"
            )
        if not -math.inf < self.beta < 0:
            raise ValueError(f"beta must be finite and negative, got {self.beta}")
        for name, least in (("p", 0), ("q", 0), ("flat", 1)):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_count(name, value, least))
        if self.p == 0 and self.q == 0:
            raise ValueError(
                "the sum p + q must be at least 1, got p = 0 and q = 0: that would be isolated "
                "points"
            )

    @classmethod
    def curved(cls, p: int, q: int, beta: float = -1.0) -> Geometry:
        """Q^{p,q}_β."""
        return cls(p, q, None, beta)

    @classmethod
    def of_flat(cls, dim: int) -> Geometry:
        """R^dim."""
        return cls(None, None, check_count("dim", dim, 1))

    @classmethod
    def of_manifold(cls, manifold: Space) -> Geometry | None:
        """The geometry of a manifold; None unless it is a pseudo-hyperboloid or flat."""
        quadric = manifold.quadric
        if quadric is None:
            return None
        if quadric.time == 0:
            return cls(flat=manifold.dim)
        return cls(manifold.dim - quadric.time + 1, quadric.time - 1, None, quadric.beta)

    @property
    def is_flat(self) -> bool:
        """Whether it has no curvature."""
        return self.flat is not None

    @property
    def parts(self) -> tuple[Geometry, ...]:
        """The factors of a product; any other geometry is its only part."""
        return (self,)

    @property
    def space_dimensions(self) -> int:
        """p; the dimension of flat space."""
        return self.flat if self.flat is not None else self.p or 0

    @property
    def time_dimensions(self) -> int:
        """q + 1; 0 for flat space."""
        return 0 if self.flat is not None else (self.q or 0) + 1

    @property
    def dim(self) -> int:
        """Dimension of the manifold."""
        return sum(part.space_dimensions + max(0, part.time_dimensions - 1) for part in self.parts)

    @property
    def ambient_dim(self) -> int:
        """How many coordinates a point has."""
        return sum(part.space_dimensions + part.time_dimensions for part in self.parts)

    @property
    def radius(self) -> float:
        """√|β|; 1 for flat space, and for a product, whose factors have their own."""
        return math.sqrt(-self.beta)

    @property
    def quadric(self) -> Quadric | None:
        """As of its manifold; None of a product."""
        return Quadric(self.time_dimensions, self.beta)

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points: in hyperbolic, spherical and flat space
        alone.
        """
        return all(part.is_flat or part.time_dimensions == 1 or not part.p for part in self.parts)

    @property
    def manifold(self) -> Manifold:
        """A new manifold on which the points live, which loads torch."""
        try:
            from ..geometry import Euclidean, PseudoHyperboloid
        except ModuleNotFoundError as error:
            raise explained(error, "a manifold") from None
        if self.flat is not None:
            return Euclidean(self.flat)
        return PseudoHyperboloid(self.p or 0, self.q or 0, self.beta)

    def split(self, points: Floats) -> list[Floats]:
        """The coordinates of points [..., d] in each part."""
        return np.split(points, np.cumsum([part.ambient_dim for part in self.parts])[:-1], axis=-1)

    def holds(self, points: Floats) -> bool:
        """Whether points [n, d] are on it, as `Embedding` asks of them."""
        both = zip(self.parts, self.split(points), strict=True)
        return all(distances.hold(own, part.time_dimensions, -part.beta) for part, own in both)

    def distances(self, x: Floats, y: Floats) -> Floats:
        """D_γ of points x and y [..., d], by the manifold's formulas in numpy; on flat space the
        squared distance.
        """
        return distances.dissimilarities(x, y, self.time_dimensions, -self.beta)

    @property
    def has_cone(self) -> bool:
        """Whether there is a light cone: vectors of length 0 that lead from one point to
        another.
        """
        return any(part.p and part.q for part in self.parts)

    def _written(self, flat: str, curved: str, between: str) -> str:
        """The name of each part, by the form for its kind."""
        return between.join((flat if part.is_flat else curved).format(part) for part in self.parts)

    @property
    def name(self) -> str:
        """As TeX has it: Q^{3,1}, or R^4."""
        return self._written("R^{0.flat}", "Q^{{{0.p},{0.q}}}", " × ")

    @property
    def plain_name(self) -> str:
        """For terminals: Q^(3,1), or R^4."""
        return self._written("R^{0.flat}", "Q^({0.p},{0.q})", " x ")

    @property
    def file_name(self) -> str:
        """For names of files and keys: Q3_1, or R4."""
        return self._written("R{0.flat}", "Q{0.p}_{0.q}", "x")

    @property
    def markup(self) -> str:
        """For HTML."""
        return self._written("<i>R</i><sup>{0.flat}</sup>", "<i>Q</i><sup>{0.p},{0.q}</sup>", " × ")

    def __str__(self) -> str:
        return (
            self.plain_name
            if self.is_flat
            else f"{self.plain_name}, beta {format_number(self.beta)}"
        )

    @property
    def text(self) -> str:
        """As a factor of a product is written: 3,1 or 3,1@-4 or flat2."""
        if self.is_flat:
            return f"flat{self.flat}"
        return f"{self.p},{self.q}" + ("" if self.beta == -1.0 else f"@{format_number(self.beta)}")

    def to_json(self) -> dict[str, Plain]:
        """Plain data, as ``embedding.parquet`` keeps it."""
        if self.flat is not None:
            return {"kind": "flat", "dim": self.flat}
        return {"kind": "pseudo_hyperboloid", "p": self.p or 0, "q": self.q or 0, "beta": self.beta}

    @classmethod
    def from_json(cls, data: object) -> Geometry:
        """The reverse of `to_json`; ``ValueError`` where it is not that."""
        if not isinstance(data, Mapping):
            raise ValueError(f"no manifold: {data}")
        kind = data.get("kind")
        if kind == "product":
            factors, weights = data.get("factors"), data.get("weights")
            if not isinstance(factors, Sequence) or not isinstance(weights, Sequence):
                raise ValueError(
                    f"a product has factors and weights, got {factors!r} and {weights!r}"
                )
            for factor in factors:
                if not isinstance(factor, Mapping) or factor.get("kind") == "product":
                    raise ValueError(f"a factor of a product must be one geometry, got {factor!r}")
            return ProductGeometry(
                factors=tuple(map(Geometry.from_json, factors)), weights=tuple(weights)
            )
        given: Any = data  # is checked below
        try:
            if kind == "flat":
                return cls.of_flat(given.get("dim"))
            if kind == "pseudo_hyperboloid":
                if not is_number(given.get("beta")):
                    raise ValueError(f"beta must be a number, got {given.get('beta')!r}")
                return cls.curved(given.get("p"), given.get("q"), float(given["beta"]))
        except TypeError as error:
            raise ValueError(str(error)) from None
        raise ValueError(f"unknown manifold {kind!r}")


@dataclass(frozen=True)
class ProductGeometry(Geometry):
    """Geometries side by side: p, q and flat are theirs, not its own.

    >>> found = ProductGeometry.of_text("3,1 + 2,0@-4 + flat2*0.5")
    >>> found.text, found.name, found.dim
    ('3,1+2,0@-4+flat2*0.5', 'Q^{3,1} × Q^{2,0} × R^2', 8)
    """

    factors: tuple[Geometry, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.factors) != len(self.weights) or not self.factors:
            raise ValueError(
                f"a product has a weight for each factor, got {len(self.factors)} and "
                f"{self.weights}"
            )
        for weight in self.weights:
            check_positive("a weight of the product", weight)

    @classmethod
    def of_text(cls, text: str) -> ProductGeometry:
        """Of factors p,q or flat and a dimension, joined by +; @β and *weight may follow one."""
        factors, weights = [], []
        for part in text.split("+"):
            match = _FACTOR.fullmatch(part)
            try:
                if match is None:
                    raise ValueError
                p, q, beta, flat, weight = match.groups()
                factor = (
                    Geometry.of_flat(int(flat))
                    if flat
                    else Geometry.curved(int(p), int(q), float(beta or -1))
                )
                factors.append(factor)
                weights.append(float(weight or 1))
            except ValueError:
                raise ValueError(
                    "product must be factors joined by +, each p,q or flat and a dimension, such "
                    "as 3,1+2,0+flat2 "
                    f"(with 2,0@-4 for beta = -4), got {text!r}"
                ) from None
        return cls(factors=tuple(factors), weights=tuple(weights))

    @property
    def parts(self) -> tuple[Geometry, ...]:
        """The factors."""
        return self.factors

    @property
    def quadric(self) -> None:
        """None: it has one for each factor."""
        return None

    def distances(self, x: Floats, y: Floats) -> Floats:
        """√(Σ w_k D_k²) of points x and y [..., d]."""
        found = []
        for part, weight, a, b in zip(
            self.factors, self.weights, self.split(x), self.split(y), strict=True
        ):
            each = part.distances(a, b)
            found.append(weight * (each if part.is_flat else each**2))
        return np.asarray(np.sqrt(sum(found, np.zeros(()))))

    @property
    def manifold(self) -> Manifold:
        """A new manifold on which the points live, which loads torch."""
        try:
            from ..geometry import Product
        except ModuleNotFoundError as error:
            raise explained(error, "a manifold") from None
        return Product(*(factor.manifold for factor in self.factors), weights=self.weights)

    @property
    def text(self) -> str:
        """As `of_text` reads it."""
        weights = ("" if weight == 1.0 else f"*{format_number(weight)}" for weight in self.weights)
        return "+".join(
            factor.text + weight for factor, weight in zip(self.factors, weights, strict=True)
        )

    def __str__(self) -> str:
        plain = all(character not in self.text for character in "@*")
        return self.plain_name if plain else f"{self.plain_name} ({self.text})"

    def to_json(self) -> dict[str, Plain]:
        """Plain data, as ``embedding.parquet`` keeps it."""
        return {
            "kind": "product",
            "factors": [factor.to_json() for factor in self.factors],
            "weights": list(self.weights),
        }


def described(manifold: Space) -> Geometry | None:
    """The geometry of a manifold or of a product of them; None where it is neither."""
    if isinstance(manifold, Geometry):
        return manifold
    if (factors := factors_of(manifold)) is None:
        return Geometry.of_manifold(manifold)
    found = [
        geometry for factor in factors if (geometry := Geometry.of_manifold(factor)) is not None
    ]
    if len(found) < len(factors):
        return None
    return ProductGeometry(factors=tuple(found), weights=tuple(manifold.weights))  # type: ignore[arg-type]


def factors_of(space: Space) -> Sequence[Space] | None:
    """The factors of a product; None of what is none."""
    if isinstance(space, Geometry):
        return space.factors if isinstance(space, ProductGeometry) else None
    from ..geometry import Product

    return list(space._factors()) if isinstance(space, Product) else None


def manifold_of(space: Space) -> Manifold:
    """The manifold, made where a geometry is given."""
    return space.manifold if isinstance(space, Geometry) else space


class ManifoldField:
    """A field of a dataclass that is given a manifold, or a geometry whose manifold is made when it
    is asked for.

    What was given is the attribute ``space``.
    """

    def __get__(self, owner: object, kind: type | None = None) -> Manifold:
        if owner is None:
            raise AttributeError("it has no default")
        known = vars(owner)
        if "_manifold" not in known:
            known["_manifold"] = manifold_of(known["space"])
        made: Manifold = known["_manifold"]
        return made

    def __set__(self, owner: object, space: Space) -> None:
        vars(owner)["space"] = space


MANIFOLD = ManifoldField()
