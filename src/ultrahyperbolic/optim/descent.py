"""One step of descent: the only place where a gradient becomes a move, and the directions it may take."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from ..checks import check_choice, check_fraction, check_positive
from ..geometry import Manifold
from ..geometry.arguments import validate
from ..geometry.manifold import require_manifold


def orthonormal_basis(manifold: Manifold, x: Tensor, start: Tensor | None = None) -> Tensor:
    """Bases [..., m, d] of the tangent spaces at x [..., d], m their dimension, with ⟨e_i, e_j⟩ = ±δ_ij.

    Modified Gram–Schmidt on the projections of ambient vectors ``start`` [..., m, d]: each finished vector is taken out
    of all that remain, at every point at once. Nothing prevents ⟨v, v⟩ from coming near 0 when its turn comes to divide
    by it, for the metric is indefinite; the coordinate axes in the default order have no such vector, see
    `safe_axes`.
    """
    basis = manifold.proju(x.unsqueeze(-2), safe_axes(manifold, x) if start is None else start)
    signs = manifold.raise_index(x.new_ones(manifold.ambient_dim))  # the metric's diagonal, ±1
    for k in range(basis.shape[-2]):
        vector = basis[..., k, :]
        square = (vector.square() * signs).sum(-1, keepdim=True)
        vector /= square.abs().sqrt()
        # The coefficient of e_k is the product with ε_k G e_k. Elementwise, because batched matrix–vector products pay
        # for a call at each point: they are slower up to d = 64 and save about a third beyond.
        dual = (signs * vector * square.sign()).unsqueeze(-2)
        coefficients = (basis[..., k + 1 :, :] * dual).sum(-1, keepdim=True)
        basis[..., k + 1 :, :].addcmul_(coefficients, vector.unsqueeze(-2), value=-1.0)
    return basis


def gram_schmidt_direction(manifold: Manifold, x: Tensor, u: Tensor, start: Tensor | None = None) -> Tensor:
    """ζ = Σ ⟨u, e_i⟩ e_i of a tangent vector u [..., d], the basis made by `orthonormal_basis`.

    For u = Df it ascends, ⟨Df, ζ⟩ = Σ ⟨Df, e_i⟩², and costs O(d³). It depends on the basis only through the space that
    its space-like vectors span: the default's is that of the surrogate direction, which is ζ in closed form.
    """
    basis = orthonormal_basis(manifold, x, start)
    return (manifold.inner(u.unsqueeze(-2), basis, keepdim=True) * basis).sum(-2)


def safe_axes(manifold: Manifold, x: Tensor) -> Tensor:
    """Coordinate axes [..., m, d] from which Gram–Schmidt meets no null vector at x [..., d].

    First those whose sign in the metric is not that of the normal: their projections span a definite space. What is
    left of the others is definite too, and one of them is superfluous: the axis nearest the normal. The normal is the
    normal part of x, as on quadrics ⟨x, x⟩ = β and their products with flat space.
    """
    if manifold.dim < manifold.ambient_dim - 1:
        raise ValueError(
            f"Gram–Schmidt starts from axes that are known for one normal direction alone, got dimension "
            f"{manifold.dim} in {manifold.ambient_dim} coordinates: pass start, or use direction 'surrogate'"
        )
    signs = manifold.raise_index(x.new_ones(manifold.ambient_dim))  # the metric's diagonal, ±1
    other = signs != manifold.sqnorm(manifold.origin(dtype=x.dtype, device=x.device)).sign()
    # By rising rank: the axes of the other sign, then by the normal's |n_k|; the last is left out where there is one.
    rank = torch.where(other, -1.0, (x - manifold.proju(x, x)).abs())
    order = rank.argsort(dim=-1, stable=True)[..., : manifold.dim]
    return torch.eye(manifold.ambient_dim, dtype=x.dtype, device=x.device)[order]


Direction = Literal["descent", "surrogate", "gram-schmidt", "gradient", "signed-gradient"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
# Those whose negative descends wherever Df is not 0; and those that descend under any positive scaling of coordinates.
DESCENDING: tuple[Direction, ...] = ("descent", "surrogate", "gram-schmidt")
SCALABLE: tuple[Direction, ...] = ("descent", "surrogate")


@dataclass(frozen=True)
class DescentSettings:
    """How a gradient becomes a move. Lengths are Euclidean norms of tangent vectors, one for each point."""

    manifold: Manifold
    lr: float | Tensor
    """Step size η; a tensor must broadcast against the points [..., d], and its values are not read here."""
    direction: Direction = "descent"
    """``"descent"`` for χ = P_x² ∇f; ``"surrogate"`` for |P_x| ∇f, which is stretched less far from the pole;
    ``"gram-schmidt"`` for Σ ⟨Df, e_i⟩ e_i over an orthonormal basis, for comparison. Two more do not descend in
    general: ``"gradient"`` for the pseudo-Riemannian gradient Df, and ``"signed-gradient"`` for Df or -Df, whichever
    ascends, which stops where ⟨Df, Df⟩ = 0."""
    momentum: float = 0.0
    """Heavy-ball factor, or with a second moment the decay of the gradient's running mean (Adam's first beta)."""
    second_moment: float | None = None
    """Decay of the running mean of squared gradient coordinates (Adam's second beta); ``None`` for plain descent."""
    eps: float = 1e-8
    """Added to the root of the second moment."""
    max_step: float | None = None
    """Longest move of a point; longer ones are shortened to it, in the same direction."""

    def __post_init__(self) -> None:
        require_manifold(self.manifold)
        if not isinstance(self.lr, Tensor):
            check_positive("lr", self.lr, zero=True)
        check_choice("direction", self.direction, DIRECTIONS)
        check_fraction("momentum", self.momentum)
        if self.second_moment is not None:
            check_fraction("second_moment", self.second_moment)
            if self.direction not in SCALABLE:
                raise ValueError(
                    f"second_moment scales coordinates, which keeps no descent direction but "
                    f"{' and '.join(map(repr, SCALABLE))}, got direction {self.direction!r}"
                )
        check_positive("eps", self.eps, zero=True)
        if self.max_step is not None:
            check_positive("max_step", self.max_step)


class DescentState(NamedTuple):
    """What one step hands to the next."""

    iteration: int = 0
    momentum: Tensor | None = None
    """Running gradient [..., d], tangent at the points; ``None`` where nothing is carried."""
    second_moment: Tensor | None = None
    """Running squares [..., d] of the gradient's coordinates, never negative."""
    finite: Tensor | None = None
    """Whether the gradient and the last step of each point [..., 1] were finite; where not, it has stayed."""


def descent_step(
    points: Tensor, gradient: Tensor, state: DescentState, settings: DescentSettings
) -> tuple[Tensor, DescentState]:
    """Algorithm 1, one iteration: points [..., d] and their Euclidean gradient to new points and state.

    The pseudo-Riemannian gradient Df (Eq. 11) is averaged over time, if asked scaled coordinate by coordinate by a
    positive diagonal D, and turned into the direction Π_x(G D Df), which is χ (Eq. 14) for D = 1 and ascends for every
    positive D: ⟨Df, Π_x(G D Df)⟩ = Dfᵀ D Df. The surrogate is |P_x|^½ D |P_x|^½ ∇f in the same way. The points follow
    the exponential map of its negative; what is carried to the next step is parallel-transported along.

    A point whose gradient is not finite, or whose move or moments overflow, stays where it is; the state says which.
    """
    for name, value, kind in (("state", state, DescentState), ("settings", settings, DescentSettings)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
    moments = {name: moment for name, moment in zip(state._fields[1:3], state[1:3], strict=True) if moment is not None}
    validate(settings.manifold.ambient_dim, points=points, gradient=gradient, **moments)
    manifold = settings.manifold
    rooted = settings.direction == "surrogate" and settings.second_moment is not None
    tangent = manifold.precondition_root(points, gradient) if rooted else manifold.egrad2rgrad(points, gradient)
    followed, new = _average(tangent, state, settings)
    if rooted:
        direction = manifold.precondition_root(points, followed)
    else:
        direction = _as_direction(points, tangent, followed, settings)
    move = _shorten(-settings.lr * direction, settings.max_step)
    # φ removes the drift that rounding leaves, with a relative change of the order of the roundoff.
    if new.momentum is None:
        moved = manifold.phi(manifold.expmap(points, move))
        finite = _finite(moved)
        return torch.where(finite, moved, points), new._replace(finite=finite)
    moved, carried = manifold.expmap_transp(points, move, new.momentum)
    moved = manifold.phi(moved)
    carried = manifold.proju(moved, carried)
    finite = _finite(moved) & _finite(carried)
    if new.second_moment is not None:
        finite = finite & _finite(new.second_moment)
        before = 0.0 if state.second_moment is None else state.second_moment
        new = new._replace(second_moment=torch.where(finite, new.second_moment, before))
    momentum = torch.where(finite, carried, 0.0 if state.momentum is None else state.momentum)
    return torch.where(finite, moved, points), new._replace(momentum=momentum, finite=finite)


def direction_of(points: Tensor, gradient: Tensor, settings: DescentSettings) -> tuple[Tensor, float]:
    """The direction ζ [..., d] that a plain step goes against, and ⟨Df, ζ⟩ summed over the points."""
    rgrad = settings.manifold.egrad2rgrad(points, gradient)
    direction = _as_direction(points, rgrad, rgrad, settings)
    if settings.direction == "descent":
        return direction, float(rgrad.square().sum())  # ⟨Df, χ⟩ = ‖Df‖² (Eq. 15), without cancellation
    return direction, float(settings.manifold.inner(rgrad, direction).sum())


def _as_direction(points: Tensor, rgrad: Tensor, followed: Tensor, settings: DescentSettings) -> Tensor:
    """The direction [..., d] that a tangent vector, Df or its average over time, becomes."""
    manifold = settings.manifold
    if settings.direction == "descent":
        return manifold.precondition(points, followed)
    if settings.direction == "surrogate":
        return manifold.wick_rotation(points, followed)
    if settings.direction == "gram-schmidt":
        return gram_schmidt_direction(manifold, points, followed)
    if settings.direction == "signed-gradient":
        return manifold.inner(rgrad, followed, keepdim=True).sign() * followed
    return followed


def _finite(rows: Tensor) -> Tensor:
    """Whether all coordinates of a row are finite [..., 1]: what is infinite or NaN makes 0 times it NaN."""
    return (0.0 * rows).sum(-1, keepdim=True) == 0.0


def _average(gradient: Tensor, state: DescentState, settings: DescentSettings) -> tuple[Tensor, DescentState]:
    """The gradient to follow, and the state with its moments brought up to date."""
    iteration = state.iteration + 1
    if settings.second_moment is None:
        if settings.momentum == 0.0:
            return gradient, DescentState(iteration)
        average = gradient if state.momentum is None else settings.momentum * state.momentum + gradient
        return average, DescentState(iteration, average)
    mean, square = settings.momentum, settings.second_moment
    first = torch.zeros_like(gradient) if state.momentum is None else state.momentum
    second = torch.zeros_like(gradient) if state.second_moment is None else state.second_moment
    first = first + (1.0 - mean) * (gradient - first)
    second = square * second + (1.0 - square) * gradient.square()
    root = second.sqrt() / (1.0 - square**iteration) ** 0.5 + settings.eps
    return (first / root) / (1.0 - mean**iteration), DescentState(iteration, first, second)


def _shorten(move: Tensor, longest: float | None) -> Tensor:
    if longest is None:
        return move
    # Relative to its largest coordinate no move is so long that its square overflows.
    largest = move.abs().amax(-1, keepdim=True)
    unit = move / largest.clamp_min(torch.finfo(move.dtype).tiny)
    length = unit.norm(dim=-1, keepdim=True).clamp_min(1.0)
    return torch.where(largest * length > longest, unit * (longest / length), move)
