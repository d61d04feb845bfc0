"""The geometry that the options of ``embed`` name."""

from __future__ import annotations

import math
from typing import TypedDict

from .errors import Refused
from .options import parse_signature


class Where(TypedDict, total=False):
    """The geometry as `ultrahyperbolic.training.where.geometry_of` takes it."""

    p: int
    q: int
    dim: int
    flat: bool
    beta: float
    product: str


def geometry_named(
    signature: str | None,
    p: int | None,
    q: int | None,
    dim: int | None,
    beta: float | None,
    product: str | None,
    *,
    flat: bool,
) -> Where:
    """The geometry of --signature, --p and --q, --flat, --dim, --beta and --product; naming it twice is refused."""
    if (p is None) != (q is None):
        raise Refused("--p and --q go together: give both, or --signature")
    pair = None if p is None else f"{p},{q}"
    named = [text for text in (signature, pair, "flat" if flat else None) if text is not None]
    if len(named) + (product is not None) > 1:
        raise Refused("--signature, --p with --q, --flat and --product name the geometry: give one of them")
    if product is None:
        return _geometry(named[0] if named else None, dim, beta)
    if dim is not None or beta is not None:
        raise Refused("--product says the dimension, and beta as in 2,0@-4: leave --dim and --beta out")
    return Where(product=product)


def _geometry(signature: str | None, dim: int | None, beta: float | None) -> Where:
    found = Where()
    if dim is not None:
        found["dim"] = dim
    if signature is not None:
        pair = parse_signature(signature)
        if pair is not None and dim is not None:
            raise Refused(f"--signature {signature} says the dimension, {sum(pair)}: leave --dim out")
        if pair is None:
            found["flat"] = True
        else:
            found["p"], found["q"] = pair
    if beta is not None:
        if "flat" in found:
            raise Refused("--beta curves a manifold, and --signature flat has no curvature: leave it out")
        if not (math.isfinite(beta) and beta < 0):
            raise Refused(f"--beta {beta:g}: a finite number below 0 is needed, such as -1")
        found["beta"] = beta
    return found
