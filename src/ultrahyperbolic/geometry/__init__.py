"""The manifolds: pseudo-hyperboloids, pseudo-spheres and flat space, with one interface."""

from .checked import checked
from .flat import Euclidean
from .manifold import Check, Logarithm, Manifold
from .pseudo_hyperboloid import PseudoHyperboloid
from .pseudo_sphere import PseudoSphere

__all__ = ["Check", "Euclidean", "Logarithm", "Manifold", "PseudoHyperboloid", "PseudoSphere", "checked"]
