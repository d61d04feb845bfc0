"""Ties and classes from distances: their formulas, positivity, and gradients where distances have
none.
"""

from __future__ import annotations

import pytest
import torch
from steps import train
from torch import nn

import ultrahyperbolic as uh
from ultrahyperbolic.nn import ClassDecoder, LinkDecoder

MANIFOLDS = [
    uh.PseudoHyperboloid(2, 1, -4.0),
    uh.PseudoHyperboloid(3, 0),
    uh.PseudoHyperboloid(0, 3, -0.25),
    uh.Product(uh.PseudoHyperboloid(2, 1), uh.Euclidean(2)),
]
F64 = torch.float64


@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_links_are_fermi_and_dirac_s(M):
    x, y = M.random(30, generator=0), M.random(30, generator=1)
    decoder = LinkDecoder(M, radius=1.5, temperature=0.3, dtype=F64)
    d = M.dissimilarity(x, y)
    torch.testing.assert_close(decoder.probability(x, y), 1.0 / (torch.exp((d - 1.5) / 0.3) + 1.0))
    torch.testing.assert_close(decoder(x, y), (1.5 - d) / 0.3)
    table = decoder(x[:, None], y)
    assert table.shape == (30, 30)
    torch.testing.assert_close(table.diagonal(), decoder(x, y))
    smooth = LinkDecoder(M, dissimilarity="smoothed", epsilon=0.02, dtype=F64)
    torch.testing.assert_close(smooth(x, y), 1.0 - M.smoothed_dissimilarity(x, y, 0.02))


@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_classes_are_the_nearest_prototypes(M):
    decoder = ClassDecoder(M, 4, generator=0, dtype=F64)
    x = M.random(2, 5, generator=1)
    logits = decoder(x)
    assert logits.shape == (2, 5, 4)
    expected = torch.stack([-M.dissimilarity(x, c) for c in decoder.prototypes.detach()], -1)
    torch.testing.assert_close(logits, expected)
    assert isinstance(decoder.prototypes, uh.ManifoldParameter)
    assert decoder.prototypes.manifold is decoder.manifold


def test_learnt_numbers_are_learnt_and_the_temperature_stays_positive():
    M = uh.PseudoHyperboloid(2, 1)
    x = M.random_near_pole(60, epsilon=0.5, generator=0)
    links = (M.dissimilarity(x[:30], x[30:]) < 0.6).double()
    decoder = LinkDecoder(M, radius=0.0, temperature=2.0, dtype=F64)
    optimizer = uh.optim.PseudoRiemannianAdam([*decoder.parameters()], lr=0.1)
    entropy = nn.functional.binary_cross_entropy_with_logits
    train(optimizer, lambda: entropy(decoder(x[:30], x[30:]), links), 150)
    assert 0.0 < decoder.temperature < 1.0
    assert ((decoder.probability(x[:30], x[30:]) > 0.5).double() == links).double().mean() > 0.9


@pytest.mark.parametrize("dissimilarity", ["geodesic", "smoothed"])
def test_gradients_are_finite_on_the_cone(dissimilarity):
    """Equal points, points on a light ray, antipodes, and points far beyond them."""
    M = uh.PseudoHyperboloid(2, 1)
    x = M.origin(5)
    y = torch.tensor(
        [[1.0, 0, 0, 0], [1, 1, 1, 0], [-1, 0, 0, 0], [-1, 1, 1, 0], [-1, 0, 1e3, 0]]
    ).double()
    y = M.phi(y)
    links = LinkDecoder(M, dissimilarity=dissimilarity, temperature=1e-3, dtype=F64)
    classes = ClassDecoder(M, 5, dissimilarity=dissimilarity, dtype=F64)
    with torch.no_grad():
        classes.prototypes.copy_(y)
    x, y = x.requires_grad_(), y.requires_grad_()
    probability = links.probability(x, y)
    assert ((probability >= 0) & (probability <= 1)).all()
    total = nn.functional.softplus(links(x, y)).sum() + probability.sum() + classes(x).sum()
    total.backward()
    for tensor in (x, y, *links.parameters(), *classes.parameters()):
        assert tensor.grad.isfinite().all()
