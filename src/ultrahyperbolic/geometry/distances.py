"""How far apart two points are, as far as it follows from the logarithm and the scalar product."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..checks import check_count, check_positive
from .arguments import validate, validate_scalars
from .dissimilarity import smooth
from .functions import safe_sqrt
from .primitives import Primitives
from .words import Dissimilarity, check_dissimilarity, former_measure

_CDIST_ELEMENTS = 1 << 22


class Distances(Primitives):
    """Distances and dissimilarities of points [..., d], by name and for all pairs."""

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """Signed square of `dist`, ⟨log_x y, log_x y⟩: smooth across the light cone; NaN where no geodesic."""
        vector = self.logmap(x, y).vector
        return self.inner(vector, vector)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic between x and y; NaN where there is none."""
        return safe_sqrt(self.sqdist(x, y).abs())

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity that training uses, defined for all pairs; the distance where geodesics join them all."""
        return self.dist(x, y)

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic, or of a once-broken one where there is none."""
        return self.dist(x, y)

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """(σ² + ε²)^¼ - √ε with σ = ±d²: a dissimilarity with a finite slope on the light cone."""
        check_positive("epsilon", epsilon)
        return smooth(self.sqdist(x, y), epsilon)

    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """√|⟨x-y, x-y⟩|, the distance in the ambient space."""
        validate(self.ambient_dim, x=x, y=y)
        return safe_sqrt(self.inner(x - y, x - y).abs())

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points, so that `dist` is never NaN.

        Where it does not, `dissimilarity` must be defined in another way than by default.
        """
        return True

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity as the authors' scripts have it near a light cone; without a cone the dissimilarity."""
        return self.dissimilarity(x, y)

    def in_ball(self, x: Tensor, y: Tensor, radius: float | Tensor) -> Tensor:
        """Whether y lies in the ball {y : dist(x, y) < radius} around x (booleans [...]; False where no geodesic)."""
        length = self.dist(x, y)
        validate_scalars("radius", radius, x=x, y=y)
        if not isinstance(radius, Tensor) and radius != radius:
            raise ValueError(f"radius must not be NaN, got {radius}")
        return length < radius

    def pair_function(
        self, dissimilarity: Dissimilarity, epsilon: float | None = None
    ) -> Callable[[Tensor, Tensor], Tensor]:
        """The dissimilarity of a name as a function of points x and y; ``epsilon`` is of the smoothed one."""
        name = check_dissimilarity(dissimilarity)
        if name == "smoothed":
            return lambda x, y: self.smoothed_dissimilarity(x, y, *(() if epsilon is None else (epsilon,)))
        if epsilon is not None:
            raise ValueError(f"epsilon belongs to dissimilarity='smoothed', got dissimilarity={name!r}")
        functions: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
            "geodesic": self.dissimilarity,
            "broken": self.broken_dissimilarity,
            "cone-rule": self.cone_rule,
            "extrinsic": self.extrinsic_dist,
            "distance": self.dist,
        }
        return functions[name]

    def cdist(
        self,
        x: Tensor,
        y: Tensor | None = None,
        *,
        dissimilarity: Dissimilarity = "distance",
        block_rows: int | None = None,
        epsilon: float | None = None,
        measure: str | None = None,
    ) -> Tensor:
        """All pairs: x [n, d] and y [m, d] (x itself when omitted) to [n, m].

        ``dissimilarity`` names what to evaluate and ``epsilon`` is passed to the smoothed one. Rows of x are taken
        ``block_rows`` at a time (default: what keeps temporaries near 32 MiB in float64). ``measure`` is a former
        name of ``dissimilarity``.
        """
        y = x if y is None else y
        validate(self.ambient_dim, x=x)
        validate(self.ambient_dim, y=y)
        if x.dim() != 2 or y.dim() != 2:
            raise ValueError(f"cdist takes x [n, d] and y [m, d], got shapes {tuple(x.shape)} and {tuple(y.shape)}")
        if block_rows is not None:
            block_rows = check_count("block_rows", block_rows, 1)
        function = self.pair_function(former_measure(measure) if measure else dissimilarity, epsilon)
        rows = block_rows or max(1, _CDIST_ELEMENTS // max(1, y.numel()))
        blocks = [function(block[:, None, :], y[None, :, :]) for block in torch.split(x, rows)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)
