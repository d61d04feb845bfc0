"""What a manifold must say of itself; everything else follows from it."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

import torch
from torch import Tensor, nn

from ..spaces import Quadric as Quadric
from .arguments import guarded

Size = int | Sequence[int]
Seed = torch.Generator | int | None
Device = torch.device | None


class Logarithm(NamedTuple):
    """What `Manifold.logmap` returns."""

    vector: Tensor
    """Tangent vectors [..., d]; NaN where no geodesic joins the points."""
    exists: Tensor
    """Booleans [...]: whether a geodesic joins the points."""


class Spot(TypedDict, total=False):
    """Of points that are made: their dtype (default: float64) and their device."""

    dtype: torch.dtype
    device: Device


class Primitives(nn.Module, ABC):
    """The seven methods that a manifold cannot do without, and its dimensions."""

    ambient_dim: int
    """How many coordinates a point has."""
    dim: int

    def __init_subclass__(cls) -> None:
        """Public methods, yours too, widen half precision under autocast and check shapes."""
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                own = name == "cdist" or name.startswith("assert_")  # which check otherwise
                setattr(cls, name, guarded(method, validates=not own))

    @abstractmethod
    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """Scalar product ⟨u, v⟩ of two ambient vectors, signed."""

    @abstractmethod
    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """Orthogonal projection of the ambient vector z onto the tangent space at x."""

    @abstractmethod
    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """The point at time t [...] on the geodesic that leaves x with velocity u."""

    @abstractmethod
    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """Logarithm map: the velocity of the geodesic from x to y, and whether there is one."""

    @abstractmethod
    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x along the geodesic to ``expmap(x, u)``."""

    @abstractmethod
    def phi(self, z: Tensor) -> Tensor:
        """A differentiable map of ambient vectors onto the manifold, which keeps its points."""

    @abstractmethod
    def origin(
        self, *size: Size, dtype: torch.dtype = torch.float64, device: Device = None
    ) -> Tensor:
        """The distinguished point, repeated to [*size, d]."""
