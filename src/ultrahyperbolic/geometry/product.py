"""Products of manifolds: each factor has its own coordinates, side by side."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import cast

import torch
from torch import Tensor, nn

from ..checks import check_positive, format_number
from .arguments import Check, by_parts
from .flat import Euclidean
from .functions import safe_sqrt
from .manifold import Logarithm, Manifold, require_manifold


class Product(Manifold):
    """M_1 × M_2 × …: points are points of the factors side by side, and the metric is the sum of
    theirs.

    Geodesics, transport, projections and gradients are those of the factors. ``dist`` is the length
    in that metric, √|Σ ±d_k²|, in which parts of different sign cancel. ``dissimilarity``,
    ``broken_dissimilarity``, ``cone_rule`` and ``smoothed_dissimilarity`` do not: they are √(Σ w_k
    D_k²) with the factors' own D_k (‖x - y‖ where a factor is flat).

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
            raise ValueError(
                f"weights must be one for each of {len(manifolds)} manifolds, got {len(weights)}"
            )
        for k, weight in enumerate(weights or ()):
            check_positive(f"weights[{k}]", weight)
        self.weights = [1.0] * len(manifolds) if weights is None else list(map(float, weights))

    def extra_repr(self) -> str:
        """The weights, for ``repr``, unless all are 1."""
        weights = ", ".join(map(format_number, self.weights))
        return "" if set(self.weights) == {1.0} else f"weights=[{weights}]"

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

    _split = split

    def join(self, *parts: Tensor) -> Tensor:
        """Points or vectors of the factors, side by side; leading dimensions broadcast."""
        if len(parts) != len(self.sizes):
            count = len(self.sizes)
            raise ValueError(f"parts must be one for each of {count} factors, got {len(parts)}")
        shape = torch.broadcast_shapes(*(part.shape[:-1] for part in parts))  # type: ignore[no-untyped-call]
        return torch.cat([part.expand(*shape, part.shape[-1]) for part in parts], dim=-1)

    def _every(self, *found: Check) -> Check:
        """Whether every factor passes; the reason names the first that does not."""
        for k, (factor, check) in enumerate(zip(self._factors(), found, strict=True)):
            if not check.ok:
                start = sum(self.sizes[:k])
                columns = f"coordinates {start} to {start + factor.ambient_dim - 1}"
                reason = f"{check.reason} (factor {k}, {factor._label()}, {columns})"
                return Check(False, reason)
        return Check(True, "")

    def _logarithm(self, *logs: Logarithm) -> Logarithm:
        exists = torch.stack([log.exists for log in logs]).all(0)
        whole = self.join(*(log.vector for log in logs))
        return Logarithm(whole.where(exists.unsqueeze(-1), torch.nan), exists)

    def _where_all_exist(self, *parts: Tensor) -> Tensor:
        whole = self.join(*parts)
        return whole.where(~whole.isnan().any(-1, keepdim=True), torch.nan)

    def _both(self, *found: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        points, vectors = zip(*found, strict=True)
        return self.join(*points), self.join(*vectors)

    def _each_coordinate(self, *found: Tensor) -> Tensor:
        """The numbers of the factors, each for all coordinates of its factor."""
        return self.join(
            *(part.expand(*part.shape[:-1], d) for part, d in zip(found, self.sizes, strict=True))
        )

    def _combined(self, *lengths: Tensor, squares: bool = False) -> Tensor:
        """√(Σ w_k D_k²); with ``squares`` those of flat factors are D_k² already."""
        total: Tensor | float = 0.0
        for weight, factor, length in zip(self.weights, self._factors(), lengths, strict=True):
            known = squares and isinstance(factor, Euclidean)
            total = total + weight * (length if known else length.square())
        return safe_sqrt(cast("Tensor", total))

    @property
    def joins_all_pairs(self) -> bool:
        """Whether geodesics join all pairs of points in every factor."""
        return all(factor.joins_all_pairs for factor in self._factors())

    def follow_curvature(self, x: Tensor, before: Sequence[Tensor]) -> Tensor:
        """Each factor's points follow its own curvature."""
        left, moved = iter(before), []
        for factor, part in zip(self._factors(), self._split(x), strict=True):
            own = [next(left) for _ in factor.curvature_parameters()]
            moved.append(factor.follow_curvature(part, own))
        return self.join(*moved)

    inner = by_parts(Manifold.inner, lambda _, *found: torch.stack(found).sum(0), "Σ ⟨u_k, v_k⟩.")
    check_point = by_parts(Manifold.check_point, _every)
    check_tangent = by_parts(Manifold.check_tangent, _every)
    check_phi = by_parts(Manifold.check_phi, _every)
    check_projectable = by_parts(Manifold.check_projectable, _every)
    proju = by_parts(Manifold.proju, join)
    geodesic = by_parts(Manifold.geodesic, join)
    logmap = by_parts(Manifold.logmap, _logarithm)
    transp = by_parts(Manifold.transp, _where_all_exist)
    transp_follow_expmap = by_parts(Manifold.transp_follow_expmap, join)
    expmap_transp = by_parts(Manifold.expmap_transp, _both)
    retr = by_parts(Manifold.retr, join)
    retr_transp = by_parts(Manifold.retr_transp, _both)
    phi = by_parts(Manifold.phi, join)
    projx = by_parts(Manifold.projx, join)
    dissimilarity = by_parts(Manifold.dissimilarity, partial(_combined, squares=True))
    broken_dissimilarity = by_parts(Manifold.broken_dissimilarity, _combined)
    smoothed_dissimilarity = by_parts(Manifold.smoothed_dissimilarity, _combined)
    cone_rule = by_parts(Manifold.cone_rule, partial(_combined, squares=True))
    raise_index = by_parts(Manifold.raise_index, join)
    wick_rotation = by_parts(Manifold.wick_rotation, join)
    precondition_root = by_parts(Manifold.precondition_root, join)
    component_sqnorm = by_parts(Manifold.component_sqnorm, _each_coordinate)
    representable = by_parts(Manifold.representable, lambda _, *found: torch.stack(found).all(0))
    curvature_parameters = by_parts(
        Manifold.curvature_parameters, lambda _, *found: [*chain(*found)]
    )
    homothety_slopes = by_parts(Manifold.homothety_slopes, lambda _, *found: [*chain(*found)])
    origin = by_parts(Manifold.origin, join)
    random = by_parts(Manifold.random, join)
    random_near_pole = by_parts(Manifold.random_near_pole, join)
