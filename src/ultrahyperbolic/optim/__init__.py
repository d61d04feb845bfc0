"""Descent on manifolds: one step, two optimisers, a line search, φ, and one call for any function."""

from .descent import DescentSettings, DescentState, descent_step
from .line_search import LineSearch, armijo
from .minimize import MinimizeResult, minimize
from .optimizers import PseudoRiemannianAdam, PseudoRiemannianSGD
from .parametrization import OntoManifold, optimize_through_phi

__all__ = [
    "DescentSettings",
    "DescentState",
    "LineSearch",
    "MinimizeResult",
    "OntoManifold",
    "PseudoRiemannianAdam",
    "PseudoRiemannianSGD",
    "armijo",
    "descent_step",
    "minimize",
    "optimize_through_phi",
]
