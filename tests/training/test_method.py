"""The training of a graph that nobody has tuned."""

from __future__ import annotations

import numpy as np
import pytest

import ultrahyperbolic as uh
from tests.plans import configure
from ultrahyperbolic import TrainingConfig
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training import embed_many
from ultrahyperbolic.training.method import default_iterations, recipe

KARATE = uh.datasets.karate()


def ring(n, neighbours):
    i = np.arange(n)
    return Graph.from_arrays(
        np.tile(i, neighbours), np.concatenate([(i + k + 1) % n for k in range(neighbours)]), ids=n
    )


def test_moves_and_iterations_grow_with_the_mean_degree_and_parts_with_the_nodes():
    sparse, dense, denser = ring(200, 1), ring(200, 8), ring(200, 40)
    usual = [
        recipe(TrainingConfig(iterations=default_iterations(g)), g) for g in (sparse, dense, denser)
    ]
    shares = [config.max_step[0] for config in usual]
    assert shares == pytest.approx([2 / 33, 16 / 33, 1.0])
    assert [config.epsilon[1] for config in usual] == pytest.approx(
        [1e-4 * share**2 for share in shares]
    )
    assert {recipe(TrainingConfig(p=4, q=0), g).epsilon[1] for g in (sparse, dense)} == {1e-5}
    assert [default_iterations(graph) for graph in (sparse, dense, denser)] == [1600, 4000, 4000]
    assert default_iterations(ring(200, 3)) == 2400
    assert [recipe(TrainingConfig(), ring(n, 1)).parts for n in (100, 383, 384, 3000)] == [
        1,
        1,
        2,
        15,
    ]


def test_of_fewer_iterations_each_moves_further_and_more_are_for_the_finish():
    made = {n: recipe(TrainingConfig(iterations=n), ring(200, 1)) for n in (1, 400, 1600, 6400)}
    share = {n: config.max_step[0] for n, config in made.items()}
    assert share[400] == pytest.approx(2 * share[1600])
    assert (share[1], share[6400]) == (1.0, share[1600])
    assert (made[400].finish, made[1600].finish) == (0.15, 0.15)
    assert made[6400].descents == made[1600].descents == 1360


@pytest.mark.parametrize(("p", "q"), [(2, 2), (4, 0), (0, 4)])
def test_another_radius_is_the_same_training_in_other_units(p, q):
    small, large = (
        recipe(TrainingConfig(p, q, beta, iterations=20), KARATE) for beta in (-1.0, -4.0)
    )
    one, four = (embed_many(KARATE, [each], measures=False)[0] for each in (small, large))
    np.testing.assert_allclose(2.0 * one.points, four.points, rtol=1e-8, atol=1e-9)


def test_the_unit_of_the_weights_does_not_matter():
    i, j = KARATE.edges.T
    other = Graph.from_arrays(i, j, KARATE.weights / 7.0, ids=KARATE.n_nodes)
    first, second = (
        uh.embed(graph, p=2, q=2, iterations=80, quiet=True) for graph in (KARATE, other)
    )
    assert np.array_equal(first.points, second.points)


def test_a_training_ends_when_it_has_converged_unless_told_otherwise():
    assert [config.stop for config in configure(KARATE)] == ["converged"]
    assert [config.stop for config in configure(KARATE, stop="iterations")] == ["iterations"]
    assert [config.stop for config in configure(KARATE, preset="paper")] == ["iterations"]


def test_of_several_seeds_the_lowest_loss_is_kept():
    best = uh.embed(KARATE, p=2, q=2, seed=5, seeds=4, iterations=80, quiet=True)
    alone = [
        uh.embed(KARATE, p=2, q=2, seed=seed, iterations=80, quiet=True) for seed in range(5, 9)
    ]
    losses = [each.record.result.final_loss for each in alone]
    assert [each["seed"] for each in best.run["tries"]] == [5, 6, 7, 8]
    assert [each["final_loss"] for each in best.run["tries"]] == losses
    assert np.array_equal(best.points, alone[int(np.argmin(losses))].points)
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        uh.embed(KARATE, seeds=0, quiet=True)


def test_above_ten_thousand_nodes_the_start_is_hotter_and_less_of_the_cone_is_smoothed():
    usual, large = (recipe(TrainingConfig(), ring(n, 2)) for n in (10_000, 40_000))
    assert usual.temperature == recipe(TrainingConfig(), ring(200, 2)).temperature
    assert usual.epsilon == recipe(TrainingConfig(), ring(200, 2)).epsilon
    assert large.epsilon[1] == pytest.approx(usual.epsilon[1] / 16.0)
    assert large.temperature == pytest.approx(
        (usual.temperature[0] * 16.0**0.2, usual.temperature[1])
    )
    for flat in (TrainingConfig(p=4, q=0), TrainingConfig(p=0, q=4)):
        one, other = (recipe(flat, ring(n, 2)) for n in (200, 40_000))
        assert (one.temperature, one.epsilon) == (other.temperature, other.epsilon)
