"""The geometry that a user's words name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..checks import check_count
from ..geometry import Geometry, Product
from ..geometry.named import ProductGeometry

DEFAULT = Geometry(3, 3)
FLAT_DIMENSION = 4


@dataclass(frozen=True)
class Choice:
    """Geometries of which one is to be chosen."""

    geometries: tuple[Geometry, ...]

    @classmethod
    def of(cls, dim: int | Iterable[int], beta: float = -1.0) -> Choice:
        """Flat space and every signature, from hyperbolic to spherical, of a dimension or of several."""
        found: list[Geometry] = []
        for given in dim if isinstance(dim, Iterable) else (dim,):
            d = check_count("dim", given, 1)
            found += [Geometry(flat=d), *(Geometry(p, d - p, None, beta) for p in range(d, -1, -1))]
        if not found:
            raise ValueError(f"dim must be one dimension or several, got {dim!r}")
        return cls(tuple(dict.fromkeys(found)))


def geometry_of(
    p: int | None = None,
    q: int | None = None,
    dim: int | None = None,
    *,
    flat: bool = False,
    beta: float | None = None,
    product: str | Product | None = None,
) -> Geometry | Choice:
    """The geometry that a user's words name, or those to choose one of."""
    if product is not None:
        if p is not None or q is not None or dim is not None or flat or beta not in (None, DEFAULT.beta):
            raise ValueError("product names the geometry, with beta as in 3,1@-4+flat2: leave the others out")
        if isinstance(product, str):
            return ProductGeometry.of_text(product)
        if not isinstance(product, Product):
            raise TypeError(f"product must be a Product or text such as '3,1+flat2', got {product!r}")
        if product.learnable:
            raise ValueError("embed does not learn beta: give a product whose curvatures are fixed")
        return ProductGeometry.of_product(product)
    if (p is None) != (q is None):
        raise ValueError(f"p and q go together, got p = {p} and q = {q}")
    if p is not None and (dim is not None or flat):
        raise ValueError("name a signature p, q, or a dimension dim (with flat), not both")
    curvature = -1.0 if beta is None else beta
    if flat:
        if curvature != DEFAULT.beta:
            raise ValueError(f"beta curves a manifold, and flat space has no curvature: leave it out, got {curvature}")
        return Geometry(flat=FLAT_DIMENSION if dim is None else check_count("dim", dim, 1))
    if dim is not None:
        return Choice.of(dim, curvature)
    return replace(DEFAULT, beta=curvature) if p is None else Geometry(p, q, None, curvature)
