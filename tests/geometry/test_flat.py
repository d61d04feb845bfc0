"""Flat space has the interface of the curved ones."""

from __future__ import annotations

import inspect

import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere

# What tells how a quadric lies in its ambient space, and of the quadrics that are near it.
CURVED = {"beta", "homothety", "anti_isometry", "unit_normal", "projn", "shape_operator"}
CURVED |= {"include_hyperbolic", "include_sphere"}


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", [Euclidean, PseudoSphere])
def test_every_public_name_of_the_pseudo_hyperboloid_is_there(kind):
    names = public(PseudoHyperboloid) - (CURVED if kind is Euclidean else set())
    assert names <= public(kind)
    for name in names - public(torch.nn.Module):
        ours, theirs = getattr(PseudoHyperboloid, name), getattr(kind, name)
        assert isinstance(ours, property) == isinstance(theirs, property), name
        if inspect.isfunction(ours):
            assert list(inspect.signature(ours).parameters) == list(
                inspect.signature(theirs).parameters
            ), name


def test_what_is_returned_is_fresh_and_broadcast(generator):
    E = Euclidean(3)
    x, y, v = (
        E.random(4, 1, generator=generator),
        E.random(5, generator=generator),
        E.random(generator=generator),
    )
    at_a_point = ("proju", "precondition", "egrad2rgrad", "descent_direction", "wick_rotation")
    at_a_point += ("precondition_root", "surrogate_direction")
    calls = dict.fromkeys(at_a_point, (x, v))
    calls |= dict.fromkeys(("transp", "transp_follow_expmap"), (x, y, v))
    calls |= dict.fromkeys(("phi", "projx", "psi", "psi_inverse"), (v,))
    for name, arguments in calls.items():
        result = getattr(E, name)(*arguments)
        shape = torch.broadcast_shapes(*(argument.shape for argument in arguments))
        assert result.shape == shape, name
        torch.testing.assert_close(result, v.expand(shape), rtol=0, atol=0)
        before = v.clone()
        result += 1.0
        assert torch.equal(v, before), name
    moved, carried = E.expmap_transp(x, y, v)
    assert moved.shape == carried.shape == (4, 5, 3)


def test_the_limits_of_the_curved_quantities():
    E = Euclidean(3)
    assert (E.sectional_curvature.item(), E.mean_curvature.item()) == (0.0, 0.0)
    x = E.random(2)
    assert torch.equal(E.preconditioner(x), torch.eye(3, dtype=torch.float64).expand(2, 3, 3))
    assert (E.random_near_pole(4, perturb_first=False)[:, 0] == 0).all()
