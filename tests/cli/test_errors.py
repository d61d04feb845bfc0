"""Bad input: one line on stderr, exit code 2, nothing written."""

from __future__ import annotations

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
    "one node": ("a,a,1\n", "has one node, 'a'"),
    "no edges": ("a,a,1\nb,b,1\n", "has 2 nodes and no ties"),
    "nothing to order": (
        "a,b,2\nb,c,2\na,c,2\n",
        "nothing to order: every pair of its 3 nodes is tied with weight 2",
    ),
    "negative": ("a,b,1\nb,c,-3\n", "line 2 ('b' - 'c'): the weight is -3"),
    "nan": ("a,b,nan\nb,c,1\n", "line 1 ('a' - 'b'): the weight is nan"),
    "no number": (
        "a,b,1\nb,c,much\nc,d,1\n",
        "line 2 ('b' - 'c'): the weight 'much' is not a number",
    ),
    "too long a row": ("a,b,1\nb,c,2,3\nc,d,1\n", "line 2: 4 columns where 3 are expected"),
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
    "words",
    [
        "neighbors CLUB LONG",
        "neighbors CLUB 'LONG of words LONG'",
        "suggest CLUB --node LONG",
        "rank LONG",
        "rank CLUB --by LONG",
        "plot CLUB --colour LONG",
        "evaluate CLUB --graph LONG",
        "embed LONG",
        "reproduce LONG",
        "LONG",
    ],
)
def test_what_nobody_knows_is_not_repeated_at_any_length(refuse, club, words):
    line = refuse(words.replace("CLUB", str(club)).replace("LONG", 70_000 * "x"))
    assert "xxx…xxx" in line
    assert len(line) < 1_000


@pytest.mark.parametrize("signature", ["3;1", "-1,2", "3,1,2", "3.0,1", "", "٣,1"])
def test_signatures_that_do_not_parse(refuse, signature):
    line = refuse("embed", "karate", "-o", "club", "--signature", signature)
    assert (
        line
        == f"--signature must be p,q, two whole numbers such as 3,1, or flat, got {signature!r}"
    )
    assert not Path("club").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--signature 0,0", "the sum p + q must be at least 1"),
        ("--signature 3,1 --dim 4", "--signature 3,1 gives the dimension, 4: leave dim out"),
        ("--signature flat --beta -2", "flat space has no curvature"),
        ("--dim 0", "'--dim'"),
        ("--beta 1", "--beta must be finite and negative, got 1.0"),
        ("--seed -1", "'--seed'"),
        ("--seed 99999999999999999999", "--seed must be a non-negative integer below 2**63"),
        ("--iterations 0", "'--iterations'"),
        ("--time-limit 0", "--time-limit 0"),
        ("--temperature cold", "--temperature cold: write one number, or start,end"),
        ("--temperature 0", "temperature must be a finite positive number"),
        ("--dissimilarity euclidean", "'geodesic', 'smoothed', 'broken', 'cone-rule'"),
        ("--threads 0", "'--threads'"),
        ("--device nowhere", "--device nowhere"),
        ("--device mps:9", "--device mps:9: torch finds none here"),
        ("--time-limit inf", "--time-limit inf"),
        ("--delimiter ,", "--delimiter is for reading files, and karate is a data set"),
        ("--weight 2 --unweighted", "give one of them"),
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


def half(table):
    table.write_bytes(table.read_bytes()[:500])


def of_others(table):
    pq.write_table(pq.read_table(table).replace_schema_metadata(), table)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda table: shutil.rmtree(table.parent), "no such folder"),
        (lambda table: table.unlink(), "embed the graph again (--overwrite)"),
        (lambda table: table.write_text("hello"), "is not an embedding of this package: "),
        (half, "is not an embedding of this package: "),
        (of_others, "is not an embedding of this package: "),
    ],
)
def test_folders_without_an_embedding(refuse, club, spoil, reason):
    spoil(shutil.copytree(club, Path("club")) / "embedding.parquet")
    for command in ("rank club", "neighbors club 1", "evaluate club --graph karate"):
        assert reason in refuse(command)


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
    assert "are free: " in line
    assert not Path("club").exists()
