"""Linear layers and activations map manifold to manifold, everywhere, and are what they say in the
limits.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch.func import functional_call
from torch.nn import functional

import ultrahyperbolic as uh
from ultrahyperbolic import Euclidean, Product, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.nn import PseudoActivation, PseudoLinear
from ultrahyperbolic.nn.linear import coordinates, from_coordinates, out_width, psi

Q = PseudoHyperboloid
MANIFOLDS = [
    *(Q(*signature) for signature in ((4, 0, -4.0), (0, 4, -0.25), (3, 3, -4.0), (0, 1), (1, 0))),
    *(PseudoSphere(*signature) for signature in ((3, 1, 4.0), (1, 3), (3, -1))),
    Euclidean(3),
    Product(Q(2, 1, -4.0), Euclidean(2), PseudoSphere(2, 1), Q(3, 0)),
]
NAMES = [manifold._label() for manifold in MANIFOLDS]


def points(manifold, n=64, dtype=torch.float64):
    """Points everywhere: around, far out, at the pole, and its opposite where that is a point."""
    near, far = (manifold.random(n, scale=scale, generator=3, dtype=dtype) for scale in (0.7, 50.0))
    pole = manifold.origin(1, dtype=dtype)
    made = torch.cat((near, far, pole, *([-pole] if manifold.check_point(-pole).ok else [])))
    assert manifold.check_point(made).ok
    return made


def cone(manifold, n=16):
    """Points on the light cone of the pole: the pole plus null tangent vectors."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(n, manifold.ambient_dim, dtype=torch.float64, generator=generator)
    time, space = z[:, 1 : manifold.q + 1], z[:, manifold.q + 1 :]
    null = torch.cat(
        (0 * z[:, :1], functional.normalize(time, dim=-1), functional.normalize(space, dim=-1)),
        dim=-1,
    )
    x = manifold.origin() + torch.linspace(0.0, 3.0, n, dtype=torch.float64).unsqueeze(-1) * null
    assert manifold.check_point(x).ok
    torch.testing.assert_close(manifold.inner(x, manifold.origin()), manifold.beta.expand(n))
    return x


def layer(into, out, seed=0, kind=PseudoLinear, **options):
    torch.manual_seed(seed)
    made = kind(into, out, **{"dtype": torch.float64, **options})
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter))  # far from where training starts
    return made


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=NAMES)
def test_psi_and_its_inverse(manifold):
    x = points(manifold)
    z = psi(manifold, x)
    assert z.shape == (len(x), out_width(manifold))
    torch.testing.assert_close(from_coordinates(manifold, z), x, rtol=1e-12, atol=1e-12)
    if isinstance(manifold, PseudoHyperboloid):
        hyperbolic = manifold.q == 0
        through = from_coordinates(manifold, coordinates(manifold, 3.0 * x)[..., hyperbolic:])
        torch.testing.assert_close(through, manifold.phi(3.0 * x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("step", [0, 1, 5])
@pytest.mark.parametrize("number", range(len(MANIFOLDS)), ids=NAMES)
def test_points_become_points(number, step):
    into, out = MANIFOLDS[number], MANIFOLDS[(number + step) % len(MANIFOLDS)]
    for bias in (True, False):
        made = layer(into, out, bias=bias)
        out.assert_point(made(points(into)))
        single = made.float()(points(into, dtype=torch.float32))
        assert single.dtype == torch.float32
        out.assert_point(single)


@pytest.mark.parametrize(
    "function", [functional.leaky_relu, torch.tanh, functional.relu], ids=["leaky", "tanh", "relu"]
)
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=NAMES)
def test_activations_keep_points(manifold, function):
    for dtype in (torch.float64, torch.float32):
        manifold.assert_point(PseudoActivation(manifold, function)(points(manifold, dtype=dtype)))


@pytest.mark.parametrize(("p", "q"), [(3, 3), (1, 3), (3, 1), (1, 1)])
@pytest.mark.parametrize("beta", [-0.25, -1.0, -4.0])
def test_gradients_are_finite_on_the_cone_of_the_pole(p, q, beta):
    M = Q(p, q, beta, learnable=True)
    x = cone(Q(p, q, beta)).requires_grad_()
    model = torch.nn.Sequential(
        layer(M, M), PseudoActivation(M), layer(M, M, seed=1), layer(M, Euclidean(2))
    )
    model(x).square().sum().backward()
    gradients = [x.grad, *(parameter.grad for parameter in model.parameters())]
    assert all(gradient.isfinite().all() and gradient.any() for gradient in gradients)


@pytest.mark.parametrize("into", [Q(2, 1, -4.0), Q(2, 0, -0.25), Q(0, 2), PseudoSphere(2, 1, 4.0)])
def test_gradients_are_those_of_finite_differences(into):
    out = Q(1, 2, -4.0)
    made, act = layer(into, out), PseudoActivation(out, torch.tanh)
    x = into.random(5, generator=1).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, w, b: act(functional_call(made, {"weight": w, "bias": b}, x)),
        (x, made.weight, made.bias),
    )


def test_where_no_time_is_left_the_pole_is_chosen():
    M = Q(2, 2, -4.0)
    made = PseudoLinear(Euclidean(3), M, bias=False, dtype=torch.float64)
    x = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    y = made(x)
    torch.testing.assert_close(y, M.origin(2))
    y.sum().backward()
    assert x.grad.isfinite().all()
    assert made.weight.grad.isfinite().all()
    assert made(torch.full_like(x, math.nan)).isnan().all(), "NaN is not hidden"


def test_in_hyperbolic_space_it_is_the_lorentz_layer():
    H, K = Q(4, 0, -4.0), Q(3, 0, -0.25)
    made, x = layer(H, K), H.random(9, generator=0)
    assert made.weight.shape == (3, 5)
    space = 0.5 * (x / 2.0 @ made.weight.T + made.bias)
    time = (0.25 + space.square().sum(-1, keepdim=True)).sqrt()
    torch.testing.assert_close(made(x), torch.cat((time, space), dim=-1))


@pytest.mark.parametrize(
    "manifold", [m for m in MANIFOLDS if isinstance(m, PseudoHyperboloid)], ids=str
)
def test_isometries_are_among_them(manifold):
    made = PseudoLinear(manifold, manifold, bias=False, dtype=torch.float64)
    isometry = uh.testing.random_isometry(manifold, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        made.weight.copy_(isometry[int(manifold.q == 0) :])
    x = manifold.random(9, generator=0)
    torch.testing.assert_close(made(x), x @ isometry.T)


def test_between_flat_spaces_it_is_torch_s():
    made, plain = layer(Euclidean(4), Euclidean(3)), torch.nn.Linear(4, 3, dtype=torch.float64)
    plain.load_state_dict(made.state_dict())
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    torch.testing.assert_close(made(x), plain(x))
    torch.testing.assert_close(PseudoActivation(Euclidean(4))(x), functional.leaky_relu(x))
