"""A step size that is certain to decrease the function."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ..checks import check_callable, check_count, check_fraction, check_positive
from ..geometry import Manifold
from ..geometry.arguments import as_number, validate
from ..geometry.manifold import require_manifold
from .descent import DescentSettings, DescentState, Direction, descent_step, direction_of


class LineSearch(NamedTuple):
    """What `armijo` found."""

    points: Tensor
    """The new points, or the old ones if no step decreased the function."""
    value: float
    step: float
    """The accepted step size η; 0 if none was."""
    evaluations: int
    slope: float
    """How far f falls per unit of η, at the old points and to first order."""
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

    ``points`` [..., d] move together, ``value`` and ``gradient`` are f and its Euclidean gradient there, c is
    ``sufficient``. -χ descends with slope -⟨Df, χ⟩ = -‖Df‖² (Eq. 15), and so does the surrogate, so a step is found
    unless rounding hides the decrease; trials where f is not finite are shortened like any other. The function never
    increases. A direction that does not descend gets no step.
    """
    check_callable("function", function)
    require_manifold(manifold)
    validate(manifold.ambient_dim, points=points, gradient=gradient)
    value = as_number("value", value)
    check_positive("first_step", first_step)
    for name, fraction in (("sufficient", sufficient), ("shrink", shrink)):
        check_fraction(name, fraction)
        check_positive(name, fraction)
    max_trials = check_count("max_trials", max_trials, 0)
    ascent, slope = direction_of(points, gradient, DescentSettings(manifold, lr=first_step, direction=direction))
    length = float(ascent.norm())
    step = first_step
    trials = max_trials if slope > 0.0 else 0  # else rounding, or the second order, would decide
    for trial in range(1, trials + 1):
        settings = DescentSettings(manifold, lr=step, direction=direction)
        candidate, _ = descent_step(points, gradient, DescentState(), settings)
        with torch.no_grad():
            reached = float(function(candidate))
        if reached <= value - sufficient * step * slope and reached < value:
            return LineSearch(candidate, reached, step, trial, slope, length)
        step *= shrink
    return LineSearch(points, value, 0.0, trials, slope, length)
