"""Which geometry: Q^{p,q}_β or R^d as plain data, with its names, its JSON and its distances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..arrays import Floats
from ..checks import check_count, format_number, is_number
from ..lazy import explained
from . import distances

if TYPE_CHECKING:
    from ..geometry import Manifold

Space: TypeAlias = "Manifold | Geometry"
"""A manifold, or the geometry of one where plain data will do."""
Plain = str | int | float | Sequence["Plain"] | Mapping[str, "Plain"]


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
        return self.space_dimensions + max(0, self.time_dimensions - 1)

    @property
    def ambient_dim(self) -> int:
        """How many coordinates a point has."""
        return self.space_dimensions + self.time_dimensions

    @property
    def radius(self) -> float:
        """√|β|; 1 for flat space."""
        return math.sqrt(-self.beta)

    @property
    def quadric(self) -> Quadric:
        """As of its manifold."""
        return Quadric(self.time_dimensions, self.beta)

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points: in hyperbolic, spherical and flat space
        alone.
        """
        return self.is_flat or self.time_dimensions == 1 or not self.p

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

    def holds(self, points: Floats) -> bool:
        """Whether points [n, d] are on it, as `Embedding` asks of them."""
        return distances.hold(points, self.time_dimensions, -self.beta)

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
        return bool(self.p and self.q)

    def _written(self, flat: str, curved: str) -> str:
        """The name by the form for its kind."""
        return (flat if self.is_flat else curved).format(self)

    @property
    def name(self) -> str:
        """As TeX has it: Q^{3,1}, or R^4."""
        return self._written("R^{0.flat}", "Q^{{{0.p},{0.q}}}")

    @property
    def plain_name(self) -> str:
        """For terminals: Q^(3,1), or R^4."""
        return self._written("R^{0.flat}", "Q^({0.p},{0.q})")

    @property
    def file_name(self) -> str:
        """For names of files and keys: Q3_1, or R4."""
        return self._written("R{0.flat}", "Q{0.p}_{0.q}")

    @property
    def markup(self) -> str:
        """For HTML."""
        return self._written("<i>R</i><sup>{0.flat}</sup>", "<i>Q</i><sup>{0.p},{0.q}</sup>")

    def __str__(self) -> str:
        return (
            self.plain_name
            if self.is_flat
            else f"{self.plain_name}, beta {format_number(self.beta)}"
        )

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
            raise ValueError("products of geometries cannot be loaded: embed in one geometry")
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


def described(manifold: Space) -> Geometry | None:
    """The geometry of a manifold; None where it is neither a pseudo-hyperboloid nor flat space."""
    return manifold if isinstance(manifold, Geometry) else Geometry.of_manifold(manifold)


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
