"""Parameters that carry their manifold: copied, moved, saved, loaded, compiled and shared between
processes.
"""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from steps import train
from torch import nn

from ultrahyperbolic import (
    Euclidean,
    ManifoldParameter,
    ManifoldTensor,
    Product,
    PseudoHyperboloid,
    PseudoSphere,
)
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD


class Model(nn.Module):
    def __init__(self, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.manifold = PseudoHyperboloid(2, 1, -4.0)
        self.nodes = ManifoldParameter(self.manifold.random(6, generator=generator), self.manifold)
        torch.manual_seed(seed)
        self.head = nn.Linear(4, 2, dtype=torch.float64)

    def forward(self, rows):
        x = self.nodes[rows]
        return self.head(self.manifold.expmap(x, 0.1 * self.manifold.proju(x, self.nodes)))


def saved_and_loaded(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


def test_it_is_a_parameter_and_its_results_are_tensors():
    model = Model()
    assert [name for name, _ in model.named_parameters()] == ["nodes", "head.weight", "head.bias"]
    assert type(model.nodes[0]) is torch.Tensor
    assert type(model.nodes.detach()) is torch.Tensor
    model(torch.arange(6)).sum().backward()
    assert type(model.nodes.grad) is torch.Tensor


def test_points_are_checked():
    M = PseudoHyperboloid(2, 1)
    with pytest.raises(ValueError, match=r"data\[1\] is off the manifold"):
        ManifoldParameter(torch.stack((M.origin(), 2.0 * M.origin())), M)
    with pytest.raises(ValueError, match=r"data is on .*beta=-1\), which is not .*beta=-4\)"):
        ManifoldParameter(ManifoldTensor(M.origin(), M), PseudoHyperboloid(2, 1, -4.0))
    assert ManifoldParameter(ManifoldTensor(M.origin(), M)).manifold is M


@pytest.mark.parametrize(
    "manifold",
    [
        PseudoHyperboloid(2, 1, -4.0),
        PseudoSphere(2, 1, 4.0),
        Euclidean(3),
        PseudoHyperboloid(2, 1, -4.0, learnable=True),
        Product(PseudoHyperboloid(2, 1), Euclidean(2), weights=(1.0, 2.0)),
    ],
    ids=["Q21", "sphere", "flat", "learnable", "product"],
)
@pytest.mark.parametrize("kind", [ManifoldTensor, ManifoldParameter])
def test_copies_pickles_and_safe_loading_keep_the_manifold(kind, manifold, generator):
    x = kind(manifold.random(3, generator=generator), manifold)
    made = {
        "deepcopy": copy.deepcopy(x),
        "pickle": pickle.loads(pickle.dumps(x)),
        "weights_only": saved_and_loaded({"x": x})["x"],
    }
    for name, y in made.items():
        assert type(y) is kind, name
        assert torch.equal(x, y)
        assert y.requires_grad == x.requires_grad
        assert y.manifold is not manifold
        assert y.manifold._label() == manifold._label()
        assert y.manifold.check_point(y.detach()).ok
    for y in (x.to(torch.float32), x.clone(), x.to(x.device, copy=True)):
        assert y.manifold is manifold
    assert x.to(x.device) is x
    assert "on " + manifold._label() in repr(x)


def test_what_is_copied_together_shares_its_manifold():
    for model in (copy.deepcopy(Model()), pickle.loads(pickle.dumps(Model()))):
        assert model.nodes.manifold is model.manifold


def test_a_model_s_state_is_plain_and_loads_safely():
    model, other = Model(0), Model(1)
    state = saved_and_loaded(model.state_dict())
    assert {type(value) for value in state.values()} == {torch.Tensor}
    other.load_state_dict(state)
    assert torch.equal(other.nodes, model.nodes)
    assert other.nodes.manifold is other.manifold
    assert isinstance(other.nodes, ManifoldParameter)


def test_to_another_dtype_keeps_it_a_point():
    model = Model().float()
    assert isinstance(model.nodes, ManifoldParameter)
    assert model.nodes.dtype == torch.float32
    assert model.manifold.check_point(model.nodes.detach()).ok
    assert model.manifold.beta.dtype == torch.float64


def test_a_copy_trains_like_the_original():
    model = Model()
    twin = copy.deepcopy(model)
    losses = []
    for each in (model, twin):
        optimizer = PseudoRiemannianAdam(each.parameters(), lr=1e-2)
        losses.append(train(optimizer, lambda m=each: m(torch.arange(6)).square().mean(), 5))
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]


@pytest.mark.slow
def test_it_compiles_as_one_graph():
    model = Model()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    rows = torch.arange(6)
    torch.testing.assert_close(compiled(rows), model(rows), rtol=1e-12, atol=1e-12)
    optimizer = PseudoRiemannianSGD(model.parameters(), lr=1e-3)
    losses = train(optimizer, lambda: compiled(rows).square().mean(), 5)
    assert losses[-1] < losses[0]
