"""A model of points, layers and a head does what any torch model does: one test for each."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import pytest
import torch
from machines import ON_CUDA
from steps import train as steps_of
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from two_processes import numbers_of_two

import ultrahyperbolic as uh
from ultrahyperbolic.optim import PseudoRiemannianAdam

N = 34


class Model(nn.Module):
    """Points of Q^{2,2}, two layers, and a decoder for two classes."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.manifold, self.between = uh.PseudoHyperboloid(2, 2, -4.0), uh.PseudoHyperboloid(3, 1)
        self.nodes = uh.nn.ManifoldEmbedding(N, self.manifold, generator=seed, dtype=torch.float64)
        self.first = uh.nn.PseudoLinear(self.manifold, self.between, dtype=torch.float64)
        self.second = uh.nn.PseudoLinear(self.between, self.between, dtype=torch.float64)
        self.activation = uh.nn.PseudoActivation(self.between)
        self.head = uh.nn.ClassDecoder(self.between, 2, generator=seed, dtype=torch.float64)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.second(self.activation(self.first(self.nodes(rows)))))
        return scores


def loss_of(model, rows):
    return nn.functional.cross_entropy(model(rows), (rows % 2).to(rows.device))


def train(model, steps=10, rows=None):
    rows = torch.arange(N) if rows is None else rows
    optimizer = PseudoRiemannianAdam(model.parameters(), lr=1e-2)
    return steps_of(optimizer, lambda: loss_of(model, rows), steps)


def test_one_optimiser_trains_it_all():
    model = Model()
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    losses = train(model, 40)
    assert losses[-1] < 0.8 * losses[0]
    assert all((value != before[name]).any() for name, value in model.named_parameters())
    model.manifold.assert_point(model.nodes.weight.detach())


def test_it_is_saved_and_loaded_as_weights_alone():
    model, file = Model(), io.BytesIO()
    train(model)
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = Model(1)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert isinstance(other.nodes.weight, uh.ManifoldParameter)
    assert train(other) == train(model)


@ON_CUDA
def test_it_moves_to_cuda():
    model = Model()
    alone = train(copy.deepcopy(model))
    model.to("cuda")
    assert isinstance(model.nodes.weight, uh.ManifoldParameter)
    assert {value.device.type for value in [*model.parameters(), *model.buffers()]} == {"cuda"}
    assert train(model, rows=torch.arange(N, device="cuda")) == pytest.approx(alone, rel=1e-6)
    model.manifold.assert_point(model.nodes.weight.detach())


PROCESS = """
from test_model import N, Model, loss_of
model = Model(rank)  # the wrapper makes both like the first
shared = torch.nn.parallel.DistributedDataParallel(model)
optimizer = PseudoRiemannianAdam(shared.parameters(), lr=1e-2)
for _ in range(10):
    optimizer.zero_grad()
    loss = loss_of(shared, torch.arange(N).chunk(2)[rank])
    loss.backward()
    optimizer.step()
    whole = loss.detach().clone()
    dist.all_reduce(whole)
    if rank == 0:
        print(repr(whole.item() / 2))
model.manifold.assert_point(model.nodes.weight.detach())
dist.destroy_process_group()
"""


def test_an_ensemble_is_its_members():
    models, rows = [Model(seed) for seed in range(3)], torch.tensor([0, 5, 7])
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0])
    # torch does not put back what modules share, here β, unless it is told not to look for that.
    together = vmap(lambda p, b: functional_call(base, (p, b), rows, tie_weights=False))(
        params, buffers
    )
    torch.testing.assert_close(together, torch.stack([model(rows) for model in models]))


@pytest.mark.slow
def test_it_compiles_as_one_graph():
    model, rows = Model(), torch.arange(N)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(rows), model(rows))
    assert train(compiled)[-1] < train(Model())[0]


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path):
    found = numbers_of_two(PROCESS, Path(__file__).parent, tmp_path)
    assert found == pytest.approx(train(Model()), rel=1e-12)


def test_a_learned_curvature_is_learned_through_layers():
    torch.manual_seed(0)
    M = uh.PseudoHyperboloid(2, 1, learnable=True)
    layer = uh.nn.PseudoLinear(uh.Euclidean(3), M, dtype=torch.float64)
    goal = 2.0 * uh.PseudoHyperboloid(2, 1, -1.0).random_near_pole(20, generator=0)
    inputs = torch.randn(20, 3, dtype=torch.float64)
    optimizer = PseudoRiemannianAdam(layer.parameters(), lr=2e-2)
    steps_of(optimizer, lambda: (layer(inputs) - goal).square().mean(), 150)
    assert abs(M.beta.item() + 4.0) < 0.4
