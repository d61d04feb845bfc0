"""A table of points: looked up, trained sparsely, saved, copied, moved, compiled, and as an
ensemble.
"""

from __future__ import annotations

import copy
import io

import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic.nn import ManifoldEmbedding
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD

MANIFOLDS = [
    uh.PseudoHyperboloid(2, 1, -4.0),
    uh.PseudoHyperboloid(3, 0, -0.25),
    uh.Product(uh.PseudoHyperboloid(0, 2), uh.Euclidean(2)),
]
OPTIMIZERS = {
    "sgd": lambda params: PseudoRiemannianSGD(params, lr=1e-2),
    "momentum": lambda params: PseudoRiemannianSGD(params, lr=1e-2, momentum=0.9),
    "adam": lambda params: PseudoRiemannianAdam(params, lr=1e-2),
}


def pull(points):
    return (points * points.flip(-1)).sin().sum()


@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_ids_of_any_shape_give_points(M):
    table = ManifoldEmbedding(6, M, generator=0)
    assert isinstance(table.weight, uh.ManifoldParameter)
    assert table.weight.dtype == torch.float64
    for ids in (torch.tensor(3), torch.tensor([1, 1]), torch.arange(6).reshape(3, 2)):
        found = table(ids)
        assert torch.equal(found, table.weight.detach()[ids])
        assert M.check_point(found.detach()).ok
    assert torch.equal(ManifoldEmbedding(6, M, generator=0).weight, table.weight)
    assert not torch.equal(ManifoldEmbedding(6, M, generator=1).weight, table.weight)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_sparse_gradient_moves_its_rows_alone_and_as_a_dense_one(name):
    M = uh.PseudoHyperboloid(2, 1, -4.0)
    sparse, dense = (
        ManifoldEmbedding(8, M, sparse=s, generator=0, dtype=torch.float64) for s in (True, False)
    )
    before = sparse.weight.detach().clone()
    for table in (sparse, dense):
        optimizer = OPTIMIZERS[name](table.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            pull(table(torch.tensor([1, 4, 4]))).backward()
            assert table.weight.grad.is_sparse == table.sparse
            optimizer.step()
    moved = (sparse.weight.detach() != before).any(-1)
    assert moved.nonzero().flatten().tolist() == [1, 4]
    torch.testing.assert_close(
        sparse.weight.detach(), dense.weight.detach(), rtol=1e-12, atol=1e-12
    )
    assert M.check_point(sparse.weight.detach()).ok


def test_it_is_saved_loaded_copied_and_converted():
    M = uh.PseudoHyperboloid(2, 1, -4.0)
    table, file = ManifoldEmbedding(5, M, generator=0), io.BytesIO()
    torch.save(table.state_dict(), file)
    file.seek(0)
    other = ManifoldEmbedding(5, uh.PseudoHyperboloid(2, 1), generator=1)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other.weight, table.weight)
    assert other.weight.manifold is other.manifold
    assert other.manifold.beta.item() == -4.0
    twin = copy.deepcopy(table)
    assert twin.weight.manifold is twin.manifold is not M
    assert isinstance(table.to(torch.float32).weight, uh.ManifoldParameter)
    assert table.weight.dtype == torch.float32
    assert "5" in repr(table)


@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_points_that_get_more_digits_can_be_trained(M):
    """Rounded to float32 they are off the manifold by more than float64 allows."""
    table = ManifoldEmbedding(20, M, scale=2.0, generator=0, dtype=torch.float32).double()
    assert table.weight.dtype == torch.float64
    assert M.check_point(table.weight.detach()).ok
    optimizer = PseudoRiemannianAdam(table.parameters(), lr=1e-2)
    pull(table(torch.arange(20))).backward()
    optimizer.step()


def test_it_starts_from_given_points():
    M = uh.PseudoHyperboloid(3, 1, -4.0)
    points = M.random(7, generator=0)
    table = ManifoldEmbedding.from_points(points, M, sparse=True)
    assert torch.equal(table.weight, points)
    assert table.sparse
    with torch.no_grad():
        table.weight[0] = M.origin()
    assert not torch.equal(points[0], M.origin())  # a copy
    frozen = ManifoldEmbedding.from_points(uh.ManifoldTensor(points, M), freeze=True)
    assert not frozen.weight.requires_grad
    with pytest.raises(ValueError, match="off the manifold"):
        ManifoldEmbedding.from_points(2.0 * points, M)
    embedding = uh.Embedding(list("abcdefg"), points.numpy(), M)
    for dtype in (torch.float32, torch.float64):
        made = ManifoldEmbedding.from_embedding(embedding, dtype=dtype)
        torch.testing.assert_close(made.weight.detach(), points.to(dtype))
        assert M.check_point(made.weight.detach()).ok
    assert ManifoldEmbedding.from_embedding(embedding).weight.dtype == torch.float64
