"""Nodes rank by their centrality, by height in directed graphs, or by δ; ranks that are estimates
have intervals.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic import Embedding, Graph, PseudoHyperboloid, datasets
from ultrahyperbolic.embedding.answers import ranked_by, ranking
from ultrahyperbolic.graph.flow import Centrality, current_flow

KARATE, SPACE = datasets.karate(), PseudoHyperboloid(2, 1)
OTHERS = ["strength_rank", "eigenvector_rank", "pagerank_rank"]


def placed(graph: Graph, seed: int = 0) -> Embedding:
    points = SPACE.random(graph.n_nodes, generator=torch.Generator().manual_seed(seed)).numpy()
    return Embedding(list(graph.ids), points, SPACE, {"seed": seed}, graph)


def alone(embedding: Embedding) -> Embedding:
    return Embedding(embedding.ids, embedding.points, embedding.manifold, embedding.record)


@pytest.fixture
def plain() -> Embedding:
    return placed(KARATE)


def places(scores: np.ndarray) -> list[int]:
    """1 and how many nodes have a higher score."""
    return [1 + int((scores > score).sum()) for score in scores]


def test_nodes_rank_by_the_centrality_of_the_graph(plain):
    table, exact = plain.hierarchy(), current_flow(KARATE).values
    assert list(table) == ["node", "rank", "centrality", "delta", "delta_rank", *OTHERS, "club"]
    assert table["node"].tolist()[:2] == ["34", "1"]
    assert plain.rank.tolist() == places(exact)
    rows = [plain.index(node) for node in table["node"]]
    assert table["centrality"].tolist() == exact[rows].tolist() == sorted(exact, reverse=True)
    assert table["delta_rank"].tolist() == np.array(places(-plain.delta))[rows].tolist()
    assert table["strength_rank"].tolist() == np.array(places(KARATE.strength))[rows].tolist()
    assert plain.to_pandas()[["rank", "centrality"]].to_numpy().tolist() == [
        [rank, score] for rank, score in zip(plain.rank, exact, strict=True)
    ]
    assert plain.to_networkx().nodes["34"]["rank"] == 1


def test_nodes_that_are_alike_share_a_rank():
    wheel = placed(Graph.from_networkx(nx.wheel_graph(8)))
    assert wheel.rank.tolist() == [1] + [2] * 7
    assert {tuple(wheel.other_ranks[name]) for name in OTHERS} == {(1, *[2] * 7)}
    assert len(set(ranking(wheel)["delta_rank"])) == 8, "which points at random tell apart"


def test_no_seed_and_no_folder_changes_the_ranking(tmp_path):
    words = {"p": 2, "q": 1, "iterations": 5, "quiet": True}
    one, other = (uh.embed(KARATE, seed=seed, **words) for seed in (0, 1))
    loaded = uh.load(one.save(tmp_path / "club"))
    assert loaded.hierarchy().equals(one.hierarchy())
    columns = ["node", "rank", "centrality", *OTHERS]
    assert other.hierarchy()[columns].equals(one.hierarchy()[columns])
    assert not np.array_equal(other.delta, one.delta)


def test_delta_ranks_where_it_is_asked_for(plain):
    table = plain.hierarchy(by="delta")
    assert list(table) == [
        "node",
        "rank",
        "centrality",
        "delta",
        "centrality_rank",
        *OTHERS,
        "club",
    ]
    assert table["delta"].is_monotonic_increasing
    assert table["rank"].tolist() == list(range(1, 35))
    assert table["centrality_rank"].tolist() == [
        plain.rank[plain.index(node)] for node in table["node"]
    ]


def test_delta_ranks_where_the_graph_is_not_known(plain):
    bare = alone(plain)
    assert (bare.centrality, ranked_by(bare)) == (None, "delta")
    assert bare.rank.tolist() == places(-plain.delta)
    assert list(bare.hierarchy()) == ["node", "rank", "delta"]
    with pytest.raises(
        ValueError, match="needs the graph, which this embedding does not know: rank by delta"
    ):
        bare.hierarchy(by="centrality")


def test_height_ranks_a_directed_graph():
    arcs = [(0, 1, 2.0), (1, 2, 1.0), (2, 3, 1.0), (1, 3, 1.0), (3, 4, 1.0), (4, 0, 0.5)]
    found = uh.embed(Graph.from_edges(arcs, directed=True), p=2, q=1, iterations=5, quiet=True)
    table = found.hierarchy()
    assert found.rank.tolist() == places(found.heights)
    assert table["height"].is_monotonic_decreasing
    assert {"centrality_rank", "delta_rank"} <= set(table)
    assert table.equals(found.hierarchy(by="height"))
    by_centrality = found.hierarchy(by="centrality")
    assert by_centrality["centrality"].is_monotonic_decreasing
    assert by_centrality["node"].tolist() != table["node"].tolist()


def test_what_nobody_can_rank_by_is_refused(plain):
    with pytest.raises(
        ValueError, match="by must be one of centrality, delta, height, got 'beauty'"
    ):
        plain.hierarchy(by="beauty")
    with pytest.raises(ValueError, match="the embedding has no directions"):
        plain.hierarchy(by="height")


def test_a_graph_can_be_given_later(plain):
    bare = alone(plain)
    assert bare.rank.tolist() != plain.rank.tolist()
    known = bare.with_graph(KARATE)
    assert (
        known.hierarchy()
        .drop(columns="club", errors="ignore")
        .equals(plain.hierarchy().drop(columns="club"))
    )
    assert known.rank.tolist() == plain.rank.tolist()
    assert (bare.centrality, bare.graph) == (None, None)
    with pytest.raises(
        uh.GraphError, match="other nodes than the embedding, or has them in another order"
    ):
        bare.with_graph(datasets.lesmis())


# --- estimates ------------------------------------------------------------


def estimated(embedding: Embedding, values: object, errors: object) -> Embedding:
    vars(embedding)["centrality"] = Centrality(
        np.array(values, dtype=np.float64), np.array(errors, dtype=np.float64)
    )
    return embedding


def test_only_estimates_have_intervals(plain):
    assert not {"rank_low", "rank_high"} & {*plain.hierarchy(), *plain.hierarchy(by="delta")}
    path = placed(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]))
    table = estimated(path, [9.0, 5.0, 4.9, 1.0], [0.0, 0.2, 0.1, 0.0]).hierarchy()
    assert table["rank"].tolist() == [1, 2, 3, 4]
    assert list(zip(table["rank_low"], table["rank_high"], strict=True)) == [
        (1, 1),
        (2, 3),
        (2, 3),
        (4, 4),
    ]
    assert "rank_low" not in path.hierarchy(by="delta")


def test_an_interval_counts_who_may_be_higher_and_who_surely_is(plain):
    rng = np.random.default_rng(0)
    values, errors = rng.normal(size=34), 0.3 * rng.random(34)
    found = ranking(estimated(plain, values, errors), list(range(34)))
    low, high = values - 1.645 * errors, values + 1.645 * errors
    assert found["rank_low"].tolist() == [1 + int((low > end).sum()) for end in high]
    assert found["rank_high"].tolist() == [int((high >= end).sum()) for end in low]
    assert (found["rank_low"] <= found["rank"]).all()
    assert (found["rank"] <= found["rank_high"]).all()
    assert (found["rank_low"] < found["rank_high"]).any()


def test_estimates_survive_the_disk(plain, tmp_path):
    values, errors = plain.centrality.values, 0.05 * plain.centrality.values
    folder = estimated(plain, values, errors).save(tmp_path / "club")
    table = pq.read_table(folder / "embedding.parquet")
    assert table.column("centrality").to_pylist() == values.tolist()
    assert table.column("centrality_error").to_pylist() == errors.tolist()
    loaded = uh.load(folder)
    assert loaded.hierarchy().equals(plain.hierarchy())
    assert "rank_low" in loaded.hierarchy()


def test_a_column_of_nodes_may_be_called_centrality(plain, tmp_path):
    own = {"centrality": np.arange(34.0), "centrality_error": np.ones(34)}
    loaded = uh.load(plain.with_attributes(**own).save(tmp_path / "new"))
    assert {name: loaded.attributes[name].tolist() for name in own} == {
        name: values.tolist() for name, values in own.items()
    }
    assert loaded.rank.tolist() == plain.rank.tolist()
