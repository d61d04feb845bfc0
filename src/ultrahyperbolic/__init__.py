"""Geometry, optimisation and graph embedding on pseudo-hyperboloids."""

from . import optim
from .geometry import Check, Euclidean, Logarithm, Manifold, PseudoHyperboloid, PseudoSphere, checked
from .optim import MinimizeResult, minimize

__version__ = "0.1.0"
__all__ = [
    "Check",
    "Euclidean",
    "Logarithm",
    "Manifold",
    "MinimizeResult",
    "PseudoHyperboloid",
    "PseudoSphere",
    "checked",
    "minimize",
    "optim",
]
