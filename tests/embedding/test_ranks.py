"""An embedding keeps the intervals of its ranks over the seeds, in memory and in its folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ultrahyperbolic import Embedding, Euclidean, Graph, PseudoHyperboloid, datasets
from ultrahyperbolic.embedding.answers import OTHER_RANKS, alike_words, interval_words, ranking
from ultrahyperbolic.evaluation import RankIntervals, delta, rank_intervals

KARATE, SPACE = datasets.karate(), PseudoHyperboloid(2, 1)


@pytest.fixture
def plain():
    points = SPACE.random(34, generator=torch.Generator().manual_seed(0)).numpy()
    return Embedding(list(KARATE.ids), points, SPACE, {"seed": 3}, KARATE)


@pytest.fixture
def ranked(plain):
    seeds = [SPACE.random(34, generator=torch.Generator().manual_seed(seed)) for seed in range(20)]
    return plain.with_ranks(rank_intervals([delta(x, SPACE) for x in seeds]), seeds=20, first_seed=3)


def test_it_is_the_same_but_for_them(plain, ranked):
    assert plain.rank_intervals is None
    assert plain.record.ranks is None
    assert (ranked.delta.tolist(), ranked.rank.tolist()) == (plain.delta.tolist(), plain.rank.tolist())
    assert ranked.run == {"seed": 3, "ranks": {"seeds": 20, "first_seed": 3, "coverage": 19 / 21}}
    assert ranked.with_record(ranked.record).rank_intervals is ranked.rank_intervals


def test_the_sums_are_not_taken_again(plain):
    known = plain.delta
    ends = RankIntervals(plain.rank, plain.rank, 0.5)
    assert plain.with_ranks(ends, seeds=3, first_seed=0).delta is known


def test_the_table_has_the_intervals_over_the_seeds(plain, ranked):
    table = ranked.hierarchy()
    assert list(table) == ["node", "delta", "rank", "rank_low", "rank_high", *OTHER_RANKS.values(), "club"]
    order = [ranked.index(node) for node in table["node"]]
    assert table["rank_low"].tolist() == ranked.rank_intervals.low[order].tolist()
    assert table["rank_high"].tolist() == ranked.rank_intervals.high[order].tolist()
    assert list(ranked.to_pandas())[-4:] == ["rank", "rank_low", "rank_high", "club"]


def path_of(n: int, parts: int = 1) -> Embedding:
    """Points on a line, as paths whose ends are not tied to each other."""
    edges = [(k, k + 1, 1.0) for k in range(n - 1) if (k + 1) % (n // parts)]
    places = np.array([k % (n // parts) + 1000 * (k // (n // parts)) for k in range(n)], dtype=np.float64)
    return Embedding(list(range(n)), places[:, None], Euclidean(1), graph=Graph.from_edges(edges, nodes=list(range(n))))


def test_without_seeds_the_intervals_are_over_resampled_nodes():
    found = path_of(41)
    table = ranking(found)
    rank, low, high = (np.asarray(table[name]) for name in ("rank", "rank_low", "rank_high"))
    assert (low <= rank).all()
    assert (rank <= high).all()
    assert (low[0], high[0]) != (1, 1), "the middle of a line depends on who is there"
    assert high[0] < 20, "and is not far from the middle"
    assert low[-2:].min() > 30, "the ends stay the last"
    assert {name: list(values) for name, values in ranking(found).items()} == {k: list(v) for k, v in table.items()}
    assert "random sample of the nodes" in interval_words(found)


def test_resampling_does_not_mix_components():
    found = path_of(60, parts=3)
    table = ranking(found)
    alone = ranking(path_of(20))
    widths = np.asarray(table["rank_high"]) - np.asarray(table["rank_low"])
    own = np.asarray(alone["rank_high"]) - np.asarray(alone["rank_low"])
    # Where one of three equal paths is between the others in the ranking, its intervals are three times as wide.
    assert widths.mean() < 4.5 * own.mean()


def test_a_saved_folder_has_the_same_intervals(plain, tmp_path):
    plain.save(tmp_path / "club")
    saved = ranking(Embedding.load(tmp_path / "club"))
    for name in ("rank", "rank_low", "rank_high"):
        assert np.array_equal(saved[name], plain.hierarchy()[name])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_graphs_have_intervals(n):
    table = ranking(path_of(n))
    assert all(1 <= low <= high <= n for low, high in zip(table["rank_low"], table["rank_high"], strict=True))


def test_they_are_saved_and_read(ranked, tmp_path):
    ranked.save(tmp_path / "club")
    table = pq.read_table(tmp_path / "club" / "embedding.parquet")
    assert table.column("rank_low").to_pylist() == ranked.rank_intervals.low.tolist()
    assert json.loads((tmp_path / "club" / "run.json").read_text())["ranks"]["seeds"] == 20
    loaded = Embedding.load(tmp_path / "club")
    assert loaded.record == ranked.record
    assert loaded.hierarchy().equals(ranked.hierarchy())
    assert loaded.rank_intervals.coverage == ranked.rank_intervals.coverage
    assert loaded.rank_intervals.low.dtype == np.int64


def test_folders_without_them_are_read(plain, ranked, tmp_path):
    plain.save(tmp_path / "plain")
    assert "rank_low" not in pq.read_schema(tmp_path / "plain" / "embedding.parquet").names
    assert Embedding.load(tmp_path / "plain").rank_intervals is None
    ranked.save(tmp_path / "club")
    (tmp_path / "club" / "run.json").unlink()
    assert Embedding.load(tmp_path / "club").rank_intervals is None, "of which seeds nobody knows"


def change(path: Path, name: str, values: list[object]) -> None:
    table = pq.read_table(path)
    at = table.column_names.index(name)
    pq.write_table(table.set_column(at, name, pa.array(values)), path)


@pytest.mark.parametrize("values", [[1] * 34, [1.5] * 34, [None] * 34])
def test_a_folder_whose_intervals_were_changed_is_refused(ranked, tmp_path, values):
    ranked.save(tmp_path / "club")
    change(tmp_path / "club" / "embedding.parquet", "rank_high", values)
    with pytest.raises(ValueError, match="is not an embedding of this package"):
        Embedding.load(tmp_path / "club")


@pytest.mark.parametrize(
    ("low", "high"), [([0] * 34, [1] * 34), ([2] * 34, [1] * 34), ([1] * 34, [35] * 34), ([1] * 3, [2] * 3)]
)
def test_intervals_that_cannot_be_are_refused(plain, low, high):
    with pytest.raises(ValueError, match="1 <= low <= high <= 34"):
        plain.with_ranks(RankIntervals(np.array(low), np.array(high), 0.9), seeds=20, first_seed=0)


def test_ranks_that_cannot_be_told_apart_all_lie_in_each_others_intervals():
    rng = np.random.default_rng(0)
    for n in rng.integers(1, 14, 60):
        rank = np.arange(1, n + 1)
        low, high = np.maximum(rank - rng.integers(0, 5, n), 1), np.minimum(rank + rng.integers(0, 5, n), n)
        alike = (high[:, None] >= rank) & (low <= rank[:, None])  # of i < j
        groups = [
            (a, b) for a in range(n) for b in range(a + 1, n) if np.triu(~alike[a : b + 1, a : b + 1], 1).sum() == 0
        ]
        largest = [(a, b) for a, b in groups if (a - 1, b) not in groups and (a, b + 1) not in groups]
        expected = ", ".join(f"{a + 1}–{b + 1}" for a, b in largest)
        assert alike_words({"rank": rank, "rank_low": low, "rank_high": high}) == expected
