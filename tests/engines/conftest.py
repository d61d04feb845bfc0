"""What tests of the engines share."""

from __future__ import annotations

import numpy as np
import pytest

from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs


@pytest.fixture(scope="module")
def pairs():
    """203 nodes, no multiple of a cell and more than are kept pair by pair, with ties of three
    strengths.
    """
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 203, (2, 700))
    keep = i != j
    return RankedPairs.of(
        Graph.from_arrays(i[keep], j[keep], rng.integers(1, 4, keep.sum()), ids=203)
    )
