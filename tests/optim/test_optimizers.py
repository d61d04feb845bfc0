"""The optimisers as torch.optim users know them."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from machines import ON_CUDA
from steps import train

from ultrahyperbolic import Euclidean, ManifoldParameter, PseudoHyperboloid, datasets
from ultrahyperbolic.nn import LinkDecoder, ManifoldEmbedding
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD

BOTH = [PseudoRiemannianSGD, PseudoRiemannianAdam]


def quadratic(d=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(d, d, dtype=torch.float64, generator=generator)
    return lambda x: ((x @ A).square().sum() + x.sin().sum()) / x.shape[0]


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (PseudoRiemannianSGD, torch.optim.SGD, {"lr": 1e-2}),
        (PseudoRiemannianSGD, torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9}),
        (PseudoRiemannianAdam, torch.optim.Adam, {"lr": 1e-2}),
        (PseudoRiemannianAdam, torch.optim.Adam, {"lr": 3e-2, "betas": (0.8, 0.95), "eps": 1e-4}),
    ],
    ids=["sgd", "momentum", "adam", "adam-options"],
)
@pytest.mark.parametrize("direction", ["descent", "surrogate"])
def test_flat_space_is_torch_optim(ours, theirs, options, direction):
    loss = quadratic()
    x = torch.nn.Parameter(
        torch.randn(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    )
    y = torch.nn.Parameter(x.detach().clone())
    train(ours([x], Euclidean(5), direction=direction, **options), lambda: loss(x), 50)
    train(theirs([y], **options), lambda: loss(y), 50)
    torch.testing.assert_close(x, y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (PseudoRiemannianSGD, {"lr": 1e-3}),
        (PseudoRiemannianSGD, {"lr": 1e-3, "momentum": 0.9, "max_step": 0.05}),
        (PseudoRiemannianAdam, {"lr": 1e-2, "max_step": 0.05}),
    ],
    ids=["sgd", "momentum", "adam"],
)
@pytest.mark.parametrize("direction", ["descent", "surrogate"])
def test_they_descend_and_stay_on_every_manifold(manifold, kind, options, direction, generator):
    x = torch.nn.Parameter(manifold.random_near_pole(20, epsilon=0.05, generator=generator))
    losses = train(kind([x], manifold, direction=direction, **options), lambda: quadratic()(x), 200)
    assert losses[-1] < losses[0] - 1e-3 * abs(losses[0])
    assert manifold.check_point(x.detach()).ok


@pytest.mark.parametrize("kind", BOTH)
def test_sparse_rows_move_alone(kind, generator):
    M = PseudoHyperboloid(2, 1)
    table = torch.nn.Embedding(10, 4, sparse=True, dtype=torch.float64)
    table.weight.data = M.random(10, generator=generator)
    options = {"momentum": 0.9} if kind is PseudoRiemannianSGD else {}
    optimizer = kind([table.weight], M, lr=1e-2, **options)
    start = table.weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        table(torch.tensor([2, 5, 2])).pow(3).sum().backward()
        optimizer.step()
    moved = (table.weight.detach() != start).any(-1)
    assert moved.nonzero().flatten().tolist() == [2, 5]
    momentum = optimizer.state[table.weight]["momentum"]
    assert (momentum[~moved] == 0).all()
    assert M.check_tangent(table.weight.detach(), momentum).ok
    # Row 7 joins later: the momentum of 2 and 5 waits.
    waiting = momentum[[2, 5]].clone()
    optimizer.zero_grad()
    table(torch.tensor([7])).pow(3).sum().backward()
    optimizer.step()
    assert torch.equal(optimizer.state[table.weight]["momentum"][[2, 5]], waiting)


@pytest.mark.parametrize("kind", BOTH)
def test_state_dict_resumes_to_the_same_bits(kind, generator):
    M, loss = PseudoHyperboloid(3, 1), quadratic()
    start = M.random(8, generator=generator)
    options = {"lr": 1e-3, "momentum": 0.9} if kind is PseudoRiemannianSGD else {"lr": 1e-2}
    x = torch.nn.Parameter(start.clone())
    train(kind([x], M, **options), lambda: loss(x), 10)

    y = torch.nn.Parameter(start.clone())
    first = kind([y], M, **options)
    train(first, lambda: loss(y), 4)
    buffer = io.BytesIO()
    torch.save(first.state_dict(), buffer)
    buffer.seek(0)
    saved = torch.load(buffer, weights_only=True)
    z = torch.nn.Parameter(y.detach().clone())
    second = kind([z], M, lr=0.5)
    second.load_state_dict(saved)
    train(second, lambda: loss(z), 6)
    assert torch.equal(x, z)
    assert second.param_groups[0]["manifold"] is M
    N = PseudoHyperboloid(3, 1, -2.0)
    with pytest.raises(ValueError, match=r"belongs to .*beta=-1\), this optimiser's to"):
        kind([torch.nn.Parameter(N.random(8))], N).load_state_dict(saved)


def test_groups_closures_schedulers_and_copies(generator):
    M, E = PseudoHyperboloid(3, 1), Euclidean(5)
    x = torch.nn.Parameter(M.random(4, generator=generator))
    y = torch.nn.Parameter(torch.randn(4, 5, dtype=torch.float64, generator=generator))
    frozen = torch.nn.Parameter(M.random(2, generator=generator))
    optimizer = PseudoRiemannianSGD(
        [{"params": [x, frozen]}, {"params": [y], "manifold": E, "lr": 1e-1}], M, lr=1e-3
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    before = frozen.detach().clone()
    loss = quadratic()
    calls = []

    def closure():
        optimizer.zero_grad()
        value = loss(x) + loss(y)
        value.backward()
        calls.append(value.item())
        return value

    for _ in range(4):
        assert optimizer.step(closure).item() == calls[-1]
        scheduler.step()
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([2.5e-4, 2.5e-2])
    assert calls[-1] < calls[0]
    assert torch.equal(frozen, before)
    assert len(copy.deepcopy(optimizer).param_groups) == 2


def test_matrix_sparse_gradients_are_refused(generator):
    M = PseudoHyperboloid(3, 1)
    x = torch.nn.Parameter(M.random(4, generator=generator))
    optimizer = PseudoRiemannianSGD([x], M)
    x.grad = torch.ones(4, 5, dtype=torch.float64).to_sparse(2)
    with pytest.raises(ValueError, match="sparse in their rows alone"):
        optimizer.step()


@pytest.mark.parametrize("wrong", [{"manifold": "Q31"}, {"lr": "x"}, {"lr": -1.0}])
def test_a_group_that_is_refused_leaves_nothing_behind(wrong, generator):
    M = PseudoHyperboloid(3, 1)
    optimizer = PseudoRiemannianSGD([torch.nn.Parameter(M.random(4, generator=generator))], M)
    with pytest.raises((TypeError, ValueError)):
        optimizer.add_param_group(
            {"params": [torch.nn.Parameter(M.random(4, generator=generator))], **wrong}
        )
    assert len(optimizer.param_groups) == 1


def test_an_infinite_gradient_is_named_and_does_not_reach_the_points(generator):
    M = PseudoHyperboloid(3, 1)
    for kind in BOTH:
        x = torch.nn.Parameter(M.random(4, generator=generator))
        start = x.detach().clone()
        optimizer = kind([x], M, lr=1e-2)
        x.grad = torch.randn(x.shape, dtype=torch.float64, generator=generator)
        x.grad[2, 0] = float("inf")
        rule = r"the gradient of param_groups\[0\]\['params'\]\[0\]\[2\] is not finite: \(inf, "
        with pytest.raises(FloatingPointError, match=rule):
            optimizer.step()
        assert M.check_point(x.detach()).ok
        moved = (x.detach() - start).norm(dim=-1) > 1e-6
        assert moved.tolist() == [True, True, False, True]


def test_a_step_that_overflows_is_an_error_that_names_the_points(generator):
    M = PseudoHyperboloid(3, 1)
    params = [(name, ManifoldParameter(M.random(3, generator=generator), M)) for name in "ab"]
    optimizer = PseudoRiemannianSGD(params, lr=1e-2)
    for scale, (_, param) in zip((1.0, 1e300), params, strict=True):
        param.grad = torch.full((3, 5), scale, dtype=torch.float64)
    with pytest.raises(FloatingPointError, match=r"a step of b, of shape \(3, 5\), overflows"):
        optimizer.step()
    PseudoRiemannianSGD(params, lr=1e-2, max_step=0.1).step()


def test_a_layer_that_an_earlier_step_made_infinite_is_named():
    head = torch.nn.Parameter(torch.ones(2))
    optimizer = PseudoRiemannianSGD(
        [("head", head), ("empty", torch.nn.Parameter(torch.ones(0)))], lr=1e30
    )
    for param in optimizer.param_groups[0]["params"]:
        param.grad = torch.full_like(param, 1e30)
    optimizer.step()
    with pytest.raises(FloatingPointError, match=r"^head is not finite: \(-inf, -inf\)"):
        optimizer.step()


@pytest.mark.parametrize(("p", "q"), [pytest.param(4, 0, marks=pytest.mark.slow), (3, 1)])
def test_adam_trains_link_prediction_at_the_rate_of_other_libraries(p, q):
    """Along χ scaled coordinate by coordinate the points run away at this rate: to 1e140 within 60
    steps.
    """
    M, graph = PseudoHyperboloid(p, q), datasets.lesmis()
    nodes = ManifoldEmbedding(graph.n_nodes, M, generator=0)
    links = LinkDecoder(M, dissimilarity="smoothed", epsilon=0.01)
    optimizer = PseudoRiemannianAdam([*nodes.parameters(), *links.parameters()], lr=1e-2)
    ties, generator = torch.tensor(graph.edges), torch.Generator().manual_seed(0)

    def loss():
        others = torch.randint(graph.n_nodes, ties.shape, generator=generator)
        tied, drawn = links(*nodes(ties).unbind(1)), links(*nodes(others).unbind(1))
        return torch.nn.functional.softplus(torch.stack((-tied, drawn))).mean(1).sum()

    losses = train(optimizer, loss, 120)
    assert losses[-1] < 0.7 * losses[0]
    assert nodes.weight.abs().max() < 100.0
    assert M.check_point(nodes.weight.detach()).ok


@ON_CUDA
def test_a_step_can_be_captured_in_a_cuda_graph(generator):
    M = PseudoHyperboloid(3, 1).cuda()
    x = torch.nn.Parameter(M.random(4, generator=generator).cuda())
    optimizer = PseudoRiemannianSGD([x], M, lr=1e-2)
    x.grad = torch.ones_like(x)
    optimizer.step()
    before, graph = x.detach().clone(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    graph.replay()
    assert (x.detach() != before).any(-1).all()
