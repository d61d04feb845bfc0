"""The loss from samples: what it is of samples of everything, and that its sums are without
bias.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from backends import MANIFOLDS, random_pairs, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import ExactLoss, RankedPairs
from ultrahyperbolic.objective.sampled import Measure, SampledLoss, SampleSizes
from ultrahyperbolic.objective.tables import Local, half_chord_table, half_chords, value_and_slope
from ultrahyperbolic.pairs.kinds import kernel_space
from ultrahyperbolic.spaces.dissimilarities import DISSIMILARITIES

EVERYTHING = SampleSizes(10**6, 10**6, 10**6)
Q22 = PseudoHyperboloid(2, 2, -4.0)


def measured(manifold, dissimilarity="smoothed", tau=0.3, epsilon=0.1):
    return Measure(kernel_space(manifold, dissimilarity), tau, epsilon)


def exact(pairs, manifold, points, dissimilarity="smoothed", tau=0.3, scope="graph", offsets=None):
    function = manifold.pair_function(dissimilarity, 0.1 if dissimilarity == "smoothed" else None)
    points = points.clone().requires_grad_()
    leaves = [points]
    if offsets is not None:
        offsets = offsets.clone().requires_grad_()
        leaves.append(offsets)
    loss = ExactLoss(pairs, function, tau, scope=scope)(points, offsets)
    return loss.detach(), torch.autograd.grad(loss, leaves)


def known(manifold):
    """The dissimilarities that compiled loops know there."""
    for name in DISSIMILARITIES:
        try:
            yield name, kernel_space(manifold, name)
        except ValueError:
            continue


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_values_are_the_dissimilarities_and_slopes_their_derivatives(manifold):
    x, y = spread_points(manifold, 400), spread_points(manifold, 400, seed=1)
    for name, space in known(manifold):
        w = half_chords(x, y, space).requires_grad_()
        value, slope = value_and_slope(w, space, 0.1)
        function = manifold.pair_function(name, 0.1 if name == "smoothed" else None)
        torch.testing.assert_close(value, function(x, y), rtol=1e-7, atol=1e-9, msg=name)
        (derivative,) = torch.autograd.grad(value.sum(), w)
        torch.testing.assert_close(slope, derivative, rtol=1e-6, atol=1e-9, msg=name)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_a_table_holds_the_half_chords_of_its_pairs(manifold):
    x, y = spread_points(manifold, 5), spread_points(manifold, 4, seed=1)
    space = kernel_space(manifold, "smoothed")
    pairs = half_chords(x.repeat_interleave(4, 0), y.repeat(5, 1), space).view(5, 4)
    torch.testing.assert_close(half_chord_table(x, y, space), pairs, rtol=1e-9, atol=1e-11)


def test_slopes_are_finite_on_the_cone():
    for name, space in known(Q22):
        value, slope = value_and_slope(torch.zeros(3, dtype=torch.float64), space, 0.1)
        assert value.abs().max() < 1e-9, name
        assert slope.isfinite().all(), name


@pytest.mark.parametrize("scope", ["graph", "node"])
@pytest.mark.parametrize("capacities", ["tied", "distinct", "one"])
@pytest.mark.parametrize(
    "manifold", [Q22, PseudoHyperboloid(3, 0), PseudoHyperboloid(0, 3), Euclidean(3)], ids=str
)
def test_a_sample_of_everything_is_the_loss(manifold, capacities, scope):
    pairs, points = random_pairs(60, capacities), spread_points(manifold, 60)
    offsets = 0.1 * torch.randn(60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    loss = SampledLoss(pairs, EVERYTHING, scope)
    for shift in (None, offsets):
        found = loss(points, shift, loss.draw(0, 0), measured(manifold))
        value, gradients = exact(pairs, manifold, points, scope=scope, offsets=shift)
        torch.testing.assert_close(found.loss, value, rtol=1e-10, atol=0.0)
        assert found.nodes.tolist() == list(range(60))
        tangents = [
            manifold.egrad2rgrad(points, gradient) for gradient in (found.gradient, gradients[0])
        ]
        torch.testing.assert_close(*tangents, rtol=1e-8, atol=1e-8)
        if shift is not None:
            torch.testing.assert_close(found.offsets, gradients[1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scope", ["graph", "node"])
def test_blocks_and_single_precision_change_rounding_alone(scope, monkeypatch):
    pairs, points = random_pairs(80, "tied"), spread_points(Q22, 80)
    found = []
    for at_once, dtype in (
        (1 << 17, torch.float64),
        (300, torch.float64),
        (1 << 17, torch.float32),
    ):
        monkeypatch.setattr("ultrahyperbolic.objective.tables._AT_ONCE", at_once)
        loss = SampledLoss(pairs, SampleSizes(100, 30), scope, dtype=dtype)
        found.append(loss(points, None, loss.draw(3, 1), measured(Q22)))
    for other, tolerance in zip(found[1:], (1e-10, 1e-4), strict=True):
        torch.testing.assert_close(other.loss, found[0].loss, rtol=tolerance, atol=0.0)
        torch.testing.assert_close(
            other.gradient, found[0].gradient, rtol=tolerance, atol=tolerance * 100
        )


def within_three_errors(draws, truth):
    """Whether means over draws [draws, k] are as near to the truth [k] as their standard errors
    say.

    Of many means some are farther than three; all of them together are judged by their mean square.
    """
    draws, truth = np.atleast_2d(np.asarray(draws)), np.asarray(truth)
    errors = draws.std(0, ddof=1) / np.sqrt(len(draws))
    off = (
        np.abs(draws.mean(0) - truth)[errors > 1e-12 * np.abs(truth)]
        / errors[errors > 1e-12 * np.abs(truth)]
    )
    return (
        off.max() < 3.0
        if len(off) == 1
        else np.sqrt(np.square(off).mean()) < 2.0 and off.max() < 4.0
    )


def with_isolated(n, alone):
    pairs = random_pairs(n - alone, "tied")
    return RankedPairs(n, pairs.edges, pairs.weaker)


def class_sums(loss, points, draw, measure):
    """The estimated Σ exp(-d/τ) over pairs without a tie, and over the ties weaker than each class
    [classes].

    By node where that is the scope: the first for each of the draw's rows.
    """
    local = Local(points, None, measure)
    rest = loss._table(draw, local, draw.rows, draw.columns).log_sums().exp()
    if loss.scope == "node":
        return rest, torch.empty(0)
    scores = local.scores(loss._edges[draw.weaker])[0].exp()
    sums = torch.cat((scores.new_zeros(1), scores.cumsum(0))) * (loss.m / len(draw.weaker))
    return rest, sums[torch.searchsorted(draw.weaker, loss._starts)]


@pytest.mark.parametrize("alone", [9, pytest.param(0, marks=pytest.mark.slow)])
def test_class_sums_are_without_bias(alone):
    pairs, points = with_isolated(50, alone), spread_points(Q22, 50)
    loss, whole = SampledLoss(pairs, SampleSizes(20, 8)), SampledLoss(pairs, EVERYTHING)
    rest, classes = class_sums(whole, points, whole.draw(0), measured(Q22))
    distances = ExactLoss(pairs, Q22.pair_function("smoothed", 0.1), 0.3).distances(points)
    torch.testing.assert_close(rest[0], torch.exp(-distances[1] / 0.3).sum(), rtol=1e-9, atol=0.0)
    found = [class_sums(loss, points, loss.draw(0, k), measured(Q22)) for k in range(1000)]
    assert within_three_errors([[float(r)] for r, _ in found], [float(rest)])
    assert within_three_errors([c.numpy() for _, c in found], classes.numpy())
    assert len({float(r) for r, _ in found}) == 1000


def test_the_sums_of_nodes_are_without_bias():
    pairs, points = random_pairs(40, "tied"), spread_points(Q22, 40)
    loss, whole = (
        SampledLoss(pairs, SampleSizes(10**6, 8), "node"),
        SampledLoss(pairs, EVERYTHING, "node"),
    )
    truth, _ = class_sums(whole, points, whole.draw(0), measured(Q22))
    found = [
        class_sums(loss, points, loss.draw(0, k), measured(Q22))[0].numpy() for k in range(1000)
    ]
    assert within_three_errors(found, truth.numpy())


def test_weaker_ties_of_an_end_count_for_all_of_them():
    """A star of 40 ties of distinct strengths: of the 39 weaker ones of the strongest, 4 are
    drawn.
    """
    pairs = RankedPairs.of(
        Graph.from_arrays(np.zeros(40, int), np.arange(1, 41), np.arange(1.0, 41.0), ids=45)
    )
    loss = SampledLoss(pairs, SampleSizes(10**6, 8, 4), "node")
    sums = []
    for k in range(1000):
        draw = loss.draw(0, k)
        assert (draw.weaker[39, 0] < 39).all()
        sums.append(
            [
                float((draw.logs[39, 0].exp() * draw.weaker[39, 0]).sum()),
                float(draw.logs[39, 0].exp().sum()),
            ]
        )
    sums = np.array(sums)
    np.testing.assert_allclose(sums[:, 1], 39.0)
    assert within_three_errors(sums[:, :1], [float(np.arange(39).sum())])


@pytest.mark.parametrize("scope", ["graph", pytest.param("node", marks=pytest.mark.slow)])
def test_bias_falls_with_the_sample(scope):
    pairs, points = random_pairs(60, "tied"), spread_points(Q22, 60)
    truth, (gradient,) = exact(pairs, Q22, points, scope=scope)
    off = []
    for others in (3, 24):
        loss = SampledLoss(pairs, SampleSizes(10**6, others, 10**6), scope)
        found = [loss(points, None, loss.draw(1, k), measured(Q22)) for k in range(100)]
        mean = torch.stack([f.gradient for f in found]).mean(0)
        tangent = Q22.egrad2rgrad(points, mean - gradient).norm()
        off.append(
            (abs(float(torch.stack([f.loss for f in found]).mean() - truth)), float(tangent))
        )
    assert off[1][0] < 0.5 * off[0][0]
    assert off[1][1] < 0.5 * off[0][1]


def test_the_unscaled_form_compares_with_the_sample_alone():
    pairs, points = random_pairs(60, "tied"), spread_points(Q22, 60)
    scaled, plain = (
        SampledLoss(pairs, SampleSizes(30, 10, scaled=scaled)) for scaled in (True, False)
    )
    draw = scaled.draw(5, 5)
    sizes = [float(loss(points, None, draw, measured(Q22)).loss) for loss in (scaled, plain)]
    assert sizes[1] < sizes[0]
    everything = SampledLoss(pairs, SampleSizes(10**6, 10**6, scaled=False), "node")
    found = everything(points, None, everything.draw(0), measured(Q22)).loss
    torch.testing.assert_close(
        found, exact(pairs, Q22, points, scope="node")[0], rtol=1e-10, atol=0.0
    )


@pytest.mark.parametrize("scope", ["graph", "node"])
def test_known_ties_are_left_out_and_draws_follow_from_their_numbers(scope):
    pairs = random_pairs(70, "tied")
    loss = SampledLoss(pairs, SampleSizes(40, 20), scope)
    first, same, other = loss.draw(7, 3), loss.draw(7, 3), loss.draw(7, 4)
    assert all(torch.equal(a, b) for a, b in zip(first, same, strict=True))
    assert not torch.equal(first.columns, other.columns)
    tied = {tuple(edge) for edge in pairs.edges.tolist()}
    found = set(zip(*(part.tolist() for part in loss.tied(first.rows, first.columns)), strict=True))
    for a, i in enumerate(first.rows.tolist()):
        for b, j in enumerate(first.columns.tolist()):
            assert ((a, b) in found) == (i == j or (min(i, j), max(i, j)) in tied)


def test_a_graph_in_which_every_pair_is_tied_has_nothing_but_ties_to_compare():
    i, j = np.triu_indices(12, 1)
    pairs = RankedPairs.of(Graph.from_arrays(i, j, np.arange(1.0, 67.0), ids=12))
    points = spread_points(Q22, 12)
    for scope in ("graph", "node"):
        loss = SampledLoss(pairs, EVERYTHING, scope)
        found = loss(points, None, loss.draw(0), measured(Q22))
        value, (gradient,) = exact(pairs, Q22, points, scope=scope)
        torch.testing.assert_close(found.loss, value, rtol=1e-9, atol=0.0)
        torch.testing.assert_close(
            *(Q22.egrad2rgrad(points, g) for g in (found.gradient, gradient))
        )


@pytest.mark.parametrize("name", ["ties", "others", "per_end"])
def test_sizes_are_counts(name):
    with pytest.raises(ValueError, match=name):
        SampleSizes(**({"ties": 1} | {name: 0}))
