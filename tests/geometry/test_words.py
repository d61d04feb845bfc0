"""The names of the dissimilarities, and that others are refused."""

from __future__ import annotations

import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.spaces.dissimilarities import DISSIMILARITIES, check_dissimilarity


@pytest.fixture(
    params=[PseudoHyperboloid(2, 1, -4.0), PseudoSphere(2, 1, 4.0), Euclidean(4)],
    ids=lambda m: m._label(),
)
def geometry(request):
    return request.param


@pytest.mark.parametrize("name", ["Geodesic", "", None, ("geodesic",)])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match=r"^dissimilarity must be one of geodesic, .*, got "):
        check_dissimilarity(name)


@pytest.mark.parametrize("name", DISSIMILARITIES)
def test_a_table_holds_the_pair_function_of_every_name(geometry, name, generator):
    x, y = geometry.random(6, generator=generator), geometry.random(6, generator=generator)
    expected = geometry.pair_function(name)(x, y)
    table = geometry.cdist(x, y, dissimilarity=name)
    torch.testing.assert_close(table.diagonal(), expected, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_epsilon_is_of_the_smoothed_one(geometry, generator):
    x, y = geometry.random(6, generator=generator), geometry.random(6, generator=generator)
    smoothed = geometry.pair_function("smoothed", 0.7)(x, y)
    assert torch.equal(smoothed, geometry.smoothed_dissimilarity(x, y, 0.7))
    assert not torch.equal(smoothed, geometry.pair_function("smoothed")(x, y))
    with pytest.raises(ValueError, match="epsilon belongs to dissimilarity='smoothed', got"):
        geometry.pair_function("broken", 0.7)


@pytest.mark.parametrize(("p", "q"), [(2, 1), (1, 2), (3, -1), (3, 0)])
def test_whether_geodesics_join_all_pairs(p, q, generator):
    S = PseudoSphere(p, q)
    x = S.random(200, scale=2.0, generator=generator)
    assert S.joins_all_pairs == bool(S.logmap(x[:, None], x[None]).exists.all())
