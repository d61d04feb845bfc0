from __future__ import annotations

import csv
import gzip
import io
import time
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ultrahyperbolic.graph import (
    Graph,
    GraphError,
    dialect,
    formats,
    read_graph,
    text,
)

EDGES = [("ann", "bob", 2.0), ("bob", "cid", 1.5), ("ann", "dot", 3.0)]
GRAPH = Graph.from_edges(EDGES)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file, and stand in its folder so that messages are short."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="graph.txt"):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return write


def edges_of(graph):
    nodes = list(graph.ids)
    return {
        (nodes[i], nodes[j]): w
        for (i, j), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    }


# Text: how a table may be written

LAYOUTS = {
    "tabs": "ann\tbob\t2\nbob\tcid\t1.5\nann\tdot\t3\n",
    "commas": "ann,bob,2\nbob,cid,1.5\nann,dot,3\n",
    "semicolons": "ann;bob;2\nbob;cid;1.5\nann;dot;3\n",
    "pipes": "ann|bob|2\nbob|cid|1.5\nann|dot|3\n",
    "spaces": "ann bob 2\nbob cid 1.5\nann dot 3\n",
    "runs of blanks": "  ann   bob \t 2\nbob\t\tcid 1.5   \n\tann dot\t3",
    "no last newline": "ann,bob,2\nbob,cid,1.5\nann,dot,3",
    "carriage returns": "ann,bob,2\r\nbob,cid,1.5\r\nann,dot,3\r\n",
    "carriage returns and blanks": "ann bob  2 \r\n bob cid 1.5\r\nann dot 3\r\n",
    "byte order mark": "\ufeffann,bob,2\nbob,cid,1.5\nann,dot,3\n",
    "byte order mark and header": "\ufeffsource,target,weight\nann,bob,2\nbob,cid,1.5\nann,dot,3\n",
    "byte order mark and comment": "\ufeff# made by hand\nann,bob,2\nbob,cid,1.5\nann,dot,3\n",
    "blanks around fields": "ann, bob, 2\nbob , cid,1.5\nann,dot ,3 \n",
    "comments": "# made by hand\n% twice\nann,bob,2\n  # three\nbob,cid,1.5\n\n\nann,dot,3\n#\n",
    "comments and blanks": "# made by hand\nann  bob 2\n  % two\nbob cid 1.5\nann dot 3\n",
    "quotes": '"ann","bob",2\nbob,"cid","1.5"\n"ann",dot,3\n',
    "quotes and comments": '# "quoted" by 5" hands\n"ann","bob",2\n# '
    "more\nbob,cid,1.5\nann,dot,3\n",
    "quotes and blanks": '"ann"   "bob"  2\n bob  cid "1.5" \nann dot 3\n',
    "a header": "source,target,weight\nann,bob,2\nbob,cid,1.5\nann,dot,3\n",
    "a header in capitals": "Source\tTarget\tWeight\nann\tbob\t2\nbob\tcid\t1.5\nann\tdot\t3\n",
    "a header of unknown words": "one,other,how_often\nann,bob,2\nbob,cid,1.5\nann,dot,3\n",
    "a header in another order": "weight,id,target,source\n2,7,bob,ann\n1.5,7,cid,bob\n3,7,dot,ann\n",
    "an index": ",source,target,weight\n0,ann,bob,2\n1,bob,cid,1.5\n2,ann,dot,3\n",
    "more columns": "ann,bob,2,x\nbob,cid,1.5,y\nann,dot,3,\n",
    "exponents and signs": "ann,bob,+2e0\nbob,cid,.15E1\nann,dot,3.\n",
    "decimal commas": "ann;bob;2\nbob;cid;1,5\nann;dot;3,0\n",
    "decimal commas and a header": "von;nach;Gewicht\nann;bob;2\nbob;cid;1,50\nann;dot;3,0\n",
    "decimal commas and tabs": "ann\tbob\t2,0\nbob\tcid\t1,5\nann\tdot\t3,0\n",
    "decimal commas and blanks": "ann bob 2,0\nbob cid 1,5\nann dot 3\n",
    "decimal commas in quotes": '"ann","bob","2"\n"bob","cid","1,5"\n"ann","dot","3,0"\n',
    "a year first": "year,Person A,Person "
    "B,Scenes\n1990,ann,bob,2\n1991,bob,cid,1.5\n1990,ann,dot,3\n",
    "a year first, and no header": "1990,ann,bob,2\n1991,bob,cid,1.5\n1990,ann,dot,3\n",
    "a date first": "day;A;B;n\n3.1.1990;ann;bob;2\n4.1.1990;bob;cid;1,5\n5.1.1990;ann;dot;3\n",
    "the weight between the ends": "ann,2,bob\nbob,1.5,cid\nann,3,dot\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_graph(write, layout):
    graph = read_graph(write(LAYOUTS[layout]))
    assert graph == GRAPH
    assert graph.ids == ["ann", "bob", "cid", "dot"]
    assert graph.source == "graph.txt"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_may_end_anywhere(write, monkeypatch, layout):
    monkeypatch.setattr(text, "LINE", 47)
    assert read_graph(write(LAYOUTS[layout])) == GRAPH


@pytest.mark.parametrize(
    "compress", [gzip.compress, lambda data: pa.Codec("zstd").compress(data).to_pybytes()]
)
def test_compression_is_known_by_content(write, compress):
    assert read_graph(write(compress(LAYOUTS["quotes"].encode()))) == GRAPH


def test_members_of_a_gzip_file_follow_each_other(write):
    whole = LAYOUTS["tabs"].encode()
    assert read_graph(write(gzip.compress(whole[:11]) + gzip.compress(whole[11:]))) == GRAPH


def test_text_stays_text(write):
    with pytest.warns(
        UserWarning, match="1 name differs from another in case or spaces alone, such as 'nan'"
    ):
        graph = read_graph(write("007,7,1\n7,7.0,2\n1e3,1000,1\nnull,NaN,1\nnan,true,1\n"))
    assert graph.ids == ["007", "7", "7.0", "1e3", "1000", "null", "NaN", "nan", "true"]
    assert all(type(node) is str for node in graph.ids)


def test_names_that_are_nearly_alike_are_noticed_and_stay_different_nodes(write):
    with pytest.warns(
        UserWarning, match="2 names differ .* such as 'bob' from 'Bob': they stay different nodes"
    ):
        assert read_graph(write("Bob,Ann\nbob,Ann\nBOB,Cid\n")).n_nodes == 5
    assert read_graph(write("Bob,Ann\nBobby,Ann\n")).n_nodes == 3


def test_without_weights_every_weight_is_1(write):
    expected = Graph.from_edges([edge[:2] for edge in EDGES])
    assert read_graph(write("ann bob\nbob cid\nann dot\n")) == expected
    assert read_graph(write("from to\nann bob\nbob cid\nann dot\n")) == expected
    assert read_graph(write("ann,bob,friend\nbob,cid,foe\nann,dot,kin\n")) == expected
    assert read_graph(write(LAYOUTS["tabs"]), weight=False) == expected


def test_columns_by_name_and_by_position(write):
    name = write("a,b,c,d,e\nx,ann,9,bob,2\nx,bob,9,cid,1.5\ny,ann,9,dot,3\n")
    assert read_graph(name, source="b", target="d", weight="e") == GRAPH
    assert read_graph(name, source=1, target=3, weight=4) == GRAPH
    assert read_graph(name, source="b", target=3, weight="c").capacities.tolist() == [9]
    with pytest.raises(
        GraphError,
        match=r"graph.txt: the weight may be 'c' or 'e': name it \(weight='c', --weight 'c'\)",
    ):
        read_graph(name, source="b", target="d")
    assert read_graph(name, source="b", target="d", weight=False).capacities.tolist() == [1]
    assert read_graph(name, source=3, target=1, weight=4).with_nodes(GRAPH.ids) == GRAPH


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "z"}, "no column 'z'; it has 'a', 'b', 'c'"),
        ({"source": 3}, r"no column 4 \(counted from 1; in Python from 0\): it has 3"),
        ({"source": -1}, "no column 0"),
        ({"source": 1}, "the same column"),
        ({"weight": True}, "no column True"),
        ({"header": False, "source": "a"}, "no column 'a', for there is no header"),
        ({"delimiter": "::"}, "one character or 'whitespace'"),
        ({"delimiter": ";"}, "one column; a tie needs two"),
        ({"repeated": "mean"}, "repeated must be one of"),
        ({"asymmetric": "max"}, "asymmetric must be one of"),
        ({"weight": "b"}, r"line 2 \('x' - 'y'\): the weight 'y' is not a number"),
    ],
)
def test_bad_options_are_refused(write, options, message):
    with pytest.raises(GraphError, match=message):
        read_graph(write("a,b,c\nx,y,1\n"), **options)


def test_a_header_is_what_the_caller_says(write):
    assert read_graph(write("ann,bob\nbob,cid\n"), header=True).ids == ["bob", "cid"]
    assert read_graph(write("source,target\nbob,cid\n"), header=False).ids == [
        "source",
        "target",
        "bob",
        "cid",
    ]
    assert read_graph(write("from\tto\t5\na\tb\t3\n")).n_edges == 2  # a number in it: no header
    assert read_graph(write("a b\n1 2\n2 3\n")).ids == ["1", "2", "3"]
    assert read_graph(write("a 1\n1 2\n2 3\n")).ids == ["a", "1", "2", "3"]


def test_the_delimiter_is_what_the_caller_says(write):
    name = write("a b,c d\nc d,e f\n")
    assert read_graph(name).ids == ["a b", "c d", "e f"]
    assert read_graph(name, delimiter="whitespace").ids == ["a", "b,c", "c", "d,e"]
    assert read_graph(write("Smith, J\tDoe, A\nDoe, A\tRoe, B\n")).ids == [
        "Smith, J",
        "Doe, A",
        "Roe, B",
    ]
    assert read_graph(write("a;b;1,5\nc;d;2,5\n"), weight=False).ids == ["a", "b", "c", "d"]


def test_quoted_fields_hold_anything(write):
    name = write('"New York, NY","say ""hi""",1\n"two\nlines","# no comment",2\n"a  b",c,3\n')
    assert edges_of(read_graph(name)) == {
        ("New York, NY", 'say "hi"'): 1,
        ("two\nlines", "# no comment"): 2,
        ("a  b", "c"): 3,
    }


def test_a_quote_far_down_is_found(write):
    plain = "".join(f"a{k},b{k},1\n" for k in range(40_000))
    assert len(plain) > dialect._SAMPLE
    graph = read_graph(write(plain + '"x, y","z\nz",2\n'))
    assert graph.n_edges == 40_001
    assert list(graph.ids[-2:]) == ["x, y", "z\nz"]


def test_comment_letters_may_be_ids(write):
    name = write("#one #two 1\n#two three 2\n")
    assert read_graph(name, comments="").ids == ["#one", "#two", "three"]
    with pytest.raises(GraphError, match="all of it is comments"):
        read_graph(name)
    graph = read_graph(write("a b 1\n#b c 2\n# x\nb d 3\n"))
    assert graph.policies == {"comment_lines_skipped": 2}
    assert read_graph(write("; c\na b 1\n"), comments=";").n_edges == 1


CELLS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\ufeff"), max_size=6
)
IDS = CELLS.map(str.strip).filter(lambda cell: cell and cell[0] not in "#%")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(IDS, IDS, st.integers(1, 9)), min_size=1, max_size=12),
    st.sampled_from([",", "\t", ";", "|"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_module_writes_comes_back(tmp_path_factory, rows, delimiter, quoting, newline):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=newline).writerows(rows)
    path = tmp_path_factory.mktemp("csv") / "graph.csv"
    path.write_bytes(out.getvalue().encode())
    graph = read_graph(path, delimiter=delimiter, header=False, weight=2, comments="")
    assert graph == Graph.from_edges(rows)


def read_by_hand(path, rule):
    """The same with the csv module and dictionaries: ids, weights by pair, and how often each
    policy was applied.
    """
    with open(path, newline="") as file:
        rows = [(a.strip(), b.strip(), float(w)) for a, b, w in csv.reader(file, delimiter="\t")]
    ids = {node: k for k, node in enumerate(dict.fromkeys(end for row in rows for end in row[:2]))}
    combine = {"sum": sum, "max": max, "first": lambda weights: weights[0]}[rule]
    past = {"sum": "summed", "max": "max_taken", "first": "first_taken"}[rule]
    one_way, pairs = {}, {}
    for a, b, w in rows:
        if a != b:
            one_way.setdefault((ids[a], ids[b]), []).append(w)
    for (i, j), weights in one_way.items():
        pairs.setdefault((min(i, j), max(i, j)), []).append(combine(weights))
    counts = {
        "self_loops_dropped": sum(a == b for a, b, _ in rows),
        f"repeated_rows_{past}": sum(len(weights) - 1 for weights in one_way.values()),
        f"reversed_rows_{past}": sum(len(weights) - 1 for weights in pairs.values()),
    }
    edges = {pair: combine(weights) for pair, weights in sorted(pairs.items())}
    return list(ids), edges, {policy: count for policy, count in counts.items() if count}


@pytest.mark.parametrize("rule", ["sum", "max", "first"])
@pytest.mark.parametrize("alphabet", ["plain", "quoted", "blanks", "long", "letters"])
def test_random_files_are_read_as_by_hand(write, monkeypatch, rule, alphabet):
    rng = np.random.default_rng(0)
    name = {
        "plain": lambda k: f"{k:0{k % 18 + 1}d}",
        "quoted": lambda k: f'"{k}\n\t{k}"' if k % 7 == 0 else str(k),
        "blanks": lambda k: " " * (k % 3) + f"n{k // 3}" + " " * (k % 2),
        "long": lambda k: f"https://example.org/{'x' * (k % 9)}/{k}",
        "letters": lambda k: "é☃𝄞"[k % 3] * (k % 7 + 1) + str(k),
    }[alphabet]
    weights = [
        f"{w:.{digits}f}"
        for w, digits in zip(rng.uniform(1, 9, 3000), rng.integers(0, 18, 3000), strict=True)
    ]
    ends = rng.integers(0, 100, (3000, 2)).tolist()
    rows = "\n".join(f"{name(i)}\t{name(j)}\t{w}" for (i, j), w in zip(ends, weights, strict=True))
    monkeypatch.setattr(text, "LINE", 5_000)
    path = write(rows)
    graph = read_graph(path, header=False, repeated=rule)
    ids, edges, counts = read_by_hand(path, rule)
    assert list(graph.ids) == ids
    assert [tuple(edge) for edge in graph.edges.tolist()] == list(edges)
    assert graph.weights.tolist() == pytest.approx(list(edges.values()), rel=1e-15)
    assert graph.policies == counts


NUMBERS = ["7", "007", "0.1", "2.50", "123456789012.25", "1e3", "12345678901234567", ".5", "5."]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_read_to_the_last_bit(write, number):
    assert read_graph(write(f"a,b,{number}\nb,c,1\n")).weights[0] == float(number)
    comma = f"a;b;{number}\nb;c;1.5\nc;d;0.25\n".replace(".", ",")
    assert read_graph(write(comma)).weights[0] == float(number)


def test_commas_that_may_stand_before_thousands_are_not_guessed_at(write):
    name = write("a\tb\t1,234\nb\tc\t950\nc\td\t2,500\n")
    with pytest.warns(UserWarning, match="column 3 has numbers, but too few to be the weights"):
        graph = read_graph(name)
    assert graph.weights.tolist() == [1, 1, 1]
    assert str(graph.columns) == "columns: 1 – 2, no weight (no header: counted from 1)"
    with pytest.raises(
        GraphError, match=r"line 1 \('a' - 'b'\): the weight '1,234' is not a number"
    ):
        read_graph(name, weight=2)
    assert read_graph(write("a\tb\t1,234\nb\tc\t0,950\n")).weights.tolist() == [1.234, 0.95]


# Distances


ROADS = "# by road\nsource,target,minutes\na,b,5\nb,c,20\nc,a,0.5\n"


def test_distances_become_strengths(write):
    graph = read_graph(write(ROADS), weights_are_distances=True)
    assert edges_of(graph) == {("a", "b"): 1 / 5, ("b", "c"): 1 / 20, ("a", "c"): 1 / 0.5}
    assert graph.policies == {"comment_lines_skipped": 1, "distances_inverted": 3}
    # Strengths of repeated rows are added, not distances.
    again = read_graph(write(ROADS + "b,a,5\n"), weights_are_distances=True)
    assert again.weights[0] == 2 / 5


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "1e-320"])
def test_bad_distances_are_refused_with_their_line(write, bad):
    message = (
        rf"^graph.txt, line 6 \('b' - 'd'\): the distance is {float(bad):g}; a distance must be a "
        r"finite number"
    )
    with pytest.raises(GraphError, match=message):
        read_graph(write(f"{ROADS}b,d,{bad}\n"), weights_are_distances=True)


@pytest.mark.parametrize(
    "content", ["a b\nb c\n", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"]
)
def test_without_weights_there_are_no_distances(write, content):
    with pytest.raises(GraphError, match=r"^graph.txt: there are no weights to be distances"):
        read_graph(write(content), weights_are_distances=True)


# Text: what is refused

BAD = [
    ("", ": the file is empty"),
    ("# nothing\n\n", ": nothing in it: the file is empty, or all of it is comments"),
    ("source,target\n", ": nothing in it but a header"),
    ("ann\nbob\n", ": one column; a tie needs two"),
    ("a,b,1\nc,d\ne,f,1\n", ", line 2: 2 columns where 3 are expected: 'c,d'"),
    ("a,b\nc,d,1\ne,f,1\n", ", line 1: 2 columns where 3 are expected: 'a,b'"),
    ("source,target\na,b,1\nc,d,1\n", ", line 1: the header has 2 columns, the rows have 3"),
    ("# x\n\na b 1\n\n c   d\n", ", line 5: 2 columns where 3 are expected: 'c d'"),
    ("a,b,1\nc,d,x\ne,f,1\n", ", line 2 ('c' - 'd'): the weight 'x' is not a number"),
    ("a,b,1\nc,d,\ne,f,1\n", ", line 2 ('c' - 'd'): the weight '' is not a number"),
    ("a;b;1.5\nc;d;1,5\ne;f;1\n", ", line 2 ('c' - 'd'): the weight '1,5' is not a number"),
    ("a;b;1,5\nc;d;1.2\ne;f;2,5\n", ", line 2 ('c' - 'd'): the weight '1.2' is not a number"),
    ("source,target,weight\n# c\na,b,1\n\nc,d,nan\n", ", line 5 ('c' - 'd'): the weight is nan"),
    ("a b 1\n% c\n a   c inf\n", ", line 3 ('a' - 'c'): the weight is inf"),
    ("a b 1\nb c -2\n", ", line 2 ('b' - 'c'): the weight is -2"),
    ("a b 1\nb c 0\n", ", line 2 ('b' - 'c'): the weight is 0;"),
    ('"a\n\nz",b,1\nb,c,0\n', ", line 4 ('b' - 'c'): the weight is 0;"),
    ("a,b,1e400\n", ", line 1 ('a' - 'b'): the weight is inf"),
    ("a,b,1\nc,,1\n", ", line 2: an id is empty"),
    ("a,b,1\n  ,c,1\n", ", line 2: an id is empty"),
    (b"a,b,1\nc,\xff,1\n", ", line 2: not UTF-8: name the encoding of the file"),
    ("a b 1\n".encode("utf-16"), ": the text is UTF-16: say so (encoding='utf-16'"),
    (bytes(100), ": not a text file"),
    ("a b 1\n" * 50_000 + "a \0b 1\n", ": not a text file"),
    ("a,b,1\n" * 3 + '"c,d,1\ne,f,1\n', ", line 4: 1 column where 3 are expected: "),
    (gzip.compress(b"a b 1\nb c 2\n" * 99)[:-9], ": cannot be read: "),
]


@pytest.mark.parametrize(("content", "message"), BAD, ids=range(len(BAD)))
def test_bad_text_is_refused_in_one_line_that_says_where(write, content, message):
    with pytest.raises(GraphError) as refused:
        read_graph(write(content))
    assert str(refused.value).startswith(f"graph.txt{message}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-8-sig"])
@pytest.mark.parametrize("compressed", [False, True])
def test_text_of_another_encoding_is_read_as_the_same_text(write, encoding, compressed):
    text = (
        "source;target;weight\nZoë;Frédéric;2\nFrédéric;Ünal;1,5\n"
        + '"Zoë; the 2nd";Ünal;3\n' * compressed
    )
    data = text.encode(encoding)
    graph = read_graph(write(gzip.compress(data) if compressed else data), encoding=encoding)
    assert graph == read_graph(write(text))
    assert graph.ids[0] == "Zoë"


def test_a_list_of_nodes_has_the_encoding_of_the_ties(write):
    ties = write("Zoë,Ünal\n".encode("latin-1"))
    nodes = write("id,label\nÜnal,Ü.\nZoë,Z.\nAndré,A.\n".encode("latin-1"), "nodes.csv")
    assert read_graph(ties, nodes=nodes, encoding="latin-1").labels == {
        "Ünal": "Ü.",
        "Zoë": "Z.",
        "André": "A.",
    }


LONG = b"a,b\nb,c\n" * 50_000  # more than is looked at before it is read


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (b"a,b\nb,\xe9\n", "ascii", "graph.txt, line 2: not ascii: name the encoding"),
        (LONG + b"b,\x81\n", "cp1252", "graph.txt, line 100001: not cp1252: name the encoding"),
        (LONG + b"b,\x81\n", None, "graph.txt, line 100001: not UTF-8: name the encoding"),
        (b"a,b\nb,c+2AA-\n", "utf-7", "graph.txt, line 1: not utf-7"),
        (b"a,b\nb,c\n", "no-such", "encoding 'no-such' is not known: give one such as"),
        (b"a,b\nb,c\n", "base64", "encoding 'base64' is not known"),
    ],
)
def test_what_an_encoding_does_not_have_is_refused_by_line(write, content, encoding, message):
    with pytest.raises(GraphError) as refused:
        read_graph(write(content), encoding=encoding)
    assert str(refused.value).startswith(message)


def test_a_line_without_end_is_refused(write):
    with pytest.raises(GraphError, match="a line is longer than 4 MiB"):
        read_graph(write("a b 1\n" * 50_000 + "x" * (5 << 20)))


def test_repeated_rows_are_named_by_line(write):
    with pytest.raises(
        GraphError, match=r"^graph.txt, line 4 \('b' - 'a'\).*\(graph.txt, line 2\)"
    ):
        read_graph(write("# c\na b 1\nb c 1\nb a 2\n"), repeated="error")


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(GraphError, match=r"missing\.txt: no such file"):
        read_graph(tmp_path / "missing.txt")
    with pytest.raises(GraphError, match="this is a folder"):
        read_graph(tmp_path)


# Lists of nodes


@pytest.mark.parametrize(
    "content",
    [
        "id,label\nzoe,Zoe Z\nann,Ann\nbob,\ncid,C\ndot,D\n",
        "zoe\tZoe Z\nann\tAnn\nbob\t\ncid\tC\ndot\tD\n",
    ],
)
def test_a_node_file_gives_order_labels_and_isolated_nodes(write, content):
    nodes = write(content, "nodes.txt")
    graph = read_graph(write(LAYOUTS["tabs"]), nodes=nodes)
    assert graph.ids == ["zoe", "ann", "bob", "cid", "dot"]
    assert graph.labels == {"zoe": "Zoe Z", "ann": "Ann", "bob": "", "cid": "C", "dot": "D"}
    assert graph.policies == {"isolated_nodes": 1}
    assert edges_of(graph) == edges_of(GRAPH)


def test_node_lists_of_every_kind(write):
    name = write(LAYOUTS["tabs"])
    ids = ["dot", "cid", "bob", "ann", "New York"]
    frame = pd.DataFrame({"node": ids, "label": range(5)})
    pq.write_table(pa.Table.from_pandas(frame), "nodes.parquet")
    expected = GRAPH.with_nodes(ids)
    for nodes in (
        ids,
        write("\n".join(ids), "nodes.txt"),
        frame[["node"]],
        pa.table({"node": ids}),
    ):
        graph = read_graph(name, nodes=nodes)
        assert (graph, graph.labels) == (expected, None)
    for nodes in (
        frame,
        pa.Table.from_pandas(frame),
        dict(zip(ids, range(5), strict=True)),
        "nodes.parquet",
    ):
        graph = read_graph(name, nodes=nodes)
        assert (graph, graph.labels) == (expected, dict(zip(ids, range(5), strict=True)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ann\nbob\ncid\n", "node 'dot' is not in the node list"),
        ("ann,A\nbob,B\ncid,C\ndot,D\nann,E\n", "id 'ann' is given more than once"),
        ("", "nodes.txt: nothing in it"),
    ],
)
def test_bad_node_lists_are_refused(write, content, message):
    with pytest.raises(GraphError, match=message):
        read_graph(write(LAYOUTS["tabs"]), nodes=write(content, "nodes.txt"))
    with pytest.raises(GraphError, match=r"absent\.txt: no such file"):
        read_graph(write(LAYOUTS["tabs"]), nodes="absent.txt")


# Parquet


def test_parquet_keeps_types_and_finds_columns(write):
    table = pa.table(
        {"weight": [2.0, 1.5], "source": [7, 8], "target": pa.array([8, 9], pa.int32())}
    )
    pq.write_table(table, write(b"", "graph.parquet"))
    graph = read_graph("graph.parquet")
    assert graph.ids == [7, 8, 9]
    assert all(type(node) is int for node in graph.ids)
    assert graph.weights.tolist() == [2, 1.5]
    assert read_graph("graph.parquet", weight=False).weights.tolist() == [1, 1]
    text_table = pa.table(
        {"a": pa.array(["ann", "bob", "ann"]).dictionary_encode(), "b": ["bob", "cid", "dot"]}
    )
    pq.write_table(text_table.append_column("n", [[2, 1.5, 3]]), "graph.parquet")
    assert read_graph("graph.parquet") == GRAPH


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["x", None], "b": ["y", "z"]}, r"row 1 \(from 0\): an id is missing"),
        ({"a": ["x"], "b": [1]}, "source ids are string, target ids int64"),
        ({"a": ["x"], "b": ["y"], "weight": [None]}, "none"),
        (
            {"a": ["x", "y"], "b": ["y", "z"], "weight": [1.0, None]},
            r"row 1 \(from 0\) \('y' - 'z'\): the weight is nan",
        ),
        (
            {"a": ["x", "y"], "b": ["y", "z"], "weight": [1.0, -1.0]},
            r"row 1 \(from 0\) \('y' - 'z'\): the weight is -1",
        ),
        (
            {"a": pa.array([], pa.string()), "b": pa.array([], pa.string())},
            "nothing in it but a header",
        ),
        ({"a": ["x"]}, "one column"),
    ],
)
def test_bad_parquet_is_refused(write, columns, message):
    pq.write_table(pa.table(columns), write(b"", "graph.parquet"))
    if message == "none":
        assert read_graph("graph.parquet").weights.tolist() == [
            1
        ]  # a column of nulls holds no numbers
        return
    with pytest.raises(GraphError, match=f"^graph.parquet.*{message}"):
        read_graph("graph.parquet")


# Matrix Market


@pytest.mark.parametrize("layout", ["coordinate", "array"])
@pytest.mark.parametrize("symmetry", ["symmetric", "general"])
def test_matrix_market_as_scipy_writes_it(write, layout, symmetry):
    matrix = np.array([[0, 2, 0, 1], [2, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]], dtype=float)
    scipy.io.mmwrite(
        "graph.mtx", matrix if layout == "array" else sp.coo_array(matrix), symmetry=symmetry
    )
    graph = read_graph("graph.mtx")
    assert graph.ids == ["1", "2", "3", "4"]
    assert np.array_equal(graph.adjacency().toarray(), matrix)
    assert graph.policies == {"isolated_nodes": 1}
    assert graph.isolated.tolist() == [False, False, True, False]
    assert read_graph("graph.mtx", weight=False) == graph.unweighted()


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_asymmetric_matrix_market_is_summed_or_refused(write):
    name = write(
        "%%MatrixMarket matrix coordinate integer general\n% c\n3 3 4\n1 2 1\n2 1 2\n3 1 5\n2 2 9\n"
    )
    graph = read_graph(name)
    assert edges_of(graph) == {("1", "2"): 3, ("1", "3"): 5}
    assert graph.policies == {"self_loops_dropped": 1, "asymmetric_pairs_summed": 2}
    with pytest.raises(GraphError, match=r"^graph.txt, line 4 \('1' - '2'\): the weight differs"):
        read_graph(name, asymmetric="error")


GENERAL = "matrix coordinate real general\n"
MATRICES = [
    ("matrix coordinate real symmetric\n3 3 2\n2 1 1\n3 1 0\n", ", line 4 .*: the weight is 0;"),
    (GENERAL + "3 3 2\n2 1 1\n3 1 -1\n", r", line 4 \('3' - '1'\): the weight is -1;"),
    (GENERAL + "3 3 2\n2 1 1\n3 x 1\n", ", line 4: 'x' is not a number"),
    (GENERAL + "3 3 2\n2 1 1\n3 4 1\n", ", line 4: row and column must be .* from 1 to 3"),
    (GENERAL + "3 3 3\n2 1 1\n", ": 3 entries are announced and 1 are there"),
    (GENERAL + "3 2 1\n2 1 1\n", r": must be a square matrix.*\(3, 2\)"),
    ("matrix coordinate complex general\n3 3 1\n2 1 1 1\n", ", line 1: the entries must be real"),
    ("matrix coordinate real skew-symmetric\n3 3 1\n2 1 1\n", ", line 1: skew-symmetric: give"),
    ("matrix nonsense\n", ", line 1: not 'matrix coordinate'"),
    (GENERAL + "% c\n", ": after the comments a line of sizes is missing"),
    ("matrix array real general\n2 2 2\n", ": after the comments a line of sizes is missing"),
    ("matrix array real general\n2 2\n1\n2\nx\n1\n", ", line 5: 'x' is not a number"),
    ("matrix array real symmetric\n2 2\n1\n2\n", ": 3 entries are announced and 2 are there"),
    ("matrix array real general\n100000 100000\n1\n", ": so small a file cannot hold"),
    (GENERAL + "9 9 999999999\n1 1 1\n", ": so small a file cannot hold 999999999"),
    (GENERAL + "99999999 99999999 1\n1 2 1\n", ": so small .* of 99999999 rows"),
]


@pytest.mark.parametrize(("content", "message"), MATRICES)
def test_bad_matrix_market_is_refused(write, content, message):
    with pytest.raises(GraphError, match=f"^graph.txt{message}") as refused:
        read_graph(write("%%MatrixMarket " + content))
    assert "\n" not in str(refused.value)


# Options that a format has no use for


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", {"source": 0}),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", {"weight": "w"}),
        ("<graphml/>", {"delimiter": ","}),
        ("<graphml/>", {"target": "x"}),
        ("<graphml/>", {"weight": 2}),
        (b"PAR1", {"header": True}),
        (b"PAR1", {"encoding": "latin-1"}),
        ("<graphml/>", {"encoding": "latin-1"}),
        ('{"nodes": [], "links": []}', {"encoding": "latin-1"}),
    ],
)
def test_options_that_do_not_apply_are_refused(write, content, options):
    with pytest.raises(GraphError, match=next(iter(options))):
        read_graph(write(content), **options)


def test_progress_is_shown_on_a_terminal(write, terminal, monkeypatch):
    stderr, choose = terminal(), formats.choose_columns

    def slowly(*arguments):
        """Reading a small file is over before anything is shown: it waits for that here."""
        deadline = time.monotonic() + 10
        while "Reading graph" not in stderr.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        return choose(*arguments)

    monkeypatch.setattr(formats, "choose_columns", slowly)
    assert read_graph(write(LAYOUTS["tabs"]), progress=True) == GRAPH
    assert "Reading graph" in stderr.getvalue()


def test_the_weight_cannot_be_the_column_of_an_end(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("a\tb\tw\n1\t2\t3\n2\t3\t4\n")
    with pytest.raises(GraphError, match="the weight is in the column of an end, 'a'"):
        read_graph(path, weight="a")


def test_bad_rows_are_left_out_on_request_and_counted(write):
    file = write(
        "who,whom,calls\na,b,2\nb,c\nc,,1\n# "
        'note\nd,a,x\nb,d,-1\nc,d,nan\n"c",d,"1.5"\nx,y,1,2\na,d,0\n'
    )
    with pytest.raises(GraphError, match="line 3: 2 columns where 3"):
        read_graph(file)
    with pytest.warns(UserWarning, match=r"7 bad rows of 9 left out, the first on line 3"):
        graph = read_graph(file, skip_bad_rows=True)
    assert list(graph.ids) == ["a", "b", "c", "d"]
    assert graph.weights.tolist() == [2.0, 1.5]
    assert graph.policies == {"bad_rows_skipped": 7}


def test_a_quote_left_open_spoils_its_own_row_alone(write):
    rows = [f"n{k},n{k + 1},1" for k in range(20)]
    rows[3] = 'n3,"n4,1'
    with pytest.warns(UserWarning, match=r"1 bad row of 20 left out, the first on line 5"):
        graph = read_graph(write("\n".join(["source,target,weight", *rows])), skip_bad_rows=True)
    assert graph.n_edges == 19


def test_the_header_says_how_many_columns_there_are(write):
    file = write("source,target,weight\na,b,2\nb,c\n")
    with pytest.raises(GraphError, match="line 3: 2 columns where 3 are expected"):
        read_graph(file)
    with pytest.warns(UserWarning, match=r"1 bad row of 2 left out"):
        assert read_graph(file, skip_bad_rows=True).n_edges == 1


@pytest.mark.parametrize(
    "rows", ["a,b,1\nb,c,2\nx\nb,a,1\nc,a,1\n", "who,whom\na,b\nx\nb,a\nc,a\nb,c\n"]
)
def test_errors_after_skipped_rows_name_the_right_line(write, rows):
    file = write(rows)
    with (
        warnings.catch_warnings(record=True, action="always") as said,
        pytest.raises(GraphError, match="line 4"),
    ):
        read_graph(file, skip_bad_rows=True, repeated="error")
    assert "the first on line 3" in str(said[0].message)
