"""An opt-in wrapper that checks the values of every call."""

import inspect
import math
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from ..checks import is_number
from .arguments import check_finite
from .manifold import Manifold, default_tolerance, require_manifold

# What must hold of results; what must hold of arguments their names say.
_RETURN_POINTS = {
    "retr",
    "phi",
    "psi_inverse",
    "projx",
    "origin",
    "random",
    "random_near_pole",
    "include_hyperbolic",
    "include_sphere",
}
_FOLLOW_GEODESICS = {"geodesic", "expmap", "expmap_transp", "transp_follow_expmap"}
_RETURN_TANGENTS = {
    "proju",
    "egrad2rgrad",
    "precondition",
    "descent_direction",
    "random_tangent",
    "shape_operator",
    "wick_rotation",
    "precondition_root",
    "surrogate_direction",
}
M = TypeVar("M", bound=Manifold)
Arguments = Mapping[str, Any]  # of a method, by name
_INTERFACE = {
    name
    for part in Manifold.__mro__
    if part.__module__.startswith(__package__)
    for name in vars(part)
}


def checked(manifold: M) -> M:
    """The same manifold with every value checked: points on it, vectors tangent, nothing NaN.

    ``x`` and ``y`` must be points, ``u`` and ``v`` tangent vectors at ``x`` (finite where there is
    no ``x``), everything else finite; points that come out must be on the manifold, vectors tangent
    where they belong. A violation raises ``ValueError`` with the method, the argument, the row and
    the residual. It reads values back, so it is slow and not for ``torch.compile``: meant for
    debugging and for entry points.

    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> M = checked(PseudoHyperboloid(3, 1))
    >>> M.expmap(M.origin(), M.origin())
    Traceback (most recent call last):
        ...
    ValueError: expmap: PseudoHyperboloid(p=3, q=1, beta=-1): u is not tangent: |⟨x, u⟩| = 1 instead
    of 0 ...
    """
    require_manifold(manifold)
    kind = _checked_class(type(manifold))
    instance = kind.__new__(kind)
    instance.__dict__ = dict(manifold.__dict__)
    object.__setattr__(instance, "_plain", manifold)
    return cast("M", instance)


class _Checked:
    """What all checked manifolds share: the plain one, which computes."""

    _plain: Manifold

    def _label(self) -> str:
        return self._plain._label()

    def __reduce__(self) -> tuple[Callable[[Manifold], Manifold], tuple[Manifold]]:
        return checked, (self._plain,)  # pickles and copies are wrapped anew


@cache
def _checked_class(base: type[Manifold]) -> type[_Checked]:
    """A subclass of ``base`` whose public methods check their arguments and results."""
    namespace: dict[str, object] = {"__doc__": base.__doc__}
    for name in dir(base):
        method = getattr(base, name)
        if name.startswith(("_", "assert_", "check_")) or not inspect.isfunction(method):
            continue
        # What the interface declares, wherever a subclass overrides it, and what our own classes
        # add to it.
        if name in _INTERFACE or method.__module__.startswith(__package__):
            namespace[name] = _checking(name, method)
    return type(f"Checked{base.__name__}", (_Checked, base), namespace)


def _checking(name: str, method: Callable[..., object]) -> Callable[..., object]:
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: _Checked, *args: object, **kwargs: object) -> object:
        arguments = signature.bind(self, *args, **kwargs).arguments
        plain = self._plain
        try:
            _check_arguments(plain, name, arguments)
            result = getattr(plain, name)(*args, **kwargs)
            _check_result(plain, name, arguments, result)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return result

    return call


def _check_arguments(manifold: Manifold, method: str, arguments: Arguments) -> None:
    base = arguments.get("x")
    for name, value in arguments.items():
        if is_number(value) and math.isnan(value):
            raise ValueError(f"{name} is not a number, got {value}")
        if not isinstance(value, Tensor):
            continue
        if name in ("x", "y"):
            manifold.assert_point(value, name=name)
        elif name in ("u", "v") and base is not None:
            manifold.assert_tangent(base, value, name=name)
        elif name == "z" and method == "phi":
            manifold.assert_phi(value, name=name)
        elif name == "z" and method == "projx":
            manifold.assert_projectable(value, name=name)
        else:
            finite = check_finite(name, value.unsqueeze(-1) if value.dim() == 0 else value)
            if not finite.ok:
                raise ValueError(finite.reason)


def _check_result(manifold: Manifold, method: str, arguments: Arguments, result: Any) -> None:
    if method in _FOLLOW_GEODESICS:
        _check_followed(manifold, method, arguments, result)
    elif method in _RETURN_POINTS:
        manifold.assert_point(result, name="the result")
    elif method in _RETURN_TANGENTS:
        _assert_tangent(manifold, arguments["x"], result)
    elif method == "logmap":
        _assert_tangent(manifold, arguments["x"], result.vector, result.exists)
    elif method == "transp":
        _assert_tangent(
            manifold, arguments["y"], result, manifold.logmap(arguments["x"], arguments["y"]).exists
        )


def _check_followed(manifold: Manifold, method: str, arguments: Arguments, result: Any) -> None:
    """γ(t) and what is carried there, to rounding of the terms that they are sums of.

    γ(t) = a x + b u may be far shorter than its terms, which both are rounded by their size: a x +
    b u and a x - b u, where the geodesic is at -t, are together as long as they.
    """
    x, u, t = arguments["x"], arguments["u"], arguments.get("t", 1.0)
    if method == "transp_follow_expmap":
        point, carried = manifold.expmap(x, u), result
    else:
        point, carried = result if method == "expmap_transp" else (result, None)
    finite = check_finite("the result", point)
    if not finite.ok:
        raise ValueError(
            f"{manifold._label()}: {finite.reason}; the geodesic is longer than {point.dtype} can "
            "hold"
        )
    tolerance = default_tolerance(point.dtype, None)
    longer = _longer(point, manifold.geodesic(x, u, -t))
    name = "the result" if carried is None else "the resulting point"
    manifold.assert_point(point, name=name, tolerance=tolerance * longer.square())
    if carried is not None:
        longer = longer * _longer(carried, manifold.transp_follow_expmap(x, -u, arguments["v"]))
        manifold.assert_tangent(
            point, carried, name="the resulting vector", tolerance=tolerance * longer
        )


def _longer(vector: Tensor, other: Tensor) -> Tensor:
    """How much longer two vectors [..., d] are together than the first alone [...]."""
    length: Tensor = vector.norm(dim=-1)
    return torch.hypot(length, other.norm(dim=-1)) / length.clamp_min(
        torch.finfo(vector.dtype).tiny
    )


def _assert_tangent(
    manifold: Manifold, x: Tensor, vector: Tensor, exists: Tensor | None = None
) -> None:
    """Raise unless the vectors are tangent at x; where no geodesic exists they are NaN and are not
    checked.
    """
    if exists is not None:
        vector = torch.where(exists.unsqueeze(-1), vector, 0.0)
    manifold.assert_tangent(x, vector, name="the resulting vector")
