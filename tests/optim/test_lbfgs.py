"""Quasi-Newton steps through φ: how they begin."""

from __future__ import annotations

import torch

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.optim.lbfgs import Found, PhiLBFGS


def test_the_first_step_is_of_the_right_length_whatever_the_scale_of_the_function():
    """A probe tells the curvature: steps do not begin at the length of the gradient."""
    manifold = PseudoHyperboloid(2, 2)
    target = manifold.random(30, generator=torch.Generator().manual_seed(0))
    start = manifold.phi(target + 0.01 * torch.randn(target.shape, generator=torch.Generator().manual_seed(1)))
    for scale in (1e-6, 1.0, 1e9):
        asked = []

        def value_and_gradient(points, scale=scale, asked=asked):
            asked.append(points)
            return scale * float((points - target).square().sum()), 2.0 * scale * (points - target)

        steps, here = PhiLBFGS(manifold), Found(start, *value_and_gradient(start))
        before = here.value
        for _ in range(8):
            here = steps.step(here, value_and_gradient)
        assert here.value < 1e-3 * before
        # The start, a probe, and hardly more than one evaluation a step.
        assert len(asked) <= 14
