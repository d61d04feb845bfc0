"""The opt-in wrapper."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch

from ultrahyperbolic import Euclidean, Logarithm, Manifold, PseudoHyperboloid, PseudoSphere, checked
from ultrahyperbolic.testing import check_manifold


@pytest.fixture
def M():  # noqa: N802 - the paper's letter for a manifold
    return checked(PseudoHyperboloid(3, 1, -4.0))


def test_good_calls_give_the_same_results(M, generator):
    plain = PseudoHyperboloid(3, 1, -4.0)
    x, y = M.random(5, generator=generator), M.random(5, generator=generator)
    u = M.random_tangent(x, generator=generator)
    assert torch.equal(M.expmap(x, u), plain.expmap(x, u))
    assert torch.equal(M.dissimilarity(x, y), plain.dissimilarity(x, y))
    assert torch.equal(M.geodesic(x, u, 0.5), plain.geodesic(x, u, 0.5))
    assert isinstance(M, PseudoHyperboloid)
    assert isinstance(M, Manifold)
    assert (M.p, M.q, M.beta.item()) == (3, 1, -4.0)
    assert list(M.state_dict()) == ["beta"]


@pytest.mark.parametrize(
    "plain", [PseudoHyperboloid(2, 1), PseudoSphere(2, 1), Euclidean(3)], ids=str
)
def test_the_battery_s_values_are_all_valid(plain):
    # The checked manifold sees only valid values in the battery's own geometric properties.
    report = check_manifold(
        checked(plain), raises=False, only=["exp_log", "transport", "symmetry", "descent"]
    )
    assert report.failed == {}


def test_bad_values_are_named(M, generator):
    x = M.random(5, generator=generator)
    u = M.random_tangent(x, generator=generator)
    off = x.clone()
    off[3] *= 1.01
    cases = [
        (
            lambda: M.expmap(off, u),
            r"expmap: PseudoHyperboloid\(p=3, q=1, beta=-4\): x\[3\] is off the manifold",
        ),
        (lambda: M.dist(x, off), r"dist: .*y\[3\] is off the manifold"),
        (lambda: M.expmap(x, u + x), r"expmap: .*u\[0\] is not tangent"),
        (lambda: M.transp(x, x, u + x), r"transp: .*v\[0\] is not tangent"),
        (lambda: M.inner(u, u * math.nan), r"inner: v\[0\] is not finite"),
        (lambda: M.phi(0 * x), r"phi: .*z\[0\] has a zero time part"),
        (
            lambda: M.projx(x * torch.tensor([0.0, 0, 1, 1, 1]).double()),
            r"projx: .*z\[0\] has a zero time part",
        ),
        (
            lambda: M.projx(M.origin(2) + 9 * M.origin(2).flip(-1)),
            r"projx: .*z\[0\] cannot be rescaled .* = 320, and",
        ),
        (lambda: M.egrad2rgrad(x, u * math.inf), r"egrad2rgrad: gradient\[0\] is not finite"),
        (lambda: M.cdist(off, x), r"cdist: .*x\[3\] is off the manifold"),
        (
            lambda: M.geodesic(x, u, torch.tensor(math.nan)),
            r"geodesic: t\[0\]? ?.*not finite|geodesic: t is not finite",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_only_manifolds():
    with pytest.raises(TypeError, match="manifold must be a Manifold, got str"):
        checked("Q31")


def test_flat_errors():
    with pytest.raises(ValueError, match="d must be at least 1, got 0"):
        Euclidean(0)
    with pytest.raises(TypeError, match="d must be an integer"):
        Euclidean(2.5)
    E = Euclidean(2)
    x = torch.tensor([[0.0, 0.0]], dtype=torch.float64)
    y = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    assert (E.dist(x, y).item(), E.dissimilarity(x, y).item()) == (5.0, 25.0)
    assert not E.check_point(x / 0).ok
    assert (E.broken_dissimilarity(x, y).item(), E.extrinsic_dist(x, y).item()) == (5.0, 5.0)
    assert E.smoothed_dissimilarity(x, y, 0.1).item() == pytest.approx(
        (25.0**2 + 0.1**2) ** 0.25 - 0.1**0.5
    )


def test_overridden_methods_are_checked_too(generator):
    class Careless(PseudoHyperboloid):
        def expmap(self, x, u):
            return x + u

    M = checked(Careless(2, 1))
    x = M.random(3, generator=generator)
    with pytest.raises(ValueError, match=r"the result.* is off the manifold"):
        M.expmap(x, M.random_tangent(x, generator=generator))


@pytest.mark.parametrize(
    "plain", [PseudoHyperboloid(2, 1, -0.3), PseudoSphere(2, 1), Euclidean(3)], ids=str
)
def test_checked_manifolds_pickle_and_copy(plain):
    M = checked(plain)
    for twin in (pickle.loads(pickle.dumps(M)), copy.deepcopy(M)):
        assert type(twin) is type(M)
        assert twin._label() == M._label()
        with pytest.raises(ValueError, match="x is not finite"):
            twin.norm(twin.dist(twin.origin() * math.nan, twin.origin()))
    assert copy.deepcopy(M)._plain is not plain


class OffTheTangentSpace(PseudoHyperboloid):
    """Wrong in every vector that it returns, by a multiple of the normal."""

    def proju(self, x, z):
        return super().proju(x, z) + 1e-3 * x

    def logmap(self, x, y):
        vector, exists = super().logmap(x, y)
        return Logarithm(vector + 1e-3 * x, exists)

    def transp(self, x, y, v):
        return super().transp(x, y, v) + 1e-3 * y

    def transp_follow_expmap(self, x, u, v):
        return super().transp_follow_expmap(x, u, v) + 1e-3 * self.expmap(x, u)

    def expmap_transp(self, x, u, v):
        y, carried = super().expmap_transp(x, u, v)
        return y, carried + 1e-3 * y

    def egrad2rgrad(self, x, gradient):
        return super().egrad2rgrad(x, gradient) + 1e-3 * x

    def wick_rotation(self, x, u):
        return super().wick_rotation(x, u) + 1e-3 * x

    def precondition_root(self, x, z):
        return super().precondition_root(x, z) + 1e-3 * x


def test_vectors_that_come_out_are_checked(generator):
    plain = PseudoHyperboloid(2, 1, -4.0)
    x = plain.random(6, scale=0.5, generator=generator)
    u = plain.random_tangent(x, scale=0.5, generator=generator)
    y = plain.expmap(x, u)
    calls = {
        "proju": (x, u),
        "logmap": (x, y),
        "transp": (x, y, u),
        "transp_follow_expmap": (x, u, u),
        "expmap_transp": (x, u, u),
        "egrad2rgrad": (x, u),
        "wick_rotation": (x, u),
        "precondition_root": (x, u),
        "surrogate_direction": (x, u),
    }
    for name, arguments in calls.items():
        getattr(checked(plain), name)(*arguments)
        with pytest.raises(
            ValueError, match=rf"^{name}: .*the resulting vector\[0\] is not tangent"
        ):
            getattr(checked(OffTheTangentSpace(2, 1, -4.0)), name)(*arguments)


def test_missing_geodesics_are_no_error(generator):
    M = checked(PseudoHyperboloid(2, 1, -4.0))
    x = M.random(6, generator=generator)
    u = M.random_tangent(x, scale=0.1, generator=generator)
    beyond = -M.expmap(x, u)
    assert M.logmap(x, beyond).vector.shape == M.transp(x, beyond, u).shape
    assert not M.logmap(x, beyond).exists.all()


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_geodesics_whose_terms_cancel_are_valid(manifold, scale, dtype, generator):
    M = checked(manifold)
    x = manifold.random(100, scale=scale, generator=generator, dtype=dtype)
    u, v = (manifold.random_tangent(x, generator=generator) for _ in range(2))
    u = u * manifold.beta.abs().sqrt().to(dtype)
    M.expmap(x, u)
    M.geodesic(x, u, torch.linspace(-1.5, 1.5, 100))
    M.expmap_transp(x, u, v)
    M.transp_follow_expmap(x, u, v)


def test_a_geodesic_beyond_the_dtype_is_named():
    M = checked(PseudoHyperboloid(2, 1))
    u = torch.tensor([0.0, 0.0, 1e3, 0.0])
    with pytest.raises(
        ValueError,
        match=r"expmap: .*the result is not finite: .*; the geodesic is longer than torch",
    ):
        M.expmap(M.origin(dtype=torch.float32), u)


def test_small_faults_of_geodesics_are_seen(generator):
    class Off(PseudoHyperboloid):
        def geodesic(self, x, u, t):
            return (1.0 + 1e-3) * super().geodesic(x, u, t)

    x = Off(3, 1).random(5, generator=generator, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"expmap: .*the result\[0\] is off the manifold"):
        checked(Off(3, 1)).expmap(x, Off(3, 1).random_tangent(x, scale=0.1, generator=generator))
