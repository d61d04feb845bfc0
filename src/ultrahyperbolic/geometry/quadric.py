"""What the quadrics {x : ⟨x, x⟩ = β} share, be β negative or positive."""

from abc import abstractmethod

from torch import Tensor, nn

from ..checks import format_number
from . import membership
from .arguments import Check, as_constant, as_number
from .manifold import Manifold, default_tolerance


class CurvedQuadric(Manifold):
    """{x ∈ R^{p,q+1} : ⟨x, x⟩_q = β}; of two sheets the upper one."""

    p: int
    q: int

    @property
    @abstractmethod
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩."""

    @property
    @abstractmethod
    def _sheet(self) -> tuple[int, str] | None:
        """The coordinate that is positive on the upper sheet, and when there are two; None where there is one sheet."""

    def extra_repr(self) -> str:
        """The parameters, for ``repr``."""
        learnable = ", learnable=True" if self.learnable else ""
        return f"p={self.p}, q={self.q}, beta={format_number(self.beta.item())}{learnable}"

    def _label(self) -> str:
        """With β unless it is learned: then it is not what tells manifolds apart."""
        return f"{type(self).__name__}(p={self.p}, q={self.q}, learnable=True)" if self.learnable else super()._label()

    @property
    def sectional_curvature(self) -> Tensor:
        """1/β."""
        return 1.0 / self.beta

    @property
    def mean_curvature(self) -> Tensor:
        """|β|^(-1/2), with respect to the unit normal field -x/√|β|."""
        return self.beta.abs().rsqrt()

    def check_point(self, x: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """|⟨x, x⟩ - β| <= tolerance · ‖x‖² in every row, on the upper sheet of two (default 1e-10, float32 2e-5).

        Points so far out that rounding hides β fail too, unless ``tolerance`` is a tensor with one for each row.
        """
        tolerance = default_tolerance(x.dtype, tolerance)
        check = membership.all_finite(x=x)
        if check.ok:
            check = membership.on_quadric(x, self.inner(x, x), self.beta.item(), tolerance)
        if check.ok and self._sheet is not None:
            axis, case = self._sheet
            check = membership.on_sheet(x, axis, f"for {case} the manifold is the upper sheet")
        return check

    def check_tangent(self, x: Tensor, u: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """|⟨x, u⟩| <= tolerance · ‖x‖ ‖u‖ in every row (default 1e-10, float32 2e-5); x itself is not checked.

        What projecting a vector of the size of x leaves by rounding, 8 u ‖x‖², passes: it may be all there is of u.
        """
        tolerance = default_tolerance(x.dtype, tolerance)
        check = membership.all_finite(x=x, u=u)
        return membership.tangent(x, u, self.inner(x, u), tolerance) if check.ok else check

    def check_projectable(self, z: Tensor) -> Check:
        """Whether ⟨z, z⟩ has the sign of β in every row, as `projx` needs."""
        check = self.check_phi(z)
        return membership.rescalable(z, self.inner(z, z), self.beta.to(z)) if check.ok else check


def as_beta(beta: float | Tensor, learnable: bool) -> tuple[float, bool]:
    """β as a number, and whether it is learned: an ``nn.Parameter`` says so too."""
    if not isinstance(beta, nn.Parameter):
        return as_constant("beta", beta), learnable
    return as_number("beta", beta), learnable or beta.requires_grad
