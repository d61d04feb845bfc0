"""Bad and hostile files: a graph or one line, never a traceback, a full memory or a wrong graph."""

from __future__ import annotations

import gc
import gzip
import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graph.hostile import CASES, GEXF, GRAPHML, MATRIX, PARQUET, parquet, repeated
from hypothesis import given
from hypothesis import strategies as st
from machines import ON_LINUX

from ultrahyperbolic.graph import GraphError, read_graph
from ultrahyperbolic.graph.errors import need


def what_it_gets(content, **options):
    Path("graph").write_bytes(content)
    try:
        graph = read_graph("graph", **options)
    except GraphError as error:
        return f"`{error}`"
    return f"it is read: {graph.n_nodes} nodes, {graph.n_edges} ties"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


READ = {
    "a UTF-8 byte order mark",
    "line ends of Windows (CRLF)",
    "delimiters, quotes and line breaks in quotes",
}


@pytest.mark.parametrize("case", CASES)
def test_every_case_is_read_or_gets_one_short_line(case):
    line = what_it_gets(CASES[case])
    assert line.startswith("it is read: " if case in READ else "`graph")
    assert len(line.splitlines()) == 1
    assert len(line) <= 1002


DAMAGED = [gzip.compress(b"a,b\n" * 99, mtime=0)[:-9] + b"damaged!!", b"a,b,1\na,c,2\na,b,3,4\n"]


@pytest.mark.parametrize("content", DAMAGED, ids=["gzip", "text"])
def test_a_refused_file_leaves_nothing_in_memory(content):
    assert "graph" in what_it_gets(content)
    tracemalloc.start()
    gc.disable()  # a cycle would keep blocks for as long as it likes
    try:
        for _ in range(5):
            what_it_gets(content)
        assert tracemalloc.get_traced_memory()[0] < 1 << 19
    finally:
        gc.enable()
        tracemalloc.stop()


# Small files that would fill the memory

MOST = (16 << 20) - 64  # what a small compressed file may hold


def filled(unit, head=b"", tail=b"", most=MOST):
    return head + unit * ((most - len(head) - len(tail)) // len(unit)) + tail


ROWS = 4_000_000
BOMBS = {
    "rows": lambda: gzip.compress(filled(b"a b\n")),
    "quoted rows": lambda: gzip.compress(filled(b'"a"  b\n')),
    "quotes and comment letters": lambda: gzip.compress(filled(b'"" #\n')),
    "edges": lambda: gzip.compress(filled(b'<edge source="a" target="b"/>', *GRAPHML.split(b"%s"))),
    "nodes of JSON": lambda: gzip.compress(
        filled(b"{},", b'{"nodes": [', b'{}], "links": []}', MOST // 4)
    ),
    "nodes of GEXF": lambda: gzip.compress(
        GEXF.replace(b'<node id="a"/>', b"".join(b'<node id="%d"/>' % k for k in range(200_000)))
    ),
    "edges of GML": lambda: gzip.compress(
        filled(
            b"edge[source 1 target 2]",
            b"graph [ multigraph 1 node[id 1] node[id 2]",
            b"]",
            MOST // 4,
        )
    ),
    "a matrix": lambda: gzip.compress(
        b"%%MatrixMarket matrix array real general\n2000 2000\n" + b"1\n" * 4_000_000
    ),
    "texts of Parquet": lambda: parquet({"a": repeated("x", ROWS), "b": repeated("y", ROWS)}),
    "numbers of Parquet": lambda: parquet(
        {"a": np.zeros(ROWS), "b": np.ones(ROWS), "w": np.ones(ROWS)}
    ),
    "texts of Parquet, each the beginning of the next": lambda: parquet(
        {"a": ["x" * 60_000] * 4000, "b": ["y"] * 4000},
        use_dictionary=False,
        data_page_size=1 << 28,
        column_encoding={"a": "DELTA_BYTE_ARRAY", "b": "PLAIN"},
    ),
}
ONE_OF_EACH_KIND = ["rows", "edges", "a matrix", "texts of Parquet"]
READER = """
import sys
from pathlib import Path
from ultrahyperbolic.graph import GraphError, read_graph
for path in sys.argv[1:]:
    try:
        read_graph(path)
    except GraphError as error:
        print(error, file=sys.stderr)
    status = Path("/proc/self/status").read_text()
    print(int(status.partition("VmHWM:")[2].split()[0]) >> 10)
"""


@ON_LINUX
@pytest.mark.parametrize(
    "bombs",
    [ONE_OF_EACH_KIND, *(pytest.param([name], marks=pytest.mark.slow) for name in BOMBS)],
    ids=str,
)
def test_small_files_take_less_than_a_gibibyte(bombs):
    """Files read one after another: the most that was held until then, in MiB, after each."""
    for bomb in bombs:
        content = BOMBS[bomb]()
        assert len(content) < 1 << 20
        Path(bomb).write_bytes(content)
    child = subprocess.run(
        [sys.executable, "-c", READER, *bombs], capture_output=True, text=True, check=True
    )
    held = dict(zip(bombs, map(int, child.stdout.split()), strict=True))
    assert all(50 < mib < 1024 for mib in held.values()), (held, child.stderr)


def test_what_is_decompressed_first_is_read():
    Path("graph").write_bytes(CASES["gzip whose content is far larger"])
    Path("plain").write_bytes(gzip.decompress(Path("graph").read_bytes()))
    with pytest.raises(GraphError, match="decompress the file first"):
        read_graph("graph")
    assert read_graph("plain").n_nodes == 4


def test_a_page_header_that_promises_too_much_is_refused():
    endless = b"\x19\xf7" + b"\xff" * 8 + b"\x7f"  # a list of some 10^18 floats
    largest = b"\xfe\xff\xff\xff\x0f"  # the largest size there is
    for at, bad in [(4, endless), *((at, largest) for at in range(4, 40))]:
        line = what_it_gets(PARQUET[:at] + bad + PARQUET[at + len(bad) :])
        assert line.startswith("`graph: the Parquet file is damaged")


def test_long_columns_of_fixed_width_are_refused():
    texts = pa.array([b"x" * 5000] * 4000, pa.binary(5000))
    assert "too long to be ids" in what_it_gets(parquet({"a": texts, "b": texts}))


# What is no file, or changes under the reader


def test_what_is_no_plain_file_is_refused():
    os.mkfifo("pipe")
    for path in ("pipe", "/dev/zero"):
        with pytest.raises(
            GraphError, match=f"^{path}: not a regular file: graphs are read more than once"
        ):
            read_graph(path)
        Path("graph").write_text("a b\n")
        with pytest.raises(GraphError, match=f"^{path}: not a regular file"):
            read_graph("graph", nodes=path)


def test_a_damaged_list_of_nodes_is_refused():
    Path("graph").write_text("a b\n")
    Path("nodes").write_bytes(PARQUET[:-20])
    with pytest.raises(GraphError, match=r"^nodes: the Parquet file is damaged"):
        read_graph("graph", nodes="nodes")
    Path("nodes").write_bytes(parquet({"id": [["a"], ["b"]], "label": ["A", "B"]}))
    with pytest.raises(GraphError, match=r"^nodes: the column 'id' holds list"):
        read_graph("graph", nodes="nodes")
    pq.write_table(pa.Table.from_arrays([pa.array(["a", "b"])] * 2, names=["id", "id"]), "nodes")
    with pytest.raises(GraphError, match=r"^nodes: 2 columns are named 'id'"):
        read_graph("graph", nodes="nodes")


# Two names of one column


def test_a_name_that_two_columns_have_is_refused_only_where_it_is_used():
    content = b"source,target,note,note\nann,bob,x,y\n"
    assert what_it_gets(content) == "it is read: 2 nodes, 1 ties"
    assert "2 columns are named 'note'" in what_it_gets(content, target="note")
    assert what_it_gets(content, target=3) == "it is read: 2 nodes, 1 ties"
    twice = pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["a", "a"])
    pq.write_table(twice, "graph")
    with pytest.raises(GraphError, match="2 columns are named 'a': give each its own name"):
        read_graph("graph")


# Anything at all


def graph_or_line(path):
    try:
        return read_graph(path)
    except GraphError as error:
        (line,) = str(error).splitlines()
        return line


MAGIC = [
    b"",
    b"PAR1",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    MATRIX,
    b"<?xml version='1.0'?>",
    b"<gexf>",
    b"graph [",
    b'{"nodes": [',
    b"a,b,1\n",
    b'"a" b\n',
]


@given(start=st.sampled_from(MAGIC), rest=st.binary(max_size=300))
def test_any_bytes_are_a_graph_or_one_line(tmp_path_factory, start, rest):
    path = tmp_path_factory.mktemp("bytes") / "graph"
    path.write_bytes(start + rest)
    graph = graph_or_line(path)
    assert isinstance(graph, str) or (graph.n_nodes >= 1 and (graph.weights > 0).all())


@pytest.mark.parametrize(
    "content",
    [
        "graph []",
        '{"nodes": [], "links": []}',
        "<graphml><graph edgedefault='undirected'/></graphml>",
    ],
    ids=["GML", "JSON", "GraphML"],
)
def test_a_file_without_a_node_is_refused(tmp_path, content):
    path = tmp_path / "graph"
    path.write_text(content)
    assert graph_or_line(path) == f"{path}: no nodes found"


WORDS = st.sampled_from(
    ["a", "b", '"', ",", "\t", " ", "\n", "\r\n", "#", "%", "1", "nan", "é", "source", "target"]
)


@pytest.mark.filterwarnings("ignore:.*is taken for a header", "ignore:.*has numbers, but too few")
@given(words=st.lists(WORDS, max_size=40))
def test_any_text_is_a_graph_or_one_line(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("text") / "graph"
    path.write_text("".join(words), encoding="utf-8", newline="")
    graph = graph_or_line(path)
    assert isinstance(graph, str) or all(node.strip() == node != "" for node in graph.ids)


def test_nothing_that_is_read_can_run_code():
    """No module of the package unpickles or evaluates anything that it reads.

    Processes of one training exchange objects, as torch.distributed does; they read no file with
    that.
    """
    package = Path(need("ultrahyperbolic", "this test").__file__).parent
    ways = r"(import|from) (pickle|marshal|shelve|dill|joblib|yaml)\b|torch\.load\(|allow_pickle|(?<![\w.])(eval|exec)\("
    assert re.search(ways, "torch.load(path)")
    between_processes = package / "engines" / "communicator.py"
    assert not re.search(r"open\(|read_(bytes|text)", between_processes.read_text(encoding="utf-8"))
    for path in set(package.rglob("*.py")) - {between_processes}:
        found = [
            line for line in path.read_text(encoding="utf-8").splitlines() if re.search(ways, line)
        ]
        assert found == [], f"{path}: {found}"


def test_messages_of_any_length_are_cut():
    message = str(GraphError("begin " + "x" * 10_000 + "\n end"))
    assert len(message) == 1000
    assert message.startswith("begin x")
    assert message.endswith(" end")
    assert json.dumps(message).count("\\n") == 0
