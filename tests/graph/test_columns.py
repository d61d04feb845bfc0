"""Which columns of a table become ends and weights, and how that is told."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ultrahyperbolic.graph import Graph, GraphError, as_graph, read_graph
from ultrahyperbolic.graph.columns import SAMPLE_ROWS, Columns, find_ends, warn_of_distances

CAST = {
    "year": [1990, 1991, 1991, 1992],
    "Person A": ["ann", "bob", "ann", "cid"],
    "Person B": ["bob", "cid", "dot", "dot"],
    "Scenes": [2, 7, 3, 1],
}
EDGES = list(zip(CAST["Person A"], CAST["Person B"], CAST["Scenes"], strict=True))


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="g.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


def taken(graph):
    return tuple(graph.columns)


# People, not years


@pytest.fixture(params=["text", "parquet", "pandas", "arrow"])
def table(request, write):
    """Make a graph of columns, as text, as a Parquet file, as a data frame or as an Arrow table."""

    def make(columns, **options):
        frame = pd.DataFrame(columns)
        if request.param == "text":
            return read_graph(write(frame.to_csv(index=False)), **options)
        if request.param == "parquet":
            frame.to_parquet("g.parquet")
            return read_graph("g.parquet", **options)
        return as_graph(frame if request.param == "pandas" else pa.Table.from_pandas(frame), **options)

    return make


def test_a_year_is_no_end(table):
    graph = table(CAST)
    assert graph == Graph.from_edges(EDGES)
    assert taken(graph) == ("Person A", "Person B", "Scenes")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"id": [1, 2], "year": [1990, 1991], "A": ["ann", "bob"], "B": ["bob", "cid"]}, ("A", "B", None)),
        ({"A": ["ann", "bob"], "n": [3, 4], "B": ["bob", "cid"]}, ("A", "B", "n")),
        ({"day": ["1990-01-31", "1990-02-01"], "A": ["ann", "bob"], "B": ["bob", "cid"]}, ("A", "B", None)),
        # Those that share the most.
        (
            {"n": [1, 2, 3], "A": ["x", "y", "z"], "role": ["p", "p", "q"], "B": ["y", "z", "p"], "C": ["q", "q", "r"]},
            ("A", "B", None),
        ),
        # The first two, as ever: numbers that are people, and names that are not shared.
        ({"a": [1, 2, 3], "b": [2, 3, 4], "x": ["yes", "no", "no"], "y": ["no", "yes", "no"]}, ("a", "b", None)),
        ({"woman": ["ann", "bea"], "event": ["ball", "fair"], "hours": [3, 4]}, ("woman", "event", "hours")),
        # Known names come before all else.
        (
            {"year": [1, 2], "A": ["x", "y"], "B": ["y", "z"], "src": ["p", "q"], "dst": ["r", "s"]},
            ("src", "dst", None),
        ),
    ],
)
def test_ends_are_names_that_are_shared(table, columns, expected):
    assert taken(table(columns)) == expected


def test_a_number_is_an_end_where_no_names_are_shared(write):
    columns = {"user": [1, 2], "film": ["x", "y"], "kind": ["p", "q"]}
    assert taken(as_graph(pd.DataFrame(columns))) == ("user", "film", None)
    assert taken(read_graph(write("1,x,p,5\n2,y,q,4\n"))) == (0, 1, None)


def test_what_is_told_wins(table):
    assert taken(table(CAST, weight="year")) == ("Person A", "Person B", "year")
    assert taken(table(CAST, weight=False)) == ("Person A", "Person B", None)
    assert taken(table(CAST, source="Person B", target="Person A")) == ("Person B", "Person A", None)
    assert taken(table(CAST | {"next": [1991, 1992, 1991, 1993]}, source="year", target="next")) == (
        "year", "next", None,
    )  # fmt: skip


# Nothing of this changes how plain lists are read.

PLAIN = {
    "a b\nb c\n": (0, 1, None),
    "1 2\n2 3\n": (0, 1, None),
    "1,2,3\n2,3,4\n": (0, 1, 2),
    "ann,bob,3\nbob,cid,4\n": (0, 1, 2),
    "1 2 friend\n2 3 foe\n": (0, 1, None),
    "10.0.0.1 10.0.0.2 7\n10.0.0.2 10.0.0.3 8\n": (0, 1, 2),
    "ann,7,3\nbob,8,4\n": (0, 1, 2),
    "7,ann,3\n8,bob,4\n": (0, 1, 2),
    "ann,bob,cid\nbob,cid,dan\n": (0, 1, None),
    "node1,node2,n\n1,2,3\n2,3,4\n": ("node1", "node2", "n"),
    "x,y\n1,2\n2,3\n": ("x", "y", None),
    "x,y,n\nann,bob,3\nbob,cid,4\n": ("x", "y", "n"),
    "id,source,target,n\n1,ann,bob,3\n2,bob,cid,4\n": ("source", "target", None),
    "source,target,n,weight\nann,bob,3,1\nbob,cid,4,1\n": ("source", "target", "weight"),
}


@pytest.mark.parametrize("text", PLAIN)
def test_plain_lists_are_read_as_ever(write, text):
    assert taken(read_graph(write(text))) == PLAIN[text]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("year,A,B\n1990,ann,bob\n1991,bob,cid\n", ["ann", "bob", "cid"]),
        ("day,A,B\n1990-01-31,ann,bob\n1991-01-01,bob,cid\n", ["ann", "bob", "cid"]),
        ("who,whom,day\nann,bob,1990-01-31\nbob,cid,1991-01-01\n", ["ann", "bob", "cid"]),
        ("von;nach;Art;Gewicht\nann;bob;x;1,5\nbob;cid;y;2,5\n", ["ann", "bob", "cid"]),
        ("gate door\n10.0.0.1 10.0.0.2\n10.0.0.2 10.0.0.3\n", ["gate", "door", "10.0.0.1", "10.0.0.2", "10.0.0.3"]),
    ],
)
def test_a_header_is_no_person(write, text, ids):
    assert read_graph(write(text)).ids == ids


def test_the_first_rows_decide():
    later = 2 * SAMPLE_ROWS
    frame = pd.DataFrame(
        {"n": range(later), "A": [f"a{k}" for k in range(later)], "B": [f"b{k}" for k in range(later)]}
    )
    frame.loc[SAMPLE_ROWS:, "B"] = frame.loc[SAMPLE_ROWS:, "A"].shift(1, fill_value="z")
    assert taken(as_graph(frame)) == ("n", "A", None)


def test_columns_without_number_are_looked_at_in_time():
    looked = []

    def values(column):
        looked.append(column)
        return [1, 2] if column == 0 else [f"{column}", "x"]

    assert find_ends(10_000, values) == (1, 2)
    assert len(set(looked)) < 100


def test_columns_that_cannot_be_compared_are_left_alone(tmp_path):
    table = pa.table({"n": [1, 2], "a": ["x", "y"], "lists": [["x"], ["y"]], "b": ["y", "z"], "bytes": [b"x", b"y"]})
    assert taken(as_graph(table)) == ("a", "b", None)
    pq.write_table(table, tmp_path / "g.parquet")
    assert taken(read_graph(tmp_path / "g.parquet")) == ("a", "b", None)
    frame = pd.DataFrame({"n": [1, 2], "a": ["x", "y"], "lists": [["x"], ["y"]], "b": ["y", None]}).iloc[:1]
    assert taken(as_graph(frame)) == ("n", "a", None)


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY"])
def test_a_hostile_column_is_not_looked_at(tmp_path, encoding):
    """The column that would fill the memory is not one of those that are chosen, so the file is read without it."""
    columns = {
        "n": range(3000),
        "a": ["x", "y", "z"] * 1000,
        "b": ["y", "z", "x"] * 1000,
        "bomb": ["x" * 60_000] * 3000,
    }
    path = tmp_path / "g.parquet"
    pq.write_table(
        pa.table(columns), path, compression="zstd", use_dictionary=False, data_page_size=1 << 28,
        column_encoding={"n": "PLAIN", "a": "PLAIN", "b": "PLAIN", "bomb": encoding},
    )  # fmt: skip
    assert taken(read_graph(path)) == ("a", "b", None)
    with pytest.raises(GraphError, match="more than 16 MiB"):
        read_graph(path, source="a", target="bomb")


# What is told of it


def test_columns_are_told_and_no_part_of_what_a_graph_is(write):
    graph = read_graph(write("year,A,B,n\n1,ann,bob,3\n2,bob,cid,4\n"))
    plain = Graph.from_edges([("ann", "bob", 3), ("bob", "cid", 4)])
    assert graph == plain
    assert graph.fingerprint == plain.fingerprint
    assert plain.columns is None
    assert graph.describe() == "g.csv: 3 nodes, 2 edges, 2 capacities from 3 to 4; columns: 'A' – 'B', weight 'n'"
    assert graph.with_nodes(["cid", "bob", "ann"]).columns == graph.columns == Columns("A", "B", "n")
    assert graph.unweighted().columns == Columns("A", "B", None)


def test_positions_are_told_where_there_are_no_names(write):
    graph = read_graph(write("ann,bob,3\nbob,cid,4\n"))
    assert graph.columns == Columns(0, 1, 2)
    assert str(graph.columns) == "columns: 1 – 2, weight 3 (no header: counted from 1)"
    assert str(read_graph("g.csv", weight=False).columns) == "columns: 1 – 2, no weight (no header: counted from 1)"
    again = read_graph("g.csv", **graph.columns._asdict())
    assert again == graph
    unnamed = pd.DataFrame(np.array([["ann", "bob"], ["bob", "cid"]]))
    assert as_graph(unnamed).columns == Columns(0, 1, None)


def test_names_of_any_length_and_letters_are_told_in_a_line():
    text = str(Columns("x" * 1000, "a\n\x1b[2J", None))
    assert len(text) < 150
    assert text.isprintable()


# Distances


@pytest.mark.parametrize(
    "name",
    ["distance", "Distance", "dist", "length", "LENGTH", "len", "cost", "costs", "km", "time", "travel_time",
     "travelTime", "distance (km)", "road length", "duration", "Kilometres", "miles"],
)  # fmt: skip
def test_names_of_distances_are_warned_of(name):
    with pytest.warns(UserWarning, match=r"^g: the weights are called .*weights_are_distances=True"):
        warn_of_distances(name, "g")


@pytest.mark.parametrize("name", ["weight", "scenes", "timestamp", "times", "lengthy", "costume", "calls", "", 2, None])
def test_other_names_are_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_distances(name, "g")


def test_the_warning_points_at_the_caller(write):
    with pytest.warns(UserWarning, match=r"^g.csv: the weights are called 'km'") as said:
        read_graph(write("source,target,km\na,b,5\nb,c,7\n"))
    assert [warning.filename for warning in said] == [__file__]
    read_graph("g.csv", weights_are_distances=True)
    read_graph("g.csv", weight=False)
