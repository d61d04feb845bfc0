"""Every wrong argument is refused by its name, with the value it had."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
import torch
from torch import nn

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere, minimize
from ultrahyperbolic.optim import (
    DescentSettings,
    DescentState,
    OntoManifold,
    PseudoRiemannianAdam,
    PseudoRiemannianSGD,
    armijo,
    descent_step,
    optimize_through_phi,
)
from ultrahyperbolic.testing import check_gradient, check_manifold, random_isometry

M, S, E = PseudoHyperboloid(3, 1, -4.0), PseudoSphere(2, 2, 4.0), Euclidean(5)
x = M.random(4, generator=torch.Generator().manual_seed(0))
u = M.random_tangent(x, generator=torch.Generator().manual_seed(1))
NAN = math.nan

TENSORS = {"x", "y", "z", "u", "v", "gradient"}
METHODS = [
    name
    for name, method in inspect.getmembers(PseudoHyperboloid, inspect.isfunction)
    if not name.startswith("_") and TENSORS & set(inspect.signature(method).parameters)
]
OTHERS = {"t": 0.5, "radius": 1.0, "beta": -1.0, "before": []}
WRONG = [
    ([1.0] * 5, TypeError, "got list"),
    (torch.ones(4, 5, dtype=torch.int64), TypeError, "got torch.int64"),
    (torch.ones(4, 5, dtype=torch.float16), TypeError, "got torch.float16"),
    (torch.ones(4, 3, dtype=torch.float64), ValueError, "got shape (4, 3)"),
    (torch.tensor(1.0, dtype=torch.float64), ValueError, "got shape ()"),
]


def tensor_arguments(method):
    parameters = inspect.signature(method).parameters
    return [name for name in parameters if name in TENSORS], {
        k: v for k, v in OTHERS.items() if k in parameters
    }


@pytest.mark.parametrize("manifold", [M, S, E], ids=["curved", "sphere", "flat"])
@pytest.mark.parametrize("name", METHODS)
def test_tensors_are_checked_by_name(manifold, name):
    method = getattr(manifold, name, None)
    if method is None:
        pytest.skip("of curved spaces alone")
    tensors, others = tensor_arguments(getattr(PseudoHyperboloid, name))
    if name == "cdist":
        tensors = ["x", "y"]
    good = manifold.random(4)
    for wrong in tensors:
        for value, error, said in WRONG:
            given = {key: value if key == wrong else good for key in tensors}
            with pytest.raises(error) as caught:
                method(**given, **others)
            assert f"{wrong} must" in str(caught.value)
            assert said in str(caught.value)
    if len(tensors) > 1 and name != "cdist":
        for wrong in tensors[1:]:
            given = dict.fromkeys(tensors, good)
            with pytest.raises(
                TypeError, match=rf"{wrong} is torch.float32|is torch.float64 and {wrong}"
            ):
                method(**(given | {wrong: good.float()}), **others)
            with pytest.raises(ValueError, match=rf"{wrong} \(3, 5\).*do not broadcast"):
                method(**(given | {wrong: good[:3]}), **others)


def test_broadcasting_is_checked_between_all_arguments():
    one, four, three = x[:1], x, x[:3]
    for manifold in (M, S, E):
        with pytest.raises(ValueError, match=r"y \(4, 5\) and v \(3, 5\) do not broadcast"):
            manifold.transp(one, four, three)
        with pytest.raises(ValueError, match=r"u \(4, 5\) and v \(3, 5\) do not broadcast"):
            manifold.expmap_transp(one, four, three)


def parameter(value=x):
    return nn.Parameter(value.clone())


def through_phi(value, name="weight"):
    module = nn.Module()
    module.weight = nn.Parameter(value)
    return optimize_through_phi(module, name, M)


def total(points):
    return points.sum()


free = torch.ones((), dtype=torch.float64, requires_grad=True)
settings = DescentSettings(M, lr=0.1)

NUMBERS = [
    # constructors
    (lambda: PseudoHyperboloid(-1, 2), ValueError, "p must not be negative, got -1"),
    (lambda: PseudoHyperboloid(2.5, 1), TypeError, "p must be an integer, got 2.5"),
    (lambda: PseudoHyperboloid("2", 1), TypeError, "p must be an integer, got '2'"),
    (lambda: PseudoHyperboloid(None, 1), TypeError, "p must be an integer, got None"),
    (lambda: PseudoHyperboloid(torch.ones(2), 1), TypeError, "p must be an integer, got tensor"),
    (
        lambda: PseudoHyperboloid(2, torch.tensor(1.5)),
        TypeError,
        "q must be an integer, got tensor(1.5",
    ),
    (lambda: PseudoHyperboloid(2, 1, "x"), TypeError, "beta must be a number, got 'x'"),
    (lambda: PseudoHyperboloid(2, 1, "-1"), TypeError, "beta must be a number, got '-1'"),
    (lambda: PseudoHyperboloid(2, 1, None), TypeError, "beta must be a number, got None"),
    (lambda: PseudoHyperboloid(2, 1, True), TypeError, "beta must be a number, got True"),
    (
        lambda: PseudoHyperboloid(2, 1, torch.ones(2)),
        TypeError,
        "beta must be a number, got tensor([1., 1.])",
    ),
    (lambda: PseudoHyperboloid(2, 1, NAN), ValueError, "beta must be finite and negative, got nan"),
    (lambda: PseudoSphere(0, 1), ValueError, "p must be at least 1, got 0"),
    (lambda: PseudoSphere(2, 1.0), TypeError, "q must be an integer, got 1.0"),
    (lambda: PseudoSphere(2, 1, []), TypeError, "beta must be a number, got []"),
    (lambda: PseudoSphere(2, 1, -1.0), ValueError, "beta must be finite and positive, got -1.0"),
    (lambda: PseudoSphere(2, 1, math.inf), ValueError, "beta must be finite and positive, got inf"),
    (lambda: Euclidean(0), ValueError, "d must be at least 1, got 0"),
    (lambda: Euclidean("3"), TypeError, "d must be an integer, got '3'"),
    # times, radii, scales and tolerances
    *(
        case
        for N in (M, S, E)
        for case in (
            (
                lambda N=N: N.geodesic(N.origin(4), u, "x"),
                TypeError,
                "t must be a number or a tensor [...], got 'x'",
            ),
            (
                lambda N=N: N.geodesic(N.origin(4), u, [1.0]),
                TypeError,
                "t must be a number or a tensor [...], got [1.0]",
            ),
            (
                lambda N=N: N.geodesic(N.origin(4), u, x[:3, 0]),
                ValueError,
                "t (3,) does not broadcast against the rows of x",
            ),
            (
                lambda N=N: N.geodesic(N.origin(4), u, x > 0),
                TypeError,
                "t must be a number or a tensor [...] of real",
            ),
            (
                lambda N=N: N.in_ball(N.origin(4), N.origin(4), "x"),
                TypeError,
                "radius must be a number or a tensor",
            ),
            (
                lambda N=N: N.in_ball(N.origin(4), N.origin(4), NAN),
                ValueError,
                "radius must not be NaN, got nan",
            ),
            (
                lambda N=N: N.in_ball(N.origin(4), N.origin(4), x),
                ValueError,
                "radius (4, 5) does not broadcast",
            ),
            (
                lambda N=N: N.check_point(N.origin(4), tolerance=NAN),
                ValueError,
                "tolerance must be a finite non-negative number, got nan",
            ),
            (
                lambda N=N: N.check_tangent(N.origin(4), u, tolerance="x"),
                TypeError,
                "tolerance must be a finite non-negative number, got 'x'",
            ),
            (
                lambda N=N: N.causal_character(u, tolerance=-1.0),
                ValueError,
                "tolerance must be a finite non-negative number, got -1.0",
            ),
            (
                lambda N=N: N.cdist(N.origin(4), block_rows=2.5),
                TypeError,
                "block_rows must be an integer, got 2.5",
            ),
            (
                lambda N=N: N.cdist(N.origin(4), block_rows=0),
                ValueError,
                "block_rows must be at least 1, got 0",
            ),
            (
                lambda N=N: N.cdist(N.origin(4), dissimilarity="x"),
                ValueError,
                "dissimilarity must be one of geodesic, ",
            ),
            (
                lambda N=N: N.cdist(N.origin(4), N.origin(4).float()),
                TypeError,
                "x is torch.float64 and y is torch.float32",
            ),
            (
                lambda N=N: N.cdist(N.origin()),
                ValueError,
                "cdist takes x [n, d] and y [m, d], got shapes (5,)",
            ),
            (
                lambda N=N: N.smoothed_dissimilarity(N.origin(4), N.origin(4), "x"),
                TypeError,
                "epsilon must be a finite positive number, got 'x'",
            ),
            (
                lambda N=N: N.smoothed_dissimilarity(N.origin(4), N.origin(4), NAN),
                ValueError,
                "epsilon must be a finite positive number, got nan",
            ),
            (
                lambda N=N: N.origin(2.5),
                ValueError,
                "size must be non-negative integers, got (2.5,)",
            ),
            (lambda N=N: N.random(-1), ValueError, "size must be non-negative integers, got (-1,)"),
            (
                lambda N=N: N.random(2, scale="x"),
                TypeError,
                "scale must be a finite non-negative number, got 'x'",
            ),
            (
                lambda N=N: N.random(2, scale=NAN),
                ValueError,
                "scale must be a finite non-negative number, got nan",
            ),
            (
                lambda N=N: N.random(2, generator="x"),
                TypeError,
                "generator must be a torch.Generator or a seed, got 'x'",
            ),
            (
                lambda N=N: N.random(2, dtype=torch.int64),
                TypeError,
                "dtype must be torch.float32 or torch.float64, got torch.int64",
            ),
            (
                lambda N=N: N.origin(2, dtype="float32"),
                TypeError,
                "dtype must be torch.float32 or torch.float64, got float32",
            ),
            (
                lambda N=N: N.random_near_pole(2, epsilon=None),
                TypeError,
                "epsilon must be a finite positive number, got None",
            ),
            (
                lambda N=N: N.random_near_pole(2, epsilon=-0.1),
                ValueError,
                "epsilon must be a finite positive number, got -0.1",
            ),
            (
                lambda N=N: N.random_tangent(N.origin(4), scale=NAN),
                ValueError,
                "scale must be a finite non-negative number, got nan",
            ),
        )
    ),
    (lambda: M.homothety(x, 1.0), ValueError, "beta must be finite and negative, got 1.0"),
    (lambda: S.homothety(S.origin(4), "x"), TypeError, "beta must be a number, got 'x'"),
    (
        lambda: S.homothety(S.origin(), -1.0),
        ValueError,
        "beta must be finite and positive, got -1.0",
    ),
    # values, where they are checked
    (
        lambda: M.assert_point(2 * x, name="here"),
        ValueError,
        "here[0] is off the manifold: ⟨x, x⟩ = -16 instead",
    ),
    (
        lambda: M.assert_point(x.long(), name="here"),
        TypeError,
        "here must be float32 or float64, got torch.int64",
    ),
    (
        lambda: M.assert_tangent(x, x, name="push"),
        ValueError,
        "push[0] is not tangent: |⟨x, u⟩| = 4 instead of 0",
    ),
    (
        lambda: M.assert_tangent(x, [0.0], name="push"),
        TypeError,
        "push must be a torch.Tensor [..., 5], got list",
    ),
    (lambda: M.assert_projectable(0 * x, name="raw"), ValueError, "raw[0] has a zero time part"),
    (
        lambda: M.assert_projectable(x.flip(-1), name="raw"),
        ValueError,
        "cannot be rescaled onto the manifold: ⟨z, z⟩ = ",
    ),
    (lambda: M.assert_projectable(x[:, :4], name="raw"), ValueError, "raw must have 5 coordinates"),
    (lambda: M.assert_phi(0 * x, name="raw"), ValueError, "raw[0] has a zero time part"),
    (lambda: M.assert_phi(x[:, :4], name="raw"), ValueError, "raw must have 5 coordinates"),
    # optimisers
    (lambda: DescentSettings("M", 0.1), TypeError, "manifold must be a Manifold, got str"),
    (
        lambda: DescentSettings(M, "x"),
        TypeError,
        "lr must be a finite non-negative number, got 'x'",
    ),
    (
        lambda: DescentSettings(M, None),
        TypeError,
        "lr must be a finite non-negative number, got None",
    ),
    (
        lambda: DescentSettings(M, 0.1, momentum=None),
        TypeError,
        "momentum must be a number in [0, 1), got None",
    ),
    (
        lambda: DescentSettings(M, 0.1, momentum=NAN),
        ValueError,
        "momentum must be in [0, 1), got nan",
    ),
    (
        lambda: DescentSettings(M, 0.1, second_moment="x"),
        TypeError,
        "second_moment must be a number in [0, 1), got 'x'",
    ),
    (
        lambda: DescentSettings(M, 0.1, eps="x"),
        TypeError,
        "eps must be a finite non-negative number, got 'x'",
    ),
    (
        lambda: DescentSettings(M, 0.1, max_step="x"),
        TypeError,
        "max_step must be a finite positive number, got 'x'",
    ),
    (
        lambda: DescentSettings(M, 0.1, direction=1),
        ValueError,
        "direction must be one of descent, ",
    ),
    (
        lambda: descent_step([0.0], x, DescentState(), settings),
        TypeError,
        "points must be a torch.Tensor [..., 5], got list",
    ),
    (
        lambda: descent_step(x, x.long(), DescentState(), settings),
        TypeError,
        "gradient must be float32 or float64, got torch.int64",
    ),
    (
        lambda: descent_step(x, x[:3], DescentState(), settings),
        ValueError,
        "points (4, 5) and gradient (3, 5) do not broadcast",
    ),
    (
        lambda: descent_step(x, x, DescentState(1, x[:3]), settings),
        ValueError,
        "points (4, 5) and momentum (3, 5) do not broadcast",
    ),
    (
        lambda: descent_step(x, x, None, settings),
        TypeError,
        "state must be a DescentState, got NoneType",
    ),
    (
        lambda: descent_step(x, x, DescentState(), M),
        TypeError,
        "settings must be a DescentSettings, got PseudoHyperboloid",
    ),
    (
        lambda: armijo(total, x[:, :4], 0.0, x, M),
        ValueError,
        "points must have 5 coordinates in its last dimension, got shape (4, 4)",
    ),
    (lambda: armijo(total, x, "x", x, M), TypeError, "value must be a number, got 'x'"),
    (lambda: armijo(total, x, 0.0, x, "M"), TypeError, "manifold must be a Manifold, got str"),
    (
        lambda: armijo(total, x, 0.0, x, M, first_step="x"),
        TypeError,
        "first_step must be a finite positive number, got 'x'",
    ),
    (
        lambda: armijo(total, x, 0.0, x, M, sufficient=1.0),
        ValueError,
        "sufficient must be in [0, 1), got 1.0",
    ),
    (
        lambda: armijo(total, x, 0.0, x, M, shrink=0.0),
        ValueError,
        "shrink must be a finite positive number, got 0.0",
    ),
    (
        lambda: armijo(total, x, 0.0, x, M, max_trials=1.5),
        TypeError,
        "max_trials must be an integer, got 1.5",
    ),
    *(
        case
        for Kind in (PseudoRiemannianSGD, PseudoRiemannianAdam)
        for case in (
            (
                lambda K=Kind: K([parameter()], "M"),
                TypeError,
                "manifold must be a Manifold, got str",
            ),
            (
                lambda K=Kind: K([{"params": [parameter()], "manifold": 3}], M),
                TypeError,
                "manifold of group 0 must be a Manifold, got int",
            ),
            (
                lambda K=Kind: K([parameter(), parameter(2 * x)], M),
                ValueError,
                "param_groups[0]['params'][1][0] is off the manifold",
            ),
            (
                lambda K=Kind: K([("nodes.weight", parameter(2 * x))], M),
                ValueError,
                "nodes.weight[0] is off the manifold",
            ),
            (
                lambda K=Kind: K([parameter(x[:, :4])], M),
                ValueError,
                "param_groups[0]['params'][0] must have 5 coordinates",
            ),
            (
                lambda K=Kind: K([parameter(x.half())], M),
                TypeError,
                "param_groups[0]['params'][0] must be float32 or float64, got torch.float16",
            ),
            (
                lambda K=Kind: K([parameter()], M, lr="x"),
                TypeError,
                "lr must be a finite non-negative number, got 'x'",
            ),
            (
                lambda K=Kind: K([parameter()], M, lr=torch.tensor(-1.0)),
                ValueError,
                "lr must be finite and non-negative, got -1.0",
            ),
            (
                lambda K=Kind: K([parameter()], M, lr=torch.tensor(NAN)),
                ValueError,
                "lr must be finite and non-negative, got nan",
            ),
            (
                lambda K=Kind: K([parameter()], M, max_step=NAN),
                ValueError,
                "max_step must be a finite positive number, got nan",
            ),
        )
    ),
    (
        lambda: PseudoRiemannianSGD([parameter()], M, momentum=None),
        TypeError,
        "momentum must be a number in [0, 1), got None",
    ),
    (
        lambda: PseudoRiemannianAdam([parameter()], M, betas=(0.9, 1.5)),
        ValueError,
        "betas[1] must be in [0, 1), got 1.5",
    ),
    (
        lambda: PseudoRiemannianAdam([parameter()], M, betas=("x", 0.9)),
        TypeError,
        "betas[0] must be a number in [0, 1), got 'x'",
    ),
    (
        lambda: PseudoRiemannianAdam([parameter()], M, betas=(0.9,)),
        ValueError,
        "betas must be two numbers in [0, 1), got (0.9,)",
    ),
    (
        lambda: PseudoRiemannianAdam([parameter()], M, betas=None),
        ValueError,
        "betas must be two numbers in [0, 1), got None",
    ),
    (
        lambda: PseudoRiemannianAdam([parameter()], M, eps=-1.0),
        ValueError,
        "eps must be a finite non-negative number, got -1.0",
    ),
    # φ and minimize
    (lambda: OntoManifold("M"), TypeError, "manifold must be a Manifold, got str"),
    (
        lambda: optimize_through_phi(nn.Linear(5, 2).double(), "weight", "M"),
        TypeError,
        "manifold must be a Manifold, got str",
    ),
    (
        lambda: optimize_through_phi(x, "weight", M),
        TypeError,
        "module must be a torch.nn.Module, got Tensor",
    ),
    (
        lambda: through_phi(x.clone(), "wait"),
        ValueError,
        "name must be that of a parameter of Module, got 'wait'",
    ),
    (
        lambda: through_phi(x[:, :4].clone()),
        ValueError,
        "weight must have 5 coordinates in its last dimension, got shape (4, 4)",
    ),
    (lambda: through_phi(0 * x), ValueError, "weight[0] has a zero time part"),
    (lambda: through_phi(x * NAN), ValueError, "weight[0] is not finite: (nan"),
    (
        lambda: minimize(total, x.long(), M),
        TypeError,
        "x0 must be float32 or float64, got torch.int64",
    ),
    (lambda: minimize(total, [1.0], M), TypeError, "x0 must be a torch.Tensor [..., 5], got list"),
    (lambda: minimize(total, 2 * x, M), ValueError, "x0[0] is off the manifold"),
    (lambda: minimize(total, x * NAN, M), ValueError, "x0[0] is not finite: (nan"),
    (lambda: minimize(total, x, "M"), TypeError, "manifold must be a Manifold, got str"),
    (lambda: minimize("f", x, M), TypeError, "function must be callable, got 'f'"),
    (
        lambda: minimize(lambda y: free * 2.0, x, M),
        ValueError,
        "function must depend on its argument",
    ),
    (
        lambda: minimize(lambda y: 1, x, M),
        ValueError,
        "function must return a scalar tensor, got int",
    ),
    (lambda: minimize(total, x, M, callback=1), TypeError, "callback must be callable, got 1"),
    (
        lambda: minimize(total, x, M, method=None),
        ValueError,
        "method must be one of lbfgs, line_search, sgd, adam, got None",
    ),
    (
        lambda: minimize(total, x, M, method="sgd", direction="up"),
        ValueError,
        "direction must be one of descent, ",
    ),
    (
        lambda: armijo(total, x, 0.0, x, M, direction="up"),
        ValueError,
        "direction must be one of descent, ",
    ),
    (
        lambda: PseudoRiemannianAdam([parameter()], M, direction="up"),
        ValueError,
        "direction must be one of descent, ",
    ),
    (
        lambda: minimize(total, x, M, method="sgd", lr="x"),
        TypeError,
        "lr must be a finite non-negative number, got 'x'",
    ),
    (
        lambda: minimize(total, x, M, method="sgd", lr=torch.tensor(NAN)),
        TypeError,
        "lr must be a finite non-negative number, got tensor(nan)",
    ),
    (
        lambda: minimize(total, x, M, method="sgd", momentum=None),
        TypeError,
        "momentum must be a number in [0, 1), got None",
    ),
    (
        lambda: minimize(total, x, M, time_limit="x"),
        TypeError,
        "time_limit must be a finite positive number, got 'x'",
    ),
    (
        lambda: minimize(total, x, M, gradient_tolerance=NAN),
        ValueError,
        "gradient_tolerance must be a finite non-negative number, got nan",
    ),
    (
        lambda: minimize(total, x, M, max_iterations=2.5),
        TypeError,
        "max_iterations must be an integer, got 2.5",
    ),
    (lambda: armijo("f", x, 0.0, x, M), TypeError, "function must be callable, got 'f'"),
    (
        lambda: through_phi(x.clone(), 3),
        ValueError,
        "name must be that of a parameter of Module, got 3",
    ),
    # the battery
    (lambda: check_gradient(None, x, M), TypeError, "function must be callable, got None"),
    (lambda: random_isometry("M"), TypeError, "manifold must be a Manifold, got str"),
    (
        lambda: random_isometry(M, boost=NAN),
        ValueError,
        "boost must be a finite non-negative number, got nan",
    ),
    (lambda: check_manifold("M"), TypeError, "manifold must be a Manifold, got str"),
    (lambda: check_manifold(M, n=0), ValueError, "n must be at least 1, got 0"),
    (
        lambda: check_manifold(M, dtype=torch.int64),
        TypeError,
        "dtype must be torch.float32 or torch.float64, got torch.int64",
    ),
    (
        lambda: check_gradient(total, [1.0], M),
        TypeError,
        "x must be a torch.Tensor [..., 5], got list",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), NUMBERS, ids=[words for *_, words in NUMBERS])
def test_errors_name_the_argument_the_rule_and_the_value(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_integers_of_numpy_and_numbers_of_torch_are_welcome():
    N = PseudoHyperboloid(np.int64(3), torch.tensor(1), np.float32(-0.25))
    assert (N.p, N.q, N.beta.item(), type(N.p)) == (3, 1, -0.25, int)
    assert PseudoHyperboloid(3, 1, N.beta).beta.item() == -0.25
    assert PseudoSphere(np.int32(2), np.int64(1)).dim == 2 + 1
    assert Euclidean(np.int64(3)).origin(np.int64(2)).shape == (2, 3)
    assert N.random(np.int64(2), np.int64(3), scale=np.float32(0.5)).shape == (2, 3, 5)
    assert N.cdist(N.random(4), block_rows=np.int64(3)).shape == (4, 4)
    y = N.random(4)
    assert N.geodesic(y, 0 * y, torch.tensor([1, 2, 3, 4])).shape == (4, 5)
    assert minimize(total, y, N, max_iterations=np.int64(1)).iterations == 1
    with pytest.raises(TypeError, match=r"q must be an integer, got tensor\(True\)"):
        PseudoHyperboloid(3, torch.tensor(True))
