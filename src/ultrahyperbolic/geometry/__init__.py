"""The manifolds: pseudo-hyperboloids, pseudo-spheres and flat space, with one interface."""

from .arguments import Check
from .checked import checked
from .flat import Euclidean
from .manifold import Logarithm, Manifold
from .named import Geometry
from .pseudo_hyperboloid import PseudoHyperboloid
from .pseudo_sphere import PseudoSphere

__all__ = ["Check", "Euclidean", "Geometry", "Logarithm", "Manifold", "PseudoHyperboloid", "PseudoSphere", "checked"]
