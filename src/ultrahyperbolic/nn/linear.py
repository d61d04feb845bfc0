"""Linear layers and activations between manifolds: ψ⁻¹ maps the results to points."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..checks import check_callable
from ..geometry import Euclidean, Manifold, Product, PseudoHyperboloid, PseudoSphere
from ..geometry.arguments import validate
from ..geometry.manifold import require_manifold


def representative(manifold: Manifold, x: Tensor, y: Tensor | None = None) -> Tensor:
    """The one of x and -x on the side of y, by default of the pole: -x where ⟨x, y⟩/β < 0.

    So a geodesic joins it to y. In hyperbolic space it is x itself.

    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> M = PseudoHyperboloid(2, 1)
    >>> bool(M.logmap(M.origin(), representative(M, M.random(100))).exists.all())
    True
    """
    if not isinstance(manifold, PseudoHyperboloid | PseudoSphere):
        raise TypeError(
            "the quotient by ±1 is defined on PseudoHyperboloid and PseudoSphere, got "
            f"{type(manifold).__name__}"
        )
    if y is None:
        y = manifold.origin(dtype=x.dtype, device=x.device)
    product = manifold.inner(x, y, keepdim=True)
    wrong = product > 0 if isinstance(manifold, PseudoHyperboloid) else product < 0
    return torch.where(wrong, -x, x)


def quotient_dist(manifold: Manifold, x: Tensor, y: Tensor, epsilon: float | None = None) -> Tensor:
    """The length of the geodesic between {x, -x} and {y, -y} [...], never NaN.

    ``dist(±x, y)`` with the sign for which ⟨±x, y⟩/β >= 0, or ``smoothed_dissimilarity`` with
    ``epsilon``. For p = 0 it is the distance of lines, at most π/2 √|β|.
    """
    x = representative(manifold, x, y)
    if epsilon is None:
        return manifold.dist(x, y)
    return manifold.smoothed_dissimilarity(x, y, epsilon)


def out_width(manifold: Manifold) -> int:
    """How many numbers `from_coordinates` needs: d, or p in hyperbolic space."""
    require_layers(manifold)
    if isinstance(manifold, PseudoSphere | Product):
        return sum(map(out_width, manifold._factors()))
    hyperbolic = isinstance(manifold, PseudoHyperboloid) and manifold.q == 0
    return manifold.dim if hyperbolic else manifold.ambient_dim


def require_layers(manifold: Manifold) -> None:
    """Raise unless layers are defined on the manifold."""
    if not isinstance(manifold, PseudoHyperboloid | PseudoSphere | Euclidean | Product):
        kinds = "PseudoHyperboloid, PseudoSphere, Euclidean and Product"
        raise TypeError(f"layers are defined on {kinds}, got {type(manifold).__name__}")


def coordinates(manifold: Manifold, x: Tensor) -> Tensor:
    """x/√|β|, in flat space x: [..., d] to [..., d]; of a `PseudoSphere` in reverse order."""
    return _by_factors(manifold, x, lambda quadric, part: part / quadric._scale(part).sqrt())


def psi(manifold: Manifold, x: Tensor) -> Tensor:
    """ψ(x) = (t/‖t‖, s/√|β|), in hyperbolic space s/√|β|: [..., d] to [..., out_width]."""
    return _by_factors(
        manifold, x, lambda quadric, part: quadric.psi(part)[..., int(quadric.q == 0) :]
    )


def _by_factors(
    manifold: Manifold, x: Tensor, of: Callable[[PseudoHyperboloid, Tensor], Tensor]
) -> Tensor:
    """Apply ``of`` to every curved factor, to pseudo-spheres as their images."""
    validate(manifold.ambient_dim, x=x)
    if isinstance(manifold, PseudoSphere | Product):
        parts = zip(manifold._factors(), manifold._split(x), strict=True)
        return torch.cat([_by_factors(factor, part, of) for factor, part in parts], dim=-1)
    return of(manifold, x) if isinstance(manifold, PseudoHyperboloid) else x


def from_coordinates(manifold: Manifold, z: Tensor) -> Tensor:
    """φ(√|β| z) = ψ⁻¹(a/‖a‖, v) of any vectors z = (a, v) [..., out_width]: onto the manifold.

    Where a vanishes, the point has the direction of the pole, and no gradient with respect to a. In
    hyperbolic space there is no a: its direction is always that of the pole.
    """
    if isinstance(manifold, Euclidean):
        validate(manifold.ambient_dim, z=z)
        return z
    if isinstance(manifold, PseudoSphere):
        return manifold.image.anti_isometry(from_coordinates(manifold.image, z))
    if isinstance(manifold, Product):
        factors = list(manifold._factors())
        parts = torch.split(z, [out_width(factor) for factor in factors], dim=-1)
        return torch.cat(list(map(from_coordinates, factors, parts)), dim=-1)
    assert isinstance(manifold, PseudoHyperboloid)
    time = 0 if manifold.q == 0 else manifold.q + 1
    unit = _unit(z[..., :time]) if time else torch.ones_like(z[..., :1])
    return manifold.psi_inverse(torch.cat((unit, z[..., time:]), dim=-1))


def _unit(a: Tensor) -> Tensor:
    """a/‖a‖, or the first axis where a vanishes."""
    square = a.square().sum(-1, keepdim=True)
    vanishes = square <= torch.finfo(a.dtype).tiny  # not so for NaN, which must stay NaN
    pole = torch.cat((torch.ones_like(a[..., :1]), torch.zeros_like(a[..., 1:])), dim=-1)
    return torch.where(vanishes, pole, a * torch.where(vanishes, 1.0, square).rsqrt())


class PseudoLinear(nn.Module):
    """A linear layer from one manifold to another: a matrix, and φ = ψ⁻¹∘ψ to the manifold.

    For a point x with coordinates x/√|β| = (t, s) ∈ R^{q+1} × R^p it is

        (a, v) = W (t, s) + b,   y = ψ⁻¹(a/‖a‖, v) = √|β'| (√(1 + ‖v‖²) a/‖a‖, v),

    with ψ: Q^{p',q'} → S^{q'} × R^{p'} (Theorem 4.1). Every result is a point, and no light cone
    plays a part. Only where a = 0 must a direction be chosen: it is the pole's. Among the maps are
    all isometries of the manifold, x ↦ Wx with W in O(q+1, p).

    In hyperbolic space (q' = 0) there is no a, and W has p' rows: this is the Lorentz linear layer
    of Chen et al. (2022). Flat space has no time: ``PseudoLinear(Euclidean(n), M)`` puts features
    on a manifold, ``PseudoLinear(M, Euclidean(n))`` is a head, between flat spaces it is
    ``nn.Linear``.

    Parameters
    ----------
    in_manifold, out_manifold : Manifold
        `PseudoHyperboloid`, `PseudoSphere`, `Euclidean` or a `Product` of these. Points [..., d]
        become points [..., d'].
    bias : bool
        Learn b. It starts as ψ(pole), so that a new layer maps 0 to the pole.
    quotient : bool
        Take x and -x for the same point, as Law (2021) does, by way of `representative`.
    device, dtype
        Of W and b, as in ``nn.Linear``; the dtype must be that of the points.

    Examples
    --------
    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> Q, H = PseudoHyperboloid(2, 2), PseudoHyperboloid(3, 0)
    >>> layer = PseudoLinear(Q, H, dtype=torch.float64)
    >>> H.check_point(layer(Q.random(10))).ok
    True
    """

    def __init__(
        self,
        in_manifold: Manifold,
        out_manifold: Manifold,
        bias: bool = True,
        *,
        quotient: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_manifold(in_manifold, "in_manifold")
        require_manifold(out_manifold, "out_manifold")
        self.in_manifold, self.out_manifold, self.quotient = in_manifold, out_manifold, quotient
        if quotient:
            representative(in_manifold, in_manifold.origin())  # raises where there is none
        require_layers(in_manifold)
        rows, columns = out_width(out_manifold), in_manifold.ambient_dim
        self.weight = nn.Parameter(torch.empty(rows, columns, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(rows, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """W uniform in ±1/√d, as in ``nn.Linear``, and b = ψ(pole)."""
        bound = 1.0 / math.sqrt(self.weight.shape[1])
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            with torch.no_grad():
                pole = self.out_manifold.origin(dtype=torch.float64)
                self.bias.copy_(psi(self.out_manifold, pole))

    def extra_repr(self) -> str:
        """The options, for ``repr``."""
        return f"bias={self.bias is not None}, quotient={self.quotient}"

    def forward(self, x: Tensor) -> Tensor:
        """Points [..., d'] of ``out_manifold`` from points [..., d] of ``in_manifold``."""
        z = functional.linear(self._read(x), self.weight, self.bias)
        return from_coordinates(self.out_manifold, z.to(x.dtype))

    def _read(self, x: Tensor) -> Tensor:
        """The coordinates that W multiplies."""
        if x.dtype != self.weight.dtype:
            raise TypeError(
                f"x is {x.dtype} and the layer's weight {self.weight.dtype}: pass dtype={x.dtype} "
                "to the layer, or convert one of them"
            )
        if self.quotient:
            x = representative(self.in_manifold, x)
        return coordinates(self.in_manifold, x)


class PseudoActivation(nn.Module):
    """A function of the coordinates ψ(x) = (u, v), one by one: y = ψ⁻¹(f(u)/‖f(u)‖, f(v)).

    It is continuous where f(u) is not 0 for a unit vector u, as for every f that vanishes at 0
    alone: ``leaky_relu``, ``tanh``, ``elu``. ``relu`` sends every u without positive coordinates to
    the pole, and jumps around them. In hyperbolic and flat space there is no u, and any f will do.

    Parameters
    ----------
    manifold : Manifold
        Of the points.
    function : callable
        From tensors to tensors, elementwise.
    """

    def __init__(
        self, manifold: Manifold, function: Callable[[Tensor], Tensor] = functional.leaky_relu
    ) -> None:
        super().__init__()
        require_manifold(manifold)
        check_callable("function", function)
        require_layers(manifold)
        self.manifold, self.function = manifold, function

    def forward(self, x: Tensor) -> Tensor:
        """Points [..., d] from points [..., d]."""
        return from_coordinates(self.manifold, self.function(psi(self.manifold, x)))
