"""Which geometry: Q^{p,q}_β or R^d as plain data, with its manifold, its names and its JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..checks import check_count, format_number
from .flat import Euclidean
from .manifold import Manifold
from .pseudo_hyperboloid import PseudoHyperboloid


@dataclass(frozen=True)
class Geometry:
    """A pseudo-hyperboloid of p space and q further time dimensions, or flat space of dimension ``flat``.

    >>> Geometry.curved(3, 1).name, Geometry.of_flat(4).name
    ('Q^{3,1}', 'R^4')
    """

    p: int | None = None
    q: int | None = None
    flat: int | None = None
    beta: float = -1.0
    """Negative; of flat space it says nothing, and is -1."""

    def __post_init__(self) -> None:
        if (self.p is None) != (self.q is None) or (self.p is None) == (self.flat is None):
            raise ValueError(f"a geometry has p and q, or is flat, got p={self.p}, q={self.q} and flat={self.flat}")
        if not -math.inf < self.beta < 0:
            raise ValueError(f"beta must be finite and negative, got {self.beta}")

    @classmethod
    def curved(cls, p: int, q: int, beta: float = -1.0) -> Geometry:
        """Q^{p,q}_β."""
        return cls(check_count("p", p, 0), check_count("q", q, 0), None, beta)

    @classmethod
    def of_flat(cls, dim: int) -> Geometry:
        """R^dim."""
        return cls(None, None, check_count("dim", dim, 1))

    @classmethod
    def of_manifold(cls, manifold: Manifold) -> Geometry | None:
        """The geometry of a manifold; None of one that is neither a pseudo-hyperboloid nor flat."""
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
        """q + 1; 0 of flat space."""
        return 0 if self.flat is not None else (self.q or 0) + 1

    @property
    def dim(self) -> int:
        """Dimension of the manifold."""
        return self.flat if self.flat is not None else (self.p or 0) + (self.q or 0)

    @property
    def ambient_dim(self) -> int:
        """How many coordinates a point has."""
        return self.dim if self.is_flat else self.dim + 1

    @property
    def radius(self) -> float:
        """√|β|; 1 of flat space."""
        return 1.0 if self.is_flat else math.sqrt(-self.beta)

    @property
    def has_cone(self) -> bool:
        """Whether there is a light cone: vectors of length 0 that lead from one point to another."""
        return bool(self.p) and bool(self.q)

    @property
    def manifold(self) -> Manifold:
        """Where the points live, made anew."""
        if self.flat is not None:
            return Euclidean(self.flat)
        return PseudoHyperboloid(self.p or 0, self.q or 0, self.beta)

    @property
    def name(self) -> str:
        """As TeX has it: Q^{3,1}, or R^4."""
        return f"R^{self.flat}" if self.is_flat else f"Q^{{{self.p},{self.q}}}"

    @property
    def plain_name(self) -> str:
        """For terminals: Q^(3,1), or R^4."""
        return f"R^{self.flat}" if self.is_flat else f"Q^({self.p},{self.q})"

    @property
    def file_name(self) -> str:
        """For names of files and keys: Q3_1, or R4."""
        return f"R{self.flat}" if self.is_flat else f"Q{self.p}_{self.q}"

    @property
    def markup(self) -> str:
        """For HTML."""
        return f"<i>R</i><sup>{self.flat}</sup>" if self.is_flat else f"<i>Q</i><sup>{self.p},{self.q}</sup>"

    def __str__(self) -> str:
        return self.plain_name if self.is_flat else f"{self.plain_name}, beta {format_number(self.beta)}"

    def to_json(self) -> dict[str, str | int | float]:
        """Plain data, as ``embedding.parquet`` keeps it."""
        if self.flat is not None:
            return {"kind": "flat", "dim": self.flat}
        return {"kind": "pseudo_hyperboloid", "p": self.p or 0, "q": self.q or 0, "beta": self.beta}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Geometry:
        """The reverse of `to_json`; ``ValueError`` where it is not that."""
        kind = data.get("kind")
        if kind == "flat":
            return cls.of_flat(_integer(data, "dim"))
        if kind == "pseudo_hyperboloid":
            beta = data.get("beta")
            if not isinstance(beta, int | float) or isinstance(beta, bool):
                raise ValueError(f"beta must be a number, got {beta!r}")
            return cls.curved(_integer(data, "p"), _integer(data, "q"), beta)
        raise ValueError(f"unknown manifold {kind!r}")


def _integer(data: Mapping[str, object], name: str) -> int:
    value = data.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    return value
