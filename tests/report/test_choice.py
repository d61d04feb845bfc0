from __future__ import annotations

import numpy as np
import pytest

from ultrahyperbolic.report.contents import choose_nodes


@pytest.mark.parametrize(
    ("n", "top"),
    [
        (5_000, 5_000),
        (100_000, 1_000),
        (1_000_000, 134),
        pytest.param(3_000_000, 100, marks=pytest.mark.slow),
    ],
)
def test_of_more_nodes_fewer_are_shown(n, top):
    rank = np.random.default_rng(0).permutation(n) + 1
    shown = choose_nodes(rank)
    assert shown.top == top
    assert len(np.unique(shown.nodes)) == (n if shown.whole else 2 * top)
    assert rank[shown.nodes[:top]].tolist() == list(range(1, top + 1))
    assert (np.diff(rank[shown.nodes]) > 0).all()
