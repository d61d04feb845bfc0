"""Files that are whole or not there, and data as JSON has it."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from ultrahyperbolic.files import (
    as_json_data,
    check_writable,
    id_as_json,
    id_from_json,
    json_for_people,
    read_json,
    remove_leftovers,
    replace_file,
)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    replace_file(tmp_path / "page.txt", "é\r\n")
    assert contents(tmp_path) == {"page.txt": "é\r\n".encode()}
    replace_file(tmp_path / "page.txt", lambda file: file.write(b"2"))

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as refused:
        replace_file(tmp_path / "page.txt", fail)
    assert refused.value.filename == str(tmp_path / "page.txt")
    with pytest.raises(UnicodeEncodeError):
        replace_file(tmp_path / "page.txt", "half a character: \ud800")
    assert contents(tmp_path) == {"page.txt": b"2"}


def test_no_file_takes_the_name_of_a_folder(tmp_path):
    (tmp_path / "page").mkdir()
    with pytest.raises(OSError, match="directory") as refused:
        replace_file(tmp_path / "page", b"1")
    assert refused.value.filename == str(tmp_path / "page")
    assert [path.name for path in tmp_path.iterdir()] == ["page"]


@pytest.mark.parametrize("has_locks", [True, False])
def test_what_is_being_written_is_not_taken_for_a_leftover(tmp_path, monkeypatch, has_locks):
    def unknown(*_):
        raise OSError(95, "Operation not supported")

    if not has_locks:
        monkeypatch.setattr("fcntl.flock", unknown)
    leftover, other = tmp_path / ".run.json.123", tmp_path / ".other.123"
    leftover.write_bytes(b"half")
    other.write_bytes(b"of others")

    def write(file):
        file.write(b"1")
        remove_leftovers(tmp_path, ["run.json"])

    replace_file(tmp_path / "run.json", write)
    assert (tmp_path / "run.json").read_bytes() == b"1"
    assert leftover.exists() is not has_locks
    assert other.exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_to_is_told_of(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError):
        check_writable(tmp_path)
    tmp_path.chmod(0o755)


def test_what_json_has_no_word_for_becomes_null_and_numpy_s_numbers_plain(tmp_path):
    record = {
        "loss": np.array([0.5, np.nan, -np.inf], dtype=np.float32).tolist(),
        "n": np.int64(3),
        "ok": np.True_,
        "nested": [{"best": np.float32("nan"), "pair": (1, np.float64(2.5))}],
        "half": "a\ud800",
    }
    plain = {
        "loss": [0.5, None, None],
        "n": 3,
        "ok": True,
        "nested": [{"best": None, "pair": [1, 2.5]}],
        "half": "a\ud800",
    }
    assert as_json_data(record) == plain
    (tmp_path / "r.json").write_bytes(json_for_people(record))
    assert read_json(tmp_path / "r.json") == plain
    assert list(json.loads(json_for_people(record))) == list(record)
    with pytest.raises(TypeError, match="no complex: 1j"):
        as_json_data({"loss": [1j]})


def test_ids_keep_infinity_and_nothing_that_is_not_equal_to_itself():
    node = ("a", np.int64(7), (np.float64("inf"), None))
    assert id_as_json(node) == ["a", 7, [np.inf, None]]
    assert id_from_json(id_as_json(node)) == ("a", 7, (np.inf, None))
    with pytest.raises(ValueError, match="an id is NaN"):
        id_as_json(("a", np.nan))
    with pytest.raises(TypeError, match="got dict"):
        id_as_json({"a": 1})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "digit"),
        (b"\xff\xfe", "utf-8"),
        (b"7", "no JSON object"),
    ],
)
def test_a_record_that_is_none_is_refused(tmp_path, content, reason):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path} is damaged: .*{reason}"):
        read_json(path)
