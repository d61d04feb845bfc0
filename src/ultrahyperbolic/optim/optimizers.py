"""The descent step as ``torch.optim`` optimisers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import ParamsT, StateDict

from ..checks import check_fraction
from ..geometry import Manifold
from ..geometry.manifold import require_manifold
from .descent import DescentSettings, DescentState, Direction, descent_step

Group = dict[str, Any]  # a parameter group as torch has it


class ManifoldOptimizer(Optimizer, ABC):
    """What the optimisers share: parameters [..., d] whose rows are points of a manifold.

    A parameter group may name its own ``manifold``. Points are checked when they are added. ``state_dict`` holds plain
    data; loading one made on another geometry is refused.
    """

    def __init__(self, params: ParamsT, manifold: Manifold, defaults: Mapping[str, object]) -> None:
        require_manifold(manifold)
        super().__init__(params, {"manifold": manifold, **defaults})

    @abstractmethod
    def _settings(self, group: Group) -> DescentSettings:
        """What a parameter group asks of the descent step."""

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters, checking that every row is a point of the group's manifold; all of them or none."""
        super().add_param_group(param_group)
        group, number = self.param_groups[-1], len(self.param_groups) - 1
        try:
            require_manifold(group["manifold"], f"manifold of group {number}")
            self._settings(group)
            _check_lr(group["lr"])
            names = group.get("param_names") or [
                f"param_groups[{number}]['params'][{i}]" for i in range(len(group["params"]))
            ]
            for name, param in zip(names, group["params"], strict=True):
                group["manifold"].assert_point(param.detach(), name=name)
        except BaseException:
            self.param_groups.pop()
            raise

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One descent step for every parameter that has a gradient; the closure, if any, re-evaluates the loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            settings = self._settings(group)
            for param in group["params"]:
                if param.grad is not None:
                    self._update(param, param.grad, settings)
        return loss

    def _update(self, param: Tensor, gradient: Tensor, settings: DescentSettings) -> None:
        stored = self.state[param]
        rows: EllipsisType | Tensor = ...
        if gradient.is_sparse:
            gradient = gradient.coalesce()
            if gradient.sparse_dim() != 1:
                raise ValueError(
                    f"sparse gradients must be sparse in their rows alone (1 sparse dimension), "
                    f"got {gradient.sparse_dim()} for a parameter of shape {tuple(param.shape)}"
                )
            rows, gradient = gradient.indices()[0], gradient.values()
        moments = {name: stored[name][rows] if name in stored else None for name in ("momentum", "second_moment")}
        state = DescentState(stored.get("step", 0), **moments)
        moved, state = descent_step(param[rows], gradient, state, settings)
        param[rows] = moved
        stored["step"] = state.iteration
        for name in ("momentum", "second_moment"):
            moment = getattr(state, name)
            if moment is not None:
                stored.setdefault(name, torch.zeros_like(param))[rows] = moment

    def state_dict(self) -> StateDict:
        """The state as plain data, with the name of each group's geometry."""
        saved = super().state_dict()
        for group in saved["param_groups"]:
            group["geometry"] = group.pop("manifold")._label()
        return saved

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict` gave; the geometries must be the same."""
        manifolds = [group["manifold"] for group in self.param_groups]
        # What Adam wrote before it had a choice was along χ.
        groups = [{"direction": "descent", **group} for group in state_dict["param_groups"]]
        for index, (group, manifold) in enumerate(zip(groups, manifolds, strict=False)):
            geometry = group.pop("geometry", None)
            if geometry != manifold._label():
                raise ValueError(
                    f"the saved state of group {index} belongs to {geometry}, this optimiser's to {manifold._label()}"
                )
        super().load_state_dict({**state_dict, "param_groups": groups})
        for group, manifold in zip(self.param_groups, manifolds, strict=True):
            group["manifold"] = manifold


class PseudoRiemannianSGD(ManifoldOptimizer):
    """Algorithm 1: x ← exp_x(-η χ), with the options that make it practical.

    Equal to ``torch.optim.SGD`` on `ultrahyperbolic.Euclidean`. Sparse gradients, as of
    ``nn.Embedding(sparse=True)``, move their rows alone; the momentum of the others waits where it is.

    Parameters
    ----------
    params : iterable
        Parameters [..., d] or groups of them.
    manifold : Manifold
        Where the rows of the parameters live.
    lr : float
        η. |χ| grows like ‖x‖⁴/β² times the gradient: without ``max_step`` keep it small, as the paper does (1e-6).
    momentum : float
        Heavy-ball factor; the running gradient is carried along by parallel transport.
    max_step : float, optional
        Longest move (Euclidean norm) of a point in one step.
    direction : str
        ``"descent"`` for χ, ``"surrogate"`` for |P_x| ∇f, which is stretched less far from the pole, or another of
        `DescentSettings`; ``"gradient"`` and ``"signed-gradient"`` fail unless the metric is definite.
    """

    def __init__(
        self,
        params: ParamsT,
        manifold: Manifold,
        lr: float = 1e-3,
        *,
        momentum: float = 0.0,
        max_step: float | None = None,
        direction: Direction = "descent",
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "max_step": max_step, "direction": direction}
        super().__init__(params, manifold, defaults)

    def _settings(self, group: Group) -> DescentSettings:
        return DescentSettings(
            manifold=group["manifold"],
            lr=group["lr"],
            direction=group["direction"],
            momentum=group["momentum"],
            max_step=group["max_step"],
        )


class PseudoRiemannianAdam(ManifoldOptimizer):
    """Adam whose second moment is a mean of squared coordinates of Df: positive by construction, in any signature.

    Equal to ``torch.optim.Adam`` on `ultrahyperbolic.Euclidean`. The running gradient is carried by parallel
    transport; coordinates are scaled before the preconditioner, which keeps the direction a descent direction.
    Sparse gradients update their rows alone.

    Parameters
    ----------
    params, manifold, max_step
        As for `PseudoRiemannianSGD`.
    lr : float
        Step size, about the length of a move in each coordinate near the pole.
    betas : (float, float)
        Decay of the running gradient and of the running squares.
    eps : float
        Added to the root of the second moment.
    direction : "descent" or "surrogate"
        The latter is |P_x|^½ D |P_x|^½ ∇f with running squares of |P_x|^½ ∇f, where the former is P_x D P_x ∇f.
    """

    def __init__(
        self,
        params: ParamsT,
        manifold: Manifold,
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        max_step: float | None = None,
        direction: Direction = "descent",
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "max_step": max_step, "direction": direction}
        super().__init__(params, manifold, defaults)

    def _settings(self, group: Group) -> DescentSettings:
        mean, square = _check_betas(group["betas"])
        return DescentSettings(
            manifold=group["manifold"],
            lr=group["lr"],
            direction=group["direction"],
            momentum=mean,
            second_moment=square,
            eps=group["eps"],
            max_step=group["max_step"],
        )


def _check_lr(lr: float | Tensor) -> None:
    """Raise for a tensor with negative, infinite or NaN values; numbers are checked with the other settings."""
    if isinstance(lr, Tensor) and not bool(((lr >= 0) & lr.isfinite()).all()):
        raise ValueError(f"lr must be finite and non-negative, got {lr}")


def _check_betas(betas: object) -> tuple[float, float]:
    if not isinstance(betas, tuple | list) or len(betas) != 2:
        raise ValueError(f"betas must be two numbers in [0, 1), got {betas!r}")
    for index, beta in enumerate(betas):
        check_fraction(f"betas[{index}]", beta)
    return betas[0], betas[1]
