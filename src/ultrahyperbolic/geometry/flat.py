"""Flat space with the interface of the curved ones: the paper's baseline is one more manifold."""

import torch
from torch import Tensor

from ..checks import check_count
from .arguments import as_size, check_dtype, validate_scalars
from .manifold import Logarithm, Manifold
from .primitives import Device, Quadric, Size


class Euclidean(Manifold):
    """R^d with the dot product. Tangent vectors are ambient vectors and every projection is the
    identity.

    It has the methods of `PseudoHyperboloid`, of which it is the limit β → -∞, but for those that
    tell how a quadric lies in its ambient space: code written for the one runs on the other. What
    is returned is never an argument itself.

    ``dist`` is the Euclidean distance; ``dissimilarity`` is its **square**, which is what the
    paper's flat baseline minimises and sums.
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.dim = self.ambient_dim = check_count("d", d, 1)

    def extra_repr(self) -> str:
        """The parameters, for ``repr``."""
        return f"d={self.ambient_dim}"

    @property
    def quadric(self) -> Quadric | None:
        """No time, and -1 for the β that it does not have."""
        known = type(self) is Euclidean  # a subclass may measure differently
        return Quadric(0, -1.0) if known else None

    @property
    def sectional_curvature(self) -> Tensor:
        """0."""
        return torch.zeros((), dtype=torch.float64)

    mean_curvature = sectional_curvature

    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """u · v."""
        return (u * v).sum(-1, keepdim=keepdim)

    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """z."""
        return _fresh(z, x)

    precondition_root = proju

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """x + t u."""
        validate_scalars("t", t, x=x, u=u)
        return x + (t.to(u.dtype).unsqueeze(-1) if isinstance(t, Tensor) else t) * u

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """y - x, which always exists."""
        vector = y - x
        return Logarithm(vector, torch.ones_like(vector[..., 0], dtype=torch.bool))

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """v."""
        return _fresh(v, x, u)

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """‖x - y‖²."""
        return (x - y).square().sum(-1)

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """‖x - y‖², the paper's flat baseline."""
        return self.sqdist(x, y)

    def psi(self, x: Tensor) -> Tensor:
        """x: flat space needs no other coordinates."""
        return x.clone()

    def phi(self, z: Tensor) -> Tensor:
        """z."""
        return z.clone()

    psi_inverse = raise_index = phi

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """u."""
        return _fresh(u, x)

    def component_sqnorm(self, x: Tensor, u: Tensor) -> Tensor:
        """The square of each coordinate of u."""
        return u.square()

    def origin(
        self, *size: Size, dtype: torch.dtype = torch.float64, device: Device = None
    ) -> Tensor:
        """0, repeated to [*size, d]."""
        size = as_size(size)
        check_dtype(dtype)
        return torch.zeros(*size, self.ambient_dim, dtype=dtype, device=device)


def _fresh(vector: Tensor, *others: Tensor) -> Tensor:
    """A copy of the vector, broadcast against the others."""
    shape = torch.broadcast_shapes(vector.shape, *(other.shape for other in others))  # type: ignore[no-untyped-call]
    return vector.expand(shape).clone()
