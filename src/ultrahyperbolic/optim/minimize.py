"""One call for any differentiable function on a manifold."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from ..checks import check_callable, check_count, check_positive
from ..geometry import Manifold
from ..geometry.manifold import require_manifold
from ..interrupted import Interrupted
from ..progress import bar
from .descent import DESCENDING, DescentSettings, DescentState, Direction, check_direction, descent_step
from .lbfgs import Found, PhiLBFGS
from .line_search import armijo

Method = Literal["lbfgs", "line_search", "sgd", "adam"]
METHODS: tuple[Method, ...] = get_args(Method)
# How many units of rounding a sum of many terms may be off by.
_ROUNDING = 1e3
_NOT_FINITE = "the function or its gradient became non-finite; the step was taken back", False


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
    """Euclidean norm of the pseudo-Riemannian gradient at ``point``."""
    iterations: int
    evaluations: int
    """Evaluations of the function, with or without its gradient."""
    reason: str
    """Why it stopped, in a sentence."""
    converged: bool
    """Whether the gradient at ``point`` meets the tolerance, or rounding hides what is left to gain."""


def minimize(
    function: Callable[[Tensor], Tensor],
    x0: Tensor,
    manifold: Manifold,
    *,
    method: Method = "lbfgs",
    direction: Direction | None = None,
    lr: float | None = None,
    momentum: float = 0.0,
    max_step: float | None = None,
    max_iterations: int = 1000,
    gradient_tolerance: float = 1e-8,
    time_limit: float | None = None,
    callback: Callable[[int, Tensor, float], Any] | None = None,
    progress: bool = False,
) -> MinimizeResult:
    """Minimise a differentiable function of points on a manifold.

    Parameters
    ----------
    function : callable
        Takes points [..., d] and returns a scalar tensor that autograd can differentiate.
    x0 : Tensor
        Where to start; checked to be on the manifold.
    manifold : Manifold
        Where the points live.
    method : "lbfgs", "line_search", "sgd" or "adam"
        L-BFGS through φ, which learns the curvature, or an Armijo line search along ``direction``: both need no step
        size and decrease the function at every iteration. ``"sgd"`` and ``"adam"`` take steps of a given size.
    direction : str, optional
        What the others move along, as :class:`DescentSettings` has it: ``"surrogate"`` by default, ``"descent"`` for χ.
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
    _check_arguments(method, direction, lr, momentum, max_step, gradient_tolerance, time_limit)
    manifold.assert_point(x0, name="x0")
    run = _Run(function, x0.detach().clone(), manifold)
    advance = _advance(run, method, direction or "surrogate", lr, momentum, max_step)
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
                update(iteration, f"value {run.at.value:.6g}")
                if callback is not None and callback(iteration, run.at.points, run.at.value):
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
    best_norm = run.norm_of(run.best)
    if converged and best_norm > gradient_tolerance and run.best is not run.at:
        reason, converged = f"{reason} at the last point; an earlier one is lower, and is returned", False
    result = MinimizeResult(
        point=run.best.points,
        value=run.best.value,
        history=run.history,
        gradient_norm=best_norm,
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
        self.at = Found(points, *self.evaluate(points))
        if not _finite(self.at):
            raise ValueError(f"function and its gradient must be finite at x0, got f(x0) = {self.at.value}")
        self.best = self.at
        self.history = [self.at.value]

    def evaluate(self, points: Tensor) -> tuple[float, Tensor]:
        """The function and its Euclidean gradient."""
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
        return self.norm_of(self.at)

    def norm_of(self, found: Found) -> float:
        """Euclidean norm of Df."""
        return float(self.manifold.egrad2rgrad(found.points, found.gradient).norm())

    def move(self, found: Found) -> bool:
        """Go to new points; False, and nothing changed, where the function or its gradient is not finite."""
        if not _finite(found):
            return False
        self.at = found
        self.history.append(found.value)
        if found.value < self.best.value:
            self.best = found
        return True


def _finite(found: Found) -> bool:
    return math.isfinite(found.value) and bool(found.gradient.isfinite().all())


def _advance(
    run: _Run, method: Method, direction: Direction, lr: float | None, momentum: float, max_step: float | None
) -> Callable[[], tuple[str, bool] | None]:
    """A function that performs one iteration and returns why to stop, or None."""
    if method == "lbfgs":
        return _quasi_newton(run)
    if method == "line_search":
        return _line_search(run, direction)
    settings = DescentSettings(
        run.manifold,
        lr=1e-2 if lr is None else lr,
        direction=direction,
        momentum=0.9 if method == "adam" else momentum,
        second_moment=0.999 if method == "adam" else None,
        max_step=max_step,
    )
    state = DescentState()

    def descend() -> tuple[str, bool] | None:
        nonlocal state
        points, state = descent_step(run.at.points, run.at.gradient, state, settings)
        return None if run.move(Found(points, *run.evaluate(points))) else _NOT_FINITE

    return descend


def _quasi_newton(run: _Run) -> Callable[[], tuple[str, bool] | None]:
    lbfgs = PhiLBFGS(run.manifold, run.evaluate)

    def step() -> tuple[str, bool] | None:
        found = lbfgs.step(run.at)
        if found is None:
            return _no_decrease(run, lbfgs.expected, lbfgs.length)
        run.move(found)
        return None

    return step


def _line_search(run: _Run, direction: Direction) -> Callable[[], tuple[str, bool] | None]:
    step = 1.0

    def search() -> tuple[str, bool] | None:
        nonlocal step
        points, value, gradient = run.at
        found = armijo(run.function, points, value, gradient, run.manifold, direction=direction, first_step=step)
        run.evaluations += found.evaluations
        if found.step == 0.0:
            if direction not in DESCENDING:
                return f"no step decreases the function: direction {direction!r} does not descend here", False
            return _no_decrease(run, step * found.slope, step * found.length)
        # Twice the accepted step comes next, so that the search can grow again.
        step = min(2.0 * found.step, 1e12)
        return None if run.move(Found(found.points, *run.evaluate(found.points))) else _NOT_FINITE

    return search


def _within(run: _Run, tolerance: float) -> tuple[str, bool]:
    return f"gradient norm {run.gradient_norm:.3g} <= {tolerance:g}", True


def _no_decrease(run: _Run, expected: float, length: float) -> tuple[str, bool]:
    """Why no step was found: at a minimum rounding hides the decrease; elsewhere something is wrong.

    ``expected`` is by how much the step that was tried first should have decreased the function, ``length`` how far it
    would have moved the points.
    """
    rounding = _ROUNDING * torch.finfo(run.at.points.dtype).eps
    if expected <= rounding * abs(run.at.value) or length <= rounding * float(run.at.points.norm()):
        return "no step decreases the function any further: converged to rounding", True
    return (
        f"no step decreases the function, which should fall by {expected:.3g} (gradient norm {run.gradient_norm:.3g}): "
        "not smooth here, or a wrong gradient",
        False,
    )


def _check_arguments(
    method: str,
    direction: str | None,
    lr: float | None,
    momentum: float,
    max_step: float | None,
    gradient_tolerance: float,
    time_limit: float | None,
) -> None:
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if direction is not None:
        check_direction(direction)
        if method == "lbfgs":
            raise ValueError("direction belongs to the other methods: method='lbfgs' has its own")
    if method in ("lbfgs", "line_search") and (lr is not None or momentum != 0.0 or max_step is not None):
        raise ValueError(f"method={method!r} chooses its own steps: lr, momentum and max_step belong to the others")
    if method == "adam" and momentum != 0.0:
        raise ValueError("momentum belongs to method='sgd'; Adam has its own")
    if lr is not None:
        check_positive("lr", lr, zero=True)
    check_positive("gradient_tolerance", gradient_tolerance, zero=True)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
