"""A table of points on a manifold, looked up by number."""

from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..checks import check_count
from ..geometry import Manifold, ManifoldParameter
from ..geometry.manifold import require_manifold
from ..geometry.primitives import Spot


class ManifoldEmbedding(nn.Module):
    """``nn.Embedding`` on a manifold: numbers [...] to points [..., d].

    Its ``weight`` is a `ultrahyperbolic.ManifoldParameter`, so our optimisers keep the points on
    the manifold. With ``sparse=True`` a step moves the rows of the batch alone, with momentum and
    Adam too.

    Parameters
    ----------
    num : int
        How many points.
    manifold : Manifold
        Where they live. It is a submodule: ``.to`` moves it and ``state_dict`` holds its β.
    sparse : bool
        Whether the gradient of ``weight`` is sparse.
    scale : float
        The start: the origin, perturbed by at most ``scale`` times its radius.
    generator : torch.Generator or int, optional
        A generator or a seed for the start.
    dtype, device : optional
        Of the points; default: float64, on the CPU.

    Examples
    --------
    >>> import ultrahyperbolic as uh
    >>> nodes = ManifoldEmbedding(34, uh.PseudoHyperboloid(3, 1), generator=0)
    >>> nodes(torch.tensor([[0, 33], [5, 7]])).shape
    torch.Size([2, 2, 5])
    """

    weight: Tensor

    def __init__(
        self,
        num: int,
        manifold: Manifold,
        *,
        sparse: bool = False,
        scale: float = 0.1,
        generator: torch.Generator | int | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
    ) -> None:
        super().__init__()
        require_manifold(manifold)
        num = check_count("num", num, 1)
        at = Spot(dtype=dtype, device=device)
        start = manifold.random_near_pole(num, epsilon=scale, generator=generator, **at)
        self.manifold, self.sparse = manifold, sparse
        self.weight = ManifoldParameter(start, manifold)

    @classmethod
    def from_points(
        cls,
        points: Tensor,
        manifold: Manifold | None = None,
        *,
        sparse: bool = False,
        freeze: bool = False,
    ) -> Self:
        """A table of copies of points [n, d], which may carry their manifold."""
        if points.dim() != 2:
            raise ValueError(f"points must be [n, d], got shape {tuple(points.shape)}")
        place = manifold or getattr(points, "manifold", None)
        weight = ManifoldParameter(points.detach().clone(), place)
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        made.manifold, made.sparse = weight.manifold, sparse
        made.weight = weight.requires_grad_(not freeze)
        return made

    @classmethod
    def from_embedding(
        cls,
        embedding: Any,
        *,
        sparse: bool = False,
        freeze: bool = False,
        dtype: torch.dtype = torch.float64,
    ) -> Self:
        """The points of an `ultrahyperbolic.Embedding`, in the order of its ids."""
        points = torch.tensor(embedding.points, dtype=torch.float64).to(dtype)
        manifold = embedding.manifold
        return cls.from_points(manifold.phi(points), manifold, sparse=sparse, freeze=freeze)

    @property
    def num(self) -> int:
        """How many points there are."""
        return self.weight.shape[0]

    def forward(self, ids: Tensor) -> Tensor:
        """The points [..., d] of numbers [...]."""
        return functional.embedding(ids, self.weight, sparse=self.sparse)

    def extra_repr(self) -> str:
        """What ``repr`` shows beside the manifold."""
        return f"{self.num}, sparse=True" if self.sparse else str(self.num)
