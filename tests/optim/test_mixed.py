"""One optimiser for a model of points and of ordinary parameters."""

from __future__ import annotations

import pytest
import torch
from steps import train
from torch import nn

from ultrahyperbolic import Euclidean, ManifoldParameter, PseudoHyperboloid
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD

ADAM_OPTIONS = {"lr": 3e-3, "betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 1e-2}
OPTIMIZERS = [
    (PseudoRiemannianSGD, torch.optim.SGD, {"lr": 1e-2}),
    (PseudoRiemannianSGD, torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9, "weight_decay": 1e-2}),
    (PseudoRiemannianAdam, torch.optim.Adam, ADAM_OPTIONS),
]


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 1))


@pytest.mark.parametrize(("ours", "theirs", "options"), OPTIMIZERS)
def test_what_is_no_point_moves_as_in_torch_to_the_last_digit(ours, theirs, options):
    M, models = PseudoHyperboloid(2, 1, -4.0), [network(), network()]
    points = ManifoldParameter(M.random(5, generator=1), M)
    optimizers = [
        ours([*models[0].parameters(), points], **options),
        theirs(models[1].parameters(), **options),
    ]
    inputs = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    for _ in range(20):
        for model, optimizer in zip(models, optimizers, strict=True):
            optimizer.zero_grad()
            (model(inputs).square().mean() + points.square().sum().float() * 1e-3).backward()
            optimizer.step()
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(a, b)
    assert M.check_point(points.detach()).ok


def test_each_parameter_lives_where_it_says(generator):
    Q, H, E = PseudoHyperboloid(2, 2), PseudoHyperboloid(4, 0, -4.0), Euclidean(5)
    params = [ManifoldParameter(M.random(4, generator=generator), M) for M in (Q, H, E)]
    params.append(nn.Parameter(Q.random(4, generator=generator)))
    optimizer = PseudoRiemannianAdam(
        [{"params": params[:3]}, {"params": params[3:], "manifold": Q}], lr=1e-2
    )
    values = train(optimizer, lambda: sum((p - 1.0).square().sum() for p in params), 30)
    assert values[-1] < 0.9 * values[0]
    for M, param in zip((Q, H, E, Q), params, strict=True):
        M.assert_point(param.detach())


def test_sparse_points_beside_dense_layers(generator):
    M = PseudoHyperboloid(2, 1)
    table = nn.Embedding(10, 4, sparse=True, dtype=torch.float64)
    table.weight = ManifoldParameter(M.random(10, generator=generator), M)
    head = nn.Linear(4, 1, dtype=torch.float64)
    start = table.weight.detach().clone()
    optimizer = PseudoRiemannianAdam([*table.parameters(), *head.parameters()], lr=1e-2)
    head(table(torch.tensor([2, 5, 2]))).square().sum().backward()
    optimizer.step()
    assert (table.weight.detach() != start).any(-1).nonzero().flatten().tolist() == [2, 5]
    flat = nn.Embedding(10, 4, sparse=True)
    flat(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="sparse gradients"):
        PseudoRiemannianAdam(flat.parameters()).step()
    PseudoRiemannianSGD(flat.parameters()).step()
