"""One step of many parameters: small ones together, and learned curvatures with their points."""

from collections import defaultdict
from collections.abc import Iterable, MutableMapping, Sequence
from types import EllipsisType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..geometry import Manifold
from .descent import DescentSettings, DescentState, descent_step

Group = dict[str, Any]  # a parameter group as torch has it
States = MutableMapping[Tensor, Group]  # what torch keeps for each parameter
# Parameters with at most this many numbers are joined: copying them costs less than a step of its
# own.
_SMALL = 1 << 16
_MOMENTS = ("momentum", "second_moment")


class Stepped(NamedTuple):
    """Parameters [..., d] that were moved together."""

    params: list[Tensor]
    finite: Tensor
    """Whether each of their rows [..., 1] had a finite step."""


def step_points(
    params: Sequence[Tensor], states: States, settings: DescentSettings
) -> list[Stepped]:
    """One descent step for parameters [..., d] of one manifold and settings; small ones are moved
    together.
    """
    together: dict[tuple[object, ...], list[Tensor]] = defaultdict(list)
    for param in params:
        gradient, stored = param.grad, states[param]
        assert gradient is not None
        apart = gradient.is_sparse or param.numel() > _SMALL or isinstance(settings.lr, Tensor)
        carries = tuple(name in stored for name in _MOMENTS)
        key = (param,) if apart else (param.dtype, param.device, stored.get("step", 0), *carries)
        together[key].append(param)
    return [_step(bucket, states, settings) for bucket in together.values()]


def _step(params: list[Tensor], states: States, settings: DescentSettings) -> Stepped:
    """The rows of several as one table: every row moves by itself, so the result is that of single
    steps.
    """
    found, stored = [_rows(param) for param in params], [states[param] for param in params]
    sizes = [gradient.numel() // gradient.shape[-1] for gradient, _ in found]

    def joined(tensors: Iterable[Tensor]) -> Tensor:
        """One table, coordinate by coordinate in memory: there sums over a few coordinates take a
        tenth of the time.
        """
        parts = [tensor.reshape(-1, tensor.shape[-1]).t() for tensor in tensors]
        return (parts[0].contiguous() if len(parts) == 1 else torch.cat(parts, dim=1)).t()

    def of_rows(tensors: Iterable[Tensor]) -> Tensor:
        return joined(tensor[rows] for tensor, (_, rows) in zip(tensors, found, strict=True))

    def share_out(table: Tensor, targets: Iterable[Tensor]) -> None:
        for target, part, (gradient, rows) in zip(
            targets, torch.split(table, sizes), found, strict=True
        ):
            target[rows] = part.reshape(*gradient.shape[:-1], part.shape[-1])

    moments = {
        name: of_rows(own[name] for own in stored) if name in stored[0] else None
        for name in _MOMENTS
    }
    state = DescentState(stored[0].get("step", 0), **moments)
    gradient = joined(gradient for gradient, _ in found)
    moved, state = descent_step(of_rows(params), gradient, state, settings)
    share_out(moved, params)
    for own in stored:
        own["step"] = state.iteration
    for name in _MOMENTS:
        if (moment := getattr(state, name)) is not None:
            for param, own in zip(params, stored, strict=True):
                if name not in own:
                    own[name] = param.new_zeros(*param.shape[:-1], moment.shape[-1])
            share_out(moment, (own[name] for own in stored))
    assert state.finite is not None  # a step says so
    return Stepped(params, state.finite)


def _rows(param: Tensor) -> tuple[Tensor, EllipsisType | Tensor]:
    """The gradient and the rows that it is of: all of them, unless it is sparse."""
    gradient = param.grad
    assert gradient is not None
    if not gradient.is_sparse:
        return gradient, ...
    gradient = gradient.coalesce()
    if gradient.sparse_dim() != 1:
        raise ValueError(
            f"sparse gradients must be sparse in their rows alone (1 sparse dimension), "
            f"got {gradient.sparse_dim()} for a parameter of shape {tuple(param.shape)}"
        )
    return gradient.values(), gradient.indices()[0]


class Curvatures:
    """Points whose manifold depends on learned parameters, as they are before a step."""

    def __init__(self, points: Iterable[tuple[Tensor, Manifold]]) -> None:
        self._points = [
            (param, manifold) for param, manifold in points if manifold.curvature_parameters()
        ]
        self._before = [
            [c.detach().clone() for c in manifold.curvature_parameters()]
            for _, manifold in self._points
        ]
        self.parameters = {
            c for _, manifold in self._points for c in manifold.curvature_parameters()
        }

    def slopes(self, learned: set[Tensor]) -> dict[Tensor, Tensor]:
        """For each learned curvature, the part of its gradient that comes from points following
        it.
        """
        found: dict[Tensor, Tensor] = {}
        for param, manifold in self._points:
            if param.grad is None:
                continue
            gradient, rows = _rows(param)
            changes = manifold.homothety_slopes(param[rows], gradient)
            for curvature, change in zip(manifold.curvature_parameters(), changes, strict=True):
                if curvature in learned and curvature.requires_grad:
                    change = change.to(curvature)
                    found[curvature] = found[curvature] + change if curvature in found else change
        return found

    def follow(self) -> None:
        """Bring the points onto their manifolds as they are now."""
        for (param, manifold), before in zip(self._points, self._before, strict=True):
            param.copy_(manifold.follow_curvature(param.detach(), before))
