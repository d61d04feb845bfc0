"""Products of manifolds: each factor has its own coordinates, side by side."""

from collections.abc import Callable, Iterator, Sequence
from typing import Unpack

import torch
from torch import Tensor, nn

from ..checks import check_positive, format_number
from .arguments import Check, as_generator, as_size, validate_scalars
from .flat import Euclidean
from .functions import safe_sqrt
from .manifold import Logarithm, Manifold, require_manifold
from .primitives import Device, Seed, Size, Spot


class Product(Manifold):
    """M_1 × M_2 × …: points are points of the factors side by side, and the metric is the sum of theirs.

    Geodesics, transport, projections and gradients are those of the factors. ``dist`` is the length in that metric,
    √|Σ ±d_k²|, in which parts of different sign cancel. ``dissimilarity``, ``broken_dissimilarity``, ``cone_rule`` and
    ``smoothed_dissimilarity`` do not: they are √(Σ w_k D_k²) with the factors' own D_k (‖x - y‖ where a factor is
    flat).

    Parameters
    ----------
    manifolds : Manifold
        The factors, at least one.
    weights : sequence of float, optional
        w_k, positive; all 1 by default. They weigh the dissimilarities, not the metric.

    Examples
    --------
    >>> from ultrahyperbolic import Euclidean, PseudoHyperboloid
    >>> M = Product(PseudoHyperboloid(3, 1), Euclidean(2), PseudoHyperboloid(0, 3))
    >>> M.dim, M.ambient_dim
    (9, 11)
    >>> [part.shape[-1] for part in M.split(M.random(5))]
    [5, 2, 4]
    """

    def __init__(self, *manifolds: Manifold, weights: Sequence[float] | None = None) -> None:
        super().__init__()
        if not manifolds:
            raise ValueError("a product needs at least one manifold")
        for k, manifold in enumerate(manifolds):
            require_manifold(manifold, f"manifolds[{k}]")
        self.factors = nn.ModuleList(manifolds)
        self.sizes = [manifold.ambient_dim for manifold in manifolds]
        self.dim, self.ambient_dim = sum(manifold.dim for manifold in manifolds), sum(self.sizes)
        if weights is not None and len(weights) != len(manifolds):
            raise ValueError(f"weights must be one for each of {len(manifolds)} manifolds, got {len(weights)}")
        for k, weight in enumerate(weights or ()):
            check_positive(f"weights[{k}]", weight)
        self.weights = [1.0] * len(manifolds) if weights is None else [float(weight) for weight in weights]

    def extra_repr(self) -> str:
        """The weights, for ``repr``, unless all are 1."""
        return "" if set(self.weights) == {1.0} else f"weights=[{', '.join(map(format_number, self.weights))}]"

    def __repr__(self) -> str:
        return self._label()

    def _label(self) -> str:
        parts = [*(factor._label() for factor in self._factors()), self.extra_repr()]
        return f"Product({', '.join(filter(None, parts))})"

    def _factors(self) -> Iterator[Manifold]:
        return iter(self.factors)  # type: ignore[arg-type]

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        """The coordinates of each factor, as views."""
        return torch.split(x, self.sizes, dim=-1)

    def join(self, *parts: Tensor) -> Tensor:
        """Points or vectors of the factors, side by side; leading dimensions broadcast."""
        if len(parts) != len(self.sizes):
            raise ValueError(f"parts must be one for each of {len(self.sizes)} factors, got {len(parts)}")
        shape = torch.broadcast_shapes(*(part.shape[:-1] for part in parts))  # type: ignore[no-untyped-call]
        return torch.cat([part.expand(*shape, part.shape[-1]) for part in parts], dim=-1)

    def _parts(self, **tensors: Tensor) -> Iterator[tuple[Manifold, list[Tensor]]]:
        """Each factor with its coordinates of every tensor."""
        pieces = [torch.split(tensor, self.sizes, dim=-1) for tensor in tensors.values()]
        return ((factor, list(own)) for factor, *own in zip(self._factors(), *pieces, strict=True))

    def _each(self, method: str, **tensors: Tensor) -> Tensor:
        """A method of every factor on its coordinates, side by side."""
        return self.join(*(getattr(factor, method)(*own) for factor, own in self._parts(**tensors)))

    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """Σ ⟨u_k, v_k⟩."""
        products = [factor.inner(a, b, keepdim=keepdim) for factor, (a, b) in self._parts(u=u, v=v)]
        return torch.stack(products).sum(0)

    @property
    def joins_all_pairs(self) -> bool:
        """Whether geodesics join all pairs of points in every factor."""
        return all(factor.joins_all_pairs for factor in self._factors())

    def _check(self, check: Callable[[Manifold, list[Tensor]], Check], **tensors: Tensor) -> Check:
        start = 0
        for k, (factor, own) in enumerate(self._parts(**tensors)):
            found = check(factor, own)
            if not found.ok:
                where = f"factor {k}, {factor._label()}, coordinates {start} to {start + factor.ambient_dim - 1}"
                return Check(False, f"{found.reason} ({where})")
            start += factor.ambient_dim
        return Check(True, "")

    def check_point(self, x: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """Whether every row's parts are points of the factors; the reason names the factor."""
        return self._check(lambda factor, own: factor.check_point(*own, tolerance=tolerance), x=x)

    def check_tangent(self, x: Tensor, u: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """Whether every row's parts are tangent; the reason names the factor."""
        return self._check(lambda factor, own: factor.check_tangent(*own, tolerance=tolerance), x=x, u=u)

    def check_phi(self, z: Tensor) -> Check:
        """Whether the factors' φ is defined at every row."""
        return self._check(lambda factor, own: factor.check_phi(*own), z=z)

    def check_projectable(self, z: Tensor) -> Check:
        """Whether the factors' projx maps every row."""
        return self._check(lambda factor, own: factor.check_projectable(*own), z=z)

    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """The factors' projections."""
        return self._each("proju", x=x, z=z)

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """The factors' geodesics at the same time t [...]."""
        validate_scalars("t", t, x=x, u=u)
        return self.join(*(factor.geodesic(a, b, t) for factor, (a, b) in self._parts(x=x, u=u)))

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """The factors' logarithms; it exists where all of them do, and is NaN in all coordinates elsewhere."""
        logs = [factor.logmap(*own) for factor, own in self._parts(x=x, y=y)]
        exists = torch.stack([log.exists for log in logs]).all(0)
        return Logarithm(self.join(*(log.vector for log in logs)).where(exists.unsqueeze(-1), torch.nan), exists)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """The factors' transports; NaN where a geodesic is missing."""
        carried = self._each("transp", x=x, y=y, v=v)
        return carried if self.joins_all_pairs else carried.where(~carried.isnan().any(-1, keepdim=True), torch.nan)

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """The factors' transports along their geodesics."""
        return self._each("transp_follow_expmap", x=x, u=u, v=v)

    def expmap_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """``expmap(x, u)`` and v carried along."""
        pairs = [factor.expmap_transp(*own) for factor, own in self._parts(x=x, u=u, v=v)]
        return self.join(*(point for point, _ in pairs)), self.join(*(carried for _, carried in pairs))

    def phi(self, z: Tensor) -> Tensor:
        """The factors' φ."""
        return self._each("phi", z=z)

    def projx(self, z: Tensor) -> Tensor:
        """The factors' projections onto them."""
        return self._each("projx", z=z)

    def _combined(self, name: str, x: Tensor, y: Tensor, *options: float) -> Tensor:
        """√(Σ w_k D_k²) of a dissimilarity of the factors; flat ones have the distance, not its square."""
        total: Tensor | None = None
        for weight, (factor, own) in zip(self.weights, self._parts(x=x, y=y), strict=True):
            flat = isinstance(factor, Euclidean) and not options
            square = factor.sqdist(*own) if flat else getattr(factor, name)(*own, *options).square()
            square = square if weight == 1.0 else weight * square
            total = square if total is None else total + square
        assert total is not None
        return safe_sqrt(total)

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """√(Σ w_k D_k²) of the factors' D_γ."""
        return self._combined("dissimilarity", x, y)

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """√(Σ w_k D_k²) of the factors' broken geodesics."""
        return self._combined("broken_dissimilarity", x, y)

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """√(Σ w_k D_k²) of the factors' smoothed dissimilarities."""
        check_positive("epsilon", epsilon)
        return self._combined("smoothed_dissimilarity", x, y, epsilon)

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """√(Σ w_k D_k²) of what the authors' scripts have."""
        return self._combined("cone_rule", x, y)

    def raise_index(self, z: Tensor) -> Tensor:
        """The factors' G⁻¹ z."""
        return self._each("raise_index", z=z)

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """The factors' sgn(P_x) u."""
        return self._each("wick_rotation", x=x, u=u)

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """The factors' |P_x|^½ z."""
        return self._each("precondition_root", x=x, z=z)

    def curvature_parameters(self) -> list[nn.Parameter]:
        """Those of the factors, in order."""
        return [parameter for factor in self._factors() for parameter in factor.curvature_parameters()]

    def homothety_slopes(self, x: Tensor, gradient: Tensor) -> list[Tensor]:
        """Those of the factors, in order."""
        parts = self._parts(x=x, gradient=gradient)
        return [slope for factor, own in parts for slope in factor.homothety_slopes(*own)]

    def follow_curvature(self, x: Tensor, before: Sequence[Tensor]) -> Tensor:
        """Each factor's points follow its own curvature."""
        left, moved = list(before), []
        for factor, (own,) in self._parts(x=x):
            count = len(factor.curvature_parameters())
            moved.append(factor.follow_curvature(own, left[:count]))
            left = left[count:]
        return self.join(*moved)

    def origin(self, *size: Size, dtype: torch.dtype = torch.float64, device: Device = None) -> Tensor:
        """The factors' origins, repeated to [*size, d]."""
        sizes = as_size(size)
        return self.join(*(factor.origin(*sizes, dtype=dtype, device=device) for factor in self._factors()))

    def random(self, *size: Size, scale: float = 1.0, generator: Seed = None, **at: Unpack[Spot]) -> Tensor:
        """Random points of the factors, one factor after the other."""
        sizes, seed = as_size(size), as_generator(generator)
        return self.join(*(factor.random(*sizes, scale=scale, generator=seed, **at) for factor in self._factors()))

    def random_near_pole(
        self, *size: Size, epsilon: float = 0.1, generator: Seed = None, perturb_first: bool = True, **at: Unpack[Spot]
    ) -> Tensor:
        """Points near the poles of the factors, ε relative to each one's radius."""
        sizes, seed = as_size(size), as_generator(generator)
        near = [
            factor.random_near_pole(*sizes, epsilon=epsilon, generator=seed, perturb_first=perturb_first, **at)
            for factor in self._factors()
        ]
        return self.join(*near)
