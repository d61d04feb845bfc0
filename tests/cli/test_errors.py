"""Bad input: one line on stderr, exit code 2, nothing written."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from machines import ON_LINUX

GRAPHS = {
    "empty": ("", "the file is empty"),
    "only comments": ("# nothing\n", "nothing in it"),
    "only a header": ("source,target\n", "nothing in it but a header"),
    "one node": ("a,a,1\n", "has one node, 'a'"),
    "no edges": ("a,a,1\nb,b,1\n", "has 2 nodes and no ties"),
    "nothing to order": (
        "a,b,2\nb,c,2\na,c,2\n",
        "nothing to order: every pair of its 3 nodes is tied with weight 2",
    ),
    "zero": ("a,b,1\nb,c,0\n", "line 2 ('b' - 'c'): the weight is 0"),
    "negative": ("a,b,1\nb,c,-3\n", "line 2 ('b' - 'c'): the weight is -3"),
    "nan": ("a,b,nan\nb,c,1\n", "line 1 ('a' - 'b'): the weight is nan"),
    "infinite": ("a,b,1\nb,c,1\nc,d,inf\n", "line 3 ('c' - 'd'): the weight is inf"),
    "no number": (
        "a,b,1\nb,c,much\nc,d,1\n",
        "line 2 ('b' - 'c'): the weight 'much' is not a number",
    ),
    "too long a row": ("a,b,1\nb,c,2,3\nc,d,1\n", "line 2: 4 columns where 3 are expected"),
    "too short a row": ("a,b,1\nb,c,2\nc\n", "line 3: 1 column where 3 are expected"),
    "one column": ("a\nb\n", "one column"),
    "an empty id": ("a,b,1\n,c,2\n", "line 2: an id is empty"),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_graphs_that_cannot_be_embedded(refuse, case):
    text, reason = GRAPHS[case]
    Path("ties.csv").write_text(text)
    line = refuse("embed ties.csv -o club")
    assert line.startswith("ties.csv")
    assert reason in line
    assert not Path("club").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            "embed ties.tsv",
            "ties.tsv: no such file, and no data set of that name; there are karate, lesmis",
        ),
        ("embed karat", "did you mean karate?"),
        ("embed .", "is a folder"),
        ("embed ''", "GRAPH is empty"),
        ("embed /dev/null", "/dev/null: not a regular file"),
        ("evaluate CLUB --graph karat", "did you mean karate?"),
        ("evaluate CLUB --graph ties.tsv", "no such file"),
    ],
)
def test_graphs_that_are_not_there(refuse, club, words, reason):
    assert reason in refuse(words.replace("CLUB", str(club)))


@pytest.mark.parametrize(
    "signature", ["3;1", "3", "-1,2", "a,b", "3,1,2", "3.0,1", "", ",", "euclidean", "٣,1"]
)
def test_signatures_that_do_not_parse(refuse, signature):
    line = refuse("embed", "karate", "-o", "club", "--signature", signature)
    assert (
        line
        == f"--signature must be p,q, two whole numbers such as 3,1, or flat, got {signature!r}"
    )
    assert "such as 3,1" in line
    assert not Path("club").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--signature 0,0", "the sum p + q must be at least 1"),
        ("--signature 3,1 --dim 4", "--signature 3,1 gives the dimension, 4: leave dim out"),
        ("--signature flat --beta -2", "flat space has no curvature"),
        ("--signature flat --optimizer phi", "flat space has none"),
        ("--dim 0", "'--dim'"),
        ("--beta 1", "--beta must be finite and negative, got 1.0"),
        ("--beta nan", "--beta must be finite and negative, got nan"),
        ("--beta x", "'--beta'"),
        ("--seed -1", "'--seed'"),
        ("--seed 99999999999999999999", "--seed must be a non-negative integer below 2**63"),
        ("--preset mine", "'--preset'"),
        ("--optimizer adam", "'--optimizer'"),
        ("--iterations 0", "'--iterations'"),
        ("--time-limit 0", "--time-limit 0"),
        ("--time-limit nan", "--time-limit nan"),
        ("--time-limit -1", "--time-limit -1"),
        ("--temperature cold", "--temperature cold: write one number, or start,end"),
        ("--temperature 1,2,3", "--temperature 1,2,3: write one number, or start,end"),
        ("--temperature 0", "temperature must be a finite positive number"),
        ("--temperature 0.1,-1", "temperature must be a finite positive number"),
        ("--dissimilarity euclidean", "'geodesic', 'smoothed', 'broken', 'cone-rule'"),
        ("--stop never", "'--stop'"),
        ("--backend cuda", "'--backend'"),
        ("--threads 0", "'--threads'"),
        ("--device nowhere", "--device nowhere"),
        ("--device meta", "--device meta"),
        ("--device meta --backend numba", "--device meta"),
        ("--device mps:9", "--device mps:9: torch finds none here"),
        ("--time-limit inf", "--time-limit inf"),
        ("--delimiter ,", "--delimiter is for reading files, and karate is a data set"),
        ("--weight calls", "--weight is for reading files"),
        ("--weight 2 --unweighted", "give one of them"),
        ("--repeated never", "'--repeated'"),
        ("--nodes nodes.csv", "--nodes is for reading files"),
        ("--colour", "--colour"),
    ],
)
def test_options_that_make_no_sense(refuse, options, reason):
    assert reason in refuse(f"embed karate -o club {options}")
    assert not Path("club").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--weight calls", "no column 'calls'"),
        ("--source 7", "no column 7 (counted from 1"),
        ("--source 0", "--source 0: columns count from 1"),
        ("--delimiter abc", "delimiter must be one character"),
        ("--nodes nodes.csv", "nodes.csv: no such file"),
        ("--repeated error", "ties.csv, line 2"),
    ],
)
def test_files_that_are_not_as_told(refuse, options, reason):
    Path("ties.csv").write_text("a,b,1\na,b,2\nb,c,2\n")
    assert reason in refuse(f"embed ties.csv -o club {options}")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("embed", "Missing argument 'GRAPH' (see ultrahyperbolic embed --help)"),
        ("embd karate", "Did you mean 'embed'?"),
        ("rank", "Missing argument 'FOLDER'"),
        ("rank club --top 0", "'--top'"),
        ("neighbors club", "Missing argument 'NODE'"),
        ("neighbors club 1 -k none", "'-k'"),
        ("evaluate", "Missing argument 'FOLDER'"),
        ("embed karate lesmis", "lesmis"),
        ("--nonsense", "--nonsense"),
    ],
)
def test_commands_that_are_not_complete(refuse, words, reason):
    assert reason in refuse(words)


def test_an_output_that_is_a_file(refuse):
    Path("club").write_text("mine")
    assert (
        refuse("embed karate -o club --iterations 5 --overwrite")
        == "club is a file; name a folder for the embedding"
    )
    assert "Not a directory" in refuse("embed karate -o club/deeper --iterations 5")
    assert Path("club").read_text() == "mine"


def test_an_output_that_cannot_be_written(refuse, monkeypatch):
    import ultrahyperbolic.embedding.store as files

    def forbidden(folder, record):
        raise PermissionError(13, "Permission denied", str(folder / "run.json"))

    monkeypatch.setattr(files, "write_record", forbidden)
    assert (
        refuse("embed karate -o club")
        == "cannot write the embedding: club/run.json: Permission denied"
    )


def test_a_disk_that_is_full_after_training(call, monkeypatch):
    from ultrahyperbolic.embedding import Embedding

    def full(self, folder, **options):
        raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr(Embedding, "save", full)
    result = call("embed karate -o club --iterations 5")
    assert result.exit_code == 2
    assert result.stderr == "error: cannot save the embedding: club: No space left on device\n"


def test_an_embedding_is_kept_until_the_new_one_is_written(call, refuse):
    call("embed karate -o club --iterations 5 --quiet")
    before = {file: file.read_bytes() for file in Path("club").iterdir()}
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (6000, limit[1])
    )  # a longer file fails, as on a full disk
    try:
        line = refuse("embed lesmis -o club --iterations 5 --overwrite --quiet")
        fresh = refuse("embed lesmis -o other --iterations 5 --quiet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert line == "cannot save the embedding: club/embedding.parquet: File too large"
    assert fresh == "cannot save the embedding: other/embedding.parquet: File too large"
    assert {file: file.read_bytes() for file in Path("club").iterdir()} == before
    assert [file.name for file in Path("other").iterdir()] == ["run.json"]


@ON_LINUX
def test_output_that_cannot_be_written(club):
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "ultrahyperbolic", "rank", str(club)]
        result = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (
        2,
        "error: cannot write the output: No space left on device\n",
    )


def test_an_embedding_without_a_seal_is_read_with_a_note(call, club):
    shutil.copytree(club, "club")
    record = json.loads(Path("club/run.json").read_text())
    del record["sha256"]
    Path("club/run.json").write_text(json.dumps(record))
    result = call("rank club --top 1")
    assert result.exit_code == 0
    assert (
        result.stderr
        == "note: club/run.json carries no sha256, so damage to it cannot be seen: save it again\n"
    )


@pytest.mark.parametrize("command", ["rank {}", "neighbors {} 1", "evaluate {} --graph karate"])
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("nothing there", "no such folder"),
        ("a file", "this is a file"),
        ("an empty folder", "there is no embedding.parquet in it"),
        ("unfinished", "its training is running, or did not finish"),
        ("no parquet", "embedding.parquet is not an embedding of this package"),
        ("half a parquet", "embedding.parquet is not an embedding of this package"),
        ("another parquet", "embedding.parquet is not an embedding of this package"),
        (
            "off the manifold",
            "embedding.parquet is not an embedding of this package: its content is not what was "
            "written",
        ),
        (
            "a changed record",
            "run.json is damaged: its content is not what was written: its sha256 differs",
        ),
        ("no json", "run.json is damaged"),
        ("no object", "run.json is damaged: it holds no JSON object"),
        ("not utf-8", "run.json is damaged"),
    ],
)
def test_folders_without_an_embedding(refuse, club, command, spoil, reason):
    folder = Path("club")
    table, run = folder / "embedding.parquet", folder / "run.json"
    if spoil == "a file":
        folder.write_text("")
    elif spoil == "an empty folder":
        folder.mkdir()
    elif spoil != "nothing there":
        shutil.copytree(club, folder)
    if spoil == "unfinished":
        table.unlink()
    elif spoil == "no parquet":
        table.write_text("hello")
    elif spoil == "half a parquet":
        table.write_bytes(table.read_bytes()[:500])
    elif spoil == "another parquet":
        pq.write_table(pq.read_table(table).replace_schema_metadata(), table)
    elif spoil == "off the manifold":
        whole = pq.read_table(table)
        pq.write_table(whole.set_column(1, "x0", whole.column("x1")), table)
    elif spoil == "a changed record":
        run.write_text(run.read_text().replace('"seed": 0', '"seed": 1'))
    elif spoil == "no json":
        run.write_text('{"config": ')
    elif spoil == "no object":
        run.write_text(json.dumps([1]))
    elif spoil == "not utf-8":
        run.write_bytes(b"\xff\xfe{}")
    assert reason in refuse(command.format("club"))


def test_a_node_that_is_not_there(refuse, club):
    assert (
        refuse("neighbors", club, "35")
        == f"{club}: no node '35' in this embedding; did you mean 5, 3?"
    )
    assert (
        refuse("neighbors", club, "[1")
        == f"{club}: no node '[1' in this embedding; did you mean 1?"
    )
    assert (
        refuse("neighbors", club, '{"a": 1}') == f"{club}: no node '{{\"a\": 1}}' in this embedding"
    )


def test_a_data_set_that_cannot_be_had(refuse, monkeypatch):
    import ultrahyperbolic.datasets as room

    def missing(name):
        raise ImportError(
            "datasets.lesmis needs networkx, which is not installed: pip install networkx"
        )

    monkeypatch.setattr(room, "load", missing)
    assert refuse("embed lesmis").endswith("pip install networkx")


def test_only_what_is_expected_is_refused():
    from ultrahyperbolic.cli.errors import Refused, refusing

    with pytest.raises(Refused, match="about: wrong"), refusing(ValueError, about="about: "):
        raise ValueError("wrong")
    with pytest.raises(TypeError), refusing(ValueError):
        raise TypeError("a bug")


def test_messages_are_folded_into_one_line(refuse, monkeypatch):
    import ultrahyperbolic.datasets as room

    def missing(name):
        raise ImportError("first line\n  second\tline")

    monkeypatch.setattr(room, "load", missing)
    assert refuse("embed karate") == "first line second line"


@pytest.mark.parametrize("name", ["...gz", "..tsv", ".gz", "....", "a..", "..."])
def test_no_name_of_a_graph_leaves_the_output_folder(call, name):
    Path("deep").mkdir()
    Path("deep", name).write_text("a b 2\nb c 1\n")
    assert call("embed", f"deep/{name}", "--iterations", "5", "--quiet").exit_code == 0
    (table,) = Path().rglob("embedding.parquet")
    assert table.parent.parent == Path("out")


def test_a_training_that_does_not_fit_is_refused_before_it_begins(refuse):
    Path("ties.tsv").write_text("a b 2\nb c 1\n" + "".join(f"a {k} 1\n" for k in range(15_000)))
    line = refuse("embed ties.tsv --signature 200000,1 -o club")
    assert line.startswith(
        "15003 nodes and 15002 ties in 200002 coordinates, 1 at once, need about "
    )
    assert line.endswith(
        "are free: use fewer dimensions, a smaller graph or a machine with more memory"
    )
    assert not Path("club").exists()
