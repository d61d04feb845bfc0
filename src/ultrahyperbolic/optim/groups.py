"""One step of a parameter, and learned curvatures with their points."""

from collections.abc import Iterable, MutableMapping
from types import EllipsisType
from typing import Any, NamedTuple

from torch import Tensor

from ..geometry import Manifold
from .descent import DescentSettings, DescentState, descent_step

Group = dict[str, Any]  # a parameter group as torch has it
States = MutableMapping[Tensor, Group]  # what torch keeps for each parameter
_MOMENTS = ("momentum", "second_moment")


class Stepped(NamedTuple):
    """A parameter [..., d] that was moved."""

    param: Tensor
    finite: Tensor
    """Whether each of its rows [..., 1] had a finite step."""


def step_points(param: Tensor, states: States, settings: DescentSettings) -> Stepped:
    """One descent step for the points of a parameter; of a sparse gradient, for its rows."""
    gradient, rows = _rows(param)
    stored = states[param]

    moments = {name: _by_coordinates(stored[name][rows]) for name in _MOMENTS if name in stored}
    before = DescentState(stored.get("step", 0), **moments)
    points = _by_coordinates(param[rows])
    moved, state = descent_step(points, _by_coordinates(gradient), before, settings)
    param[rows] = moved
    stored["step"] = state.iteration
    for name in _MOMENTS:
        if (moment := getattr(state, name)) is not None:
            if name not in stored:
                stored[name] = param.new_zeros(*param.shape[:-1], moment.shape[-1])
            stored[name][rows] = moment
    assert state.finite is not None  # a step says so
    return Stepped(param, state.finite)


def _by_coordinates(rows: Tensor) -> Tensor:
    """Rows [..., d], coordinate by coordinate in memory, where sums over few are fast."""
    return rows.reshape(-1, rows.shape[-1]).t().contiguous().t().view(rows.shape)


def _rows(param: Tensor) -> tuple[Tensor, EllipsisType | Tensor]:
    """The gradient and the rows that it is of: all of them, unless it is sparse."""
    gradient = param.grad
    assert gradient is not None
    if not gradient.is_sparse:
        return gradient, ...
    gradient = gradient.coalesce()
    if gradient.sparse_dim() != 1:
        count = gradient.sparse_dim()
        raise ValueError(f"gradients must be sparse in their rows alone, got {count} dimensions")
    return gradient.values(), gradient.indices()[0]


class Curvatures:
    """Points whose manifold depends on learned parameters, as they are before a step."""

    def __init__(self, points: Iterable[tuple[Tensor, Manifold]]) -> None:
        self._points = [pair for pair in points if pair[1].curvature_parameters()]
        own = [manifold.curvature_parameters() for _, manifold in self._points]
        self._before = [[c.detach().clone() for c in curvatures] for curvatures in own]
        self.parameters = {c for curvatures in own for c in curvatures}

    def slopes(self, learned: set[Tensor]) -> dict[Tensor, Tensor]:
        """For each learned curvature, the slope that comes from points following it."""
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
