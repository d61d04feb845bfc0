"""The folder of an embedding: one table that is whole, old or new, whatever happens to who writes
it; every byte of it is looked at.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from machines import ON_LINUX

import ultrahyperbolic as uh

FOLDERS = Path(__file__).parent / "folders"
FILES = ["embedding.parquet", "run.json"]
LABELS = {"v": "Valjean", "j": "Javert", "c": "Cosette", "m": "Cosette", "x": ""}
EDGES = [("v", "j", 3.0), ("v", "c", 9.0), ("j", "m", 1.0), ("c", "m", 4.0), ("m", "x", 2.5)]


@pytest.fixture(scope="module")
def club():
    return uh.embed(uh.datasets.karate(), p=3, q=1, iterations=20, quiet=True)


@pytest.fixture(scope="module")
def tuples():
    ties = [(("a", 1), 2, 1.0), (2, 3.5, 2.0), (3.5, ("a", 1), 4.0), (3.5, "é", 1.0)]
    graph = uh.Graph.from_edges([*ties, (2, ("a", 1), 0.3)], directed=True)
    return uh.embed(graph, p=2, q=1, iterations=20, quiet=True)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def is_same(loaded, original):
    assert list(loaded.ids) == list(original.ids)
    assert np.array_equal(loaded.points, original.points)
    assert np.array_equal(loaded.delta, original.delta)
    assert np.array_equal(loaded.rank, original.rank)
    assert repr(loaded.manifold) == repr(original.manifold)
    assert loaded.graph == original.graph
    assert json.loads(json.dumps(loaded.run)) == json.loads(json.dumps(original.run))
    return True


# --- what is in it --------------------------------------------------------


@pytest.mark.parametrize("which", ["club", "tuples"])
def test_all_of_it_comes_back(which, tmp_path, request):
    original = request.getfixturevalue(which)
    loaded = uh.load(original.save(tmp_path / "saved"))
    assert is_same(loaded, original)
    assert loaded.graph.fingerprint == original.graph.fingerprint
    assert loaded.graph.is_directed is original.graph.is_directed
    assert list(loaded.graph.attributes) == list(original.graph.attributes)
    assert list(loaded.attributes) == list(original.attributes)
    assert loaded.evaluate() == original.evaluate()


def test_pandas_shows_nodes_with_their_ties(club, tuples, tmp_path):
    table = pytest.importorskip("pandas").read_parquet(club.save(tmp_path / "a") / FILES[0])
    assert list(table)[:6] == ["node", "x0", "x1", "x2", "x3", "x4"]
    assert table["node"].tolist() == list(club.ids)
    assert sum(map(len, table["ties"])) == 78, "each tie once"
    assert all((ties > row).all() for row, ties in enumerate(table["ties"]))
    assert sum(map(sum, table["tie_weights"])) == club.graph.weights.sum()
    table = pytest.importorskip("pandas").read_parquet(tuples.save(tmp_path / "b") / FILES[0])
    ways = zip(table["node"], table["ties"], table["tie_weights"], strict=True)
    led = {(node, table["node"][row]): w for node, *to in ways for row, w in zip(*to, strict=True)}
    assert led["2", '["a", 1]'] == 0.3
    assert led['["a", 1]', "2"] == 1.0
    assert len(led) == 5


def test_the_copy_for_people_is_not_needed(club, tmp_path):
    folder = club.save(tmp_path / "club")
    assert json.loads((folder / "run.json").read_text()) == json.loads(json.dumps(club.run))
    (folder / "run.json").write_text("{")
    assert is_same(uh.load(folder), club)
    (folder / "run.json").unlink()
    assert is_same(uh.load(folder), club)


def test_what_was_computed_of_nodes_is_no_part_of_the_graph(tuples, tmp_path):
    loaded = uh.load(tuples.with_attributes(cluster=[0, 0, 1, 1]).save(tmp_path / "e"))
    assert list(loaded.attributes) == ["height", "cluster"]
    assert not loaded.graph.attributes


# --- folders of earlier versions ------------------------------------------


def test_a_folder_of_version_0_2_loads_without_ties(tmp_path):
    loaded = uh.load(FOLDERS / "version_0_2")
    assert list(loaded.ids) == list("vjcmx")
    assert (loaded.graph, loaded.centrality, loaded.record.seed) == (None, None, 0)
    assert loaded.hierarchy()["node"].tolist() == list("cmvjx")
    assert loaded.delta.tolist() == pytest.approx(loaded.with_record(loaded.record).delta)
    assert loaded.run["versions"]["ultrahyperbolic"] == "0.2.0"
    assert is_same(uh.load(loaded.save(tmp_path / "again")), loaded)


def test_ties_that_were_texts_are_read(tmp_path):
    loaded = uh.load(FOLDERS / "texts")
    assert loaded.graph == uh.Graph.from_edges(EDGES).with_nodes(LABELS)
    assert loaded.labels == {node: label for node, label in LABELS.items() if label}
    assert loaded.attributes["rank"].tolist() == ["a", "b", "", "d", "e"]
    assert loaded.hierarchy()["centrality"].tolist() == pytest.approx(
        [3.179844, 3.060201, 2.985318, 2.203492, 1.595466], abs=1e-6
    )
    assert is_same(uh.load(loaded.save(tmp_path / "again")), loaded)
    directed = uh.load(FOLDERS / "texts_directed")
    assert directed.ids[0] == ("a", 1)
    assert directed.graph is None, "its directions were not kept"
    assert directed.hierarchy()["node"].tolist() == [2, 3.5, ("a", 1), "é"]


def test_a_record_of_other_points_was_possible_then(tmp_path):
    shutil.copytree(FOLDERS / "texts", tmp_path / "mixed")
    shutil.copy(FOLDERS / "texts_directed" / "run.json", tmp_path / "mixed")
    with pytest.raises(ValueError, match="belongs to other points"):
        uh.load(tmp_path / "mixed")
    (tmp_path / "mixed" / "run.json").unlink()
    assert uh.load(tmp_path / "mixed").run == {}


# --- damage ---------------------------------------------------------------


@pytest.mark.parametrize("flips", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("which", ["club", "tuples"])
def test_a_changed_byte_is_found_or_changes_nothing(which, flips, tmp_path, request):
    original = request.getfixturevalue(which)
    path = original.save(tmp_path / "club") / "embedding.parquet"
    whole, rng, refused = path.read_bytes(), random.Random(which), 0
    for _ in range(flips):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= rng.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            assert is_same(uh.load(path.parent), original)
        except ValueError as error:
            (line,) = str(error).splitlines()
            assert str(path) in line
            refused += 1
    assert refused > flips / 4  # what else is in a Parquet file are statistics


def test_every_truncation_is_found(club, tmp_path):
    path = club.save(tmp_path / "club") / "embedding.parquet"
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, len(whole) // 60):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=str(path)):
            uh.load(path.parent)


def spoiled(table, **changes):
    """A table that says other things of itself, without the digest of what it said."""
    about = json.loads(table.schema.metadata[b"ultrahyperbolic"]) | changes
    for name in ("format", "columns"):
        about.pop(name, None)
    return table.replace_schema_metadata({"ultrahyperbolic": json.dumps(about)})


def sealed(table, **changes):
    """A table of someone who knows how it is made."""
    about = json.loads(table.schema.metadata[b"ultrahyperbolic"]) | changes
    text = json.dumps(about).encode()
    seals = {"ultrahyperbolic": text, "ultrahyperbolic sha256": sha256(text).hexdigest()}
    return table.replace_schema_metadata(seals)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda t: spoiled(t, manifold={"kind": "flat", "dim": 10**12}), "1000000000000 coord"),
        (lambda t: spoiled(t, manifold={"kind": "flat", "dim": -1}), "dim must be at least 1"),
        (lambda t: spoiled(t, manifold={"kind": "torus"}), "unknown manifold 'torus'"),
        (lambda t: spoiled(t, manifold=None), "manifold"),
        (lambda t: t.replace_schema_metadata({"ultrahyperbolic": "[" * 100_000}), "recursion"),
        (lambda t: t.replace_schema_metadata({"ultrahyperbolic": "7"}), "int"),
        (lambda t: sealed(t, attributes=7), "int"),
        (lambda t: sealed(t, record=[]), "list"),
        (lambda t: sealed(t, directed=True, attributes_of_graph=["none"]), "none"),
        (lambda t: t.drop_columns(["x2"]), "the column x2 is missing"),
        (lambda t: t.drop_columns(["tie_weights"]), "tie_weights is missing"),
        (lambda t: t.set_column(1, "x0", pa.array(["far"] * 34)), "x0 holds string, not double"),
        (lambda t: t.set_column(0, "node", pa.array(range(34))), "node holds int64, not string"),
        (lambda t: t.set_column(0, "node", pa.array([None] + ["a"] * 33)), "gaps"),
        (lambda t: t.set_column(0, "node", pa.array(["a"] * 34)), "two nodes have one id"),
        (lambda t: t.set_column(1, "x0", t.column("x1")), "points"),
        (lambda t: t.slice(1), "33 rows"),
        (lambda t: spoiled(t.set_column(0, "node", pa.array(["{}"] * 34)), ids="json"), "no id"),
        (lambda t: with_ties(t, [[99]] + [[]] * 33), "99"),
        (lambda t: with_ties(t, [[-1]] + [[]] * 33), "-1"),
        (lambda t: with_ties(t, [[1, 1]] + [[]] * 33), "does not come after"),
        (lambda t: with_ties(t, [[None]] + [[]] * 33), "gaps"),
        (lambda t: with_ties(t, [[1]] + [[]] * 33, [[2.0, 3.0]] + [[]] * 33), "other lengths"),
        (lambda t: with_ties(t, [[1]] + [[]] * 33, [[np.nan]] + [[]] * 33), "nan"),
    ],
)
def test_a_table_that_is_no_embedding_is_refused(club, tmp_path, spoil, reason):
    path = club.save(tmp_path / "club") / "embedding.parquet"
    pq.write_table(spoil(pq.read_table(path)), path)
    (path.parent / "run.json").unlink()
    with pytest.raises(ValueError, match=f"{path} is not an embedding of this package: .*{reason}"):
        uh.load(path.parent)


def with_ties(table, ties, weights=None):
    weights = [[1.0] * len(row) for row in ties] if weights is None else weights
    for name, values, kind in (("ties", ties, pa.int32()), ("tie_weights", weights, pa.float64())):
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(values, pa.list_(kind)))
    return table


def test_text_of_strangers_is_text(tmp_path):
    ids = ["<script>alert(1)</script>", "a\x1b[31m", '"', "\u202e"]
    flat = uh.Euclidean(2)
    folder = uh.Embedding(ids, np.arange(8.0).reshape(4, 2), flat).save(tmp_path / "e")
    loaded = uh.load(folder)
    assert list(loaded.ids) == ids
    assert "<script>" not in loaded._repr_html_()


def test_a_small_file_does_not_unpack_without_bound(club, tmp_path):
    path = club.save(tmp_path / "club") / "embedding.parquet"
    whole = pq.read_table(path)
    many = pa.array(np.zeros(20_000_000, dtype=np.int32))
    bomb = pa.ListArray.from_arrays(pa.array([0] + [len(many)] * 34, pa.int32()), many)
    at = whole.column_names.index("ties")
    pq.write_table(whole.set_column(at, "ties", bomb), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(ValueError, match="bytes unpack to more than 16 MiB"):
        uh.load(path.parent)


def test_a_text_that_many_rows_repeat_is_unpacked_once(club, tmp_path):
    path = club.save(tmp_path / "club") / "embedding.parquet"
    whole = pq.read_table(path)
    at = whole.column_names.index("club")
    pq.write_table(whole.set_column(at, "club", pa.array(["x" * 1_000_000] * 34)), path)
    assert len(uh.load(path.parent).attributes["club"][33]) == 1_000_000


# --- who writes it --------------------------------------------------------


def forked(work):
    """Another process that does what this one could; how it ended."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(int(sys.exc_info()[0] is not None))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@ON_LINUX
def test_a_kill_leaves_the_old_embedding_or_the_new_one(club, tuples, tmp_path):
    nodes, ended = [], -signal.SIGKILL
    while ended == -signal.SIGKILL:
        folder, moments = tuples.save(tmp_path / str(len(nodes))), iter(range(100))

        def save(folder=folder, moments=moments):
            def die_there(event, _):
                if event in ("open", "os.rename", "os.remove") and next(moments) == len(nodes):
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(die_there)
            club.save(folder, overwrite=True)

        ended = forked(save)
        loaded = uh.load(folder)
        assert is_same(loaded, tuples if len(loaded) == 4 else club)
        nodes.append(len(loaded))
    assert ended == 0
    assert nodes == sorted(nodes)
    assert len(nodes) > 4
    assert nodes[0] == 4, "killed before the table was renamed"
    assert nodes[-2] == 34, "killed after it"


def test_saves_from_many_threads_to_one_folder(club, tuples, tmp_path):
    """The last one stays, whoever that is; and whoever reads meanwhile finds one of them."""
    folder = club.save(tmp_path / "club")

    def save(k):
        (club, tuples)[k % 2].save(folder, overwrite=True)

    def read(_):
        loaded = uh.load(folder)
        return loaded.record.graph.nodes == len(loaded)

    with ThreadPoolExecutor(6) as threads:
        saved = threads.map(save, range(60))
        assert all(threads.map(read, range(30)))
        list(saved)
    assert read(0)
    assert sorted(contents(folder)) == FILES


@pytest.mark.parametrize("size", [0, 1000])
def test_a_full_disk_leaves_the_earlier_embedding(club, tuples, tmp_path, size):
    folder = club.save(tmp_path / "club")
    before, most = contents(folder), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most[1]))
    try:
        with pytest.raises(OSError, match="File too large") as refused:
            tuples.save(folder, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert refused.value.filename == str(folder / "embedding.parquet")
    assert contents(folder) == before


def test_a_page_goes_with_its_points(club, tmp_path):
    folder = club.save(tmp_path / "club")
    (folder / "report.html").touch()
    club.save(folder, overwrite=True)
    assert not (folder / "report.html").exists()


def test_another_record_leaves_what_is_there(club, tuples, tmp_path):
    folder = club.with_attributes(cluster=range(34)).save(tmp_path / "club")
    (folder / "report.html").touch()
    club.with_record(replace(club.record, title="Mine")).save_record(folder)
    assert (folder / "report.html").exists()
    loaded = uh.load(folder)
    assert (loaded.record.title, loaded.attributes["cluster"][33]) == ("Mine", 33)
    with pytest.raises(FileExistsError, match="other points by now"):
        tuples.save_record(folder)


def test_ids_that_cannot_be_saved_are_refused_and_make_no_folder(tmp_path):
    flat, points = uh.Euclidean(2), np.arange(4.0).reshape(2, 2)
    for ids, error in (
        ([frozenset("a"), "b"], TypeError),
        ([("a", np.nan), "b"], ValueError),
        (["a\ud800", "b"], UnicodeEncodeError),
    ):
        with pytest.raises(error):
            uh.Embedding(ids, points, flat).save(tmp_path / "e")
        assert not (tmp_path / "e").exists()
