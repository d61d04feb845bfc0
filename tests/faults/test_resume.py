"""A training that goes on ends as one that never stopped; what cannot be resumed is refused in one
line.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from faults.conftest import contents
from faults.kill import content
from plans import configure

import ultrahyperbolic as uh
from ultrahyperbolic.embedding.record import GraphRecord, RunRecord
from ultrahyperbolic.embedding.store import write_record
from ultrahyperbolic.engines import communicator
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.files import read_json
from ultrahyperbolic.training.checkpoint import CHECKPOINT, read_checkpoint, write_checkpoint
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.train import embed_many

KARATE = uh.datasets.karate()
THROWN_OFF = TrainingConfig(
    dissimilarity="geodesic",
    temperature=(0.01, 0.01),
    step=2e-5,
    max_step=None,
    start="pole",
    iterations=1000,
    epsilon=(0.1, 0.1),
)


def stopped_at(folder, configs, iteration, **options):
    """The same trainings, stopped after some iterations, written, read, and continued."""

    def stop(progress):
        if progress.iteration >= iteration:
            write_checkpoint(folder, progress.checkpoint(), RunRecord(seed=1))
            return True
        return False

    embed_many(KARATE, configs, measures=False, callbacks=[stop], **options)
    so_far, record = read_checkpoint(folder)
    assert record == RunRecord(seed=1)
    assert so_far.losses.shape == (len(configs), so_far.state.iteration)
    return embed_many(KARATE, configs, measures=False, checkpoint=so_far, **options)


@pytest.mark.parametrize(
    ("backend", "configs", "iterations"),
    [
        ("numba", configure(KARATE, p=3, q=1, iterations=600), (1, 137, 400)),
        ("numba", configure(KARATE, p=2, q=2, iterations=600, popularity=True), (137, 570)),
        # Steps so long that runs are thrown off and taken back, on both sides of the stop.
        ("numba", [THROWN_OFF], (120, 800)),
        (
            "numba",
            [TrainingConfig(iterations=900, stop="ordered", p=9, q=1, preset="paper")],
            (50,),
        ),
        ("reference", configure(KARATE, p=3, q=1, iterations=12), (1, 5)),
    ],
    ids=["tries", "popularity", "thrown off", "ordered", "reference"],
)
def test_the_same_bits_as_without_a_stop(tmp_path, backend, configs, iterations):
    expected = embed_many(KARATE, configs, measures=False, machine=Machine(backend=backend))
    for iteration in iterations:
        found = stopped_at(tmp_path, configs, iteration, machine=Machine(backend=backend))
        for a, b in zip(expected, found, strict=True):
            assert np.array_equal(a.points, b.points)
            assert np.array_equal(a.popularity, b.popularity)
            assert {**a.run, "timing": None} == {**b.run, "timing": None}


def test_a_killed_training_goes_on_to_the_same_files(call, begun):
    call("embed karate -o undisturbed --iterations 400 --quiet")
    for until in (None, 1, 390):
        begun(until=until or 1)
        assert sorted(contents(Path("club"))) == [CHECKPOINT, "run.json"]
        if until is None:  # as one that is killed before its first checkpoint
            Path("club", CHECKPOINT).unlink()
        assert call("embed --resume club --quiet --threads 1").exit_code == 0
        assert content(Path("club")) == content(Path("undisturbed"))
        assert sorted(contents(Path("club"))) == ["embedding.parquet", "report.html", "run.json"]
        for file in Path("club").iterdir():
            file.unlink()


@pytest.mark.parametrize("slow", [False, True], ids=["stopped", "iterations left out"])
def test_a_time_limit_leaves_what_can_be_gone_on_with(call, refuse, monkeypatch, slow):
    call("embed karate -o undisturbed --iterations 400 --quiet")
    advance, now, limit = NumbaEngine.advance, [0.0], 100 if slow else 1000

    def timed(engine, state, iterations):
        losses = advance(engine, state, iterations)
        if slow:
            now[0] += iterations
        elif state.iteration >= 150:
            now[0] = 2000.0
        return losses

    with monkeypatch.context() as patched:
        patched.setattr(NumbaEngine, "advance", timed)
        patched.setattr(import_module("ultrahyperbolic.loop").time, "monotonic", lambda: now[0])
        result = call(f"embed karate -o club --iterations 400 --time-limit {limit}")
    assert result.exit_code == 0
    record = read_json(Path("club/run.json"))
    stopped, iterations = f"reached the time limit of {limit} s", record["iterations"]
    assert record["stopped"] == stopped
    assert 30 < iterations < (200 if slow else 400)
    assert result.stdout.splitlines()[0] == (
        f"unfinished: {stopped} after {iterations} of 400 iterations; "
        "to continue: ultrahyperbolic embed --resume club --time-limit SECONDS"
    )
    page = Path("club/report.html").read_text()
    assert f"This training is unfinished: {stopped} after {iterations} of 400 iterations." in page
    assert slow or read_checkpoint(Path("club"))[0].state.iteration == iterations
    line = f"club has reached its time limit of {limit} s: add --time-limit SECONDS to continue"
    assert refused(refuse) == line
    # With more time it ends as one that had it from the start.
    assert call("embed --resume club --time-limit 1000 --quiet").exit_code == 0
    ended, undisturbed = content(Path("club")), content(Path("undisturbed"))
    limits = [record["training"].pop("time_limit") for _, record in (ended, undisturbed)]
    assert ended == undisturbed
    assert limits[0] > 1000
    assert limits[1] is None
    assert sorted(contents(Path("club"))) == ["embedding.parquet", "report.html", "run.json"]
    assert "This training is unfinished" not in Path("club/report.html").read_text()


def test_without_more_time_the_limit_is_for_all_parts_together(refuse, call, begun):
    begun("embed karate -o club --preset paper --iterations 400 --time-limit 0.000001", until=1)
    said = "club has reached its time limit of 1e-06 s: add --time-limit SECONDS to continue"
    assert refused(refuse) == said
    assert refused(refuse, "embed --resume club --time-limit 0").startswith(
        "--time-limit 0: a number of seconds"
    )
    # More time is for all that follows, also after a kill.
    begun("embed --resume club --time-limit 1000", until=200)
    assert call("embed --resume club --quiet").exit_code == 0
    assert read_json(Path("club/run.json"))["stopped"] == "reached 400 iterations"


def test_the_signature_is_not_chosen_again(call, begun, monkeypatch):
    begun("embed karate -o club --dim 2 --iterations 400")
    before = read_checkpoint(Path("club"))[1].select
    monkeypatch.setattr(import_module("ultrahyperbolic.training.select"), "choose", None)
    assert call("embed --resume club --quiet").exit_code == 0
    assert read_json(Path("club/run.json"))["select"] == before


@pytest.mark.parametrize(
    "more", ["--weights-are-distances", pytest.param("", marks=pytest.mark.slow)]
)
def test_the_graph_is_found_from_another_folder_with_its_reading_options(
    call, begun, tmp_path, monkeypatch, more
):
    Path("ties.txt").write_text("strength;a;b\n3;ann;bob\n1;bob;cid\n2;cid;dan\n")
    words = (
        "embed ties.txt --iterations 300 --weight strength --source a --target b --delimiter ';' "
        f"--header {more}"
    )
    begun(f"{words} -o club")
    call(f"{words} -o undisturbed --quiet")
    Path("elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = call("embed --resume ../club --json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["graph"]["source"] == "ties.txt"
    assert content(tmp_path / "club") == content(tmp_path / "undisturbed")


def test_an_embedding_that_is_overwritten_stays_until_the_new_one_is_there(call, begun):
    call("embed lesmis -o club --iterations 5 --quiet")
    old = contents(Path("club"))
    begun("embed karate -o club --iterations 400 --overwrite")
    assert contents(Path("club")) == {**old, CHECKPOINT: Path("club", CHECKPOINT).read_bytes()}
    call("embed karate -o undisturbed --iterations 400 --quiet")
    assert call("embed --resume club --quiet").exit_code == 0
    assert content(Path("club")) == content(Path("undisturbed"))


def test_a_finished_training_is_left_as_it_is(call):
    call("embed karate -o club --iterations 60 --quiet")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path("club").iterdir()}
    result = call("embed --resume club")
    assert (result.exit_code, result.output) == (0, "club is finished: reached 60 iterations\n")
    assert (
        json.loads(call("embed --resume club --json").stdout)["stopped"] == "reached 60 iterations"
    )
    assert call("embed --resume club --quiet").output == ""
    assert {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path("club").iterdir()
    } == before


def test_what_was_begun_is_not_begun_again_unless_that_is_said(call, refuse, begun):
    begun()
    before = contents(Path("club"))
    line = refuse("embed karate -o club")
    assert (
        line == "club holds a training that is not finished: continue it with --resume, or add "
        "--overwrite"
    )
    assert contents(Path("club")) == before
    assert call("embed karate -o club --iterations 5 --overwrite --quiet").exit_code == 0
    assert sorted(contents(Path("club"))) == ["embedding.parquet", "report.html", "run.json"]


# --- refusals ------------------------------------------------------------


def refused(refuse, words="embed --resume club"):
    """What is said, when nothing in the folder changes."""
    before = contents(Path("club"))
    line = refuse(words)
    assert contents(Path("club")) == before
    return line


def test_another_graph_is_refused(refuse, begun):
    Path("ties.csv").write_text("a,b,2\nb,c,1\nc,d,1\n")
    begun("embed ties.csv -o club --iterations 300")
    Path("ties.csv").write_text("a,b,2\nb,c,1\nc,d,1\nd,e,1\n")
    line = refused(refuse)
    assert line.startswith("club cannot be resumed, another graph: graph.fingerprint: ")
    assert line.endswith("graph.nodes: 4 then, 5 now")
    Path("ties.csv").unlink()
    assert refused(refuse) == "club cannot be resumed, as ties.csv is not here: put it back"


def test_another_version_is_refused(refuse, begun, monkeypatch):
    begun()
    here = communicator.versions()
    monkeypatch.setattr(
        communicator, "versions", lambda: {**here, "numba": "0.1", "python": "3.99"}
    )
    said = f"versions.numba: {here['numba']} then, 0.1 now"
    assert (
        refused(refuse) == f"club cannot be resumed, other versions, whose bits may differ: {said}"
    )


def test_another_configuration_is_refused(refuse, begun):
    begun()
    record = read_json(Path("club/run.json"))
    for config in record["training"]["configs"]:
        config["seed"] = 5
    write_record(Path("club"), RunRecord.from_json({**record, "seed": 5}))
    line = refused(refuse)
    assert line.startswith(
        "club cannot be resumed, run.json and the checkpoint are of two trainings: "
    )
    assert "seed: 5 then, 0 now" in line


@pytest.mark.parametrize("more", ["--signature 2,2", "-o club", "karate"])
def test_settings_are_those_of_the_folder(refuse, begun, more):
    begun(until=1)
    name = {"-o club": "-o", "karate": "GRAPH"}.get(more, more.split()[0])
    assert refused(refuse, f"embed --resume club {more}") == (
        f"--resume takes everything from the folder: leave {name} out"
    )


def test_nothing_to_go_on_with(refuse, call):
    assert (
        refuse("embed --resume nowhere")
        == "nowhere: no such folder; give a folder that embed wrote"
    )
    uh.embed(KARATE, p=2, q=1, iterations=5, quiet=True).save("club")
    assert (
        refused(refuse)
        == "club holds no training of the command embed: there is nothing to continue"
    )
    assert refuse("embed").startswith("Missing argument 'GRAPH'")
    assert refuse("embed karate --checkpoint-every -1").startswith(
        "--checkpoint-every -1: a number of seconds"
    )


def test_a_record_without_its_embedding_is_the_same_for_all_commands(call, refuse):
    call("embed karate -o club --iterations 5 --quiet")
    Path("club/embedding.parquet").unlink()
    for words in ("embed --resume club", "rank club", "embed karate -o club"):
        line = refused(refuse, words)
        assert line.startswith("club holds a run.json without its embedding.parquet: ")
        assert "--overwrite" in line
    assert call("embed karate -o club --iterations 5 --overwrite --quiet").exit_code == 0


# --- damage ------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A folder with a checkpoint, what it holds, and its bytes."""
    folder = tmp_path_factory.mktemp("checkpoint")

    def stop(progress):
        write_checkpoint(folder, progress.checkpoint(), RunRecord(graph=GraphRecord(nodes=34)))
        return progress.iteration > 10

    embed_many(KARATE, [TrainingConfig(iterations=50)], measures=False, callbacks=[stop])
    return folder, read_checkpoint(folder), (folder / CHECKPOINT).read_bytes()


def same(a, b):
    parts = [(x[0].state, x[0].losses) for x in (a, b)]
    arrays = [[s.points, s.best, s.rows, s.steps_back, losses] for s, losses in parts]
    plain = [(x[0].state.iteration, x[0].seconds, x[1]) for x in (a, b)]
    return plain[0] == plain[1] and all(
        np.array_equal(*pair, equal_nan=True) for pair in zip(*arrays, strict=True)
    )


def test_a_changed_byte_of_a_checkpoint_is_found_or_changes_nothing(checkpoint):
    folder, original, good = checkpoint
    rng, found = random.Random(0), 0
    for _ in range(1000):
        bad = bytearray(good)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        (folder / CHECKPOINT).write_bytes(bad)
        try:
            assert same(read_checkpoint(folder), original)
        except ValueError as error:
            (line,) = str(error).splitlines()
            assert line.startswith(f"{folder / CHECKPOINT} is damaged: ")
            found += 1
    assert found > 950


def test_a_damaged_checkpoint_is_one_line(refuse, call, begun):
    begun()
    path = Path("club", CHECKPOINT)
    good = path.read_bytes()
    for bad in (b"", good[:-1], good[:100], good[:-1] + bytes([good[-1] ^ 1])):
        path.write_bytes(bad)
        line = refused(refuse)
        assert line.startswith(f"club/{CHECKPOINT} is damaged: ")
        assert line.endswith("remove it to begin the training again")
    path.write_bytes(good)
    assert call("embed --resume club --quiet").exit_code == 0


# --- signals ------------------------------------------------------------


def killed_politely(folder, words, since):
    """The output of a training that gets a SIGTERM once its checkpoint is beyond an iteration."""
    command = [sys.executable, "-m", "ultrahyperbolic", *words]
    process = subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    path = folder / "run" / CHECKPOINT
    while not path.exists() or read_checkpoint(path.parent)[0].state.iteration <= since:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 143, err
    return json.loads(out), err


@pytest.mark.slow
def test_a_polite_kill_of_a_large_training_leaves_without_measuring(tmp_path):
    n, rng = 10_500, np.random.default_rng(0)
    ends = np.column_stack((np.arange(n), (np.arange(n) + rng.integers(1, 40, n)) % n))
    np.savetxt(tmp_path / "ties.tsv", ends, fmt="%d", delimiter="\t")
    every = ["--checkpoint-every", "0", "--json"]
    said, err = killed_politely(
        tmp_path, ["embed", "ties.tsv", "-o", "run", "--signature", "1,1", *every], 0
    )
    assert (said["stopped"], said["measures"]) == ("interrupted", {})
    assert (
        "delta and ranks are estimated from a few nodes; there are no measures and no report" in err
    )
    assert sorted(contents(tmp_path / "run")) == [CHECKPOINT, "embedding.parquet", "run.json"]
    assert len(uh.load(tmp_path / "run")) == n
    again, _ = killed_politely(tmp_path, ["embed", "--resume", "run", *every], said["iterations"])
    assert again["iterations"] > said["iterations"]
