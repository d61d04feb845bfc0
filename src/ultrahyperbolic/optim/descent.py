"""One step of descent: where a gradient becomes a move, and the directions it may take."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from ..checks import check_choice, check_fraction, check_positive
from ..geometry import Manifold
from ..geometry.arguments import validate
from ..geometry.manifold import require_manifold


def orthonormal_basis(manifold: Manifold, x: Tensor, start: Tensor | None = None) -> Tensor:
    """Bases [..., m, d] of the m-dimensional tangent spaces at x, with ⟨e_i, e_j⟩ = ±δ_ij.

    Modified Gram–Schmidt on the projections of ambient vectors ``start`` [..., m, d]. Where the
    metric is indefinite a vector may be null when its turn comes; those of `safe_axes`, the
    default, never are.
    """
    basis = manifold.proju(x.unsqueeze(-2), safe_axes(manifold, x) if start is None else start)
    signs = manifold.raise_index(x.new_ones(manifold.ambient_dim))  # the metric's diagonal, ±1
    for k in range(basis.shape[-2]):
        vector = basis[..., k, :]
        square = (vector.square() * signs).sum(-1, keepdim=True)
        vector /= square.abs().sqrt()
        # The coefficient of e_k is the product with ε_k G e_k: elementwise, for batched products
        # of matrices and vectors are slower up to d = 64.
        dual = (signs * vector * square.sign()).unsqueeze(-2)
        coefficients = (basis[..., k + 1 :, :] * dual).sum(-1, keepdim=True)
        basis[..., k + 1 :, :].addcmul_(coefficients, vector.unsqueeze(-2), value=-1.0)
    return basis


def gram_schmidt_direction(
    manifold: Manifold, x: Tensor, u: Tensor, start: Tensor | None = None
) -> Tensor:
    """ζ = Σ ⟨u, e_i⟩ e_i of a tangent vector u [..., d], the basis made by `orthonormal_basis`.

    For u = Df it ascends, ⟨Df, ζ⟩ = Σ ⟨Df, e_i⟩², and costs O(d³). It depends on the basis only
    through the space that its space-like vectors span: the default's is that of the surrogate
    direction, which is ζ in closed form.
    """
    basis = orthonormal_basis(manifold, x, start)
    return (manifold.inner(u.unsqueeze(-2), basis, keepdim=True) * basis).sum(-2)


def safe_axes(manifold: Manifold, x: Tensor) -> Tensor:
    """Coordinate axes [..., m, d] from which Gram–Schmidt meets no null vector at x [..., d].

    First those whose sign in the metric is not that of the normal, the normal part of x: their
    projections span a definite space. What is left of the others is definite too, and the axis
    nearest the normal is superfluous.
    """
    if manifold.dim < manifold.ambient_dim - 1:
        raise ValueError(
            "axes for Gram–Schmidt are known for one normal direction alone, got dimension "
            f"{manifold.dim} in {manifold.ambient_dim} coordinates: pass start"
        )
    signs = manifold.raise_index(x.new_ones(manifold.ambient_dim))  # the metric's diagonal, ±1
    other = signs != manifold.sqnorm(manifold.origin(dtype=x.dtype, device=x.device)).sign()
    # By rising rank: the axes of the other sign, then by the normal's |n_k|, without the last.
    rank = torch.where(other, -1.0, (x - manifold.proju(x, x)).abs())
    order = rank.argsort(dim=-1, stable=True)[..., : manifold.dim]
    return torch.eye(manifold.ambient_dim, dtype=x.dtype, device=x.device)[order]


Direction = Literal["descent", "surrogate", "gram-schmidt", "gradient", "signed-gradient"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
# Those whose negative descends wherever Df is not 0.
DESCENDING: tuple[Direction, ...] = ("descent", "surrogate", "gram-schmidt")


@dataclass(frozen=True)
class DescentSettings:
    """How a gradient becomes a move. Lengths are Euclidean norms, one for each point."""

    manifold: Manifold
    lr: float | Tensor
    """Step size η; a tensor must broadcast against the points, and is not checked here."""
    direction: Direction = "descent"
    """``"descent"`` for χ = P_x² ∇f; ``"surrogate"`` for |P_x| ∇f, which is stretched less far from
    the pole; ``"gram-schmidt"`` for Σ ⟨Df, e_i⟩ e_i over an orthonormal basis, for comparison.
    ``"gradient"``, Df, and ``"signed-gradient"``, Df or -Df, do not descend in general.
    """
    momentum: float = 0.0
    """Heavy-ball factor, or the decay of the running direction (Adam's first beta)."""
    second_moment: float | None = None
    """Decay of the running squared length (Adam's second beta); ``None`` for plain descent."""
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
        check_positive("eps", self.eps, zero=True)
        if self.max_step is not None:
            check_positive("max_step", self.max_step)


class DescentState(NamedTuple):
    """What one step hands to the next."""

    iteration: int = 0
    momentum: Tensor | None = None
    """Running gradient [..., d], or with a second moment running direction; tangent."""
    second_moment: Tensor | None = None
    """Running squared length of the direction for each component: [..., 1] or [..., d]."""
    finite: Tensor | None = None
    """Whether gradient and step of each point [..., 1] were finite; where not, it stayed."""


def descent_step(
    points: Tensor, gradient: Tensor, state: DescentState, settings: DescentSettings
) -> tuple[Tensor, DescentState]:
    """One step: points [..., d] and their Euclidean gradient to new points and state.

    Without a second moment it is an iteration of Algorithm 1. Df (Eq. 11), with momentum its sum
    over time, is turned into the direction ζ, such as χ (Eq. 14); the points follow the exponential
    map of -η ζ, and the momentum is parallel-transported along.

    With a second moment it is a step of Adam along ζ. Tangent vectors are scaled as wholes, so that
    ζ remains a direction of descent: by the running mean of `Manifold.component_sqnorm`, in whose
    metric moves have a length of about η. The points follow `Manifold.retr_transp`; moves to where
    points are not representable are not made.

    A point whose gradient is not finite, or whose move or moments overflow, stays where it is; the
    state says which.
    """
    expected = {"state": (state, DescentState), "settings": (settings, DescentSettings)}
    for name, (value, kind) in expected.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
    moments = {} if state.momentum is None else {"momentum": state.momentum}
    validate(settings.manifold.ambient_dim, points=points, gradient=gradient, **moments)
    tangent = settings.manifold.egrad2rgrad(points, gradient)
    take = _algorithm_1 if settings.second_moment is None else _adam
    return take(points, tangent, state, settings)


def _algorithm_1(
    points: Tensor, tangent: Tensor, state: DescentState, settings: DescentSettings
) -> tuple[Tensor, DescentState]:
    manifold, followed = settings.manifold, tangent
    if state.momentum is not None and settings.momentum:
        followed = settings.momentum * state.momentum + tangent
    ascent = _as_direction(points, tangent, followed, settings)
    move = _shorten(-settings.lr * ascent, settings.max_step)
    # φ removes the drift that rounding leaves, with a relative change of the order of the roundoff.
    if not settings.momentum:
        moved = manifold.phi(manifold.expmap(points, move))
        finite = _finite(moved)
        return torch.where(finite, moved, points), DescentState(state.iteration + 1, finite=finite)
    moved, carried = manifold.expmap_transp(points, move, followed)
    moved = manifold.phi(moved)
    carried = manifold.proju(moved, carried)
    finite = _finite(moved) & _finite(carried)
    momentum = torch.where(finite, carried, 0.0 if state.momentum is None else state.momentum)
    after = DescentState(state.iteration + 1, momentum, finite=finite)
    return torch.where(finite, moved, points), after


def _adam(
    points: Tensor, tangent: Tensor, state: DescentState, settings: DescentSettings
) -> tuple[Tensor, DescentState]:
    manifold, iteration = settings.manifold, state.iteration + 1
    mean, square = settings.momentum, settings.second_moment
    assert square is not None
    direction = _as_direction(points, tangent, tangent, settings)
    squares = manifold.component_sqnorm(points, direction)
    before = torch.zeros_like(squares) if state.second_moment is None else state.second_moment
    first = (1.0 - mean) * direction
    if state.momentum is not None:
        first = torch.lerp(state.momentum, direction, 1.0 - mean)
    second = torch.lerp(before, squares, 1.0 - square)
    root = second.sqrt() / (1.0 - square**iteration) ** 0.5 + settings.eps
    move = _shorten(first * (-settings.lr / (1.0 - mean**iteration) / root), settings.max_step)
    moved, carried = manifold.retr_transp(points, move, first)
    finite = (second < torch.inf).all(-1, keepdim=True)
    made = finite & manifold.representable(moved).unsqueeze(-1)
    momentum, kept = torch.where(made, carried, 0.0), torch.where(finite, second, before)
    return torch.where(made, moved, points), DescentState(iteration, momentum, kept, finite)


def direction_of(
    points: Tensor, gradient: Tensor, settings: DescentSettings
) -> tuple[Tensor, float]:
    """The direction ζ [..., d] that a plain step goes against, and ⟨Df, ζ⟩ in sum."""
    rgrad = settings.manifold.egrad2rgrad(points, gradient)
    direction = _as_direction(points, rgrad, rgrad, settings)
    if settings.direction == "descent":  # ⟨Df, χ⟩ = ‖Df‖² (Eq. 15), without cancellation
        return direction, float(rgrad.square().sum())
    return direction, float(settings.manifold.inner(rgrad, direction).sum())


def _as_direction(
    points: Tensor, rgrad: Tensor, followed: Tensor, settings: DescentSettings
) -> Tensor:
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
    """Whether a row is finite [..., 1]: what is infinite or NaN makes 0 times it NaN."""
    return (0.0 * rows).sum(-1, keepdim=True) == 0.0


def _shorten(move: Tensor, longest: float | None) -> Tensor:
    if longest is None:
        return move
    # Relative to its largest coordinate no move is so long that its square overflows.
    largest = move.abs().amax(-1, keepdim=True)
    unit = move / largest.clamp_min(torch.finfo(move.dtype).tiny)
    length = unit.norm(dim=-1, keepdim=True).clamp_min(1.0)
    return torch.where(largest * length > longest, unit * (longest / length), move)
