"""Heights, trophic levels and shares of the flow against dense solves and graphs whose answer is
known.
"""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from ultrahyperbolic.graph.heights import flow, heights, trophic_levels


def drawn(seed, n=30, m=120):
    """Random ties between n nodes, of which the last has none, with some weights equal."""
    rng = np.random.default_rng(seed)
    codes = rng.choice((n - 1) ** 2, m, replace=False)
    arcs = np.column_stack((codes // (n - 1), codes % (n - 1)))
    arcs = arcs[arcs[:, 0] != arcs[:, 1]]
    return n, arcs, rng.integers(1, 9, len(arcs)) / 3.0


def matrix_of(n, arcs, weights):
    matrix = np.zeros((n, n))
    for (i, j), weight in zip(arcs, weights, strict=True):
        matrix[i, j] += weight
    return matrix


def spring_rank(matrix, alpha):
    both = matrix + matrix.T
    system = np.diag(both.sum(1)) - both + alpha * np.eye(len(matrix))
    return np.linalg.lstsq(system, matrix.sum(1) - matrix.sum(0), rcond=None)[0]


def line(n):
    return np.column_stack((np.arange(n - 1), np.arange(1, n)))


def ring(n):
    return np.column_stack((np.arange(n), (np.arange(n) + 1) % n))


def tree_back_to_the_root():
    tree = nx.balanced_tree(3, 3, create_using=nx.DiGraph)
    tree.add_edges_from([(node, 0) for node in list(tree) if not tree.out_degree(node)])
    return len(tree), np.array(tree.edges)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [1e-3, 0.5])
def test_heights_are_those_of_a_dense_solve(seed, alpha):
    n, arcs, weights = drawn(seed)
    wanted = spring_rank(matrix_of(n, arcs, weights), alpha)
    assert heights(n, arcs, weights, by_rank=False, alpha=alpha) == pytest.approx(wanted, abs=1e-6)
    # Twice the mean place of a weight among all: places from 1, equal weights share theirs.
    ranks = [
        (2.0 * (weights < w).sum() + (weights == w).sum() + 1.0) / (len(weights) + 1)
        for w in weights
    ]
    wanted = spring_rank(matrix_of(n, arcs, ranks), alpha)
    assert heights(n, arcs, weights, alpha=alpha) == pytest.approx(wanted, abs=1e-6)


def test_heights_that_are_held_stay_and_the_others_are_a_dense_solve():
    _, arcs, weights = drawn(0)
    everywhere = heights(30, arcs, weights)
    held = np.where(np.arange(30) % 3 == 0, np.nan, everywhere)
    np.testing.assert_allclose(heights(30, arcs, weights, held=held), everywhere, atol=1e-8)
    moved = heights(30, arcs, weights, by_rank=False, alpha=0.0, held=held + 5.0)
    tied = np.isin(np.arange(30), arcs)
    free = heights(30, arcs, weights, by_rank=False, alpha=0.0, held=held)
    np.testing.assert_allclose((moved - free)[tied], 5.0, atol=1e-8)


def test_a_tie_points_down_and_a_node_without_ties_is_at_0():
    n, arcs, weights = drawn(0)
    assert heights(n, arcs, weights)[-1] == 0.0
    up, down = heights(2, np.array([[1, 0]]), np.ones(1))[[1, 0]]
    assert up > 0.0 > down
    assert heights(4, np.empty((0, 2), dtype=np.int64), np.empty(0)).tolist() == [0.0] * 4


def test_only_the_order_of_the_weights_counts_by_rank():
    n, arcs, weights = drawn(1)
    assert np.array_equal(heights(n, arcs, weights), heights(n, arcs, weights**3))
    assert not np.allclose(
        heights(n, arcs, weights, by_rank=False), heights(n, arcs, weights**3, by_rank=False)
    )


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_very_small_and_large_weights_have_the_same_shares(unit):
    n, arcs, weights = drawn(1)
    assert flow(n, arcs, weights * unit) == pytest.approx(flow(n, arcs, weights), abs=1e-12)
    assert trophic_levels(n, arcs, weights * unit) == pytest.approx(
        trophic_levels(n, arcs, weights), abs=1e-6
    )


def test_a_ring_is_level_and_circulates():
    arcs = ring(100)
    assert np.ptp(heights(100, arcs, np.ones(100))) < 1e-6
    assert flow(100, arcs, np.ones(100)) == pytest.approx((0.0, 1.0, 0.0, 1.0), abs=1e-12)


def test_a_chain_falls_in_equal_steps_and_nothing_circulates():
    arcs = line(50)
    steps = -np.diff(heights(50, arcs, np.ones(49), alpha=1e-9))
    assert steps == pytest.approx(np.ones(49), abs=1e-4)
    assert flow(50, arcs, np.ones(49)) == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=1e-12)
    assert trophic_levels(50, arcs, np.ones(49)) == pytest.approx(np.arange(1.0, 51.0), abs=1e-6)


def test_leaves_that_point_back_to_the_root_circulate_in_part():
    n, arcs = tree_back_to_the_root()
    found = flow(n, arcs, np.ones(len(arcs)))
    assert 0.05 < found.circulation < 0.95
    assert found.returned == 0.0


def test_a_symmetric_graph_is_level_and_all_returns():
    n, arcs, weights = drawn(2)
    arcs, weights = np.concatenate((arcs, arcs[:, ::-1])), np.tile(weights, 2)
    assert not heights(n, arcs, weights).any()
    assert not heights(n, arcs, weights, by_rank=False).any()
    assert flow(n, arcs, weights) == pytest.approx((0.0, 0.0, 1.0, 1.0), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_shares_of_the_flow_by_their_definition(seed):
    n, arcs, weights = drawn(seed)
    matrix = matrix_of(n, arcs, weights)
    h, total, down, split = spring_rank(matrix, 0.0), matrix.sum(), 0.0, 0.0
    for i in range(n):
        for j in range(i):
            both, net = matrix[i, j] + matrix[j, i], matrix[i, j] - matrix[j, i]
            if both:
                down += both * (h[i] - h[j]) ** 2
                split += net**2 / both
    found = flow(n, arcs, weights)
    assert found.down + found.circulation + found.returned == pytest.approx(1.0, abs=1e-12)
    assert found[:3] == pytest.approx(
        (down / total, (split - down) / total, 1.0 - split / total), abs=1e-9
    )
    gaps = h[arcs[:, 0]] - h[arcs[:, 1]] - 1.0
    assert found.incoherence == pytest.approx((weights * gaps**2).sum() / total, abs=1e-9)


def test_the_flow_without_ties_is_not_defined():
    assert all(map(math.isnan, flow(3, np.empty((0, 2), dtype=np.int64), np.empty(0))))


def test_trophic_levels_of_a_food_chain_and_of_components_with_cycles():
    arcs = np.array([[0, 1], [1, 2], [0, 2], [4, 5], [5, 6], [6, 4]])
    levels = trophic_levels(8, arcs, np.ones(len(arcs)))
    assert levels == pytest.approx([1.0, 5.0 / 3.0, 7.0 / 3.0, 1.0, 1.0, 1.0, 1.0, 1.0], abs=1e-9)
