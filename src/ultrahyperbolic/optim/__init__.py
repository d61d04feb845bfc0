"""Descent on manifolds: one step, optimisers, a line search, and one call for any function."""

from .descent import (
    DescentSettings,
    DescentState,
    Direction,
    descent_step,
    gram_schmidt_direction,
    orthonormal_basis,
)
from .minimize import LineSearch, MinimizeResult, armijo, mean, minimize
from .optimizers import (
    OntoManifold,
    PseudoRiemannianAdam,
    PseudoRiemannianSGD,
    optimize_through_phi,
)

__all__ = [
    "DescentSettings",
    "DescentState",
    "Direction",
    "LineSearch",
    "MinimizeResult",
    "OntoManifold",
    "PseudoRiemannianAdam",
    "PseudoRiemannianSGD",
    "armijo",
    "descent_step",
    "gram_schmidt_direction",
    "mean",
    "minimize",
    "optimize_through_phi",
    "orthonormal_basis",
]
