"""Several processes on one machine: the bits of one, and a killed one made good."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from machines import ON_LINUX
from typer.testing import CliRunner

import ultrahyperbolic as uh
from ultrahyperbolic.cli import app
from ultrahyperbolic.cli.together import is_first, started_by_torchrun
from ultrahyperbolic.engines.communicator import Communicator, communicator

SOURCE = Path(uh.__file__).parent.parent
SETTINGS = ["--iterations", "200", "--no-report", "--signature", "2,2", "--stop", "iterations"]


@pytest.fixture(scope="module")
def ties(tmp_path_factory):
    """A file of 900 nodes, whose pairs are cut into 16 slabs."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 900, (2, 2700))
    path = tmp_path_factory.mktemp("graph") / "ties.tsv"
    rows = zip(i, j, rng.integers(1, 4, 2700), strict=True)
    path.write_text("".join(f"{a}\t{b}\t{w}\n" for a, b, w in rows if a != b), encoding="ascii")
    return path


def environment():
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TORCHELASTIC", "MASTER"))
    }
    kept["PYTHONWARNINGS"] = (
        "error::FutureWarning,error::DeprecationWarning"  # collectives that torch gives up, too
    )
    return kept | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def started(arguments, processes=None, restarts=0):
    command = [sys.executable, "-m"]
    if processes:
        command += ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        command += [f"--max-restarts={restarts}", "-m"]
    return subprocess.Popen(
        [*command, "ultrahyperbolic", "embed", *map(str, arguments)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process, code=0):
    try:
        out, error = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(process.communicate()[1]) from None
    assert process.returncode == code, error
    return out, error


def trained_alone(ties, folder, *more):
    words = ["embed", ties, "-o", folder, "--threads", "1", "--quiet", *SETTINGS, *more]
    assert CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def alone(ties, tmp_path_factory):
    return trained_alone(ties, tmp_path_factory.mktemp("alone") / "run")


def losses_of(folder):
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))["loss"]


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_several_processes_give_the_bits_of_one(processes, ties, alone, tmp_path):
    ended(started([ties, "-o", tmp_path / "run", *SETTINGS], processes=processes))
    assert losses_of(tmp_path / "run") == losses_of(alone)
    found, expected = uh.load(tmp_path / "run"), uh.load(alone)
    np.testing.assert_array_equal(found.points, expected.points)
    assert found.record.timing.backend == f"numba, {processes} processes"


@pytest.mark.slow
def test_two_processes_train_a_directed_graph_as_one(ties, tmp_path):
    expected = uh.load(trained_alone(ties, tmp_path / "alone", "--directed"))
    ended(started([ties, "-o", tmp_path / "run", *SETTINGS, "--directed"], processes=2))
    found = uh.load(tmp_path / "run")
    np.testing.assert_array_equal(found.points, expected.points)
    np.testing.assert_array_equal(found.heights, expected.heights)
    assert found.record.result.spring == expected.record.result.spring


@pytest.mark.slow
def test_a_small_graph_and_what_one_process_computes(tmp_path):
    """A graph of one slab leaves the second process idle; torch is refused in one line."""
    expected = trained_alone("karate", tmp_path / "alone")
    ended(started(["karate", "-o", tmp_path / "run", *SETTINGS], processes=2))
    np.testing.assert_array_equal(uh.load(tmp_path / "run").points, uh.load(expected).points)
    words = ["karate", "-o", tmp_path / "torch", "--backend", "reference", *SETTINGS]
    _, error = ended(started(words, processes=2), code=1)
    assert "backend 'reference' computes in one process" in error
    assert not (tmp_path / "torch").exists(), "nothing is written"


def process_of(launcher, rank):
    """A process that a launcher has started."""
    wanted = f"\0RANK={rank}\0".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
            if parent == launcher.pid and wanted in (path / "environ").read_bytes():
                return int(path.name)
        except (OSError, ValueError):
            continue
    raise AssertionError(f"there is no process {rank}")


@ON_LINUX
@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_process_is_started_again_and_the_training_goes_on(rank, ties, alone, tmp_path):
    folder = tmp_path / "run"
    arguments = [ties, "-o", folder, "--checkpoint-every", 0, *SETTINGS]
    launcher = started(arguments, processes=2, restarts=1)
    until = time.monotonic() + 200
    while not (folder / "checkpoint.safetensors").exists():
        assert launcher.poll() is None, launcher.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(process_of(launcher, rank), signal.SIGKILL)
    _, error = ended(launcher)
    assert "exitcode: -9" in error, "the process was killed, and the launcher saw it"
    assert losses_of(folder) == losses_of(alone)
    found = uh.load(folder)
    np.testing.assert_array_equal(found.points, uh.load(alone).points)
    assert found.record.timing.backend.endswith(", 2 processes")
    assert not (folder / "checkpoint.safetensors").exists()


def test_slabs_are_shared_out_whole():
    group = Communicator()
    for count in (1, 4, 16, 64):
        for group.size in range(1, 8):
            owned = [list(group.owned(count, rank)) for rank in range(group.size)]
            assert [slab for each in owned for slab in each] == list(range(count))
            assert max(map(len, owned)) - min(map(len, owned)) <= 1


def test_an_ordinary_process_is_alone(monkeypatch):
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    assert (started_by_torchrun(), is_first(), communicator().size) == (False, True, 1)
    for name, value in (("MASTER_ADDR", "localhost"), ("WORLD_SIZE", "2"), ("RANK", "1")):
        monkeypatch.setenv(name, value)
    assert (started_by_torchrun(), is_first()) == (True, False)
