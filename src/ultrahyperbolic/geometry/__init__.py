"""Pseudo-hyperboloids, pseudo-spheres, flat space and their products, with one interface."""

from torch import nn, serialization

from ..spaces import Geometry
from .arguments import Check
from .flat import Euclidean
from .manifold import Logarithm, Manifold
from .parameter import ManifoldParameter, ManifoldTensor, rebuild
from .product import Product
from .pseudo_hyperboloid import PseudoHyperboloid, lorentz_to_poincare, poincare_to_lorentz
from .pseudo_sphere import PseudoSphere

__all__ = [
    "Check",
    "Euclidean",
    "Geometry",
    "Logarithm",
    "Manifold",
    "ManifoldParameter",
    "ManifoldTensor",
    "Product",
    "PseudoHyperboloid",
    "PseudoSphere",
    "lorentz_to_poincare",
    "poincare_to_lorentz",
]

# What torch.load with weights_only=True may build: our manifolds, and tensors on them.
serialization.add_safe_globals(
    [rebuild, Euclidean, Product, PseudoHyperboloid, PseudoSphere, nn.ModuleList]
)
