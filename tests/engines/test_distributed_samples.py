"""Training by samples on several processes, and what they say to one another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from machines import ON_CUDA

import ultrahyperbolic as uh
from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.communicator import Communicator, ProcessesError, joined, own_device
from ultrahyperbolic.engines.sampled import SampledEngine
from ultrahyperbolic.objective import RankedPairs, SampledLoss, SampleSizes, tables
from ultrahyperbolic.objective.tables import Measure
from ultrahyperbolic.pairs.kinds import kernel_space

SCRIPT = Path(__file__).parent / "sampled_together.py"
Q22 = PseudoHyperboloid(2, 2)


def environment():
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TORCHELASTIC", "MASTER"))
    }
    kept["PYTHONWARNINGS"] = (
        "error::FutureWarning,error::DeprecationWarning"  # collectives that torch gives up, too
    )
    return kept | {
        "PYTHONPATH": str(Path(uh.__file__).parent.parent),
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
    }


def started(*words, processes=None):
    command = [sys.executable]
    if processes:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return subprocess.Popen(
        [*command, *map(str, words)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process, *codes):
    try:
        out, error = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(process.communicate()[1]) from None
    assert process.returncode in (codes or (0,)), error
    return out, error


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    path = tmp_path_factory.mktemp("alone") / "found.npz"
    ended(started(SCRIPT, path))
    return np.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4])
def test_several_processes_give_the_bits_of_one(processes, alone, tmp_path):
    out, _ = ended(started(SCRIPT, tmp_path / "found.npz", processes=processes))
    assert f"sampled, {processes} processes, then numba, {processes} processes" in out
    found = np.load(tmp_path / "found.npz")
    assert found.files == alone.files
    for name in alone.files:
        np.testing.assert_array_equal(found[name], alone[name], err_msg=name)


@pytest.mark.slow
def test_ctrl_c_is_answered_by_the_first_process(tmp_path):
    rng = np.random.default_rng(0)
    path, folder = tmp_path / "ties.tsv", tmp_path / "run"
    path.write_text(
        "".join(f"{i}\t{j}\n" for i, j in rng.integers(0, 900, (2700, 2)) if i != j),
        encoding="ascii",
    )
    words = [
        "-m",
        "ultrahyperbolic",
        "embed",
        path,
        "-o",
        folder,
        "--backend",
        "sampled",
        "--iterations",
        100_000,
    ]
    launcher = started(
        *words, "--signature", "2,2", "--no-report", "--checkpoint-every", 0, processes=2
    )
    until = time.monotonic() + 200
    while not (folder / "checkpoint.safetensors").exists():
        assert launcher.poll() is None, launcher.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.01)
    os.killpg(launcher.pid, signal.SIGINT)
    _, error = ended(launcher, 1, 130)
    assert "the best points so far are in" in error
    assert uh.load(folder).record.stopped.why.unfinished


# --- in one process, which is a group of its own ------------------------------------------------------------


@pytest.fixture
def group_of_one(monkeypatch):
    for name, value in {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
        "RANK": "0",
        "WORLD_SIZE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with joined() as group:
        yield group


def test_tensors_travel_unchanged(group_of_one):
    sent = [
        (
            torch.tensor(0.5),
            torch.arange(3, dtype=torch.float32),
            torch.randn(5, 2, dtype=torch.float64),
        ),
        (torch.tensor(-torch.inf), torch.zeros(0, dtype=torch.float32), torch.randn(4, 3).T),
    ]
    found = group_of_one.gather_tensors(iter(sent), torch.device("cpu"))
    for some, others in zip(sent, found, strict=True):
        for tensor, other in zip(some, others, strict=True):
            assert (tensor.dtype, tensor.shape) == (other.dtype, other.shape)
            assert torch.equal(tensor, other)


def test_what_is_shared_keeps_its_arrays(group_of_one, monkeypatch):
    """Another process reads what the first has sent."""
    fixed = np.arange(6.0).reshape(2, 3)
    fixed.flags.writeable = False
    value = {
        "words": "a",
        "empty": np.empty((0, 2)),
        "fixed": fixed,
        "turned": np.arange(6).reshape(2, 3).T,
    }
    sent = []
    with monkeypatch.context() as patched:
        patched.setattr(group_of_one, "head", sent.append)
        patched.setattr(group_of_one, "follow", lambda tensor: sent.append(tensor.clone()))
        assert group_of_one.share(value) is value
    with monkeypatch.context() as patched:
        sent.insert(0, -1)  # that there is nothing yet
        patched.setattr(group_of_one, "rank", 1)
        patched.setattr(group_of_one, "head", lambda number: sent.pop(0))
        patched.setattr(group_of_one, "follow", lambda tensor: tensor.copy_(sent.pop(0)))
        found = group_of_one.share(None)
    assert (found.pop("words"), sent) == ("a", [])
    for name, array in found.items():
        np.testing.assert_array_equal(array, value[name])
        assert array.flags.writeable == value[name].flags.writeable


def trained(group, device, iterations=20):
    rng = np.random.default_rng(0)
    pairs = RankedPairs(
        60, np.sort(rng.permutation(60).reshape(30, 2)), np.zeros(30, dtype=np.int64)
    )
    schedule = Schedule.constant(iterations, temperature=0.1, step=1e-3)
    specs = [RunSpec(Q22, schedule, "smoothed", sample=SampleSizes(10, 8))]
    engine = SampledEngine(
        *Problem(pairs, specs), device=torch.device(device), threads=1, communicator=group
    )
    state = BatchState.start(
        [Q22.random(60, scale=0.3, generator=torch.Generator().manual_seed(0)).numpy()]
    )
    losses = np.concatenate([engine.advance(state, iterations // 2) for _ in range(2)], 1)
    engine.close()
    return losses, state.points


def test_a_group_of_one_trains_as_one(group_of_one):
    for found, expected in zip(
        trained(group_of_one, "cpu"), trained(Communicator(), "cpu"), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@ON_CUDA
def test_nccl_carries_what_cuda_devices_say(group_of_one):
    for found, expected in zip(
        trained(group_of_one, "cuda"), trained(Communicator(), "cuda"), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("devices", "nccl", "local", "words"),
    [
        (0, True, 0, "no CUDA device here: use --device cpu"),
        (1, False, 0, "no NCCL"),
        (
            2,
            True,
            2,
            "3 processes were started on a machine with 2 CUDA devices: use --nproc-per-node=2",
        ),
    ],
)
def test_what_is_missing_for_cuda_is_said(devices, nccl, local, words, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: devices > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: nccl)
    monkeypatch.setenv("LOCAL_RANK", str(local))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    with pytest.raises(ProcessesError, match=words):
        own_device(torch.device("cuda"))
    assert own_device(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("ways", [2, 3, 4])
def test_devices_get_equal_shares_of_a_batch(ways, monkeypatch):
    monkeypatch.setattr(tables, "_AT_ONCE", 100)
    pairs = RankedPairs(50, np.arange(50).reshape(25, 2), np.zeros(25, dtype=np.int64))
    loss = SampledLoss(pairs, SampleSizes(25, 10))
    points, draw = Q22.random(50, scale=0.3), loss.draw(0)
    measure = Measure(kernel_space(Q22, "smoothed"), 0.1, 0.1)
    alone = loss(points, None, draw, measure)
    sizes = []

    def noting(work, numbers):
        found = [work(number) for number in numbers]
        sizes.extend(len(block[1]) for block in found)
        return found

    loss.mapper = noting
    loss.ways = ways
    shared = loss(points, None, draw, measure)
    assert len(sizes) % ways == 0
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= 10
    torch.testing.assert_close(shared.gradient, alone.gradient)
