"""Layers between manifolds, as torch modules."""

from .graph import PseudoGraphConv, normalized_edges
from .linear import PseudoActivation, PseudoLinear
from .quotient import quotient_dist, representative

__all__ = [
    "PseudoActivation",
    "PseudoGraphConv",
    "PseudoLinear",
    "normalized_edges",
    "quotient_dist",
    "representative",
]
