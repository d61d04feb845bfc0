"""Every wrong argument is refused by its name, with the value it had."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ultrahyperbolic import (
    Euclidean,
    Manifold,
    ManifoldParameter,
    Product,
    PseudoHyperboloid,
    PseudoSphere,
    minimize,
)
from ultrahyperbolic.datasets import karate
from ultrahyperbolic.nn import (
    ClassDecoder,
    LinkDecoder,
    ManifoldEmbedding,
    PseudoActivation,
    PseudoLinear,
    RankingLoss,
    normalized_edges,
)
from ultrahyperbolic.optim import (
    DescentSettings,
    DescentState,
    OntoManifold,
    PseudoRiemannianAdam,
    PseudoRiemannianSGD,
    armijo,
    descent_step,
    mean,
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


START, SETTINGS = DescentState(), DescentSettings(M, lr=0.1)
KINDS = (PseudoRiemannianSGD, PseudoRiemannianAdam)
FREE = torch.ones((), dtype=torch.float64, requires_grad=True)
EDGES = torch.tensor([[0, 1], [1, 0]])
STRANGER = type("Own", (Manifold,), dict.fromkeys(Manifold.__abstractmethods__))()


def parameter(value=x):
    return nn.Parameter(value.clone())


def through_phi(value, name="weight"):
    module = nn.Module()
    module.weight = nn.Parameter(value)
    return optimize_through_phi(module, name, M)


def total(points):
    return points.sum()


def stepped(points=x, gradient=x, state=START, settings=SETTINGS):
    return descent_step(points, gradient, state, settings)


def searched(points=x, value=0.0, manifold=M, **options):
    return armijo(total, points, value, x, manifold, **options)


def minimised(function=total, points=x, manifold=M, **options):
    return minimize(function, points, manifold, **options)


TYPES = {
    "p must be an integer, got 2.5": lambda: PseudoHyperboloid(2.5, 1),
    "p must be an integer, got None": lambda: PseudoHyperboloid(None, 1),
    "p must be an integer, got tensor": lambda: PseudoHyperboloid(torch.ones(2), 1),
    "q must be an integer, got tensor(True": lambda: PseudoHyperboloid(2, torch.tensor(True)),
    "beta must be a number, got '-1'": lambda: PseudoHyperboloid(2, 1, "-1"),
    "beta must be a number, got True": lambda: PseudoHyperboloid(2, 1, True),
    "beta must be a number, got tensor([1., 1.])": lambda: PseudoSphere(2, 1, torch.ones(2)),
    "beta is a tensor whose gradient would be lost": lambda: PseudoHyperboloid(2, 1, -FREE),
    "d must be an integer, got '3'": lambda: Euclidean("3"),
    "manifolds[1] must be a Manifold, got int": lambda: Product(E, 3),
    "manifold must be a Manifold, got NoneType": lambda: ManifoldParameter(x),
    "t must be a number or a tensor [...], got 'x'": lambda: M.geodesic(x, u, "x"),
    "t must be a number or a tensor [...] of real": lambda: E.geodesic(x, u, x > 0),
    "x is torch.float64 and y is torch.float32": lambda: S.cdist(S.origin(4), x.float()),
    "generator must be a torch.Generator or a seed, got 'x'": lambda: M.random(2, generator="x"),
    "dtype must be torch.float32 or torch.float64, got": lambda: M.random(2, dtype=torch.int64),
    "beta must be a number, got 'x'": lambda: S.homothety(S.origin(4), "x"),
    "push must be a torch.Tensor [..., 5], got": lambda: M.assert_tangent(x, [0.0], name="push"),
    # optimisers
    "manifold must be a Manifold, got str": lambda: DescentSettings("M", 0.1),
    "lr must be a finite non-negative number, got 'x'": lambda: DescentSettings(M, "x"),
    "second_moment must be a number in [0, 1)": lambda: replace(SETTINGS, second_moment="x"),
    "points must be a torch.Tensor [..., 5], got list": lambda: stepped([0.0]),
    "gradient must be float32 or float64": lambda: stepped(gradient=x.long()),
    "state must be a DescentState, got NoneType": lambda: stepped(state=None),
    "settings must be a DescentSettings": lambda: stepped(settings=M),
    "value must be a number, got 'x'": lambda: searched(value="x"),
    "manifold must be a Manifold, got float": lambda: searched(manifold=1.0),
    "max_trials must be an integer, got 1.5": lambda: searched(max_trials=1.5),
    "betas[0] must be a number": lambda: PseudoRiemannianAdam([parameter()], M, betas=("x", 0.9)),
    "module must be a torch.nn.Module, got": lambda: optimize_through_phi(x, "weight", M),
    "manifold must be a Manifold, got list": lambda: OntoManifold([M]),
    "x0 must be float32 or float64, got torch.int64": lambda: minimised(points=x.long()),
    "callback must be callable, got 1": lambda: minimised(callback=1),
    # layers and the battery
    "in_manifold must be a Manifold, got int": lambda: PseudoLinear(3, M),
    "x is torch.float64 and the layer's weight": lambda: PseudoLinear(M, M)(x),
    "function must be callable, got 'relu'": lambda: PseudoActivation(M, "relu"),
    "layers are defined on PseudoHyperboloid, ": lambda: PseudoActivation(STRANGER),
    "the quotient by ±1 is defined on": lambda: PseudoLinear(E, M, quotient=True),
    "manifold must be a Manifold, got int": lambda: LinkDecoder(3),
    "function must be callable, got None": lambda: check_gradient(None, x, M),
    "manifold must be a Manifold, got tuple": lambda: check_manifold((M,)),
}
VALUES = {
    "p must not be negative, got -1": lambda: PseudoHyperboloid(-1, 2),
    "the sum p + q must be at least 1": lambda: PseudoHyperboloid(0, 0),
    "beta must be finite and negative, got nan": lambda: PseudoHyperboloid(2, 1, NAN),
    "beta must be finite and negative, got 0": lambda: PseudoHyperboloid(2, 1, 0.0),
    "p must be at least 1, got 0": lambda: PseudoSphere(0, 1),
    "p + q must be at least 1, got p = 1 and q = -1": lambda: PseudoSphere(1, -1),
    "beta must be finite and positive, got inf": lambda: PseudoSphere(2, 1, math.inf),
    "d must be at least 1, got 0": lambda: Euclidean(0),
    "a product needs at least one manifold": Product,
    "weights must be one for each of 2 manifolds": lambda: Product(E, E, weights=(1.0,)),
    "t (3,) does not broadcast against the rows of x": lambda: M.geodesic(x, u, x[:3, 0]),
    "radius must not be NaN, got nan": lambda: S.in_ball(S.origin(4), S.origin(4), NAN),
    "radius (4, 5) does not broadcast": lambda: E.in_ball(x, x, x),
    "tolerance must be a finite non-negative number": lambda: M.check_point(x, tolerance=NAN),
    "block_rows must be at least 1, got 0": lambda: M.cdist(x, block_rows=0),
    "dissimilarity must be one of geodesic, ": lambda: M.cdist(x, dissimilarity="x"),
    "cdist takes x [n, d] and y [m, d], got": lambda: M.cdist(x[0]),
    "epsilon must be a finite positive": lambda: M.smoothed_dissimilarity(x, x, NAN),
    "size must be non-negative integers, got (-1,)": lambda: M.random(-1),
    "scale must be a finite non-negative number": lambda: M.random(2, scale=NAN),
    "epsilon must be a finite positive number": lambda: M.random_near_pole(2, epsilon=-0.1),
    "beta must be finite and negative, got 1.0": lambda: M.homothety(x, 1.0),
    "beta must be finite and positive, got -1.0": lambda: S.homothety(S.origin(), -1.0),
    "a sphere contains no hyperbolic": lambda: PseudoHyperboloid(0, 2).include_hyperbolic(x),
    "hyperbolic space contains no sphere": lambda: PseudoSphere(1, 2).include_sphere(x),
    "point must have 2 coordinates": lambda: M.include_sphere(x),
    # values, where they are checked
    "here[0] is off the manifold: ⟨x, x⟩ = -16": lambda: M.assert_point(2 * x, name="here"),
    "push[0] is not tangent: |⟨x, u⟩| = 4": lambda: M.assert_tangent(x, x, name="push"),
    "raw[0] has a zero time part": lambda: M.assert_projectable(0 * x, name="raw"),
    "z[0] has a zero time part": lambda: M.assert_phi(0 * x),
    # optimisers
    "momentum must be in [0, 1), got 1.0": lambda: DescentSettings(M, 0.1, momentum=1.0),
    "direction must be one of descent, ": lambda: DescentSettings(M, 0.1, direction=1),
    "points (4, 5) and gradient (3, 5) do not broadcast": lambda: stepped(gradient=x[:3]),
    "points (4, 5) and momentum (3, 5)": lambda: stepped(state=DescentState(1, x[:3])),
    "points must have 5 coordinates": lambda: searched(x[:, :4]),
    "first_step must be a finite positive number": lambda: searched(first_step=0.0),
    "betas must be two numbers": lambda: PseudoRiemannianAdam([parameter()], M, betas=(0.9,)),
    "name must be that of a parameter of Module": lambda: through_phi(x.clone(), "wait"),
    "weight must have 5 coordinates": lambda: through_phi(x[:, :4].clone()),
    "weight[0] has a zero time part": lambda: through_phi(0 * x),
    "x0[0] is off the manifold": lambda: minimised(points=2 * x),
    "function must depend on its argument": lambda: minimised(lambda y: FREE * 2.0),
    "function must return a scalar tensor, got (4, 5)": lambda: minimised(lambda y: y),
    "function must return a scalar tensor, got float": lambda: minimised(lambda y: 1.0),
    "through autograd": lambda: minimised(lambda y: y.detach().sum()),
    "must be finite at x0": lambda: minimised(lambda y: y.sum() * NAN),
    "method must be one of lbfgs, line_search, sgd, adam": lambda: minimised(method="newton"),
    "method='lbfgs' chooses its own steps": lambda: minimised(lr=0.1),
    "direction belongs to the other methods": lambda: minimised(direction="descent"),
    "momentum belongs to method='sgd'": lambda: minimised(method="adam", momentum=0.9),
    "max_iterations must not be negative, got -1": lambda: minimised(max_iterations=-1),
    "gradient_tolerance must be a finite": lambda: minimised(gradient_tolerance=NAN),
    "time_limit must be a finite positive": lambda: minimised(time_limit=0.0),
    "points must be [..., n, d] with n >= 1": lambda: mean(x[0], M),
    "weights must be [..., 4], not negative": lambda: mean(x, M, weights=torch.zeros(4)),
    # layers, decoders, losses and the battery
    "x must have 5 coordinates": lambda: PseudoLinear(M, M, dtype=torch.float64)(x[:, :4]),
    "edge_index must be integers [2, m], got": lambda: normalized_edges(EDGES[0], 2),
    "edge_weight must be one number for each of 2": lambda: normalized_edges(EDGES, 2, x),
    "points must be [n, d]": lambda: ManifoldEmbedding.from_points(x[0], M),
    "temperature must be a finite positive number": lambda: LinkDecoder(M, temperature=-1),
    "radius must be a finite number, got inf": lambda: LinkDecoder(M, radius=math.inf),
    "classes must be at least 1, got 0": lambda: ClassDecoder(M, 0),
    "epsilon belongs to dissimilarity='smoothed'": lambda: ClassDecoder(M, 3, epsilon=0.1),
    "points must be [34, d], got shape (4, 5)": lambda: RankingLoss(karate(), M)(x),
    "boost must be a finite non-negative number": lambda: random_isometry(M, boost=NAN),
}
OF_GROUPS = {
    "manifold of group 0 must be a Manifold": [{"params": [parameter()], "manifold": 3}],
    "nodes.weight[0] is off the manifold": [("nodes.weight", parameter(2 * x))],
    "param_groups[0]['params'][0] must have 5 coordinates": [parameter(x[:, :4])],
    "param_groups[0]['params'][0] must be float32": [parameter(x.half())],
    "lr must be a finite non-negative number": [{"params": [parameter()], "lr": "x"}],
    "lr must be finite and non-negative": [{"params": [parameter()], "lr": torch.tensor(NAN)}],
}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (error, words)
        for error, cases in ((TypeError, TYPES), (ValueError, VALUES))
        for words in cases
    ],
)
def test_errors_name_the_argument_the_rule_and_the_value(error, words):
    with pytest.raises(error, match=re.escape(words)):
        (TYPES | VALUES)[words]()


@pytest.mark.parametrize("words", OF_GROUPS)
@pytest.mark.parametrize("kind", KINDS)
def test_optimisers_refuse_groups_by_name(kind, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        kind(OF_GROUPS[words], M)


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
