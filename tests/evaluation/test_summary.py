"""Everything at once is each by itself."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from scipy.stats import spearmanr

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.datasets import karate
from ultrahyperbolic.evaluation import (
    delta,
    evaluate,
    norm_proxy,
    over_nodes,
    over_pairs,
    pagerank,
    precision_at_k,
    recall_at_1,
    reconstruction,
    strength_spearman,
    triadic_closure,
    violated_orders,
)
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.flow import current_flow
from ultrahyperbolic.pairs import rows_of

KEYS = {
    "violated_orders",
    "violated_orders_all",
    "tie_order",
    "recall_at_1",
    "strongest_tie",
    "precision_at_5",
    "map",
    "mean_rank",
    "delta_centrality",
    "transitivity",
    "open_wedges",
} | {
    f"spearman_{nodes}{score}"
    for nodes in ("all", "top5", "top10")
    for score in ("", "_norm", "_pagerank", "_centrality")
}


def nearest_is_strongest(graph, points, space, **options):
    """The share of the nodes with a tie whose nearest is tied to them as strongly as any."""
    closest = rows_of(points, space, k=1, **options).indices[:, 0].tolist()
    ties = [{} for _ in range(graph.n_nodes)]
    for (i, j), weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
        ties[i][j] = ties[j][i] = weight
    found = [
        mine.get(other) == max(mine.values())
        for mine, other in zip(ties, closest, strict=True)
        if mine
    ]
    return sum(found) / len(found)


def test_the_strongest_tie_is_any_of_the_equally_strong_and_nodes_alone_do_not_count():
    graph = Graph.from_edges([(0, 1, 3), (0, 2, 3), (1, 2, 1)], nodes=range(4))
    # The nearest is the strongest tie of 0 and 2; that of 1 is 2, by its weakest tie.
    points = torch.tensor([[0.0], [2.5], [1.0], [9.0]], dtype=torch.float64)
    assert rows_of(points, Euclidean(1), k=1).indices[:, 0].tolist() == [2, 2, 0, 1]
    assert evaluate(graph, points, Euclidean(1))["strongest_tie"] == pytest.approx(2 / 3)
    # With popularity node 0 is the nearest of 1, and of 3.
    popularity = torch.tensor([9.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    assert evaluate(graph, points, Euclidean(1), popularity=popularity)["strongest_tie"] == 1.0
    assert "strongest_tie" not in evaluate(Graph.from_arrays([], [], ids=4), points, Euclidean(1))


@pytest.mark.parametrize("measure", ["geodesic", "smoothed"])
def test_evaluate_is_each_measure(measure):
    graph, space = karate(), PseudoHyperboloid(3, 1)
    points = space.random(34, generator=torch.Generator().manual_seed(0))
    options = (
        {"dissimilarity": measure, "epsilon": 0.3}
        if measure == "smoothed"
        else {"dissimilarity": measure}
    )
    found = evaluate(graph, points, space, **options)
    assert evaluate(graph, points.numpy(), space, **options) == found
    assert set(found) == KEYS
    assert all(type(value) is float for value in found.values())
    violated, rebuilt = (
        violated_orders(graph, points, space, **options),
        reconstruction(graph, points, space, **options),
    )
    scores, central = delta(points, space, **options), current_flow(graph).values
    truth = {
        "violated_orders": violated.edges_vs_nonedges,
        "violated_orders_all": violated.all_classes,
        "tie_order": 1.0 - violated.ties,
        "recall_at_1": recall_at_1(graph, points, space, **options),
        "strongest_tie": nearest_is_strongest(graph, points, space, **options),
        "precision_at_5": precision_at_k(graph, points, space, 5, **options),
        "map": rebuilt.mean_average_precision,
        "mean_rank": rebuilt.mean_rank,
        "transitivity": triadic_closure(graph).transitivity,
        "open_wedges": triadic_closure(graph).open_wedges,
        "spearman_all": strength_spearman(graph, scores),
        "spearman_top5": strength_spearman(graph, scores, top=5),
        "spearman_top10": strength_spearman(graph, scores, top=10),
        "spearman_all_norm": strength_spearman(graph, norm_proxy(points)),
        "spearman_top5_pagerank": strength_spearman(graph, -pagerank(graph), top=5),
        "spearman_top10_centrality": strength_spearman(graph, -central, top=10),
        "delta_centrality": spearmanr(central, -scores).statistic,
    }
    assert {name: found[name] for name in truth} == pytest.approx(truth, abs=1e-12)


def test_what_is_not_defined_is_left_out(degenerate):
    points = torch.randn(
        degenerate.n_nodes, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    found = evaluate(degenerate, points, Euclidean(2))
    assert not any(map(math.isnan, found.values()))
    json.dumps(found, allow_nan=False)
    assert ("violated_orders" in found) == (
        0 < degenerate.n_edges < math.comb(degenerate.n_nodes, 2)
    )
    assert ("tie_order" in found) == (len(set(degenerate.weights.tolist())) > 1)
    assert ("precision_at_5" in found) == (degenerate.n_nodes > 5)
    assert ("spearman_top5" in found) <= (degenerate.n_nodes >= 5)
    assert ("open_wedges" in found) == bool((degenerate.degree > 1).any())


def test_one_node():
    assert evaluate(Graph.from_arrays([], [], ids=1), torch.zeros(1, 2), Euclidean(2)) == {}


def test_points_must_be_those_of_the_graph():
    with pytest.raises(ValueError, match="a row for each of the 34 nodes"):
        evaluate(karate(), torch.zeros(33, 2), Euclidean(2))


def test_a_bar_changes_nothing_and_is_for_terminals(capsys):
    graph, points = karate(), torch.randn(34, 3, generator=torch.Generator().manual_seed(0))
    shown = evaluate(graph, points, Euclidean(3), progress=True)
    assert capsys.readouterr() == ("", "")
    assert shown == evaluate(graph, points, Euclidean(3))


@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_it_takes_one_pass_over_the_pairs(backend, passes):
    if backend == "numba":
        pytest.importorskip("numba")
    points = torch.randn(34, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    evaluate(karate(), points, Euclidean(3), backend=backend)
    assert passes == [backend]


def test_what_the_pass_gives_besides():
    graph, space = karate(), PseudoHyperboloid(3, 1)
    points = space.random(34, generator=torch.Generator().manual_seed(0))
    found = over_pairs(graph, points, space)
    assert found.delta.tolist() == delta(points, space, graph).tolist()
    # four for each of the five that a member is tied to, rounded up
    expected = rows_of(points, space, k=20)
    assert found.nearest.indices.tolist() == expected.indices.tolist()
    assert found.nearest.distances.tolist() == expected.distances.tolist()
    assert found.measures | over_nodes(graph, points) == evaluate(graph, points, space)
    assert not found.measures.keys() & over_nodes(graph, points).keys()
    alone = over_pairs(Graph.from_arrays([], [], ids=1), points[:1], space)
    assert (alone.measures, alone.delta.tolist(), alone.nearest.indices.shape) == (
        {},
        [0.0],
        (1, 0),
    )


@pytest.mark.parametrize("measure", ["geodesic", "smoothed"])
def test_backends_agree(measure):
    pytest.importorskip("numba")
    space, generator = PseudoHyperboloid(3, 1, -0.25), torch.Generator().manual_seed(0)
    ends = (
        torch.randint(0, 200, (900, 2), generator=generator)
        .unique(dim=0)
        .sort(dim=1)
        .values.unique(dim=0)
    )
    i, j = ends[ends[:, 0] < ends[:, 1]].T.numpy()
    graph = Graph.from_arrays(i, j, 1.0 + (i + j) % 5, ids=200)
    points = space.random(200, generator=generator)
    found, expected = (
        evaluate(graph, points, space, dissimilarity=measure, backend=b)
        for b in ("numba", "reference")
    )
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_names_are_documented():
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text()
    for name in KEYS:
        stem = re.sub("^(spearman_[a-z0-9]+)_.*", r"\1", name)
        assert f"`{stem}`" in page, name


@pytest.mark.slow
def test_numpy_and_torch_are_enough():
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"scipy", "networkx", "sklearn", "numba", "pandas", "pyarrow"}:
            raise ModuleNotFoundError(f"no {name}", name=name)
import torch, numpy
sys.meta_path.insert(0, Refuse())
for name in [name for name in sys.modules if name.partition(".")[0] in {"scipy", "networkx", "pandas"}]:
    del sys.modules[name]
from ultrahyperbolic import Euclidean
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.graph import Graph
graph = Graph.from_arrays([0, 1, 1, 2, 4], [1, 2, 3, 3, 5], [1.0, 2, 3, 1, 1])
print(len(evaluate(graph, torch.randn(6, 2), Euclidean(2))))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) == 19
