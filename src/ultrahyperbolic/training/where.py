"""The geometry that a user's words name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..checks import as_integer, check_count
from ..geometry import Geometry, Product
from ..geometry.named import ProductGeometry
from ..options import Signature

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
    signature: Signature | None = None,
    product: str | Product | None = None,
    beta: float | None = None,
    old: Geometry | None = None,
) -> Geometry | Choice:
    """The geometry that a user's words name, or a choice; one named twice, or other than ``old``, is refused."""
    if signature is not None:
        if p is not None or q is not None or flat:
            raise ValueError("signature names the geometry: leave p, q and flat out")
        pair = signature_of(signature)
        if pair is not None and dim is not None:
            raise ValueError(f"signature {signature} gives the dimension, {sum(pair)}: leave dim out")
        (p, q), flat = pair or (None, None), pair is None
    if product is not None and (p is not None or q is not None or dim is not None or flat or beta not in (None, -1.0)):
        raise ValueError("product names the geometry, with beta as in 3,1@-4+flat2: leave the others out")
    if old is not None:
        _check_same(old, {"p": p, "q": q, "dim": dim, "flat": flat or None, "beta": beta, "product": product})
        return old
    if product is not None:
        return _product_of(product)
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


def signature_of(signature: Signature) -> tuple[int, int] | None:
    """(p, q) of a pair or of the text "p,q"; None for "flat".

    >>> signature_of("3,1"), signature_of((2, 2)), signature_of("flat")
    ((3, 1), (2, 2), None)
    """
    if isinstance(signature, str):
        if signature.strip().lower() == "flat":
            return None
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*", signature)
        pair: tuple[object, ...] = () if match is None else (int(match[1]), int(match[2]))
    else:
        pair = tuple(signature) if isinstance(signature, tuple | list) else ()
    if len(pair) != 2:
        raise ValueError(f"signature must be p,q, two whole numbers such as 3,1, or flat, got {signature!r}")
    return as_integer("p", pair[0]), as_integer("q", pair[1])


def _product_of(product: str | Product) -> Geometry:
    if isinstance(product, str):
        return ProductGeometry.of_text(product)
    if not isinstance(product, Product):
        raise TypeError(f"product must be a Product or text such as '3,1+flat2', got {product!r}")
    if product.learnable:
        raise ValueError("embed does not learn beta: give a product whose curvatures are fixed")
    return ProductGeometry.of_product(product)


def _check_same(old: Geometry, asked: dict[str, object]) -> None:
    """``ValueError`` unless what was asked for is the geometry of the earlier embedding."""
    has = {"p": old.p, "q": old.q, "dim": old.dim, "flat": old.is_flat, "beta": old.beta}
    for name, value in asked.items():
        if value is not None and (name == "product" or value != has[name]):
            raise ValueError(
                f"the earlier embedding is on {old}, and {name} = {value} is another geometry: "
                "leave the geometry out, or embed anew"
            )
