"""One call for any differentiable function on a manifold."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from ..geometry import Manifold
from ..geometry.arguments import check_callable, check_count, check_positive
from ..geometry.manifold import require_manifold
from ..interrupted import Interrupted
from ..progress import bar
from .descent import DescentSettings, DescentState, descent_step
from .line_search import armijo

Method = Literal["line_search", "sgd", "adam"]


@dataclass(frozen=True)
class MinimizeResult:
    """What :func:`minimize` found and why it stopped."""

    point: Tensor
    """The best point seen [..., d]."""
    value: float
    """The function there."""
    history: list[float] = field(repr=False)
    """The function at the start and after each iteration."""
    gradient_norm: float
    """Euclidean norm of the pseudo-Riemannian gradient at the last point evaluated."""
    iterations: int
    evaluations: int
    """Evaluations of the function, with or without its gradient."""
    reason: str
    """Why it stopped, in a sentence."""
    converged: bool
    """Whether the gradient met the tolerance, or the line search could not decrease the function any further."""


def minimize(
    function: Callable[[Tensor], Tensor],
    x0: Tensor,
    manifold: Manifold,
    *,
    method: Method = "line_search",
    lr: float | None = None,
    momentum: float = 0.0,
    max_step: float | None = None,
    max_iterations: int = 1000,
    gradient_tolerance: float = 1e-8,
    time_limit: float | None = None,
    callback: Callable[[int, Tensor, float], Any] | None = None,
    progress: bool = False,
) -> MinimizeResult:
    """Minimise a differentiable function of points on a manifold along -χ.

    Parameters
    ----------
    function : callable
        Takes points [..., d] and returns a scalar tensor that autograd can differentiate.
    x0 : Tensor
        Where to start; checked to be on the manifold.
    manifold : Manifold
        Where the points live.
    method : "line_search", "sgd" or "adam"
        The Armijo line search needs no step size and decreases the function at every iteration.
    lr : float, optional
        Step size of ``"sgd"`` and ``"adam"`` (default 1e-2).
    momentum : float
        Heavy-ball factor of ``"sgd"``.
    max_step : float, optional
        Longest move of a point in one step of ``"sgd"`` and ``"adam"``.
    max_iterations : int
        Iterations after which to stop.
    gradient_tolerance : float
        Stop once the Euclidean norm of Df is at most this.
    time_limit : float, optional
        Seconds after which to stop.
    callback : callable, optional
        ``callback(iteration, points, value)`` after each iteration; returning True stops.
    progress : bool
        Show a progress bar, on a terminal.

    Ctrl-C raises :class:`Interrupted`, a ``KeyboardInterrupt`` whose ``result`` is what was found so far.
    """
    check_callable("function", function)
    if callback is not None:
        check_callable("callback", callback)
    require_manifold(manifold)
    max_iterations = check_count("max_iterations", max_iterations, 0)
    _check_arguments(method, lr, momentum, max_step, gradient_tolerance, time_limit)
    manifold.assert_point(x0, name="x0")
    run = _Run(function, x0.detach().clone(), manifold)
    advance = _advance(run, method, lr, momentum, max_step)
    started = time.monotonic()
    reason, converged = f"reached max_iterations = {max_iterations}", False
    with bar("minimise", max_iterations, show=progress) as update:
        try:
            for iteration in range(1, max_iterations + 1):
                if run.gradient_norm <= gradient_tolerance:
                    reason, converged = _within(run, gradient_tolerance)
                    break
                stop = advance()
                if stop is not None:
                    reason, converged = stop
                    break
                update(iteration, f"value {run.value:.6g}")
                if callback is not None and callback(iteration, run.points, run.value):
                    reason = "the callback asked to stop"
                    break
                if time_limit is not None and time.monotonic() - started >= time_limit:
                    reason = f"reached time_limit = {time_limit:g} s"
                    break
            else:
                if run.gradient_norm <= gradient_tolerance:
                    reason, converged = _within(run, gradient_tolerance)
        except KeyboardInterrupt:
            reason = "interrupted"
    result = MinimizeResult(
        point=run.best_points,
        value=run.best_value,
        history=run.history,
        gradient_norm=run.gradient_norm,
        iterations=len(run.history) - 1,
        evaluations=run.evaluations,
        reason=reason,
        converged=converged,
    )
    if reason == "interrupted":
        raise Interrupted(f"after {result.iterations} iterations; the best point so far: .result", result=result)
    return result


class _Run:
    """Where the minimisation stands: the current point with value and gradient, the best point, the history."""

    def __init__(self, function: Callable[[Tensor], Tensor], points: Tensor, manifold: Manifold) -> None:
        self.function, self.manifold = function, manifold
        self.evaluations = 0
        self.points = points
        self.value, self.gradient = self._evaluate(points)
        if not math.isfinite(self.value) or not self.gradient.isfinite().all():
            raise ValueError(f"function and its gradient must be finite at x0, got f(x0) = {self.value}")
        self.best_points, self.best_value = self.points, self.value
        self.history = [self.value]

    def _evaluate(self, points: Tensor) -> tuple[float, Tensor]:
        self.evaluations += 1
        variable = points.detach().requires_grad_()
        with torch.enable_grad():
            value = self.function(variable)
            if not isinstance(value, Tensor) or value.numel() != 1:
                shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise ValueError(f"function must return a scalar tensor, got {shape}")
            if not value.requires_grad:
                raise ValueError("function must return a tensor that depends on its argument through autograd")
            (gradient,) = torch.autograd.grad(value.reshape(()), variable, allow_unused=True)
        if gradient is None:
            raise ValueError("function must depend on its argument, and autograd finds that it does not use it")
        return float(value.detach()), gradient

    @property
    def gradient_norm(self) -> float:
        """Euclidean norm of Df at the current point."""
        return float(self.manifold.egrad2rgrad(self.points, self.gradient).norm())

    def move(self, points: Tensor) -> bool:
        """Go to new points; False, and nothing changed, where the function or its gradient is not finite."""
        value, gradient = self._evaluate(points)
        if not math.isfinite(value) or not gradient.isfinite().all():
            return False
        self.points, self.value, self.gradient = points, value, gradient
        self.history.append(value)
        if value < self.best_value:
            self.best_points, self.best_value = points, value
        return True


def _advance(
    run: _Run, method: Method, lr: float | None, momentum: float, max_step: float | None
) -> Callable[[], tuple[str, bool] | None]:
    """A function that performs one iteration and returns why to stop, or None."""
    not_finite = "the function or its gradient became non-finite; the step was taken back", False
    if method == "line_search":
        step = 1.0

        def search() -> tuple[str, bool] | None:
            nonlocal step
            found = armijo(run.function, run.points, run.value, run.gradient, run.manifold, first_step=step)
            run.evaluations += found.evaluations
            if found.step == 0.0:
                return _no_decrease(run)
            # Twice the accepted step comes next, so that the search can grow again.
            step = min(2.0 * found.step, 1e12)
            return None if run.move(found.points) else not_finite

        return search

    settings = DescentSettings(
        run.manifold,
        lr=1e-2 if lr is None else lr,
        momentum=0.9 if method == "adam" else momentum,
        second_moment=0.999 if method == "adam" else None,
        max_step=max_step,
    )
    state = DescentState()

    def descend() -> tuple[str, bool] | None:
        nonlocal state
        points, state = descent_step(run.points, run.gradient, state, settings)
        return None if run.move(points) else not_finite

    return descend


def _within(run: _Run, tolerance: float) -> tuple[str, bool]:
    return f"gradient norm {run.gradient_norm:.3g} <= {tolerance:g}", True


def _no_decrease(run: _Run) -> tuple[str, bool]:
    """Why no step was found: at a minimum rounding hides the decrease; elsewhere something is wrong."""
    norm = run.gradient_norm
    if norm <= torch.finfo(run.points.dtype).eps ** 0.4 * max(1.0, abs(run.value)):
        return "no step decreases the function any further: converged to rounding", True
    return f"no step decreases the function (gradient norm {norm:.3g}): not smooth here, or a wrong gradient", False


def _check_arguments(
    method: str,
    lr: float | None,
    momentum: float,
    max_step: float | None,
    gradient_tolerance: float,
    time_limit: float | None,
) -> None:
    if method not in ("line_search", "sgd", "adam"):
        raise ValueError(f"method must be 'line_search', 'sgd' or 'adam', got {method!r}")
    if method == "line_search" and (lr is not None or momentum != 0.0 or max_step is not None):
        raise ValueError("method='line_search' chooses its own steps: lr, momentum and max_step belong to the others")
    if method == "adam" and momentum != 0.0:
        raise ValueError("momentum belongs to method='sgd'; Adam has its own")
    if lr is not None:
        check_positive("lr", lr, zero=True)
    check_positive("gradient_tolerance", gradient_tolerance, zero=True)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
