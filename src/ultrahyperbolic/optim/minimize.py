"""One call for any differentiable function on a manifold, and a line search."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from ..arrays import Floats
from ..checks import check_callable, check_choice, check_count, check_fraction, check_positive
from ..geometry import Manifold, Product
from ..geometry.arguments import as_number, validate
from ..geometry.manifold import require_manifold
from ..interrupted import Interrupted
from ..loop import Callback, Ending, Every, Stopped, run
from ..progress import bar
from ..spaces.lbfgs import PhiLBFGS, Reached
from .descent import (
    DESCENDING,
    DescentSettings,
    DescentState,
    Direction,
    descent_step,
    direction_of,
)


class LineSearch(NamedTuple):
    """What `armijo` found."""

    points: Tensor
    """The new points, or the old ones if no step decreased the function."""
    value: float
    step: float
    """The accepted step size η; 0 if none was."""
    evaluations: int
    slope: float
    """How far f falls per unit of η, to first order."""
    length: float
    """How far the points move per unit of η."""


def armijo(
    function: Callable[[Tensor], Tensor],
    points: Tensor,
    value: float,
    gradient: Tensor,
    manifold: Manifold,
    *,
    direction: Direction = "descent",
    first_step: float = 1.0,
    sufficient: float = 0.1,
    shrink: float = 0.5,
    max_trials: int = 80,
) -> LineSearch:
    """Shorten η until f(exp_x(-η ζ)) <= f(x) - c η ⟨Df, ζ⟩, and below f(x) itself.

    ``points`` [..., d] move together, ``value`` and ``gradient`` are f and its Euclidean gradient
    there, c is ``sufficient``. -χ and the surrogate descend (Eq. 15), so a step is found unless
    rounding hides the decrease. A direction that does not descend gets no step.
    """
    check_callable("function", function)
    settings = DescentSettings(manifold, lr=1.0, direction=direction)
    validate(manifold.ambient_dim, points=points, gradient=gradient)
    value = as_number("value", value)
    check_positive("first_step", first_step)
    for name, fraction in (("sufficient", sufficient), ("shrink", shrink)):
        check_fraction(name, fraction)
        check_positive(name, fraction)
    max_trials = check_count("max_trials", max_trials, 0)
    ascent, slope = direction_of(points, gradient, settings)
    length = float(ascent.norm())
    step = first_step
    trials = max_trials if slope > 0.0 else 0  # else rounding, or the second order, would decide
    for trial in range(1, trials + 1):
        candidate, _ = descent_step(points, gradient, DescentState(), replace(settings, lr=step))
        with torch.no_grad():
            reached = float(function(candidate))
        if reached <= value - sufficient * step * slope and reached < value:
            return LineSearch(candidate, reached, step, trial, slope, length)
        step *= shrink
    return LineSearch(points, value, 0.0, trials, slope, length)


Method = Literal["lbfgs", "line_search", "sgd", "adam"]
METHODS: tuple[Method, ...] = get_args(Method)
# How many units of rounding a sum of many terms may be off by.
_ROUNDING = 1e3
_NOT_FINITE = Ending(
    Stopped.STUCK, "the function or its gradient became non-finite; the step was taken back"
)


@dataclass(frozen=True)
class MinimizeResult:
    """What `minimize` found and why it stopped."""

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
    """Whether the gradient meets the tolerance, or rounding hides what is left to gain."""


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
    callback: Callable[[int, Tensor, float], object] | None = None,
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
        L-BFGS through φ, or an Armijo line search along ``direction``: both need no step size and
        decrease the function at every iteration. The others take steps of a given size.
    direction : str, optional
        What all but L-BFGS move along, as `DescentSettings` has it: by default ``"surrogate"``.
    lr, max_step : float, optional
        Step size (default 1e-2) and longest move of a point, of ``"sgd"`` and ``"adam"``.
    momentum : float
        Heavy-ball factor of ``"sgd"``.
    max_iterations, time_limit : int, float
        Iterations and seconds after which to stop.
    gradient_tolerance : float
        Stop once the Euclidean norm of Df is at most this.
    callback : callable, optional
        ``callback(iteration, points, value)`` after each iteration; returning True stops.
    progress : bool
        Show a progress bar, on a terminal.

    Ctrl-C raises `Interrupted`, a ``KeyboardInterrupt`` whose ``result`` is what was found so far.
    """
    check_callable("function", function)
    if callback is not None:
        check_callable("callback", callback)
    max_iterations = check_count("max_iterations", max_iterations, 0)
    check_choice("method", method, METHODS)
    if method == "lbfgs" and direction is not None:
        raise ValueError("direction belongs to the other methods: method='lbfgs' has its own")
    given = lr is not None or momentum != 0.0 or max_step is not None
    if given and method in ("lbfgs", "line_search"):
        others = "lr, momentum and max_step belong to the others"
        raise ValueError(f"method={method!r} chooses its own steps: {others}")
    if method == "adam" and momentum != 0.0:
        raise ValueError("momentum belongs to method='sgd'; Adam has its own")
    if lr is not None:
        check_positive("lr", lr, zero=True)
    settings = DescentSettings(
        manifold,
        lr=1e-2 if lr is None else lr,
        direction=direction or "surrogate",
        momentum=0.9 if method == "adam" else momentum,
        second_moment=0.999 if method == "adam" else None,
        max_step=max_step,
    )
    check_positive("gradient_tolerance", gradient_tolerance, zero=True)
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    manifold.assert_point(x0, name="x0")
    state = _State(function, x0.detach().clone(), method, settings, gradient_tolerance)
    with bar("minimise", max_iterations, show=progress) as update:
        callbacks: list[Callback[_State]] = [
            lambda now: update(now.iteration, f"value {state.at.value:.6g}")
        ]
        if callback is not None:
            ask = lambda now: callback(now.iteration, state.at.points, state.at.value)  # noqa: E731
            callbacks.append(Every[_State](1, ask))
        ran = run(state, state, max_iterations, callbacks=callbacks, time_limit=time_limit)
    ending = ran.ending
    if ending.why is Stopped.ITERATIONS:
        ending = state.converged() or ending
    in_words = {
        Stopped.ITERATIONS: f"reached max_iterations = {max_iterations}",
        Stopped.TIME_LIMIT: f"reached time_limit = {time_limit or 0.0:g} s",
        Stopped.CALLBACK: "the callback asked to stop",
    }
    reason, converged = in_words.get(ending.why, ending.text), ending.why is Stopped.CONVERGED
    best_norm = state.norm_of(state.best)
    if converged and best_norm > gradient_tolerance and state.best is not state.at:
        reason = f"{reason} at the last point; an earlier one is lower, and is returned"
        converged = False
    result = MinimizeResult(
        point=state.best.points,
        value=state.best.value,
        history=state.history,
        gradient_norm=best_norm,
        iterations=state.iteration,
        evaluations=state.evaluations,
        reason=reason,
        converged=converged,
    )
    if ending.why is Stopped.INTERRUPTED:
        done = f"after {result.iterations} iterations; the best point so far: .result"
        raise Interrupted(done, result=result)
    return result


class _State:
    """Where the minimisation stands, and the engine of its loop."""

    runs, overhead = 1, 0.0

    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        points: Tensor,
        method: Method,
        settings: DescentSettings,
        gradient_tolerance: float,
    ) -> None:
        self.function, self.method = function, method
        self.settings, self.tolerance = settings, gradient_tolerance
        self.lbfgs, self.moments, self.first_step = PhiLBFGS(settings.manifold), DescentState(), 1.0
        self.iteration, self.evaluations = 0, 0
        self.ending: Ending | None = None
        self.at = Reached(points, *self.evaluate(points))
        if not _finite(self.at):
            value = self.at.value
            raise ValueError(f"function and gradient must be finite at x0, got f(x0) = {value}")
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
            gradient = None
            if value.requires_grad:
                (gradient,) = torch.autograd.grad(value.reshape(()), variable, allow_unused=True)
        if gradient is None:
            raise ValueError("function must depend on its argument through autograd")
        return float(value.detach()), gradient

    def norm_of(self, found: Reached) -> float:
        """Euclidean norm of Df."""
        return float(self.settings.manifold.egrad2rgrad(found.points, found.gradient).norm())

    def converged(self) -> Ending | None:
        """That the gradient meets the tolerance, where it does."""
        norm, least = self.norm_of(self.at), self.tolerance
        text = f"gradient norm {norm:.3g} <= {least:g}"
        return Ending(Stopped.CONVERGED, text) if norm <= least else None

    def advance(self, _: "_State", iterations: int) -> Floats:
        """Up to ``iterations`` iterations, until one ends it; the values [1, performed]."""
        before = len(self.history)
        while self.ending is None and len(self.history) - before < iterations:
            found = self.converged() or self.step()
            if isinstance(found, Ending):
                self.ending = found
            elif not _finite(found):
                self.ending = _NOT_FINITE
            else:
                self.at = found
                self.iteration += 1
                self.history.append(found.value)
                if found.value < self.best.value:
                    self.best = found
        return np.array([self.history[before:]], dtype=np.float64)

    def step(self) -> Reached | Ending:
        """Where one iteration leads, or why to stop."""
        if self.method == "lbfgs":
            reached = self.lbfgs.step(self.at, self.evaluate)
            return reached or self._no_decrease(self.lbfgs.expected, self.lbfgs.length)
        if self.method != "line_search":
            points, self.moments = descent_step(
                self.at.points, self.at.gradient, self.moments, self.settings
            )
            return Reached(points, *self.evaluate(points))
        step, direction = self.first_step, self.settings.direction
        found = armijo(
            self.function, *self.at, self.settings.manifold, direction=direction, first_step=step
        )
        self.evaluations += found.evaluations
        if found.step > 0.0:
            # Twice the accepted step comes next, so that the search can grow again.
            self.first_step = min(2.0 * found.step, 1e12)
            return Reached(found.points, *self.evaluate(found.points))
        if direction in DESCENDING:
            return self._no_decrease(step * found.slope, step * found.length)
        text = f"no step decreases the function: direction {direction!r} does not descend here"
        return Ending(Stopped.STUCK, text)

    def _no_decrease(self, expected: float, length: float) -> Ending:
        """Why no step of ``length`` decreased f as ``expected``: rounding or a wrong gradient."""
        rounding = _ROUNDING * torch.finfo(self.at.points.dtype).eps
        size = float(self.at.points.norm())
        if expected <= rounding * abs(self.at.value) or length <= rounding * size:
            text = "no step decreases the function any further: converged to rounding"
            return Ending(Stopped.CONVERGED, text)
        return Ending(
            Stopped.STUCK,
            f"no step decreases the function, which should fall by {expected:.3g} "
            f"(gradient norm {self.norm_of(self.at):.3g}): not smooth here, or a wrong gradient",
        )


def _finite(found: Reached) -> bool:
    return math.isfinite(found.value) and bool(found.gradient.isfinite().all())


def mean(
    points: Tensor,
    manifold: Manifold,
    *,
    weights: Tensor | None = None,
    epsilon: float = 1e-3,
    max_iterations: int = 200,
) -> Tensor:
    """A point [..., d] near points [..., n, d]: the least Σ w_i D(x, x_i)², by `minimize`.

    Where geodesics join all pairs and the metric is definite (hyperbolic space, the sphere, flat
    space), D is the distance and this is the Fréchet mean, on a sphere unique for points within a
    half sphere. Elsewhere there is no Fréchet mean: D is D_γ, smoothed with ``epsilon``, and the
    result need not be unique. The search starts from φ(Σ w_i x_i). Gradients do not pass.

    >>> import ultrahyperbolic as uh
    >>> M = uh.PseudoHyperboloid(2, 1)
    >>> x = M.random_near_pole(20, epsilon=0.1, generator=0)
    >>> M.check_point(mean(x, M)).ok
    True
    """
    require_manifold(manifold)
    validate(manifold.ambient_dim, points=points)
    if points.dim() < 2 or points.shape[-2] == 0:
        raise ValueError(f"points must be [..., n, d] with n >= 1, got shape {tuple(points.shape)}")
    points = points.detach()
    if weights is None:
        weights = torch.ones_like(points[..., 0])
    count = points.shape[-2]
    fit = weights.shape[-1:] == (count,) and bool((weights >= 0).all())
    if not fit or not bool(weights.sum(-1).all()):
        raise ValueError(f"weights must be [..., {count}], not negative and not all 0")
    weights = weights.detach().to(points).expand(points.shape[:-1])
    share = weights / weights.sum(-1, keepdim=True)
    centre = (share.unsqueeze(-1) * points).sum(-2)
    if not manifold.check_phi(centre).ok:  # opposite points: their sum vanishes
        centre = points[..., 0, :]
    # The factors of a product may differ in sign.
    definite = manifold.joins_all_pairs and not isinstance(manifold, Product)
    length = manifold.dist if definite else manifold.pair_function("smoothed", epsilon)

    def spread(x: Tensor) -> Tensor:
        return (share * length(x.unsqueeze(-2), points).square()).sum()

    return minimize(spread, manifold.phi(centre), manifold, max_iterations=max_iterations).point
