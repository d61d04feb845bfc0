"""Our manifolds for geoopt's optimisers."""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from torch import Tensor

from ..geometry import Manifold
from ..geometry.manifold import require_manifold
from ..geometry.primitives import Seed, Size, Spot

try:
    import geoopt
except ImportError as error:
    raise ImportError("as_geoopt needs geoopt: pip install 'ultrahyperbolic[geoopt]'") from error


def _own(name: str) -> Callable[..., Any]:
    """A method that is the manifold's own."""

    def call(self: "GeooptManifold", *vectors: Tensor) -> Any:
        return getattr(self.manifold, name)(*vectors)

    call.__doc__ = getattr(Manifold, name).__doc__
    return call


class GeooptManifold(geoopt.Manifold):  # type: ignore[misc]
    """A manifold of this package with geoopt's interface, made by `as_geoopt`.

    Two methods are not what their names say elsewhere in geoopt, so that its optimisers descend
    where the metric is indefinite: `egrad2rgrad` gives the descent direction χ, and
    `component_inner`, by which its Adam scales, the positive ‖u‖². `inner` is the metric's own,
    signed.

    Moves follow `Manifold.retr`, which is defined for moves of any length, and momentum is carried
    along.
    """

    ndim = 1
    reversible = False
    name = "ultrahyperbolic"
    __scaling__ = geoopt.Manifold.__scaling__.copy()
    proju, retr, retr_transp = _own("proju"), _own("retr"), _own("retr_transp")
    expmap, transp = _own("expmap"), _own("transp")
    expmap_transp, transp_follow_expmap = _own("expmap_transp"), _own("transp_follow_expmap")
    dissimilarity = _own("dissimilarity")

    def __init__(self, manifold: Manifold) -> None:
        super().__init__()
        require_manifold(manifold)
        self.manifold = manifold

    def extra_repr(self) -> str:
        """The manifold, for ``repr``."""
        return self.manifold._label()

    def inner(
        self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False
    ) -> Tensor:
        """⟨u, v⟩, signed."""
        return self.manifold.inner(u, u if v is None else v, keepdim=keepdim)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor | None = None) -> Tensor:
        """u · v for each point [..., 1]: a tangent vector divided by it stays tangent."""
        return (u * (u if v is None else v)).sum(-1, keepdim=True)

    def norm(self, x: Tensor, u: Tensor, *, keepdim: bool = False) -> Tensor:
        """√|⟨u, u⟩|."""
        return self.manifold.norm(u, keepdim=keepdim)

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        """Length of the geodesic; NaN where there is none."""
        length = self.manifold.dist(x, y)
        return length.unsqueeze(-1) if keepdim else length

    def egrad2rgrad(self, x: Tensor, u: Tensor) -> Tensor:
        """χ, the vector whose negative descends; of a manifold with a positive metric, too."""
        return self.manifold.descent_direction(x, u)

    def projx(self, x: Tensor) -> Tensor:
        """φ, which maps almost all vectors onto the manifold."""
        return self.manifold.phi(x)

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        """Logarithm; NaN where there is none."""
        return self.manifold.logmap(x, y).vector

    def transp_follow_retr(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """v carried along to ``retr(x, u)``."""
        carried: Tensor = self.retr_transp(x, u, v)[1]
        return carried

    def random(
        self, *size: Size, scale: float = 1.0, generator: Seed = None, **at: Unpack[Spot]
    ) -> Tensor:
        """Random points [*size, d], as a ``geoopt.ManifoldTensor``."""
        points = self.manifold.random(*size, scale=scale, generator=generator, **at)
        tensor: Tensor = geoopt.ManifoldTensor(points, manifold=self)
        return tensor

    def origin(self, *size: Size, seed: int | None = None, **at: Unpack[Spot]) -> Tensor:
        """The pole, repeated to [*size, d]; ``seed`` is not used."""
        tensor: Tensor = geoopt.ManifoldTensor(self.manifold.origin(*size, **at), manifold=self)
        return tensor

    def _check_shape(self, shape: Sequence[int], name: str) -> tuple[bool, str | None]:
        d = self.manifold.ambient_dim
        if tuple(shape[-1:]) == (d,):
            return True, None
        return False, f"{name} must have {d} coordinates, got shape {tuple(shape)}"

    def _check_point_on_manifold(
        self, x: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5
    ) -> tuple[bool, str | None]:
        check = self.manifold.check_point(x.detach(), tolerance=rtol)
        return check.ok, check.reason or None

    def _check_vector_on_tangent(
        self, x: Tensor, u: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5
    ) -> tuple[bool, str | None]:
        check = self.manifold.check_tangent(x.detach(), u.detach(), tolerance=rtol)
        return check.ok, check.reason or None


def as_geoopt(manifold: Manifold) -> GeooptManifold:
    """The manifold for geoopt: its parameters, its optimisers and their sparse variants.

    >>> import geoopt, ultrahyperbolic as uh
    >>> M = as_geoopt(uh.PseudoHyperboloid(3, 1))
    >>> nodes = geoopt.ManifoldParameter(M.random(34, generator=0), manifold=M)
    >>> optimizer = geoopt.optim.RiemannianAdam([nodes], lr=1e-2)
    """
    return GeooptManifold(manifold)
