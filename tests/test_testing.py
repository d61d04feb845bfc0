"""The battery passes on our manifolds and catches broken ones by the property meant for each
fault.
"""

from __future__ import annotations

import math

import pytest
import torch
from machines import ON_CUDA
from quadrics import OWN, check_quadric
from torch import Tensor

from ultrahyperbolic import Euclidean, Logarithm, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.testing import check_gradient, check_manifold, properties, random_isometry

MOST_CASES = 2  # a battery takes a second or two


@pytest.mark.parametrize("signature", [(4, 0), (0, 4), (2, 2)], ids=str)
def test_pseudo_hyperboloids(manifold, dtype):
    report = check_quadric(manifold, dtype=dtype)
    assert len(report.passed) >= 17
    assert set(report.passed) | set(report.skipped) == set(properties()) | set(OWN)


@pytest.mark.parametrize("beta", [0.25, 4.0])
@pytest.mark.parametrize(("p", "q"), [(1, 2), (4, -1), (2, 2)])
def test_pseudo_spheres(p, q, beta, dtype):
    assert len(check_quadric(PseudoSphere(p, q, beta), dtype=dtype).passed) >= 17


def test_flat_space(dtype):
    report = check_manifold(Euclidean(3), dtype=dtype)
    single = {"gradcheck"} if dtype == torch.float32 else set()
    assert set(report.skipped) == {"tangency"} | single


def test_indefinite_geometry_runs_every_property():
    report = check_quadric(PseudoHyperboloid(2, 1, -4.0))
    assert set(report.skipped) == {"one_sheet"}


@pytest.mark.parametrize("n", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 5))])
def test_small_samples(n):
    assert check_quadric(PseudoHyperboloid(2, 1, -4.0), n=n).failed == {}


class ForgetsBetaInExp(PseudoHyperboloid):
    def geodesic(self, x, u, t):
        return PseudoHyperboloid(self.p, self.q, -1.0).geodesic(x, u, t)


class ProjectsInsteadOfTransporting(PseudoHyperboloid):
    def transp_follow_expmap(self, x, u, v):
        return self.proju(self.expmap(x, u), v)


class ClampsTheLogarithm(PseudoHyperboloid):
    def logmap(self, x, y):
        vector, exists = super().logmap(x, y)
        return Logarithm(vector.nan_to_num(0.0), torch.ones_like(exists))


class NaiveDistance(PseudoHyperboloid):
    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        cosine = self.inner(x, y) / self.beta.to(x.dtype)
        inside, outside = cosine.clamp(-1.0, 1.0).acos(), cosine.clamp_min(1.0).acosh()
        length = torch.where(cosine >= 1, outside, inside)
        return torch.where(cosine >= 0, length, math.pi / 2 - cosine) * self.beta.abs().sqrt()


class DescendsAlongTheGradient(PseudoHyperboloid):
    def descent_direction(self, x, gradient):
        return self.egrad2rgrad(x, gradient)


class TurnsNothing(PseudoHyperboloid):
    def wick_rotation(self, x, u):
        return u.clone()


class FavoursAnAxis(PseudoHyperboloid):
    """One that no isometry respects."""

    def dist(self, x, y):
        return super().dist(x, y) + 1e-3 * (x - y)[..., -1].abs()


class TakesAnyVectorForProjectable(PseudoHyperboloid):
    def check_projectable(self, z):
        return self.check_phi(z)


class MutatesTheGradient(PseudoHyperboloid):
    def egrad2rgrad(self, x, gradient):
        gradient[..., : self.q + 1] *= -1.0
        return self.proju(x, gradient)


class LowerSheetSamples(PseudoHyperboloid):
    def random(self, *size, **options):
        x = super().random(*size, **options)
        x[..., ::2, :] *= -1.0
        return x


class TimeLast(PseudoHyperboloid):
    def inner(self, u, v, *, keepdim=False):
        return super().inner(u.flip(-1), v.flip(-1), keepdim=keepdim)


class WrongSlopeBelowTheEquator(PseudoHyperboloid):
    def dissimilarity(self, x, y):
        inner = self.inner(x, y)
        radius = self.beta.to(x.dtype).abs().sqrt()
        return torch.where(inner <= 0, super().dissimilarity(x, y), radius * math.pi / 2 + inner)


class ForgetsTheSignOfSquares(PseudoHyperboloid):
    def sqnorm(self, u, *, keepdim=False):
        return super().sqnorm(u, keepdim=keepdim).abs()


class TiltsTheSphere(PseudoHyperboloid):
    """On the manifold, but not where its lengths are the sphere's."""

    def include_sphere(self, point):
        x = super().include_sphere(point)
        return self.phi(x + 0.1 * point[..., :1] * (x == 0))


class BendsTheOtherWay(PseudoHyperboloid):
    def shape_operator(self, x, u):
        return -super().shape_operator(x, u)


MUTANTS = [
    (TiltsTheSphere, (3, 1), "inclusions"),
    (BendsTheOtherWay, (3, 1), "normals"),
    (FavoursAnAxis, (3, 1), "isometry_invariance"),
    (ForgetsTheSignOfSquares, (3, 1), "definiteness"),
    (ForgetsBetaInExp, (3, 1), "geodesic_equation"),
    (ProjectsInsteadOfTransporting, (3, 1), "transport"),
    (ClampsTheLogarithm, (3, 1), "image_of_exp"),
    (NaiveDistance, (3, 1), "finite_gradients"),
    (DescendsAlongTheGradient, (3, 1), "descent"),
    (TurnsNothing, (3, 1), "surrogate"),
    (TakesAnyVectorForProjectable, (3, 1), "phi_and_projx"),
    (MutatesTheGradient, (3, 1), "arguments_untouched"),
    (LowerSheetSamples, (3, 0), "one_sheet"),
    (TimeLast, (3, 1), "tangency"),
    (WrongSlopeBelowTheEquator, (2, 2), "dissimilarities"),
]


@pytest.mark.parametrize(
    ("mutant", "signature", "meant"), MUTANTS, ids=lambda value: getattr(value, "__name__", None)
)
def test_mutants_are_caught_by_the_property_meant_for_them(mutant, signature, meant):
    assert check_quadric(PseudoHyperboloid(*signature, -4.0), only=[meant]).passed == [meant]
    assert set(check_quadric(mutant(*signature, -4.0), only=[meant], raises=False).failed) == {
        meant
    }
    with pytest.raises(AssertionError, match=meant):
        check_quadric(mutant(*signature, -4.0), only=[meant])


def test_only_and_unknown_properties():
    assert check_manifold(PseudoHyperboloid(2, 1), only=["descent"]).passed == ["descent"]
    with pytest.raises(ValueError, match="no property called nonsense"):
        check_manifold(PseudoHyperboloid(2, 1), only=["nonsense"])


def test_random_isometries_preserve_the_scalar_product(manifold, generator):
    matrix = random_isometry(manifold, generator=generator)
    x, y = manifold.random(50, generator=generator), manifold.random(50, generator=generator)
    torch.testing.assert_close(
        manifold.inner(x @ matrix.T, y @ matrix.T), manifold.inner(x, y), rtol=1e-9, atol=1e-9
    )
    assert not torch.allclose(matrix.abs(), torch.eye(5, dtype=torch.float64))


def test_check_gradient_measures_the_taylor_slope(manifold, generator):
    x = manifold.random(3, generator=generator)
    ok, slope = check_gradient(lambda x: x.pow(3).sum(), x, manifold)
    assert ok
    assert slope == pytest.approx(2.0, abs=0.1)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.pow(3).sum()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2.9 * x.square()

    ok, slope = check_gradient(Wrong.apply, x, manifold)
    assert not ok
    assert slope < 1.7


@ON_CUDA
@pytest.mark.parametrize("signature", [(4, 0), (0, 4), (3, 1)], ids=str)
def test_the_battery_passes_on_cuda(signature, dtype):
    check_quadric(PseudoHyperboloid(*signature, -4.0).cuda(), dtype=dtype, device="cuda")


@pytest.mark.parametrize("signature", [(1, 1), (0, 1), (1, 0), (20, 1), (1, 20)], ids=str)
def test_lopsided_signatures(signature, dtype):
    check_quadric(PseudoHyperboloid(*signature, -0.25), dtype=dtype)
