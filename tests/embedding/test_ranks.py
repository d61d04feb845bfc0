"""An embedding keeps the intervals of its ranks over the seeds, in memory and in its folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from ultrahyperbolic import Embedding, PseudoHyperboloid, datasets
from ultrahyperbolic.embedding.answers import OTHER_RANKS
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


def test_the_table_has_two_more_columns(plain, ranked):
    assert list(plain.hierarchy()) == ["node", "delta", "rank", *OTHER_RANKS.values(), "club"]
    table = ranked.hierarchy()
    assert list(table) == ["node", "delta", "rank", "rank_low", "rank_high", *OTHER_RANKS.values(), "club"]
    order = [ranked.index(node) for node in table["node"]]
    assert table["rank_low"].tolist() == ranked.rank_intervals.low[order].tolist()
    assert table["rank_high"].tolist() == ranked.rank_intervals.high[order].tolist()
    assert list(ranked.to_pandas())[-4:] == ["rank", "rank_low", "rank_high", "club"]


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
