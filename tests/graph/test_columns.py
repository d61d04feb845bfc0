"""Which columns of a table become ends and weights, and how that is told."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ultrahyperbolic import embed
from ultrahyperbolic.graph import Graph, GraphError, as_graph, read_graph
from ultrahyperbolic.graph.columns import Columns, find_ends, warn_of_distances

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
        return as_graph(
            frame if request.param == "pandas" else pa.Table.from_pandas(frame), **options
        )

    return make


def test_a_year_is_no_end(table):
    graph = table(CAST)
    assert graph == Graph.from_edges(EDGES)
    assert taken(graph) == ("Person A", "Person B", "Scenes")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"id": [1, 2], "year": [1990, 1991], "A": ["ann", "bob"], "B": ["bob", "cid"]},
            ("A", "B", None),
        ),
        ({"A": ["ann", "bob"], "n": [3, 4], "B": ["bob", "cid"]}, ("A", "B", "n")),
        (
            {"day": ["1990-01-31", "1990-02-01"], "A": ["ann", "bob"], "B": ["bob", "cid"]},
            ("A", "B", None),
        ),
        # Those that share the most.
        (
            {
                "id": [1, 2, 3],
                "A": ["x", "y", "z"],
                "role": ["p", "p", "q"],
                "B": ["y", "z", "p"],
                "C": ["q", "q", "r"],
            },
            ("A", "B", None),
        ),
        # The first two, as ever: numbers that are people, and names that are not shared.
        (
            {"a": [1, 2, 3], "b": [2, 3, 4], "x": ["yes", "no", "no"], "y": ["no", "yes", "no"]},
            ("a", "b", None),
        ),
        (
            {"woman": ["ann", "bea"], "event": ["ball", "fair"], "hours": [3, 4]},
            ("woman", "event", "hours"),
        ),
        # Known names come before all else.
        (
            {
                "year": [1, 2],
                "A": ["x", "y"],
                "B": ["y", "z"],
                "src": ["p", "q"],
                "dst": ["r", "s"],
            },
            ("src", "dst", None),
        ),
    ],
)
def test_ends_are_names_that_are_shared(table, columns, expected):
    assert taken(table(columns)) == expected


def test_a_number_is_an_end_where_no_names_are_shared(write):
    columns = {"user": [1, 2], "film": ["x", "y"], "kind": ["p", "q"]}
    assert taken(as_graph(pd.DataFrame(columns))) == ("user", "film", None)
    assert taken(read_graph(write("1,x,p,5\n2,y,q,4\n"))) == (0, 1, 3)


def test_ends_of_two_kinds_are_warned_of(table):
    columns = {"id": [1, 2], "person_a": ["ann", "bob"], "person_b": ["bob", "cid"]}
    kinds = (
        r"the ends 'id' and 'person_a' are of two kinds, numbers and text: .* \(source=, target=, "
        r"--source, --target\)"
    )
    columns["id"] = list(map(str, columns["id"]))  # ids of one type, as Arrow wants them
    with pytest.warns(UserWarning, match=kinds):
        assert table(columns, source="id", target="person_a").n_edges == 2
    with pytest.warns(UserWarning, match="'person_a' and 'id' are of two kinds"):
        table(columns, source="person_a", target="id")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text", ["1,2\n2,3\n", "a1,7\nb2,8\na1,x\n", "7,8\nann,9\n", "10.0.0.1,x\n10.0.0.2,x\n"]
)
def test_ends_of_one_kind_or_mixed_are_not(write, text):
    assert read_graph(write(text)).n_edges >= 2


def test_what_is_told_wins(table):
    assert taken(table(CAST, weight="year")) == ("Person A", "Person B", "year")
    assert taken(table(CAST, weight=False)) == ("Person A", "Person B", None)
    assert taken(table(CAST, source="Person B", target="Person A")) == (
        "Person B",
        "Person A",
        "Scenes",
    )
    assert taken(
        table(CAST | {"next": [1991, 1992, 1991, 1993]}, source="year", target="next")
    ) == (
        "year",
        "next",
        "Scenes",
    )


# The weight: the one column of numbers that may be it


MAILS = {
    "id": [1, 2, 3],
    "person_a": ["ann", "bob", "ann"],
    "person_b": ["bob", "cid", "cid"],
    "year": [2001, 2002, 2003],
    "n_mails": [5, 6, 7],
}


def test_years_and_ids_are_no_weights(table):
    with pytest.warns(
        UserWarning,
        match=r"the weight is taken to be 'n_mails': .*--weight 'n_mails'.*--unweighted",
    ):
        graph = table(MAILS)
    assert taken(graph) == ("person_a", "person_b", "n_mails")
    assert taken(table({name: MAILS[name] for name in list(MAILS)[:4]})) == (
        "person_a",
        "person_b",
        None,
    )
    assert taken(table(MAILS, weight="year")) == ("person_a", "person_b", "year")
    columns = {
        "source": ["a", "b"],
        "target": ["b", "c"],
        "created_timestamp": [1_600_000_000, 1_600_000_001],
    }
    assert taken(table(columns)) == ("source", "target", None)


@pytest.mark.parametrize(
    "times", [(1082040961, 1082155839), (1998, 2003), (1700000000123, 1700000000456)]
)
def test_times_without_a_name_are_no_weights(write, times):
    rows = "ann bob {}\nbob cid {}\n".format(*times)
    with pytest.warns(UserWarning, match=r"column 3 holds years or times.*--weight 3"):
        assert taken(read_graph(write(rows))) == (0, 1, None)
    assert read_graph(write(rows), weight=2).weights.tolist() == list(times)
    assert taken(read_graph(write("ann bob 12\nbob cid 2003\n")))[2] == 2


def test_numbers_written_as_text_are_said():
    graph = nx.Graph()
    graph.add_edge("a", "b", value="2")
    graph.add_edge("b", "c", value="3")
    with pytest.warns(UserWarning, match=r"'value' of the edges holds numbers as text"):
        assert set(Graph.from_networkx(graph).weights.tolist()) == {1.0}


def test_where_two_may_be_the_weight_an_error_names_both(table):
    with pytest.raises(
        GraphError,
        match=r"the weight may be 'n_mails' or 'calls': name it .*weight=False, --unweighted",
    ):
        table(MAILS | {"calls": [1, 2, 3]})
    assert taken(table(MAILS | {"calls": [1, 2, 3]}, weight="calls"))[2] == "calls"
    assert taken(table(MAILS | {"calls": [1, 2, 3]}, weight=False))[2] is None
    assert taken(table(MAILS | {"calls": [1, 2, 3], "Weight": [4, 5, 6]}))[2] == "Weight"


def test_a_weight_may_stand_before_the_ends(table):
    assert taken(table({"mails": [5, 6], "source": ["a", "b"], "target": ["b", "c"]})) == (
        "source",
        "target",
        "mails",
    )


def test_positions_of_weights_are_said_where_there_are_no_names(write):
    said = (
        r"may be 3 or 4 \(counted from 1\): name it \(weight=2, --weight 3\), or leave weights "
        r"out \(weight=False, "
        r"--unweighted\)"
    )
    with pytest.raises(GraphError, match=said):
        read_graph(write("ann bob 1 7\nbob cid 2 9\n"))
    with pytest.warns(UserWarning, match="the weight is taken to be 4"):
        assert taken(read_graph(write("ann bob x 5\nbob cid y 6\n"))) == (0, 1, 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["ann,bob,3\nbob,cid,4\n", "a,b,Weight\nann,bob,3\nbob,cid,4\n"])
def test_a_plain_weight_is_no_guess(write, text):
    assert taken(read_graph(write(text)))[2] in (2, "Weight")


# Nothing of this changes how plain lists are read.

PLAIN = {
    "a b\nb c\n": (0, 1, None),
    "ann,bob,3\nbob,cid,4\n": (0, 1, 2),
    "1 2 friend\n2 3 foe\n": (0, 1, None),
    "10.0.0.1 10.0.0.2 7\n10.0.0.2 10.0.0.3 8\n": (0, 1, 2),
    "ann,7,3\nbob,8,4\n": (0, 1, 2),
    "node1,node2,n\n1,2,3\n2,3,4\n": ("node1", "node2", "n"),
    "x,y\n1,2\n2,3\n": ("x", "y", None),
    "id,source,target,n\n1,ann,bob,3\n2,bob,cid,4\n": ("source", "target", "n"),
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
    ],
)
def test_a_header_is_no_person(write, text, ids):
    assert read_graph(write(text)).ids == ids


BODY = [
    "ann,bob",
    "bob,cid",
    "cid,dan",
    "dan,ann",
    "eve,ann",
    "eve,bob",
    "fay,gus",
    "gus,ann",
    "gus,bob",
]
HEADERS = [
    "Person1,Person2",
    "sender,recipient",
    "citing,cited",
    "u,v",
    "Node A,Node B",
    "gene_1,gene_2",
    "start,end",
    "i,j",
    "émetteur,destinataire",
    "来源,目标",
    "_from,_to",
    "friend a,friend b",
    "head,tail,relation",
    "Official Symbol A,Official Symbol B,Experimental System",
]


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_of_any_words_is_no_tie(write, header):
    rows = [row + ",x" * (header.count(",") - 1) for row in BODY]
    text = "\n".join([header, *rows])
    with pytest.warns(UserWarning, match=r"the first row, .* is taken for a header") as said:
        graph = read_graph(write(text))
    names = header.split(",")[:2]
    assert graph.columns == (*names, None)
    assert list(graph.ids) == ["ann", "bob", "cid", "dan", "eve", "fay", "gus"]
    assert graph.n_edges == len(BODY)
    assert said[0].filename == __file__
    assert read_graph(write(text), header=False).n_nodes == 9
    assert read_graph(write(text), header=True).n_nodes == 7


def test_words_above_numbers_on_one_side_are_a_header(write):
    with pytest.warns(UserWarning, match="'user_id' – 'artist', is taken for a header"):
        graph = read_graph(write("user_id,artist\n17,Bowie\n18,Bowie\n18,Eno\n"))
    assert list(graph.ids) == ["17", "Bowie", "18", "Eno"]


NO_HEADERS = {
    "an end occurs again": "ann,bob\nbob,cid\ncid,dan\n",
    "an end occurs again on the other side": "ann,bob\ncid,ann\ncid,dan\n",
    "an end occurs again after blanks": "ann,bob\ncid,  ann\ncid,dan\n",
    "the row occurs again, reversed": "ann,bob\ncid,dan\ndan,eve\nbob,ann\n",
    "a third cell occurs again": "ann,bob,friend\ncid,dan,friend\ndan,eve,foe\n",
    "a number": "ann,7\ncid,8\ncid,9\n",
    "a date": "ann,1990-12-31\ncid,8\ncid,9\n",
    "pairs alone throughout": "ann,bob\ncid,dan\neve,fay\n",
    "one row": "ann,bob\n",
    "a self-loop": "ann,ann\ncid,dan\ndan,eve\n",
}


@pytest.mark.parametrize("case", NO_HEADERS)
def test_a_first_tie_is_no_header(write, case):
    graph = read_graph(write(NO_HEADERS[case]))
    assert graph.ids[0] == "ann"
    assert graph.columns == (0, 1, None)


def test_a_header_that_the_whole_file_tells_keeps_the_lines_of_messages(write):
    with (
        pytest.warns(UserWarning, match="is taken for a header"),
        pytest.raises(GraphError, match="line 5"),
    ):
        read_graph(write("citing,cited\na,b\nb,c\nc,b\nb,c\n"), repeated="error")


def test_naming_columns_says_that_there_is_a_header(write):
    text = write("citing,cited,kind\na,b,x\nb,c,x\n")
    assert read_graph(text, source="cited", target="citing").columns == ("cited", "citing", None)


def test_columns_without_number_are_looked_at_in_time():
    looked = []

    def values(column):
        looked.append(column)
        return [1, 2] if column == 0 else [f"{column}", "x"]

    assert find_ends(10_000, values) == (1, 2)
    assert len(set(looked)) < 100


def test_columns_that_cannot_be_compared_are_left_alone(tmp_path):
    table = pa.table(
        {
            "id": [1, 2],
            "a": ["x", "y"],
            "lists": [["x"], ["y"]],
            "b": ["y", "z"],
            "bytes": [b"x", b"y"],
        }
    )
    assert taken(as_graph(table)) == ("a", "b", None)
    pq.write_table(table, tmp_path / "g.parquet")
    assert taken(read_graph(tmp_path / "g.parquet")) == ("a", "b", None)
    frame = pd.DataFrame(
        {"n": [1, 2], "a": ["x", "y"], "lists": [["x"], ["y"]], "b": ["y", None]}
    ).iloc[:1]
    assert taken(as_graph(frame)) == ("n", "a", None)


def test_a_hostile_column_is_not_looked_at(tmp_path):
    """The column that would fill the memory is not one of those that are chosen, so the file is
    read without it.
    """
    columns = {
        "id": range(3000),
        "a": ["x", "y", "z"] * 1000,
        "b": ["y", "z", "x"] * 1000,
        "bomb": ["x" * 60_000] * 3000,
    }
    path = tmp_path / "g.parquet"
    pq.write_table(
        pa.table(columns),
        path,
        compression="zstd",
        use_dictionary=False,
        data_page_size=1 << 28,
        column_encoding={"id": "PLAIN", "a": "PLAIN", "b": "PLAIN", "bomb": "DELTA_BYTE_ARRAY"},
    )
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
    assert (
        graph.describe()
        == "g.csv: 3 nodes, 2 ties, weights from 3 to 4; columns: 'A' – 'B', weight 'n'"
    )
    assert (
        graph.with_nodes(["cid", "bob", "ann"]).columns == graph.columns == Columns("A", "B", "n")
    )
    assert graph.unweighted().columns == Columns("A", "B", None)


def test_positions_are_told_where_there_are_no_names(write):
    graph = read_graph(write("ann,bob,3\nbob,cid,4\n"))
    assert graph.columns == Columns(0, 1, 2)
    assert str(graph.columns) == "columns: 1 – 2, weight 3 (no header: counted from 1)"
    assert (
        str(read_graph("g.csv", weight=False).columns)
        == "columns: 1 – 2, no weight (no header: counted from 1)"
    )
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
    "name", ["Distance", "len", "costs", "km", "travel_time", "travelTime", "distance (km)"]
)
def test_names_of_distances_are_warned_of(name):
    with pytest.warns(
        UserWarning, match=r"^g: the weights are called .*weights_are_distances=True"
    ):
        warn_of_distances(name, "g")


@pytest.mark.parametrize(
    "name", ["weight", "scenes", "timestamp", "times", "lengthy", "costume", "calls", "", 2, None]
)
def test_other_names_are_not(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_distances(name, "g")


def test_the_warning_points_at_the_caller(write):
    with pytest.warns(UserWarning, match=r"^g.csv: the weights are called 'km'") as said:
        read_graph(write("source,target,km\na,b,5\nb,c,7\n"))
    assert [warning.filename for warning in said] == [__file__, __file__]
    read_graph("g.csv", weights_are_distances=True)
    read_graph("g.csv", weight=False)
    table = pd.read_csv("g.csv")
    network = nx.from_pandas_edgelist(table, edge_attr="km")
    for make in (
        lambda: as_graph("g.csv"),
        lambda: as_graph(table),
        lambda: as_graph(network),
        lambda: Graph.from_pandas(table),
        lambda: embed(network, p=1, q=1, iterations=1, quiet=True),
    ):
        with pytest.warns(UserWarning, match="km") as said:
            make()
        assert {warning.filename for warning in said} == {__file__}


@pytest.mark.parametrize(
    "cells", [("12", "", ""), ("12 calls", "3 calls", "7 calls"), ("1.200,5 €", "x", "y")]
)
def test_a_third_column_that_is_hardly_numbers_is_said_to_be_unused(tmp_path, cells):
    file = tmp_path / "g.csv"
    file.write_text(
        "source;target;calls\n" + "".join(f"a{k};b{k};{cell}\n" for k, cell in enumerate(cells))
    )
    with pytest.warns(UserWarning, match="column 'calls' has numbers, but too few .*--weight"):
        assert read_graph(file).capacities.tolist() == [1.0]


@pytest.mark.parametrize(
    "cells", [("red", "blue", "red"), ("2020-01-02", "2021-03-04", "2020-01-02")]
)
@pytest.mark.filterwarnings("error")
def test_a_third_column_of_words_or_dates_is_left_out_without_a_word(tmp_path, cells):
    file = tmp_path / "g.csv"
    file.write_text(
        "source;target;kind\n" + "".join(f"a{k};b{k};{cell}\n" for k, cell in enumerate(cells))
    )
    assert read_graph(file).capacities.tolist() == [1.0]
