"""An opt-in wrapper that checks the values of every call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor

from .manifold import Manifold, check_finite

# Methods that return points; together with the argument names they say what must hold before and after a call.
_RETURN_POINTS = frozenset({"geodesic", "expmap", "retr", "phi", "projx", "origin", "random", "random_near_pole"})
_UNCHECKED = frozenset({"check_point", "check_tangent", "check_projectable"})
_PROJECTIONS = frozenset({"phi", "psi"})


def checked(manifold: Manifold) -> Any:
    """The same manifold with every value checked: points on it, vectors tangent, nothing NaN.

    ``x`` and ``y`` must be points, ``u`` and ``v`` tangent vectors at ``x`` (finite where there is no ``x``),
    everything else finite; what comes out must be on the manifold. A violation raises ``ValueError`` with the method,
    the argument, the row and the residual. It reads values back, so it is slow and not for ``torch.compile``: meant for
    debugging and for entry points.

    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> M = checked(PseudoHyperboloid(3, 1))
    >>> M.expmap(M.origin(), M.origin())
    Traceback (most recent call last):
        ...
    ValueError: expmap: PseudoHyperboloid(p=3, q=1, beta=-1): u is not tangent: |⟨x, u⟩| = 1 instead of 0 ...
    """
    if not isinstance(manifold, Manifold):
        raise TypeError(f"manifold must be a Manifold, got {type(manifold).__name__}")
    return _checked_class(type(manifold))._wrap(manifold)


def _checked_class(base: type[Manifold]) -> Any:
    """A subclass of ``base`` whose public methods check their arguments and results."""

    def _wrap(cls: Any, manifold: Manifold) -> Manifold:
        instance: Manifold = cls.__new__(cls)
        instance.__dict__ = dict(manifold.__dict__)
        object.__setattr__(instance, "_plain", manifold)
        return instance

    def _label(self: Any) -> str:
        return str(self._plain._label())

    namespace: dict[str, Any] = {"_wrap": classmethod(_wrap), "_label": _label, "__doc__": base.__doc__}
    for name in dir(base):
        method = getattr(base, name)
        if name.startswith(("_", "assert_")) or name in _UNCHECKED or not inspect.isfunction(method):
            continue
        # What the interface declares, wherever a subclass overrides it, and what our own classes add to it.
        if name in vars(Manifold) or method.__module__.startswith(__package__):
            namespace[name] = _checking(name, method)
    return type(f"Checked{base.__name__}", (base,), namespace)


def _checking(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(method)

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(self, *args, **kwargs).arguments
        plain: Manifold = self._plain
        try:
            _check_arguments(plain, name, arguments)
            result = getattr(plain, name)(*args, **kwargs)
            if name in _RETURN_POINTS:
                plain.assert_point(result, name="the result")
            elif name == "expmap_transp":
                plain.assert_point(result[0], name="the resulting point")
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return result

    return call


def _check_arguments(manifold: Manifold, method: str, arguments: dict[str, Any]) -> None:
    base = arguments.get("x")
    for name, value in arguments.items():
        if not isinstance(value, Tensor):
            continue
        if name in ("x", "y"):
            manifold.assert_point(value, name=name)
        elif name in ("u", "v") and base is not None:
            manifold.assert_tangent(base, value, name=name)
        elif name == "z" and method in _PROJECTIONS:
            manifold.assert_projectable(value, name=name)
        else:
            finite = check_finite(name, value.unsqueeze(-1) if value.dim() == 0 else value)
            if not finite.ok:
                raise ValueError(finite.reason)
