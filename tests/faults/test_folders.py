"""Who writes into a folder: one command at a time; a training that kept nothing is in no one's
way.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from faults.conftest import contents

from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.training.checkpoint import locked


def refused(refuse, words):
    """What is said, when nothing in the folder changes."""
    before = contents(Path("club"))
    line = refuse(words)
    assert contents(Path("club")) == before
    return line


def test_two_trainings_do_not_share_a_folder(refuse, call, begun):
    begun()
    with locked(Path("club")):
        for words in (
            "embed --resume club",
            "embed karate -o club --overwrite",
            "embed karate -o club",
        ):
            said = (
                f"process {os.getpid()} is writing into club: wait for it, or name another folder"
            )
            assert refused(refuse, words) == said
    assert call("embed --resume club --quiet").exit_code == 0


def test_nothing_is_written_into_a_folder_that_is_trained_into(call, refuse, begun):
    call("embed karate -o old --iterations 5 --quiet")
    call("embed lesmis -o club --iterations 5 --quiet")
    Path("new.tsv").write_text("new\t34\n")
    begun("embed karate -o club --iterations 400 --overwrite")
    held = f"process {os.getpid()} is writing into club: wait for it, or name another folder"
    with locked(Path("club")):
        for words in (
            "place old new.tsv -o club --overwrite",
            "cluster club",
            "report club --title Mine",
            "plot club",
            "export club --format gexf",
        ):
            assert refused(refuse, words) == held
        before = contents(Path("club"))
        result = call("suggest club -k 2")
        assert (result.exit_code, result.stderr.splitlines()[-1]) == (
            0,
            f"note: the scores are computed again next time, as run.json cannot be written: {held}",
        )
        assert call("rank club").exit_code == 0
        assert call("cluster club --no-keep").exit_code == 0
        assert contents(Path("club")) == before
    # What is placed there afterwards is not continued by the training that it overwrote.
    assert "holds a training that is not finished" in refused(refuse, "place old new.tsv -o club")
    assert call("place old new.tsv -o club --overwrite").exit_code == 0
    assert sorted(contents(Path("club"))) == ["embedding.parquet", "run.json"]


def test_a_training_that_kept_nothing_does_not_stand_in_the_way(call, refuse, monkeypatch):
    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    for again in ("embed karate -o club --iterations 9 --quiet", "embed --resume club --quiet"):
        with monkeypatch.context() as patched:
            patched.setattr(NumbaEngine, "advance", die)
            with pytest.raises(Killed):
                call("embed karate -o club --iterations 9 --quiet")
        assert sorted(contents(Path("club"))) == ["run.json"]
        assert refused(refuse, "rank club").endswith(
            "did not finish; embed --resume club goes on with it"
        )
        assert call(again).exit_code == 0
        assert sorted(contents(Path("club"))) == ["embedding.parquet", "report.html", "run.json"]
        for file in Path("club").iterdir():
            file.unlink()
    Path("club/run.json").write_text('{"mine": 1}')
    line = refused(refuse, "embed karate -o club --iterations 9")
    assert (
        line
        == "club holds a run.json without its embedding.parquet: name another folder, or overwrite "
        "it (--overwrite)"
    )
