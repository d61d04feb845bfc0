"""Files that are whole or not there, and every byte of which is looked at."""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from machines import ON_LINUX

import ultrahyperbolic as uh
from ultrahyperbolic.files import (
    as_json_data,
    id_as_json,
    read_sealed_json,
    replace_file,
    replace_files,
    sealed_json,
)
from ultrahyperbolic.training.checkpoint import locked

FLIPS = [100, pytest.param(1000, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def club():
    return uh.embed(uh.datasets.karate(), p=3, q=1, iterations=20, quiet=True)


@pytest.fixture(scope="module")
def tuples():
    graph = uh.Graph.from_edges(
        [(("a", 1), 2, 1.0), (2, 3.5, 2.0), (3.5, ("a", 1), 4.0), (3.5, "é", 1.0)]
    )
    return uh.embed(graph, dim=3, flat=True, iterations=20, quiet=True)


def outcome(folder, name, original):
    """``same``, ``said`` (with a warning) or ``named``; anything else fails."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            loaded = uh.load(folder)
        except ValueError as error:
            (line,) = str(error).splitlines()
            return "named" if str(folder / name) in line else line
    assert list(loaded.ids) == list(original.ids)
    assert np.array_equal(loaded.points, original.points)
    assert np.array_equal(loaded.delta, original.delta)
    assert np.array_equal(loaded.rank, original.rank)
    assert repr(loaded.manifold) == repr(original.manifold)
    if said:
        assert all(str(folder / name) in str(warning.message) for warning in said)
        return "said"
    assert json.loads(json.dumps(loaded.run)) == json.loads(json.dumps(original.run))
    return "same"


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("name", ["embedding.parquet", "run.json"])
@pytest.mark.parametrize("which", ["club", "tuples"])
def test_a_changed_byte_is_found_or_changes_nothing(which, name, flips, tmp_path, request):
    original = request.getfixturevalue(which)
    folder = original.save(tmp_path / "club")
    assert outcome(folder, name, original) == "same"
    whole = (folder / name).read_bytes()
    rng = random.Random(f"{which} {name}")
    found = {"same": 0, "said": 0, "named": 0}
    for _ in range(flips):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= rng.randrange(1, 256)
        (folder / name).write_bytes(damaged)
        found[outcome(folder, name, original)] += 1
    assert (
        found["named"] > flips / 4
    )  # the rest of a Parquet file are statistics and names of other columns
    assert found["said"] < flips / 20


@pytest.mark.parametrize("name", ["embedding.parquet", "run.json"])
def test_every_truncation_is_found(club, name, tmp_path):
    folder = club.save(tmp_path / "club")
    whole = (folder / name).read_bytes()
    for length in range(0, len(whole) - 1, len(whole) // 60):
        (folder / name).write_bytes(whole[:length])
        assert outcome(folder, name, club) == "named"


def test_a_record_that_only_looks_different_is_the_same(club, tmp_path):
    folder = club.save(tmp_path / "club")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(dict(reversed(record.items()))))
    assert outcome(folder, "run.json", club) == "same"


def test_files_without_a_seal_are_read_with_a_word(club, tmp_path):
    folder = club.save(tmp_path / "club")
    record = json.loads((folder / "run.json").read_text())
    del record["sha256"]
    (folder / "run.json").write_text(json.dumps(record))
    assert outcome(folder, "run.json", club) == "said"
    club.save(folder, overwrite=True)
    table = pq.read_table(folder / "embedding.parquet")
    about = json.loads(table.schema.metadata[b"ultrahyperbolic"])
    del about["sha256"]
    pq.write_table(
        table.replace_schema_metadata({"ultrahyperbolic": json.dumps(about)}),
        folder / "embedding.parquet",
    )
    assert outcome(folder, "embedding.parquet", club) == "said"
    with pytest.warns(
        UserWarning, match="carries no sha256, so damage to it cannot be seen: save it again"
    ):
        uh.load(folder)


def spoiled(table, **changes):
    about = json.loads(table.schema.metadata[b"ultrahyperbolic"]) | changes
    about = {key: value for key, value in about.items() if value is not None}
    return table.replace_schema_metadata({"ultrahyperbolic": json.dumps(about)})


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            lambda t: spoiled(t, manifold={"kind": "flat", "dim": 10**12}),
            "1000000000000 coordinates",
        ),
        (lambda t: spoiled(t, manifold={"kind": "flat", "dim": -1}), "dim must be at least 1"),
        (
            lambda t: spoiled(t, manifold={"kind": "torus", "p": 3, "q": 1}, sha256=None),
            "unknown manifold 'torus'",
        ),
        (lambda t: spoiled(t, manifold=None), "manifold"),
        (lambda t: t.replace_schema_metadata({"ultrahyperbolic": "[" * 100_000}), "recursion"),
        (lambda t: t.drop_columns(["x2"]), "x2"),
        (
            lambda t: t.set_column(1, "x0", pa.array(["far"] * 34)),
            "the column x0 holds string, not double",
        ),
        (
            lambda t: t.set_column(0, "node", pa.array(range(34))),
            "the column node holds int64, not string",
        ),
        (lambda t: t.set_column(0, "node", pa.array([None] + ["a"] * 33)), "there are gaps in it"),
        (
            lambda t: spoiled(t.set_column(0, "node", pa.array(["a"] * 34)), sha256=None),
            "two nodes have one id",
        ),
        (lambda t: spoiled(t.set_column(1, "x0", t.column("x1")), sha256=None), "points"),
        (
            lambda t: spoiled(
                t.set_column(0, "node", pa.array(["{}"] * 34)), sha256=None, ids="json"
            ),
            "no id",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*carries no sha256")
def test_a_table_that_is_no_embedding_is_refused(club, tmp_path, spoil, reason):
    path = club.save(tmp_path / "club") / "embedding.parquet"
    pq.write_table(spoil(pq.read_table(path)), path)
    with pytest.raises(ValueError, match=f"{path} is not an embedding of this package: .*{reason}"):
        uh.load(path.parent)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"loss": NaN, "sha256": "0"}', "JSON compliant"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "digit"),
        (b"\xff\xfe", "utf-8"),
        (b"7", "no JSON object"),
    ],
)
def test_a_record_that_is_none_is_refused(club, tmp_path, content, reason):
    path = club.save(tmp_path / "club") / "run.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path} is damaged: .*{reason}"):
        uh.load(path.parent)


def test_the_seal_is_the_last_key_and_covers_all_others():
    first, second = (json.loads(sealed_json({"b": value, "a": [1.5, None]})) for value in (1, 2))
    assert list(first) == ["b", "a", "sha256"]
    assert first["sha256"] != second["sha256"]
    assert sealed_json(first) == sealed_json({"b": 1, "a": [1.5, None]})


def test_half_a_character_in_a_record_comes_back(tmp_path):
    record = {"name": "a\ud800", "other": "é\U0001f600\\ud800"}
    (tmp_path / "r.json").write_bytes(sealed_json(record))
    assert read_sealed_json(tmp_path / "r.json") == record


def test_what_json_has_no_word_for_becomes_null_and_numpy_s_numbers_plain():
    record = {
        "loss": np.array([0.5, np.nan, -np.inf], dtype=np.float32).tolist(),
        "n": np.int64(3),
        "ok": np.True_,
    }
    record |= {"nested": [{"best": np.float32("nan"), "pair": (1, np.float64(2.5))}], "none": None}
    assert as_json_data(record) == {
        "loss": [0.5, None, None],
        "n": 3,
        "ok": True,
        "nested": [{"best": None, "pair": [1, 2.5]}],
        "none": None,
    }
    read = json.loads(sealed_json(record))
    assert read.pop("sha256")
    assert read == as_json_data(record)
    with pytest.raises(TypeError, match="no complex: 1j"):
        as_json_data({"loss": [1j]})


def test_ids_keep_infinity_and_nothing_that_is_not_equal_to_itself():
    assert id_as_json(("a", np.int64(7), (np.float64("inf"), None))) == ["a", 7, [np.inf, None]]
    with pytest.raises(ValueError, match="an id is NaN"):
        id_as_json(("a", np.nan))
    with pytest.raises(TypeError, match="got dict"):
        id_as_json({"a": 1})


def test_one_file_is_replaced_whole_or_not_at_all(tmp_path):
    replace_file(tmp_path / "page.txt", "é\r\n")
    assert (tmp_path / "page.txt").read_bytes() == "é\r\n".encode()
    with pytest.raises(UnicodeEncodeError):
        replace_file(tmp_path / "page.txt", "half a character: \ud800")
    assert contents(tmp_path) == {"page.txt": "é\r\n".encode()}


# Disks that are full, folders that cannot be written to


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_all_files_are_replaced_or_none(tmp_path):
    replace_files(
        tmp_path, {"a": lambda file: file.write(b"1"), "b": lambda file: file.write(b"2")}
    )

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as refused:
        replace_files(tmp_path, {"a": lambda file: file.write(b"3"), "b": fail})
    assert refused.value.filename == str(tmp_path / "b")
    assert contents(tmp_path) == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize("before", [{"a": b"1", "b": b"2"}, {"b": b"2"}])
def test_a_rename_that_fails_leaves_all_files_as_they_were(tmp_path, before):
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "c").mkdir()  # no file can take the name of a folder
    with pytest.raises(OSError, match="directory") as refused:
        replace_files(tmp_path, {name: lambda file: file.write(b"3") for name in "abc"})
    assert refused.value.filename == str(tmp_path / "c")
    (tmp_path / "c").rmdir()
    assert contents(tmp_path) == before


def test_ctrl_c_between_two_renames_puts_the_first_back(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"1")
    replace = Path.replace

    def pressed(self, target):
        replace(self, target)
        if target == tmp_path / "a" and (tmp_path / "a").read_bytes() == b"3":
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", pressed)
    with pytest.raises(KeyboardInterrupt):
        replace_files(tmp_path, {name: lambda file: file.write(b"3") for name in "ab"})
    assert contents(tmp_path) == {"a": b"1"}


def test_without_links_the_old_files_are_kept_all_the_same(tmp_path, monkeypatch):
    def unknown(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", unknown)
    test_a_rename_that_fails_leaves_all_files_as_they_were(tmp_path, {"a": b"1", "b": b"2"})


def test_an_embedding_whose_record_cannot_be_renamed_stays(club, tuples, tmp_path):
    folder = club.save(tmp_path / "club")
    table = (folder / "embedding.parquet").read_bytes()
    (folder / "run.json").unlink()
    (folder / "run.json").mkdir()
    with pytest.raises(OSError, match="directory") as refused:
        tuples.save(folder, overwrite=True)
    assert refused.value.filename == str(folder / "run.json")
    assert (folder / "embedding.parquet").read_bytes() == table
    assert sorted(path.name for path in folder.iterdir()) == ["embedding.parquet", "run.json"]


def forked(work):
    """Another process that does what this one could; how it ended, once that is asked for."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(int(sys.exc_info()[0] is not None))
    return lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@ON_LINUX
@pytest.mark.parametrize("there", ["another", "an unsigned record", "nothing"])
def test_a_kill_between_two_renames_leaves_a_pair(club, tuples, tmp_path, monkeypatch, there):
    new, folder = club.save(tmp_path / "new"), tmp_path / "club"
    if there != "nothing":
        tuples.save(folder)
    if there == "an unsigned record":  # as written before records named their table
        record = json.loads((folder / "run.json").read_text())
        del record["table"]
        (folder / "run.json").write_bytes(sealed_json(record))
    replace, renamed = Path.replace, []

    def replace_or_die(self, target):
        if renamed:
            os.kill(os.getpid(), signal.SIGKILL)
        renamed.append(target)
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace_or_die)
        assert forked(lambda: club.save(folder, overwrite=True))() == -signal.SIGKILL
    assert (folder / "embedding.parquet").read_bytes() == (new / "embedding.parquet").read_bytes()
    assert outcome(folder, "run.json", club) == "same"
    # The next training completes it.
    with locked(folder):
        assert contents(folder) == contents(new)
    assert outcome(folder, "run.json", club) == "same"


def test_a_record_of_other_points_is_refused(club, tuples, tmp_path):
    folder = club.save(tmp_path / "club")
    record = tuples.save(tmp_path / "tuples") / "run.json"
    (folder / "run.json").write_bytes(record.read_bytes())
    with pytest.raises(
        ValueError,
        match=r"run\.json belongs to other points than embedding\.parquet: save them again, or",
    ):
        uh.load(folder)
    (folder / "run.json").unlink()
    assert uh.load(folder).run == {}


def test_what_the_earlier_version_saved_is_read(club, tmp_path):
    folder = club.save(tmp_path / "club")
    record = json.loads((folder / "run.json").read_text())
    del record["table"]
    (folder / "run.json").write_bytes(sealed_json(record))
    assert outcome(folder, "run.json", club) == "same"


def test_saves_from_many_threads_to_one_folder(club, tuples, tmp_path):
    """The last one stays, whoever that is; and whoever reads meanwhile finds the points and the
    record of one.
    """
    folder = club.save(tmp_path / "club")
    nodes = {len(embedding): embedding.run["graph"]["nodes"] for embedding in (club, tuples)}

    def save(k):
        (club, tuples)[k % 2].save(folder, overwrite=True)

    def read(_):
        found = uh.load(folder)
        return found.run["graph"]["nodes"] == nodes[len(found)] == len(found)

    with ThreadPoolExecutor(6) as threads:
        saved = threads.map(save, range(120))
        assert all(threads.map(read, range(60)))
        list(saved)
    assert read(0)
    assert sorted(contents(folder)) == ["embedding.parquet", "run.json"]


@ON_LINUX
def test_two_processes_that_write_the_same_files(tmp_path, monkeypatch):
    folder, begun, replace = tmp_path / "both", tmp_path / "begun", Path.replace
    folder.mkdir()

    def replace_slowly(self, target):
        replace(self, target)
        begun.touch()
        time.sleep(0.5)  # long enough for the other to come in between, if it could

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace_slowly)
        ended = forked(
            lambda: replace_files(folder, {name: lambda file: file.write(b"1") for name in "ab"})
        )
    while not begun.exists():
        time.sleep(0.01)
    replace_files(folder, {name: lambda file: file.write(b"2") for name in "ab"})
    assert ended() == 0
    assert contents(folder) == {"a": b"2", "b": b"2"}


@pytest.mark.parametrize("locks", [True, False])
def test_what_is_being_written_is_not_taken_for_a_leftover(tmp_path, monkeypatch, locks):
    def unknown(*_):
        raise OSError(95, "Operation not supported")

    if not locks:
        monkeypatch.setattr("fcntl.flock", unknown)
    left = tmp_path / ".run.json.123"
    left.write_bytes(b"half")

    def write(file):
        file.write(b"1")
        with locked(tmp_path):  # another training begins
            pass
        assert left.exists() is not locks

    replace_files(tmp_path, {"run.json": write, "embedding.parquet": write})
    left.unlink(missing_ok=True)
    assert contents(tmp_path) == {"run.json": b"1", "embedding.parquet": b"1"}


@pytest.fixture
def no_file_larger_than():
    """Limit how large a file this process may write: what is beyond fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_breaks_off_leaves_the_earlier_files(
    club, tuples, tmp_path, no_file_larger_than
):
    folder = club.save(tmp_path / "club")
    before = contents(folder)
    for size in (0, 1000):
        no_file_larger_than(size)
        with pytest.raises(OSError, match="File too large") as refused:
            tuples.save(folder, overwrite=True)
        assert refused.value.filename in (
            str(folder / "embedding.parquet"),
            str(folder / "run.json"),
        )
        assert contents(folder) == before
    no_file_larger_than(1 << 20)
    tuples.save(folder, overwrite=True)
    assert len(uh.load(folder)) == 4


SAVE = """
import sys
import ultrahyperbolic as uh
embedding = uh.load(sys.argv[1])
try:
    embedding.save(sys.argv[1], overwrite=True)
except OSError as error:
    print(error.filename, error.strerror)
"""


@pytest.mark.slow
@ON_LINUX
def test_a_folder_that_cannot_be_written_to_is_named(club, tmp_path):
    folder = club.save(tmp_path / "club")
    before = contents(folder)

    def obey() -> None:
        if os.geteuid() == 0:
            prctl = ctypes.CDLL(None).prctl
            prctl(
                24, 1, 0, 0, 0
            )  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: root keeps to permissions from now on

    folder.chmod(0o555)
    result = subprocess.run(
        [sys.executable, "-c", SAVE, folder], capture_output=True, text=True, preexec_fn=obey
    )
    folder.chmod(0o755)
    assert result.stdout == f"{folder / 'embedding.parquet'} Permission denied\n", result.stderr
    assert contents(folder) == before
