"""What compiled loops are told of a space, and that they then compute what its manifold says."""

from __future__ import annotations

import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.pairs import pair_distances
from ultrahyperbolic.pairs.kinds import KernelSpace, Kind, kernel_space
from ultrahyperbolic.spaces.dissimilarities import DISSIMILARITIES


def test_spaces():
    assert kernel_space(Euclidean(3), "geodesic") == KernelSpace(0, 1.0, Kind.FLAT_SQUARED)
    assert kernel_space(PseudoHyperboloid(2, 1, -4.0), "cone-rule") == KernelSpace(
        2, 2.0, Kind.CONE_RULE
    )
    assert kernel_space(Euclidean(3), "distance").time == 0
    assert kernel_space(PseudoHyperboloid(2, 0), "distance").time == 1


def test_the_distance_is_known_where_geodesics_join_all_pairs():
    assert kernel_space(PseudoHyperboloid(3, 0), "distance").kind == Kind.GEODESIC
    assert kernel_space(PseudoHyperboloid(0, 3), "distance").kind == Kind.BROKEN
    with pytest.raises(ValueError, match="no compiled loop knows where geodesics end"):
        kernel_space(PseudoHyperboloid(2, 1), "distance")


class Warped(PseudoHyperboloid):
    def dissimilarity(self, x, y):
        return 2.0 * super().dissimilarity(x, y)


@pytest.mark.parametrize(
    "manifold", [Warped(2, 1), PseudoSphere(2, 1)], ids=lambda m: type(m).__name__
)
def test_other_manifolds_are_not_known(manifold):
    with pytest.raises(ValueError, match=f"no compiled loop knows {type(manifold).__name__}"):
        kernel_space(manifold, "geodesic")
    points = manifold.random(30)
    pairs = torch.tensor([[0, 1], [3, 20]])
    with pytest.raises(
        ValueError, match=f"backend 'numba': no compiled loop knows {type(manifold).__name__}"
    ):
        pair_distances(points, manifold, pairs, backend="numba")
    found = pair_distances(points, manifold, pairs)
    assert torch.equal(found, manifold.dissimilarity(points[pairs[:, 0]], points[pairs[:, 1]]))


SPACES = [
    PseudoHyperboloid(3, 0, -4.0),
    PseudoHyperboloid(0, 3, -4.0),
    PseudoHyperboloid(2, 1, -0.25),
    Euclidean(3),
]


@pytest.mark.parametrize("manifold", SPACES, ids=lambda m: m._label())
@pytest.mark.parametrize("dissimilarity", DISSIMILARITIES)
def test_every_kind_is_what_the_manifold_says(manifold, dissimilarity, generator):
    pytest.importorskip("numba")
    if dissimilarity == "distance" and not manifold.joins_all_pairs:
        pytest.skip("no kind")
    points = manifold.random(40, generator=generator)
    # Near ones as well, where the rule of the cone differs.
    points = torch.cat(
        (
            points,
            manifold.expmap(points, 1e-3 * manifold.random_tangent(points, generator=generator)),
        )
    )
    pairs = torch.combinations(torch.arange(len(points)))
    found, expected = (
        pair_distances(points, manifold, pairs, dissimilarity=dissimilarity, backend=backend)
        for backend in ("numba", "reference")
    )
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)
