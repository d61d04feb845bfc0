"""The manifold class: parameters, shapes, errors, buffers, compilation, sampling."""

from __future__ import annotations

import io
import math

import mpmath
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere


def test_letters_of_the_paper():
    M = PseudoHyperboloid(3, 1, -4.0)
    assert (M.p, M.q, M.dim, M.ambient_dim) == (3, 1, 4, 5)
    a, b = torch.arange(1.0, 6.0), torch.tensor([2.0, 1.0, 1.0, 3.0, 1.0])
    assert M.inner(a, b).item() == -1 * 2 - 2 * 1 + 3 * 1 + 4 * 3 + 5 * 1
    assert M.inner(a, b, keepdim=True).shape == (1,)
    assert M.sectional_curvature.item() == -0.25
    assert M.mean_curvature.item() == 0.5
    assert repr(M) == "PseudoHyperboloid(p=3, q=1, beta=-4)"


def test_checks_name_the_row_and_the_residual():
    M = PseudoHyperboloid(2, 1, -4.0)
    x = M.random(2, 3, generator=torch.Generator().manual_seed(0))
    assert M.check_point(x) == (True, "")
    off = x.clone()
    off[1, 2] *= 1.1
    ok, reason = M.check_point(off)
    assert not ok
    assert "x[1, 2] is off the manifold: ⟨x, x⟩ = -4.84" in reason
    assert "residual 0.84" in reason
    with pytest.raises(
        ValueError,
        match=r"PseudoHyperboloid\(p=2, q=1, beta=-4\): start\[1, 2\] is off the manifold",
    ):
        M.assert_point(off, name="start")
    off[0, 1, 0] = math.nan
    assert "x[0, 1] is not finite" in M.check_point(off).reason
    u = M.proju(x, torch.ones_like(x))
    u[0, 2] += x[0, 2]
    assert "u[0, 2] is not tangent: |⟨x, u⟩| = 4" in M.check_tangent(x, u).reason
    z = torch.ones(3, 4, dtype=torch.float64)
    z[2, :2] = 0
    assert "z[2] has a zero time part (its first 2 coordinates)" in M.check_phi(z).reason
    for N in (PseudoHyperboloid(2, 0), PseudoSphere(1, 2)):
        assert "x[0] is on the lower sheet" in N.check_point(-N.origin(2)).reason
    S = PseudoSphere(2, 2, 4.0)
    unit = torch.eye(5, dtype=torch.float64)
    assert "z[0] has a zero space part (its last 2 coordinates)" in S.check_phi(unit).reason


@pytest.mark.parametrize(
    "M", [PseudoHyperboloid(4, 0), PseudoHyperboloid(3, 1, -4.0), PseudoSphere(2, 2, 4.0)], ids=str
)
@pytest.mark.parametrize(
    ("dtype", "within", "beyond"), [(torch.float64, 1e6, 1e9), (torch.float32, 1e2, 1e5)]
)
def test_points_so_far_out_that_rounding_hides_beta_are_refused(M, dtype, within, beyond):
    """Relative to ‖x‖² nothing tells there whether ⟨x, x⟩ is β."""
    tangent = M.proju(M.origin(2), torch.ones(2, 5, dtype=torch.float64))
    for scale in (beyond, 1e18):
        far = M.phi(M.origin(2) + tangent * torch.tensor([[1.0], [scale]])).to(dtype)
        assert "x[1] is too far out: ‖x‖ = " in M.check_point(far).reason
    assert M.check_point(M.phi(M.origin(2) + within * tangent).to(dtype)).ok


def test_beta_is_a_buffer_that_to_and_state_dict_see():
    M = PseudoHyperboloid(3, 1, -0.3)
    assert list(M.state_dict()) == ["beta"]
    other = PseudoHyperboloid(3, 1, -2.0)
    other.load_state_dict(PseudoHyperboloid(3, 1, -0.3).state_dict())
    assert other.beta.item() == -0.3
    x = other.random(3)
    assert other.check_point(x).ok


@pytest.mark.parametrize("make", [PseudoHyperboloid, lambda p, q, beta: PseudoSphere(p, q, -beta)])
@pytest.mark.parametrize("change", ["float", "half", "double", "bfloat16"])
def test_no_change_of_dtype_rounds_beta(make, change):
    M = make(3, 1, -0.3)
    before = M.beta.item()
    model = torch.nn.ModuleDict({"manifold": M})
    getattr(model, change)()
    assert (M.beta.dtype, M.beta.item()) == (torch.float64, before)
    assert M.to(torch.float32).random(2, dtype=torch.float32).dtype == torch.float32
    assert M.to("meta").beta.device.type == "meta"


def test_a_state_of_another_geometry_is_refused():
    M = PseudoHyperboloid(3, 1, -2.0)
    other = PseudoHyperboloid(2, 2).state_dict()
    for state, message in (
        ({"beta": torch.tensor(1.0)}, "beta must be finite and negative, got 1.0"),
        ({"beta": torch.tensor(math.nan)}, "beta must be finite and negative, got nan"),
        ({"beta": torch.ones(2)}, "size mismatch for beta"),
        (other, "p and q are 3 and 1 here, and the state is of 2, 2"),
    ):
        with pytest.raises(RuntimeError, match=message):
            M.load_state_dict(state)
        assert M.beta.item() == -2.0
    with pytest.raises(RuntimeError, match=r"image\.p and q are 2 and 2 here, .* of 3, 1"):
        PseudoSphere(3, 1).load_state_dict(PseudoSphere(2, 2).state_dict())
    M.load_state_dict({"beta": torch.tensor(-0.5, dtype=torch.float32)}, assign=True)
    assert (M.beta.item(), M.beta.dtype) == (-0.5, torch.float64)
    buffer = io.BytesIO()
    torch.save(other, buffer)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="the state is of 2, 2"):
        M.load_state_dict(torch.load(buffer, weights_only=True))


def test_causal_character():
    M = PseudoHyperboloid(2, 1)
    rows = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0.6, 0.8], [0, 0, 0, 0], [0, 1, 0.6, 0.8001]]
    u = torch.tensor(rows, dtype=torch.float64)
    assert M.causal_character(u).tolist() == [-1, 1, 0, 0, 1]
    assert M.causal_character(u, tolerance=1e-3).tolist() == [-1, 1, 0, 0, 0]
    assert M.norm(u).tolist() == pytest.approx([1, 1, 0, 0, 0.0126495], rel=1e-4, abs=1e-8)


def test_ball_membership():
    M = PseudoHyperboloid(3, 1, -4.0)
    x = M.origin()
    u = torch.tensor([0, 0, 1.0, 0, 0], dtype=torch.float64)
    assert M.in_ball(x, M.expmap(x, 0.9 * u), 1.0)
    assert not M.in_ball(x, M.expmap(x, 1.1 * u), 1.0)
    null = torch.tensor([0, 1.0, 1.0, 0, 0], dtype=torch.float64)
    assert M.in_ball(x, M.expmap(x, 50 * null), 1e-6), "the ball contains the whole light cone"
    beyond = -M.expmap(x, u)
    assert not M.in_ball(x, beyond, 1e9)
    length = M.dist(x, M.expmap(x, u))
    assert not M.in_ball(x, M.expmap(x, u), length), "the ball is open"


@pytest.mark.parametrize("separation", [1e-3, 1e-6, 1e-9])
def test_float32_distances_do_not_collapse_near_zero(separation):
    M = PseudoHyperboloid(0, 3)
    x = M.origin(dtype=torch.float32)
    u = torch.tensor([0.0, separation, 0.0, 0.0])
    assert M.dist(x, M.expmap(x, u)).item() == pytest.approx(separation, rel=1e-6)


def test_light_rays_through_the_antipode_have_no_geodesic():
    M = PseudoHyperboloid(2, 1, -4.0)
    x = M.origin()
    y = -M.expmap(x, torch.tensor([0, 1.0, 1.0, 0], dtype=torch.float64))
    assert M.inner(x, y).item() == pytest.approx(4.0)
    assert not M.logmap(x, y).exists
    assert M.dist(x, y).isnan()
    assert M.dist(x, -x).item() == pytest.approx(2 * math.pi)
    assert M.broken_dissimilarity(x, y).item() == pytest.approx(2 * math.pi)


def test_the_paper_s_start():
    M = PseudoHyperboloid(3, 1, -1.0)
    x = M.random_near_pole(1000, generator=torch.Generator().manual_seed(0))
    assert M.check_point(x).ok
    ratio = x[:, 1:] / x[:, :1]
    assert ratio.abs().max() < 0.1 / 0.9
    fixed = M.random_near_pole(
        1000, generator=torch.Generator().manual_seed(0), perturb_first=False
    )
    assert (fixed[:, 1:] / fixed[:, :1]).abs().max() <= 0.1
    assert (ratio.abs().max() > 0.1).item(), "x_0 is perturbed too"
    again = M.random_near_pole(1000, generator=torch.Generator().manual_seed(0))
    assert torch.equal(x, again)


@pytest.mark.parametrize("beta", [-1e-6, -0.25, -4.0, -1e6])
def test_the_paper_s_start_is_as_near_to_the_pole_for_every_beta(beta):
    near = [
        PseudoHyperboloid(3, 1, b).random_near_pole(100, generator=torch.Generator().manual_seed(0))
        / math.sqrt(-b)
        for b in (beta, -1.0)
    ]
    torch.testing.assert_close(near[0], near[1], rtol=1e-13, atol=1e-13)
    sphere = PseudoSphere(2, 2, -beta).random_near_pole(
        100, generator=torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(sphere.flip(-1) / math.sqrt(-beta), near[1], rtol=1e-13, atol=1e-13)


def test_draws_that_cannot_be_rescaled_are_drawn_again():
    M = PseudoHyperboloid(3, 1, -4.0)
    wide = M.random_near_pole(500, epsilon=0.95, generator=torch.Generator().manual_seed(0))
    assert M.check_point(wide).ok
    raw = torch.rand(500, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    raw = M.origin() + 1.9 * (2 * raw - 1)
    good = M.sqnorm(raw) < 0
    assert 0 < good.sum() < 500
    torch.testing.assert_close(wide[good], M.projx(raw[good]))
    with pytest.raises(ValueError, match=r"epsilon must be so small .*, got 1.5"):
        PseudoHyperboloid(81, 1).random_near_pole(3, epsilon=1.5)


def test_random_points_are_spread(manifold, generator):
    x = manifold.random(4000, scale=2.0, generator=generator)
    radius = math.sqrt(-manifold.beta.item())
    if manifold.p:
        assert x[:, manifold.q + 1 :].std().item() == pytest.approx(2.0 * radius, rel=0.05)
    if manifold.q:
        assert manifold.psi(x)[:, : manifold.q + 1].mean(0).abs().max() < 0.1
    else:
        assert (x[:, 0] > 0).all()


@pytest.mark.parametrize(
    "M",
    [PseudoHyperboloid(3, 1, -4.0), PseudoHyperboloid(3, 0), PseudoSphere(2, 2, 4.0)],
    ids=["curved", "hyperbolic", "sphere"],
)
def test_projx_says_what_it_cannot_rescale(M, generator, dtype):
    z = torch.randn(200, M.ambient_dim, generator=generator, dtype=dtype)
    mapped = M.projx(z).isfinite().all(-1)
    assert 0 < mapped.sum() < 200
    first = int((~mapped).nonzero()[0])
    square = M.sqnorm(z)[first].item()
    with pytest.raises(ValueError, match=rf"raw\[{first}\] cannot be .* {square:.9g}, and projx"):
        M.assert_projectable(z, name="raw")
    assert M.check_projectable(z[mapped]).ok
    assert M.check_point(M.projx(z[mapped])).ok
    assert M.check_point(M.phi(z)).ok


def test_vectors_whose_squares_leave_the_range_of_floats_cannot_be_rescaled():
    M = PseudoHyperboloid(2, 1)
    axis = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    for size in (1e-170, 1e-160, 1e160):
        assert not M.check_point(M.projx(size * axis)).ok
        assert not M.check_projectable(size * axis).ok
    assert M.check_projectable(1e-150 * axis).ok


@pytest.mark.parametrize("beta", [-0.25, -1.0, -4.0])
def test_sigma_maps_q0q_onto_the_round_sphere(beta, generator):
    M, S = PseudoHyperboloid(0, 3, beta), PseudoSphere(4, -1, -beta)
    x, y = M.random(50, generator=generator), M.random(50, generator=generator)
    a, b = M.anti_isometry(x), M.anti_isometry(y)
    assert S.check_point(a).ok
    assert torch.equal(S.anti_isometry(a), x)
    radius = math.sqrt(-beta)
    great_circle = radius * ((a * b).sum(-1) / radius**2).acos()
    torch.testing.assert_close(S.dist(a, b), great_circle)
    torch.testing.assert_close(M.dist(x, y), great_circle)
    torch.testing.assert_close(S.sqdist(a, b), great_circle.square())
    torch.testing.assert_close(M.sqdist(x, y), -great_circle.square())


PAIRS = ("dist", "sqdist", "dissimilarity", "broken_dissimilarity", "smoothed_dissimilarity")
PAIRS += ("extrinsic_dist", "cdist", "logmap")
VECTORS = ("proju", "expmap", "retr", "egrad2rgrad", "descent_direction", "surrogate_direction")
VECTORS += ("wick_rotation", "precondition_root", "projn", "shape_operator")
METHODS = {"inner": "uv", "norm": "u", "causal_character": "u", "transp": "xyu"}
METHODS |= {"expmap_transp": "xuv"} | dict.fromkeys(PAIRS, "xy") | dict.fromkeys(VECTORS, "xu")
METHODS |= dict.fromkeys(("phi", "psi", "psi_inverse", "projx", "preconditioner"), "x")
KINDS = [
    *(PseudoHyperboloid(*signature, -4.0) for signature in ((3, 0), (0, 3), (2, 1))),
    PseudoSphere(2, 1, 4.0),
    Euclidean(4),
]


@pytest.mark.slow
@pytest.mark.parametrize("M", KINDS, ids=str)
def test_everything_compiles_without_graph_breaks(M):
    x, y = M.random(6), M.random(6)
    arguments = {"x": x, "y": y, "u": M.random_tangent(x), "v": M.random_tangent(x)}
    for name, letters in METHODS.items():
        if not hasattr(M, name):
            continue  # of curved spaces alone
        torch._dynamo.reset()
        method = getattr(M, name)
        compiled = torch.compile(method, backend="eager", fullgraph=True)
        given = [arguments[letter] for letter in letters]
        torch.testing.assert_close(compiled(*given), method(*given), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("M", KINDS, ids=lambda M: M._label())
def test_everything_maps_with_vmap(M):
    x, y = M.random(6), M.random(6)
    arguments = {"x": x, "y": y, "u": M.random_tangent(x), "v": M.random_tangent(x)}
    for name, letters in METHODS.items():
        if name == "cdist" or not hasattr(M, name):
            continue
        method = getattr(M, name)
        given = [arguments[letter] for letter in letters]
        mapped, batched = torch.func.vmap(method)(*given), method(*given)
        torch.testing.assert_close(mapped, batched, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_cdist_of_x_with_itself_and_blocks(manifold, generator):
    x = manifold.random(23, generator=generator)
    whole = manifold.cdist(x, dissimilarity="geodesic")
    assert whole.shape == (23, 23)
    assert (whole.diagonal() == 0).all()
    torch.testing.assert_close(whole, whole.T)
    smooth = manifold.cdist(x, x, dissimilarity="smoothed", epsilon=1e-6, block_rows=5)
    torch.testing.assert_close(smooth, whole, rtol=1e-3, atol=2e-3)


def test_preconditioner_matrix_is_the_precondition(manifold, generator):
    x = manifold.random(7, generator=generator)
    u = manifold.random_tangent(x, generator=generator)
    matrix = manifold.preconditioner(x)
    torch.testing.assert_close((matrix @ u.unsqueeze(-1)).squeeze(-1), manifold.precondition(x, u))
    G = torch.diag(
        torch.tensor([-1.0] * (manifold.q + 1) + [1.0] * manifold.p, dtype=torch.float64)
    )
    torch.testing.assert_close(matrix, G - x.unsqueeze(-1) * x.unsqueeze(-2) / manifold.beta)


def of_preconditioner(function, p, q, beta, x, z):
    """A function of the symmetric matrix P_x applied to z, by its eigenvectors and at 50 digits."""
    with mpmath.workdps(50):
        point, vector = mpmath.matrix(x.tolist()), mpmath.matrix(z.tolist())
        # Onto the manifold to all digits: G x is in the kernel of P_x only there.
        time, space = sum(t * t for t in point[: q + 1]), sum(s * s for s in point[q + 1 :])
        stretch = mpmath.sqrt((space - mpmath.mpf(beta)) / time)
        point = mpmath.matrix([stretch * t for t in point[: q + 1]] + list(point[q + 1 :]))
        P = mpmath.diag([-1] * (q + 1) + [1] * p) - point * point.T / mpmath.mpf(beta)
        values, vectors = mpmath.eigsy(P)
        values = [0 if abs(value) < mpmath.mpf("1e-30") else value for value in values]
        result = vectors * mpmath.diag([function(value) for value in values]) * vectors.T * vector
        return torch.tensor([float(entry) for entry in result], dtype=torch.float64)


@pytest.mark.parametrize("scale", [0.0, 1.0, 100.0])
def test_the_surrogate_is_the_absolute_value_of_the_preconditioner(manifold, scale, generator):
    for x in manifold.random(3, scale=scale, generator=generator):
        gradient = torch.randn(5, dtype=torch.float64, generator=generator)
        given = manifold.p, manifold.q, manifold.beta.item(), x, gradient
        expected = of_preconditioner(abs, *given)
        found = manifold.surrogate_direction(x, gradient)
        kappa = float(x.square().sum() / manifold.beta.abs())
        rounding = 1e-14 * float(gradient.norm())
        assert (found - expected).norm() <= rounding * kappa
        root = of_preconditioner(lambda value: mpmath.sqrt(abs(value)), *given)
        assert (manifold.precondition_root(x, gradient) - root).norm() <= rounding * kappa**0.5
        # The part along w = G x + κ x is what is stretched: the form with κ - 1 and w itself.
        flipped = manifold.raise_index(x)
        w = flipped + kappa * x
        part = 0.0 if scale == 0.0 or manifold.p == 0 else (gradient @ w) / (w @ w) * w
        formula = gradient - (gradient @ flipped) / (x @ x) * flipped + (kappa - 1) * part
        torch.testing.assert_close(found, formula, rtol=1e-9, atol=1e2 * rounding * kappa)


def test_hessian_of_exp_at_zero_is_the_normal_curvature(manifold, generator):
    # d²/dt² exp_x(t u) at t = 0 is -⟨u, u⟩x/β: a branch that pins the derivative at 0 would lose
    # it.
    x = manifold.random(generator=generator)
    hessian = torch.func.hessian(lambda u: manifold.expmap(x, u))(torch.zeros_like(x))
    u = manifold.random_tangent(x, generator=generator)
    second = torch.einsum("kij,i,j->k", hessian, u, u)
    torch.testing.assert_close(second, -manifold.sqnorm(u) * x / manifold.beta)


def test_sectional_curvature_is_seen_by_transport_around_a_loop():
    # Around a small parallelogram a vector changes by K(⟨v, w⟩u - ⟨u, w⟩v) times its area, K = 1/β.
    M = PseudoHyperboloid(2, 1, -4.0)
    x = M.origin()
    u, v = torch.eye(4, dtype=torch.float64)[2], torch.eye(4, dtype=torch.float64)[1]
    h = 1e-3
    corners = [x, M.expmap(x, h * u)]
    corners.append(M.expmap(corners[1], M.transp(x, corners[1], h * v)))
    corners.append(M.expmap(x, h * v))
    carried = u.clone()
    for a, b in zip(corners, [*corners[1:], x], strict=True):
        carried = M.transp(a, b, carried)
    # With ⟨u, u⟩ = 1 and ⟨v, v⟩ = -1: R(u, v)u = K(⟨v, u⟩u - ⟨u, u⟩v) = -K v; the loop gives ±h² of
    # it.
    change = (carried - u) / h**2
    assert abs(change[1].item()) == pytest.approx(0.25, rel=1e-2)
    assert change[[2, 3]].abs().max() < 1e-2


def test_tolerances_of_membership_are_tight_and_can_be_given():
    M = PseudoHyperboloid(2, 1)
    x = M.origin()
    assert M.check_point(x * (1 + 2e-11)).ok
    assert not M.check_point(x * (1 + 2e-10)).ok
    assert M.check_point(x * (1 + 2e-10), tolerance=1e-8).ok
    u = torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    assert M.check_tangent(x, u + 5e-11 * x).ok
    assert not M.check_tangent(x, u + 2e-10 * x).ok
    assert M.check_tangent(x, 1e-16 * x).ok, "what rounding leaves of a projection is not an error"
    single = x.float()
    assert M.check_point(single * (1 + 5e-6)).ok
    assert not M.check_point(single * (1 + 2e-5)).ok
    assert not M.check_tangent(single, u.float() + 5e-5 * single).ok


def test_single_precision_passes_membership_in_many_dimensions(generator):
    for M in (
        PseudoHyperboloid(500, 1),
        PseudoHyperboloid(1, 500),
        PseudoHyperboloid(256, 256, -0.25),
    ):
        x = M.random(50, generator=generator, dtype=torch.float32)
        u = M.random_tangent(x, scale=0.1, generator=generator)
        assert M.check_point(x).ok
        assert M.check_tangent(x, u).ok
        assert M.check_point(M.expmap(x, u * (0.5 / u.norm(dim=-1, keepdim=True)))).ok


def test_the_smoothed_dissimilarity_does_not_overflow_in_float32():
    M = PseudoHyperboloid(2, 1, -4.0)
    for scale in (1e3, 1e6, 1e9):
        z = torch.tensor([0.6, 0.8, 1.0, 0.0])
        x = M.phi(scale * z).requires_grad_()
        y = M.phi(scale * z * torch.tensor([-1.0, -1.0, 1.0, 1.0]))
        smoothed, plain = M.smoothed_dissimilarity(x, y, 0.1), M.dissimilarity(x, y)
        assert M.inner(x, y) > 0
        assert smoothed.item() == pytest.approx(plain.item() - 0.1**0.5, rel=1e-6)
        (gradient,) = torch.autograd.grad(smoothed, x)
        assert gradient.isfinite().all()
        assert gradient.abs().max() > 0


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 100.0])
def test_the_smoothed_dissimilarity_keeps_its_digits(manifold, epsilon, generator):
    x, y = manifold.random(200, generator=generator), manifold.random(200, generator=generator)
    length = manifold.dissimilarity(x, y)
    expected = []
    with mpmath.workdps(60):
        for value in length.tolist():
            expected.append(
                float(
                    mpmath.root(mpmath.mpf(value) ** 4 + mpmath.mpf(epsilon) ** 2, 4)
                    - mpmath.sqrt(epsilon)
                )
            )
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(
        manifold.smoothed_dissimilarity(x, y, epsilon), expected, rtol=1e-13, atol=0
    )


@pytest.mark.parametrize("height", [1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("signature", [(3, 1), (2, 2), (1, 3), (4, 0)], ids=str)
def test_a_pair_along_the_radius_keeps_its_digits_however_far_out(signature, height):
    # Rounding the coordinates costs such a pair nothing, so that nothing excuses the loss of a
    # digit.
    M = PseudoHyperboloid(*signature, -4.0)
    x, y, length, log = [], [], 0.3, []
    with mpmath.workdps(60):
        start = mpmath.asinh(mpmath.mpf(height))
        for angle, into in ((start, x), (start + length, y)):
            into += (
                [2 * mpmath.cosh(angle) * c for c in (0.6, 0.8)]
                if M.q
                else [2 * mpmath.cosh(angle)]
            )
            into += [0] * max(M.q - 1, 0) + [0] * (M.p - 1) + [2 * mpmath.sinh(angle)]
        factor = length / mpmath.sinh(length)
        log = [float(factor * (b - mpmath.cosh(length) * a)) for a, b in zip(x, y, strict=True)]
        chord = float(4 * mpmath.sinh(mpmath.mpf(length) / 2))
        smoothed = float(
            mpmath.root((2 * mpmath.mpf(length)) ** 4 + mpmath.mpf(0.1) ** 2, 4) - mpmath.sqrt(0.1)
        )
    a, b = (torch.tensor([float(c) for c in point], dtype=torch.float64) for point in (x, y))
    assert M.dist(a, b).item() == pytest.approx(2 * length, rel=4e-15)
    assert M.dist(b, a).item() == pytest.approx(2 * length, rel=4e-15)
    assert M.dissimilarity(a, b).item() == pytest.approx(2 * length, rel=4e-15)
    assert M.broken_dissimilarity(a, b).item() == pytest.approx(2 * length, rel=4e-15)
    assert M.smoothed_dissimilarity(a, b).item() == pytest.approx(smoothed, rel=8e-15)
    assert M.extrinsic_dist(a, b).item() == pytest.approx(chord, rel=4e-15)
    assert M.logmap(a, b).vector.tolist() == pytest.approx(log, rel=1e-14)
    if M.q > 0:
        assert M.broken_dissimilarity(a, -b).item() == pytest.approx(
            2 * (math.pi + length), rel=4e-15
        )


def test_derivatives_far_out_are_those_of_the_distance():
    # Along a geodesic d_γ grows as fast as the parameter.
    M = PseudoHyperboloid(3, 1, -4.0)
    x = M.psi_inverse(torch.tensor([0.6, 0.8, 0.0, 3e4, 4e4], dtype=torch.float64))
    u = M.proju(x, torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0], dtype=torch.float64))
    u = M.proju(x, u / M.norm(u))
    t = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    # The slope is a quotient of ⟨y - x, y'⟩ and √⟨y - x, y - x⟩, which are of the size of t. Far
    # out these products are differences of terms of the size ‖y‖ ‖y - x‖, because y is rounded to a
    # few units of ‖y‖.
    y = M.geodesic(x, u, t)
    rounding = 16 * torch.finfo(torch.float64).eps * (y.norm() * (y - x).norm() / t**2).item()
    assert rounding < 1e-4
    for measure in (M.dist, M.dissimilarity):
        (slope,) = torch.autograd.grad(measure(x, M.geodesic(x, u, t)), t)
        assert slope.item() == pytest.approx(1.0, abs=rounding)
