"""What the tests of every backend share: graphs, points, and the bars that an objective is held
to.
"""

from __future__ import annotations

import numpy as np
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import ExactLoss, RankedPairs

MANIFOLDS = [
    PseudoHyperboloid(4, 0),
    PseudoHyperboloid(3, 1),
    PseudoHyperboloid(2, 2, -4.0),
    PseudoHyperboloid(1, 3, -0.25),
    PseudoHyperboloid(0, 4),
    PseudoHyperboloid(1, 0),
    PseudoHyperboloid(9, 4),
    Euclidean(4),
]


def random_pairs(n, capacities, seed=0, degree=6):
    """A random graph of n nodes: ``capacities`` is "tied" (three values), "distinct" or "one"."""
    rng = np.random.default_rng(seed)
    m = min(n * degree // 2, n * (n - 1) // 4)
    chosen = rng.choice(n * n, size=4 * m, replace=False)
    i, j = chosen // n, chosen % n
    edges = np.unique(np.stack((np.minimum(i, j), np.maximum(i, j)), 1)[i != j], axis=0)
    edges = edges[rng.permutation(len(edges))[:m]]
    weights = {
        "tied": rng.integers(1, 4, m),
        "distinct": rng.permutation(m) + 1.0,
        "one": np.ones(m),
    }[capacities]
    return RankedPairs.of(Graph.from_arrays(edges[:, 0], edges[:, 1], weights.astype(float), ids=n))


def spread_points(manifold, n, seed=0, scale=0.7):
    generator = torch.Generator().manual_seed(seed)
    if isinstance(manifold, Euclidean):
        return torch.randn(n, manifold.ambient_dim, generator=generator, dtype=torch.float64)
    return manifold.random(n, scale=scale, generator=generator)


def spec_of(manifold, measure, tau, epsilon=0.1, iterations=5):
    schedule = Schedule.constant(iterations, temperature=tau, step=1e-6, epsilon=epsilon)
    return RunSpec(manifold, schedule, measure)


def compare(engine_of, pairs, manifold, measure, tau, points, epsilon=0.1):
    """Relative errors of value and gradient: largest error over largest entry, in the tangent
    spaces.
    """
    spec = spec_of(manifold, measure, tau, epsilon)
    state = BatchState.start([points.numpy()])
    expected, found = (
        ReferenceEngine(pairs, [spec]).evaluate(state),
        engine_of(pairs, [spec]).evaluate(state),
    )
    # Formulas that agree on the manifold differ off it, by a normal component of the gradient.
    tangent = [
        manifold.egrad2rgrad(points, torch.from_numpy(result.gradient[0]))
        for result in (expected, found)
    ]
    largest = tangent[0].abs().max().item()
    value = abs(found.loss[0] - expected.loss[0]) / max(abs(expected.loss[0]), 1e-300)
    return value, (tangent[1] - tangent[0]).abs().max().item() / max(largest, 1e-300)


def conditioning(pairs, manifold, measure, tau, points):
    """u · max ‖x-y‖² · max(1/(τd), 1/|s|) over the pairs whose softmax weight exceeds 1e-6."""
    loss = ExactLoss(
        pairs, manifold.pair_function(measure, 0.1 if measure == "smoothed" else None), tau
    )
    distances = torch.cat(loss.distances(points))
    weight = torch.softmax(-distances / tau, 0)
    listed = torch.from_numpy(np.concatenate((pairs.edges, pairs.nonedges)))[weight > 1e-6]
    d = distances[weight > 1e-6]
    difference = points[listed[:, 0]] - points[listed[:, 1]]
    s = manifold.inner(difference, difference).abs()
    sensitivity = torch.maximum(1.0 / (tau * d), 1.0 / s).max()
    return (2.0**-53 * difference.square().sum(-1).max() * sensitivity).item()


def literal(pairs, points, manifold, tau, offsets=None, epsilon=0.1):
    """The smoothed loss and its gradients in points and offsets, tie by tie, each against all
    weaker pairs.
    """
    measure = manifold.pair_function("smoothed", epsilon)
    n = len(points)
    offsets = np.zeros(n) if offsets is None else offsets
    x, a = points.clone().requires_grad_(), torch.from_numpy(offsets).clone().requires_grad_()
    ranks, edges = torch.full((n, n), -1), torch.from_numpy(pairs.edges)
    ranks[edges[:, 0], edges[:, 1]] = ranks[edges[:, 1], edges[:, 0]] = torch.from_numpy(
        pairs.weaker
    )
    others = ~torch.eye(n, dtype=torch.bool)
    d = measure(x[:, None, :], x[None, :, :]) - a[:, None] - a[None, :]
    total = 0.0 * x.sum()
    for i, j in pairs.edges.tolist():
        weaker = (ranks < ranks[i, j]) & others
        compared = d[weaker.triu()]
        total = total + torch.logsumexp(torch.cat((x.new_zeros(1), (d[i, j] - compared) / tau)), 0)
    return float(total.detach()), *torch.autograd.grad(total, (x, a))
