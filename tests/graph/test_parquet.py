"""Parquet: the graph is that of the table in memory."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ultrahyperbolic.graph import Graph, GraphError, read_graph

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


def outcome(make):
    """The graph, or what is said of it."""
    try:
        graph = make()
    except GraphError as error:
        return str(error)
    return (
        list(graph.ids),
        graph.edges.tolist(),
        graph.weights.tolist(),
        dict(graph.policies),
        graph.columns,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TABLES, st.sampled_from([1, 3, 100]), st.sampled_from(["sum", "max", "error"]))
def test_a_file_gives_what_its_rows_give(tmp_path, rows, group, repeated):
    path = tmp_path / "ties.parquet"
    source, target, weight = zip(*rows, strict=True)
    table = pa.table({"source": source, "target": target, "weight": weight})
    pq.write_table(table, path, row_group_size=group)
    found = outcome(lambda: read_graph(path, repeated=repeated))
    expected = outcome(lambda: Graph.from_arrow(table, repeated=repeated, name=str(path)))
    assert found == expected


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int64(), pa.uint64(), pa.float64(), pa.large_string(), pa.date32()]
)
def test_ids_of_every_type_come_out_as_they_are(tmp_path, kind):
    numbers = pa.array([1, 2, 3, 2], pa.int32())
    ids = numbers.cast(pa.string()) if pa.types.is_large_string(kind) else numbers
    table = pa.table({"from": ids.cast(kind), "to": ids.take([1, 2, 3, 0]).cast(kind)})
    pq.write_table(table, tmp_path / "ties.parquet")
    graph = read_graph(tmp_path / "ties.parquet")
    expected = ids.cast(kind)[:3].to_pylist()
    assert graph.ids == expected
    assert [type(node) for node in graph.ids] == [type(node) for node in expected]


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_of_every_encoding_are_read(tmp_path, encoding):
    ids = [f"node {k}" for k in range(3000)]
    pq.write_table(
        pa.table({"a": ids[:-1], "b": ids[1:]}),
        tmp_path / "ties.parquet",
        use_dictionary=False,
        column_encoding=encoding,
    )
    assert read_graph(tmp_path / "ties.parquet").ids == ids
