"""New nodes in an old embedding."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.spaces.lbfgs import through_phi
from ultrahyperbolic.training import place as place_module
from ultrahyperbolic.training import placing
from ultrahyperbolic.training.new_ties import NewTies
from ultrahyperbolic.training.place import _as_ties, with_placed
from ultrahyperbolic.training.placing import Cooling, Held, Placing

CLUB, FLAT = uh.datasets.karate(), Geometry.of_flat(3)


@pytest.fixture(scope="module")
def club():
    return uh.embed(CLUB, quiet=True)


@pytest.fixture
def few_steps(monkeypatch):
    """For tests of all but how good the places are."""
    monkeypatch.setattr(placing, "_STEPS", 4)


def ties_of(graph, nodes):
    """The ties of some nodes, as triples."""
    pairs = zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    return [
        (graph.ids[i], graph.ids[j], w)
        for (i, j), w in pairs
        if {graph.ids[i], graph.ids[j]} & set(nodes)
    ]


def without(graph, nodes):
    left = [node for node in graph.ids if node not in nodes]
    made = graph.to_networkx().subgraph(left)
    return Graph.from_networkx(made).with_nodes(left)


def recall(graph, embedding, nodes):
    near, _ = embedding.nearest(5)
    offsets, heads = graph.neighbor_lists
    shares = []
    for row in map(graph.index, nodes):
        mine = heads[offsets[row] : offsets[row + 1]]
        shares.append(np.isin(near[row], mine).sum() / min(5, len(mine)))
    return np.mean(shares)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"), [("karate", 0), pytest.param("lesmis", 0, marks=pytest.mark.slow)]
)
def test_nodes_that_were_never_seen_find_their_neighbours(name, seed):
    graph = uh.datasets.load(name)
    whole = uh.embed(graph, quiet=True)
    taken = [
        graph.ids[int(i)]
        for i in np.random.default_rng(seed).choice(graph.n_nodes, 4, replace=False)
    ]
    old = uh.embed(without(graph, taken), quiet=True)
    new = old.transform(ties_of(graph, taken))
    both = {
        **dict(zip(old.ids, old.points, strict=True)),
        **dict(zip(new.ids, new.points, strict=True)),
    }
    again = uh.Embedding(graph.ids, np.array([both[node] for node in graph.ids]), whole.manifold)
    assert recall(graph, again, taken) >= 0.9 * recall(graph, whole, taken)


@pytest.mark.parametrize(
    "where",
    [
        {"dim": 3, "flat": True},
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ({"p": 3, "q": 1}, {"p": 3, "q": 0}, {"p": 0, "q": 3})
        ),
    ],
    ids=str,
)
def test_every_geometry(where):
    old = uh.embed(CLUB, iterations=200, quiet=True, **where)
    new = old.transform([("new", "34", 5.0), ("new", "33", 5.0), ("new", "31", 5.0)])
    assert list(new.ids) == ["new"]
    assert new.geometry == old.geometry
    far = old.manifold.cdist(
        torch.from_numpy(new.points.copy()),
        torch.from_numpy(old.points.copy()),
        dissimilarity="geodesic",
    )
    less = np.zeros(len(old.ids)) if old.popularity is None else old.popularity
    nearest = {old.ids[int(i)] for i in (far[0].numpy() - less).argsort()[:5]}
    assert len(nearest & {"34", "33", "31"}) >= 2


def test_old_points_stay_and_results_repeat(club, few_steps):
    before = club.points.copy()
    ties = [("a", "1", 3.0), ("a", "2", 1.0), ("b", "a", 2.0)]
    first, second = club.transform(ties), club.transform(ties)
    assert (first.points == second.points).all()
    assert (club.points == before).all()
    assert list(first.ids) == ["a", "b"]
    assert first.graph.n_edges == 1


def test_ties_come_in_many_forms(club, few_steps):
    triples = [("a", "1", 3.0), ("a", "2", 1.0)]
    wanted = club.transform(triples).points
    frame = pd.DataFrame(triples, columns=["source", "target", "weight"])
    network = nx.Graph()
    network.add_weighted_edges_from(triples)
    for form in (iter(triples), tuple(triples), Graph.from_edges(triples), network):
        graph = _as_ties(form)
        assert (list(graph.ids), graph.weights.tolist()) == (["a", "1", "2"], [3.0, 1.0])
    assert (club.transform(frame).points == wanted).all()


def test_ties_among_old_nodes_are_left_out(club, caplog, few_steps):
    found = club.transform([("1", "34", 3.0), ("a", "2", 1.0)], quiet=False)
    assert list(found.ids) == ["a"]
    assert "1 ties join two nodes of the embedding" in caplog.text


@pytest.mark.parametrize(
    ("ties", "said"),
    [
        ([("1", "2")], "nothing to place"),
        ([("a", "b"), ("c", "1")], "no ties lead from node 'a'.*2 such"),
        ([(99, 1)], "no ties lead from node 99"),
        ([(34, 98)], "text: try '34'"),
    ],
)
def test_what_cannot_be_placed_is_said(club, ties, said):
    with pytest.raises(ValueError, match=said):
        club.transform(ties)


@pytest.mark.slow
def test_stronger_ties_are_shorter(club):
    found = club.transform([("a", "34", 9.0), ("a", "33", 5.0), ("a", "9", 1.0)])
    point = torch.from_numpy(found.points[0].copy())
    old = torch.from_numpy(np.array([club.points[club.index(node)] for node in ("34", "33", "9")]))
    rows = [club.index(node) for node in ("34", "33", "9")]
    far = club.manifold.dissimilarity(point, old).numpy() - club.popularity[rows]
    assert far[0] <= far[1] <= far[2]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("old", "new"), [(0.3, 0.1 + 0.2), (0.1 + 0.2, 0.3)])
def test_new_ties_as_strong_as_old_ones_but_for_rounding_are_equal(old, new, directed, few_steps):
    ties = [
        ("a", "b", old),
        ("b", "c", old),
        ("c", "d", old),
        ("d", "a", 2 * old),
        ("a", "c", 0.5 * old),
    ]
    embedding = uh.embed(ties, p=2, q=0, directed=directed, quiet=True)
    points = [embedding.transform([("x", "a", w), ("x", "b", w)]).points for w in (old, new)]
    assert np.array_equal(*points)


def test_many_are_placed_in_parts(club, monkeypatch, few_steps):
    monkeypatch.setattr(place_module, "_AT_ONCE", 2)
    found = club.transform([("a", "1"), ("b", "34"), ("c", "b"), ("d", "c")])
    assert list(found.ids) == ["a", "b", "c", "d"]
    assert np.isfinite(found.points).all()


@pytest.mark.slow
def test_popularity_comes_with_the_points():
    old = uh.embed(CLUB, iterations=200, quiet=True)
    new = old.transform([("hub", node) for node in CLUB.ids[:20]] + [("leaf", "1")])
    assert new.popularity is not None
    assert new.popularity[0] > new.popularity[1]


def test_the_new_ones_can_be_saved(club, tmp_path, few_steps):
    club.transform([("a", "1", 3.0)]).save(tmp_path / "new")
    assert list(uh.load(tmp_path / "new").ids) == ["a"]


def test_old_and_new_nodes_are_one_embedding_with_all_ties(tmp_path, few_steps):
    old = uh.embed(CLUB, iterations=20, quiet=True).with_attributes(age=np.arange(34))
    ties = Graph.from_edges([("a", "1", 3.0), ("b", "a", 2.0), ("1", "34", 9.0)])
    loaded = uh.load(old.save(tmp_path / "old"))
    for known in (old, loaded):
        new = known.transform(ties)
        whole = with_placed(known, new, ties)
        assert list(whole.ids) == [*CLUB.ids, "a", "b"]
        assert (whole.points == np.concatenate((old.points, new.points))).all()
        assert (whole.popularity == np.append(old.popularity, new.popularity)).all()
        assert whole.attributes["age"][:34].tolist() == list(range(34))
        assert np.isnan(whole.attributes["age"][34:]).all()
        assert whole.graph.n_edges == CLUB.n_edges + 2
        assert {whole.ids[row] for row in whole.ties_of(whole.index("a")).nodes} == {"1", "b"}
    assert with_placed(replace(loaded, graph=None), new, ties).graph is None


@pytest.mark.parametrize(
    "geometry",
    [Geometry.curved(2, 2), Geometry.curved(3, 0, -2.0), Geometry.curved(0, 3), FLAT],
    ids=str,
)
def test_the_loss_and_its_gradient_are_those_of_eq_17_by_node(geometry):
    """Each tie against the weaker ties and the non-ties of its two ends, as the sum is written."""
    n, k, temperature, epsilon = 7, 3, 0.3, 0.05
    points = geometry.manifold.random(n + k, scale=0.3, generator=torch.Generator().manual_seed(1))
    old = [(i, j, 100.0) for i in range(n) for j in range(i)]
    new = [
        (n, 0, 2.0),
        (n, 1, 1.0),
        (n, 2, 1.0),
        (n + 1, 2, 3.0),
        (n + 1, n, 2.0),
        (n + 2, n + 1, 1.0),
    ]
    ends = np.array([(a - n, b) for a, b, _ in new])
    ties = NewTies(k, n, ends, np.array([w for *_, w in new]))

    arcs = np.argwhere(~np.eye(n, dtype=bool)), np.full(n * (n - 1), 100.0)
    search = Placing(geometry, Cooling((1, 1), (1, 1)), ties, Held(points[:n].numpy(), arcs), 0)
    x = points[n:][None].numpy()
    near, at_ends = search._near(x, temperature), search._at_held_ends(temperature, epsilon)
    (ours,), (slopes,) = search._slopes(x, temperature, epsilon, near, at_ends)

    function, total = geometry.manifold.pair_function("smoothed", epsilon), torch.zeros(())
    points.requires_grad_()
    apart = function(points[:, None], points[None])
    weight = np.zeros((n + k, n + k))
    for i, j, w in old + new:
        weight[i, j] = weight[j, i] = w
    for number, (a, b, w) in enumerate(new):
        compared = []
        for end, other in ((a, b), (b, a)):
            for third in range(n + k):
                # At a held end, pairs with other new nodes are not looked at: they move.
                if third in (end, other) or weight[end, third] >= w or (end < n and third >= n):
                    continue
                compared.append(-apart[end, third] / temperature)
        own = -apart[a, b] / temperature
        wanted = torch.logsumexp(torch.stack([own, *compared]), 0) - own
        assert float(ours[number]) == pytest.approx(wanted.item(), rel=1e-9)
        total = total + wanted
    (found,) = torch.autograd.grad(total, points)
    # Off the manifold, where φ does not lead, either may differ.
    ours, theirs = (
        through_phi(geometry.quadric, x[0], gradient) for gradient in (slopes, found[n:].numpy())
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


def test_the_loss_of_directed_ties_is_eq_17_by_node_over_ordered_pairs():
    n, k, spring = 6, 3, 0.3
    geometry, temperature, epsilon = Geometry.curved(2, 2), 0.3, 0.05
    points = geometry.manifold.random(n + k, scale=0.3, generator=torch.Generator().manual_seed(1))
    heights = np.random.default_rng(0).normal(size=n + k)
    weight = np.zeros((n + k, n + k))
    for i, j, w in [
        (0, 1, 2.0),
        (1, 2, 1.0),
        (2, 0, 3.0),
        (3, 4, 1.0),
        (n, 0, 2.0),
        (0, n, 1.0),
        (2, n, 1.0),
        (n + 1, 2, 3.0),
        (n, n + 1, 2.0),
        (n + 2, n + 1, 1.0),
    ]:
        weight[i, j] = w
    joined = [(i, j) for i in range(n, n + k) for j in range(i) if weight[i, j] or weight[j, i]]
    ends = np.array([(i - n, j) for i, j in joined] * 2)
    weights = np.array([weight[i, j] for i, j in joined] + [weight[j, i] for i, j in joined])
    ties = NewTies(k, n, ends, weights, np.repeat([1, -1], len(joined)))

    among = weight[:n, :n] > 0.0
    held = Held(
        points[:n].numpy(), (np.argwhere(among), weight[:n, :n][among]), None, heights, spring
    )
    search = Placing(geometry, Cooling((1, 1), (1, 1)), ties, held, 0)
    x = points[n:][None].numpy()
    near, at_ends = search._near(x, temperature), search._at_held_ends(temperature, epsilon)
    (ours,), (slopes,) = search._slopes(x, temperature, epsilon, near, at_ends)
    points.requires_grad_()
    apart, total = (
        geometry.manifold.pair_function("smoothed", epsilon)(points[:, None], points[None]),
        torch.zeros(()),
    )
    length = apart + spring * torch.from_numpy(heights[:, None] - heights - 1.0).square()
    for number, (first, second) in enumerate([*joined, *((j, i) for i, j in joined)]):
        w, compared = weight[first, second], []
        if not w:
            assert float(ours[number]) == 0.0
            continue
        for end in (first, second):
            for third in range(n + k):
                if third == end or (end < n and third >= n):
                    continue
                pairs = [(end, third), (third, end)]
                compared += [
                    -length[a, b] / temperature
                    for a, b in pairs
                    if weight[a, b] < w and (a, b) != (first, second)
                ]
        own = -length[first, second] / temperature
        wanted = torch.logsumexp(torch.stack([own, *compared]), 0) - own
        assert float(ours[number]) == pytest.approx(wanted.item(), rel=1e-9), (first, second)
        total = total + wanted
    (found,) = torch.autograd.grad(total, points)
    # Off the manifold, where φ does not lead, either may differ.
    ours, theirs = (
        through_phi(geometry.quadric, x[0], gradient) for gradient in (slopes, found[n:].numpy())
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


def test_ties_keep_their_ways_when_some_nodes_are_placed_first():
    ends = np.array(
        [[0, 3], [0, 3], [1, 5], [1, 5], [2, 6], [2, 6]]
    )  # 5 and 6 are the new nodes 0 and 1
    ties = NewTies(
        3, 5, ends, np.array([1.0, 0.0, 2.0, 3.0, 1.0, 0.0]), np.array([1, -1, 1, -1, 1, -1])
    )
    wanted = {(5, 3): 1.0, (6, 5): 2.0, (5, 6): 3.0, (7, 6): 1.0}
    assert (
        dict(zip(map(tuple, ties.ordered[0].tolist()), ties.ordered[1].tolist(), strict=True))
        == wanted
    )
    later = ties.some(np.array([0]), np.array([1]))  # node 1 is held, too: at 5, and node 0 is at 6
    found = dict(zip(map(tuple, later.ordered[0].tolist()), later.ordered[1].tolist(), strict=True))
    assert found == {(6, 3): 1.0, (5, 6): 2.0, (6, 5): 3.0}


@pytest.mark.parametrize(
    "geometry", [Geometry.curved(2, 2), Geometry.curved(3, 0), Geometry(flat=3)], ids=str
)
def test_the_nodes_drawn_stand_for_all_others(geometry):
    """The mean of many draws is the exact sum, also once the point has moved from where they were
    drawn.
    """
    n, temperature, epsilon, draws = 1000, 0.2, 0.05, 100
    points = geometry.manifold.random(n + 1, scale=1.0, generator=torch.Generator().manual_seed(0))
    ties, alone = NewTies(1, n, np.array([[0, 3]]), np.ones(1)), np.full(1, -1e30)
    popularity = np.random.default_rng(1).normal(0.0, 0.2, n + 1)
    placing = Placing(
        geometry, Cooling((1, 1), (1, 1)), ties, Held(points[:n].numpy(), popularity=popularity), 0
    )
    function = geometry.manifold.pair_function("smoothed", epsilon)
    seen = points[None, n:]
    for x in (seen, geometry.manifold.phi(seen + 0.05)):
        scores = (torch.from_numpy(popularity[:n]) - function(x[0, 0], points[:n])) / temperature
        own, others = scores[3], torch.cat((scores[:3], scores[4:]))
        exact = torch.exp(torch.logsumexp(others, 0) - own)
        nears = (placing._near(seen.numpy(), temperature) for _ in range(draws))
        losses = [
            placing._slopes(x.numpy(), temperature, epsilon, near, alone)[0][0, 0] for near in nears
        ]
        shares = np.expm1(losses) / float(exact)
        assert abs(shares.mean() - 1.0) <= 4.0 * shares.std() / math.sqrt(draws) + 1e-9
        assert shares.std() < 0.25
