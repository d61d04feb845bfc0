"""Several processes on one machine: the bits of one, and a killed one made good."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from machines import ON_LINUX
from typer.testing import CliRunner

import ultrahyperbolic as uh
from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.cli import app
from ultrahyperbolic.cli.together import is_first, started_by_torchrun, was_restarted
from ultrahyperbolic.engines import communicator as together
from ultrahyperbolic.engines import memory, registry
from ultrahyperbolic.engines.base import Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.communicator import (
    Communicator,
    ProcessesError,
    communicator,
    processes_here,
)
from ultrahyperbolic.engines.numba.engine import exchange_slabs
from ultrahyperbolic.engines.numba.streaming import workspace
from ultrahyperbolic.objective import RankedPairs

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


@pytest.fixture(scope="module")
def alone_by_samples(ties, tmp_path_factory):
    return trained_alone(ties, tmp_path_factory.mktemp("alone") / "run", "--backend", "sampled")


def losses_of(folder):
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))["loss"]


@pytest.mark.slow  # two of them do so below, though one is killed
@pytest.mark.parametrize("processes", [1, 2, 4])
def test_several_processes_give_the_bits_of_one(processes, ties, alone, tmp_path):
    ended(started([ties, "-o", tmp_path / "run", *SETTINGS], processes=processes))
    assert losses_of(tmp_path / "run") == losses_of(alone)
    found, expected = uh.load(tmp_path / "run"), uh.load(alone)
    np.testing.assert_array_equal(found.points, expected.points)
    assert found.record.timing.backend == (
        "numba" if processes == 1 else f"numba, {processes} processes"
    )


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numba", "sampled"])
def test_two_processes_train_a_directed_graph_as_one(backend, ties, tmp_path):
    words = ["--directed", "--backend", backend]
    expected = uh.load(trained_alone(ties, tmp_path / "alone", *words))
    ended(started([ties, "-o", tmp_path / "run", *SETTINGS, *words], processes=2))
    found = uh.load(tmp_path / "run")
    np.testing.assert_array_equal(found.points, expected.points)
    np.testing.assert_array_equal(found.heights, expected.heights)
    assert found.record.result.spring == expected.record.result.spring


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


def check_that_a_killed_process_is_made_good(ties, expected, folder, rank, *more):
    arguments = [ties, "-o", folder, "--checkpoint-every", 0, *SETTINGS, *more]
    launcher = started(arguments, processes=2, restarts=1)
    until = time.monotonic() + 200
    while not (folder / "checkpoint.safetensors").exists():
        assert launcher.poll() is None, launcher.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(process_of(launcher, rank), signal.SIGKILL)
    _, error = ended(launcher)
    assert "exitcode: -9" in error, "the process was killed, and the launcher saw it"
    assert losses_of(folder) == losses_of(expected)
    found = uh.load(folder)
    np.testing.assert_array_equal(found.points, uh.load(expected).points)
    assert found.record.timing.backend.endswith(", 2 processes")
    assert not (folder / "checkpoint.safetensors").exists()


@ON_LINUX
@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_killed_process_is_started_again_and_the_training_goes_on(rank, ties, alone, tmp_path):
    check_that_a_killed_process_is_made_good(ties, alone, tmp_path / "run", rank)


@ON_LINUX
@pytest.mark.slow
def test_the_same_by_samples(ties, alone_by_samples, tmp_path):
    check_that_a_killed_process_is_made_good(
        ties, alone_by_samples, tmp_path / "run", 1, "--backend", "sampled"
    )


def two_started(arguments, seconds, folder):
    """The first process of a training and another, as a launcher starts them; they give each other
    up after a while.
    """
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    shared = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
    }
    shared |= environment() | {"ULTRAHYPERBOLIC_TIMEOUT": str(seconds)}
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            text=True,
            start_new_session=True,
        )
        for rank in range(2)
    ]


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize("silent", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_process_that_does_not_answer_ends_the_training(silent, ties, tmp_path):
    words = [
        ties,
        "-o",
        "run",
        "--checkpoint-every",
        0,
        "--signature",
        "2,2",
        "--iterations",
        100_000,
        "--no-report",
    ]
    both = two_started(["-m", "ultrahyperbolic", "embed", *words], 10, tmp_path)
    try:
        while not (tmp_path / "run" / "checkpoint.safetensors").exists():
            assert [process.poll() for process in both] == [None, None], both[0].communicate()[1]
            time.sleep(0.01)
        os.kill(both[silent].pid, signal.SIGSTOP)
        _, error = ended(both[1 - silent], code=1)
        assert silent == 0 or "does not answer" in error
        assert (
            silent == 0 or "continue from the last checkpoint with embed --resume FOLDER" in error
        )
    finally:
        both[silent].kill()
        both[silent].communicate()
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()


ALONE_FOR_LONG = """
import os, time
from ultrahyperbolic.engines.communicator import help_first, joined
if os.environ["RANK"] == "1":
    raise SystemExit(help_first())
with joined():
    time.sleep(15)
"""


@pytest.mark.slow
def test_the_first_process_may_work_alone_for_longer(tmp_path):
    for process in two_started(["-c", ALONE_FOR_LONG], 6, tmp_path):
        ended(process)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_a_wrong_timeout_is_refused(text, monkeypatch):
    monkeypatch.setenv("ULTRAHYPERBOLIC_TIMEOUT", text)
    with pytest.raises(
        ProcessesError, match="ULTRAHYPERBOLIC_TIMEOUT must be a number of seconds above 0"
    ):
        together.patience()


@pytest.mark.slow
def test_too_many_processes_are_one_line(tmp_path):
    out, error = ended(started(["karate", "-o", tmp_path / "run", *SETTINGS], processes=2), code=1)
    assert (
        "error: 2 processes are too many: the pairs of 34 nodes are cut into 1 slab, so use at "
        "most 1" in error
    )
    assert "rank0" not in error
    assert not out
    assert not (tmp_path / "run").exists(), "nothing is written"


class Several(Communicator):
    """One of several processes, whose tensors lie in a list."""

    def __init__(self, rank, size, sent=None):
        self.rank, self.size, self.sent = rank, size, sent

    def exchange(self, rooms):
        self.sent[self.rank] = [tensor.clone() for tensor in rooms[self.rank]]
        for mine, theirs in zip(rooms, self.sent, strict=True):
            for tensor, other in zip(mine, theirs or mine, strict=True):
                tensor.copy_(other)


def test_slabs_are_shared_out_whole():
    for count in (1, 4, 16, 64):
        for world in range(1, 8):
            owned = [list(Several(rank, world).owned(count)) for rank in range(world)]
            assert [s for mine in owned for s in mine] == list(range(count))
            assert max(map(len, owned)) - min(map(len, owned)) <= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_slabs_travel_unchanged(dtype):
    rng = np.random.default_rng(0)
    sent, spaces = [None] * 3, [workspace(1000, 3, dtype) for _ in range(3)]
    for rank, space in enumerate(spaces):
        for s in Several(rank, 3).owned(len(space.sums)):
            space.sums[s] = rng.normal(size=2)
            space.gradients[s][:, space.slabs[s] :] = rng.normal(size=(3, 1000 - space.slabs[s]))
        exchange_slabs(Several(rank, 3, sent), space)
    for rank, space in enumerate(spaces):
        exchange_slabs(Several(rank, 3, sent), space)
    for space in spaces[1:]:
        np.testing.assert_array_equal(space.sums, spaces[0].sums)
        np.testing.assert_array_equal(space.gradients, spaces[0].gradients)
    assert spaces[0].sums.all()


def test_other_versions_are_told_apart():
    class Other(Communicator):
        def gather(self, mine):
            return [mine, mine | {"numpy": "0.9"}]

    together.check_same(Communicator(), {"numpy": "2.0"})
    with pytest.raises(
        ProcessesError, match=r"^process 1: other versions .*\(numpy 0\.9 here, 2\.0 there\)"
    ):
        together.check_same(Other(), {"torch": "2", "numpy": "2.0"})


def test_an_ordinary_process_is_alone(monkeypatch):
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)
    assert (started_by_torchrun(), is_first(), was_restarted(), communicator().size) == (
        False,
        True,
        False,
        1,
    )
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert (started_by_torchrun(), is_first(), was_restarted(), communicator().size) == (
        True,
        False,
        True,
        1,
    )


def test_each_process_of_a_machine_needs_memory(monkeypatch):
    pairs = RankedPairs(1000, np.array([[0, 1]]), np.zeros(1, dtype=np.int64))
    spec = RunSpec(PseudoHyperboloid(2, 2), Schedule.constant(3, temperature=0.1, step=0.1))
    problem, place = Problem(pairs, [spec]), Machine("cpu", "numba")
    alone = memory.estimate(problem, place).host
    monkeypatch.setattr(memory, "processes_here", lambda: 3)
    assert memory.estimate(problem, place).host == 3 * alone
    monkeypatch.setattr(memory, "free_bytes", lambda: 2 * alone)
    with pytest.raises(MemoryError, match="start fewer processes on this machine"):
        memory.require_memory(problem, place, lambda count: 0)


def test_processes_on_other_machines_have_memory_of_their_own(monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert processes_here() == 1
    monkeypatch.setattr(together, "communicator", lambda: Several(0, 4))
    assert processes_here() == 2


def test_what_one_process_computes_is_refused_to_several(monkeypatch):
    monkeypatch.setattr(registry, "communicator", lambda: Several(0, 2))
    pairs = RankedPairs(1000, np.array([[0, 1]]), np.zeros(1, dtype=np.int64))
    spec = RunSpec(PseudoHyperboloid(2, 2), Schedule.constant(3, temperature=0.1, step=0.1))
    with pytest.raises(ProcessesError, match="backend 'reference' computes in one process"):
        registry.make_engine(Problem(pairs, [spec]), Machine("cpu", "reference"))
    few = Problem(replace(pairs, n_nodes=34), [spec])
    with pytest.raises(
        ProcessesError, match="2 processes are too many: the pairs of 34 nodes are cut into 1 slab"
    ):
        registry.make_engine(few, Machine("cpu", "numba"))
