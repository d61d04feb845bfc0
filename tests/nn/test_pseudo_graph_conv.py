"""The graph convolution: a sum over neighbours, back on the manifold, called as PyTorch Geometric
calls its own.
"""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.nn import PseudoGraphConv, PseudoLinear, normalized_edges

Q = PseudoHyperboloid
MANIFOLDS = [Q(4, 0, -4.0), Q(0, 4), Q(3, 3, -0.25), Q(1, 3), Q(2, 2), Euclidean(4)]


@pytest.fixture
def edges():
    ties = torch.tensor(datasets.karate().edges, dtype=torch.int64).T
    return torch.cat((ties, ties.flip(0)), dim=1)


def convolution(into, out, **options):
    torch.manual_seed(0)
    made = PseudoGraphConv(into, out, **{"dtype": torch.float64, **options})
    with torch.no_grad():
        made.bias.add_(torch.randn_like(made.bias))
    return made


def dense(edges, n, weight=None):
    """D^-½ (A + I) D^-½, from its definition; row i is what reaches i."""
    A = torch.zeros(n, n, dtype=torch.float64)
    A[edges[1], edges[0]] = 1.0 if weight is None else weight
    A += torch.eye(n, dtype=torch.float64)
    scale = A.sum(1).rsqrt()
    return scale[:, None] * A * scale[None, :]


def test_edges_are_normalised_by_the_definition(edges):
    n, generator = 34, torch.Generator().manual_seed(0)
    for weight in (None, torch.rand(edges.shape[1], dtype=torch.float64, generator=generator)):
        found, values = normalized_edges(edges, n, weight, dtype=torch.float64)
        matrix = torch.zeros(n, n, dtype=torch.float64)
        matrix[found[1], found[0]] = values
        torch.testing.assert_close(matrix, dense(edges, n, weight))


@pytest.mark.parametrize(
    ("into", "out"), [*zip(MANIFOLDS, MANIFOLDS[1:] + MANIFOLDS[:1], strict=True)], ids=str
)
def test_points_become_points(into, out, edges):
    made = convolution(into, out)
    for scale in (0.7, 50.0):
        out.assert_point(made(into.random(34, scale=scale, generator=1), edges))
    out.assert_point(made.float()(into.random(34, generator=1, dtype=torch.float32), edges))


def test_between_flat_spaces_it_is_kipf_and_welling_s(edges):
    made = convolution(Euclidean(5), Euclidean(3))
    x = torch.randn(34, 5, dtype=torch.float64)
    torch.testing.assert_close(made(x, edges), dense(edges, 34) @ x @ made.weight.T + made.bias)


@pytest.mark.parametrize("M", MANIFOLDS[:-1], ids=str)
def test_it_is_the_sum_over_neighbours_brought_back_by_phi(M, edges):
    out = Q(1, 1, -4.0)
    made, x = convolution(M, out), M.random(34, generator=0)
    z = dense(edges, 34) @ (x / M.beta.abs().sqrt()) @ made.weight.T + made.bias
    torch.testing.assert_close(made(x, edges), out.phi(2.0 * z))


def test_messages_run_from_the_first_row_to_the_second():
    made = PseudoGraphConv(
        Euclidean(1), Euclidean(1), bias=False, normalize=False, dtype=torch.float64
    )
    with torch.no_grad():
        made.weight.fill_(1.0)
    x = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)
    edges, weight = (
        torch.tensor([[0, 0, 1], [1, 2, 2]]),
        torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64),
    )
    assert made(x, edges, weight).flatten().tolist() == [0.0, 1.0, 32.0]
    assert made(x, edges).flatten().tolist() == [0.0, 1.0, 11.0]


def test_edges_normalised_once_give_the_same(edges):
    M = Q(2, 2, -4.0)
    made, x = convolution(M, M), M.random(34, generator=0)
    once = convolution(M, M, normalize=False)
    torch.testing.assert_close(
        once(x, *normalized_edges(edges, 34, dtype=torch.float64)), made(x, edges)
    )


def test_without_edges_it_is_the_linear_layer():
    M = Q(2, 2, -4.0)
    made, plain = convolution(M, M), PseudoLinear(M, M, dtype=torch.float64)
    plain.load_state_dict(made.state_dict())
    x = M.random(5, generator=0)
    torch.testing.assert_close(made(x, torch.empty(2, 0, dtype=torch.int64)), plain(x))


def test_it_compiles_and_is_mapped_over_ensembles(edges):
    M = Q(1, 3, -4.0)
    made, x = (
        [convolution(M, M), PseudoGraphConv(M, M, dtype=torch.float64)],
        M.random(34, generator=0),
    )
    compiled = torch.compile(made[0], fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, edges), made[0](x, edges))
    parameters, _ = stack_module_state(made)
    together = vmap(lambda p: functional_call(made[0], p, (x, edges)))(parameters)
    torch.testing.assert_close(together, torch.stack([model(x, edges) for model in made]))
    batch = torch.stack((x, x.flip(0)))
    torch.testing.assert_close(
        made[0](batch, edges), torch.stack([made[0](part, edges) for part in batch])
    )


def test_gradients_are_finite_and_right(edges):
    M = Q(2, 1, -4.0)
    made, x = convolution(M, M), M.random(5, generator=0).requires_grad_()
    ring = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
    assert torch.autograd.gradcheck(
        lambda x, w: functional_call(made, {"weight": w}, (x, ring)), (x, made.weight)
    )
