"""Parquet in parts: the graph is the one of the reader that sees the whole table, whatever the size
of the parts.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ultrahyperbolic.graph import GraphError, encode, parquet, read_graph

TEXTS = st.sampled_from(["a", "b", "007", "7", " x", "é", "y" * 15, "y" * 16, "z" * 40, ""])
NUMBERS = st.sampled_from([0, 1, -1, 7, 2**31, -(2**62), 2**63 - 1])
WEIGHTS = st.one_of(st.none(), st.sampled_from([1.0, 2.0, 0.5, 0.0, -1.0]))
TABLES = st.one_of(
    *(
        st.lists(
            st.tuples(ids, ids, st.sampled_from([1.0, 2.0, 0.5]) if clean else WEIGHTS),
            min_size=1,
            max_size=30,
        )
        for ids in (TEXTS, NUMBERS, st.one_of(st.none(), TEXTS))
        for clean in (True, False)
    )
)


def outcome(path, **options):
    """The graph, or what is said of it."""
    try:
        graph = read_graph(path, **options)
    except GraphError as error:
        return str(error)
    return (
        list(graph.ids),
        graph.edges.tolist(),
        graph.weights.tolist(),
        dict(graph.policies),
        graph.columns,
    )


def both(monkeypatch, path, batch, **options):
    """The outcome of reading all rows at once, and a few at a time by the compiled loops."""
    found = []
    for many, rows in ((1 << 60, 1 << 16), (0, batch)):
        monkeypatch.setattr(encode, "_MANY", many)
        monkeypatch.setattr(parquet.CheckedParquet.batches, "__defaults__", (rows,))
        found.append(outcome(path, **options))
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    TABLES,
    st.sampled_from([1, 2, 7, 1000]),
    st.sampled_from([1, 3, 100]),
    st.sampled_from(["sum", "max", "error"]),
)
def test_parts_give_what_the_whole_gives(monkeypatch, tmp_path, rows, batch, group, repeated):
    source, target, weight = zip(*rows, strict=True)
    path = tmp_path / "ties.parquet"
    pq.write_table(
        pa.table({"source": source, "target": target, "weight": weight}), path, row_group_size=group
    )
    whole, streamed = both(monkeypatch, path, batch, repeated=repeated)
    assert streamed == whole


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.uint64(), pa.float64(), pa.large_string(), pa.date32()]
)
def test_ids_of_every_type_come_out_as_ever(monkeypatch, tmp_path, kind):
    numbers = pa.array([1, 2, 3, 2], pa.int32())
    ids = (
        numbers.cast(pa.string()).cast(kind)
        if pa.types.is_large_string(kind)
        else numbers.cast(kind)
    )
    path = tmp_path / "ties.parquet"
    pq.write_table(
        pa.table({"from": ids, "to": ids.take(pa.array([1, 2, 3, 0])), "w": [1, 2, 3, 4]}), path
    )
    whole, streamed = both(monkeypatch, path, 3, source="from", target="to", weight="w")
    assert streamed == whole
    assert [type(node) for node in streamed[0]] == [type(node) for node in whole[0]]


def test_a_small_file_of_endless_texts_is_not_unpacked(monkeypatch, tmp_path):
    path = tmp_path / "ties.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), ["x" * 60_000])
    pq.write_table(pa.table({"source": long, "target": long}), path)
    whole, streamed = both(monkeypatch, path, parquet._BATCH_ROWS)
    assert streamed == whole
    assert "without compression" in streamed
