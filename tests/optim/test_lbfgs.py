"""Quasi-Newton steps through φ: how they begin."""

from __future__ import annotations

import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.spaces.lbfgs import PhiLBFGS, Reached


def test_the_first_step_is_of_the_right_length_whatever_the_scale_of_the_function():
    """A probe tells the curvature: steps do not begin at the length of the gradient."""
    manifold = PseudoHyperboloid(2, 2)
    target = manifold.random(30, generator=torch.Generator().manual_seed(0))
    start = manifold.phi(
        target + 0.01 * torch.randn(target.shape, generator=torch.Generator().manual_seed(1))
    )
    for scale in (1e-6, 1.0, 1e9):
        asked = []

        def value_and_gradient(points, scale=scale, asked=asked):
            asked.append(points)
            return scale * float((points - target).square().sum()), 2.0 * scale * (points - target)

        steps, here = PhiLBFGS(manifold), Reached(start, *value_and_gradient(start))
        before = here.value
        for _ in range(8):
            here = steps.step(here, value_and_gradient)
        assert here.value < 1e-3 * before
        # The start, a probe, and hardly more than one evaluation a step.
        assert len(asked) <= 14


@pytest.mark.parametrize("flat", [0, 1, 2])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [(PseudoHyperboloid, (3, 0, -2.0)), (PseudoHyperboloid, (2, 2, -2.0)), (Euclidean, (3,))],
)
def test_what_is_known_of_phi_leads_where_autograd_does(kind, shape, flat):
    """A subclass is not known: its gradients go through autograd. Flat coordinates after the others
    go as they are.
    """
    known, unknown = kind(*shape), type("Unknown", (kind,), {})(*shape)
    assert unknown.quadric is None
    assert known.quadric is not None
    target, start = (
        torch.cat(
            (
                known.random(9, generator=generator),
                torch.randn(9, flat, generator=generator).double(),
            ),
            -1,
        )
        for generator in map(torch.Generator().manual_seed, (0, 1))
    )

    def value_and_gradient(points):
        return float((points - target).pow(4).sum()), 4.0 * (points - target).pow(3)

    ends = []
    for manifold in (known, unknown):
        steps, here = PhiLBFGS(manifold, flat=flat), Reached(start, *value_and_gradient(start))
        for _ in range(4):
            here = steps.step(here, value_and_gradient)
        ends.append(here.points)
    torch.testing.assert_close(*ends, rtol=1e-9, atol=1e-9)
