"""What compiled loops are told of a space."""

from __future__ import annotations

import pytest

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.pairs.kinds import KernelSpace, Kind, kernel_space


def test_spaces():
    assert kernel_space(Euclidean(3), "geodesic") == KernelSpace(0, 1.0, Kind.FLAT_SQUARED)
    assert kernel_space(PseudoHyperboloid(2, 1, -4.0), "smoothed") == KernelSpace(
        2, 2.0, Kind.SMOOTHED
    )


def test_where_geodesics_end_is_not_known():
    with pytest.raises(ValueError, match="no compiled loop knows where geodesics end"):
        kernel_space(PseudoHyperboloid(2, 1), "distance")
