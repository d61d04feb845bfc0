"""Tensors and parameters that know the manifold on which their rows are points."""

from __future__ import annotations

import copy
from typing import Self, TypeVar, cast

import torch
from torch import Tensor, nn

from .manifold import Manifold, require_manifold

T = TypeVar("T", bound="ManifoldTensor")


class ManifoldTensor(Tensor):
    """A tensor [..., d] whose rows are points of ``manifold``; that is checked when it is made.

    What is computed from it is a plain tensor. Copies (``clone``, ``to``, ``deepcopy``, pickles)
    keep the manifold, ``detach`` does not: a ``state_dict`` holds plain tensors, which every
    program can load. Points that get more digits by ``double``, are brought onto the manifold
    again: rounded to fewer they are off it by more than the new ones.

    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> M = PseudoHyperboloid(2, 1)
    >>> x = ManifoldTensor(M.origin(3), M)
    >>> x.to(torch.float32).manifold is M, type(x + 1).__name__
    (True, 'Tensor')
    """

    manifold: Manifold
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(
        cls, data: Tensor, manifold: Manifold | None = None, *, requires_grad: bool = False
    ) -> Self:
        """The points ``data``, whose memory is shared and which may carry the manifold."""
        own = getattr(data, "manifold", None)
        if manifold is None:
            manifold = own
        require_manifold(manifold)
        place = cast("Manifold", manifold)
        if isinstance(own, Manifold) and own is not place and own._label() != place._label():
            raise ValueError(f"data is on {own._label()}, which is not {place._label()}")
        place.assert_point(data.detach(), name="data")
        return _on(cls, data.detach(), place, requires_grad)

    def to(self, *args: object, **kwargs: object) -> ManifoldTensor:
        """As ``Tensor.to``, on the same manifold."""
        return _follow(self, super().to(*args, **kwargs))  # type: ignore[call-overload]

    def double(self) -> ManifoldTensor:
        """As ``Tensor.double``, on the same manifold."""
        return self.to(torch.float64)

    def clone(self, *, memory_format: torch.memory_format | None = None) -> ManifoldTensor:
        """As ``Tensor.clone``, on the same manifold."""
        return _follow(self, super().clone(memory_format=memory_format))

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """A copy with a copy of the manifold: the same one for all that are copied together."""
        if not self.is_leaf:
            raise RuntimeError("only leaf tensors can be copied deeply: detach it first")
        place = copy.deepcopy(self.manifold, memo)
        copied = _on(type(self), self.detach().clone(), place, self.requires_grad)
        if self.grad is not None:
            copied.grad = self.grad.detach().clone()
        return copied

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        """Pickled as a plain tensor and its manifold, which a safe ``torch.load`` may build."""
        kind = "parameter" if isinstance(self, ManifoldParameter) else "tensor"
        return rebuild, (kind, self.detach(), self.manifold, self.requires_grad)

    def __repr__(self) -> str:  # type: ignore[override]
        return f"{type(self).__name__} on {self.manifold._label()}:\n{self.detach()!r}"


class ManifoldParameter(ManifoldTensor, nn.Parameter):
    """A parameter [..., d] whose rows are points of a manifold: our optimisers move it there.

    It keeps its manifold through ``.to`` of its module, ``load_state_dict``, ``deepcopy``, pickles
    and ``DistributedDataParallel``. A manifold that is also an attribute of the module is moved and
    saved with it.

    >>> import ultrahyperbolic as uh
    >>> M = uh.PseudoHyperboloid(3, 1)
    >>> nodes = uh.ManifoldParameter(M.random_near_pole(34), M)
    >>> optimizer = uh.optim.PseudoRiemannianAdam([nodes], lr=1e-2)
    """

    def __new__(
        cls, data: Tensor, manifold: Manifold | None = None, *, requires_grad: bool = True
    ) -> Self:
        """The points ``data``, as for `ManifoldTensor`."""
        return super().__new__(cls, data, manifold, requires_grad=requires_grad)


def manifold_of(tensor: Tensor) -> Manifold | None:
    """The manifold that a tensor carries, if any."""
    manifold = getattr(tensor, "manifold", None)
    return manifold if isinstance(manifold, Manifold) else None


def _on(kind: type[T], data: Tensor, manifold: Manifold, requires_grad: bool) -> T:
    instance = Tensor._make_subclass(kind, data, requires_grad)
    instance.manifold = manifold
    return instance


def _follow(of: ManifoldTensor, result: Tensor) -> ManifoldTensor:
    """A result on the same manifold, within its graph; the tensor itself where it is that."""
    if result is of:
        return of
    if result.dtype.itemsize > of.dtype.itemsize:
        result = of.manifold.phi(result)
    followed = result.as_subclass(ManifoldTensor)
    followed.manifold = of.manifold
    return followed


def rebuild(kind: str, data: Tensor, manifold: Manifold, requires_grad: bool) -> ManifoldTensor:
    """What pickles call; ``torch.load`` with ``weights_only=True`` may."""
    made = ManifoldParameter if kind == "parameter" else ManifoldTensor
    return _on(made, data, manifold, requires_grad)
