"""Disks that are full and folders that are read-only: one line, and the earlier files as they
were.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from faults.conftest import contents
from faults.kill import check_whole, content
from machines import ON_LINUX

from ultrahyperbolic.training.checkpoint import CHECKPOINT

pytestmark = ON_LINUX

# The losses make the checkpoint grow by 8 bytes an iteration, until it no longer fits.
TRAIN = "embed karate --preset paper --iterations 12000 --checkpoint-every 0 --quiet"
SAID = f"cannot write the checkpoint, the previous one stays: {{folder}}/{CHECKPOINT}: {{why}}"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 192 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", place], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"mounting a small file system is not allowed here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_file_system_leaves_the_last_checkpoint(call, refuse, small_disk):
    call("embed karate -o undisturbed --preset paper --iterations 12000 --quiet")
    club = small_disk / "club"
    assert refuse(f"{TRAIN} -o {club}") == SAID.format(folder=club, why="No space left on device")
    assert sorted(contents(club)) == [CHECKPOINT, "run.json"]
    assert check_whole(club) > 0
    assert refuse(f"embed --resume {club} --checkpoint-every 0 --quiet").endswith(
        "No space left on device"
    )
    assert check_whole(club) > 0
    # With more room it goes on.
    subprocess.run(["mount", "-o", "remount,size=32m", small_disk], check=True)
    assert call(f"embed --resume {club} --quiet").exit_code == 0
    assert content(club) == content(Path("undisturbed"))


def test_a_write_that_breaks_off_leaves_the_last_checkpoint(call, refuse):
    call("embed karate -o undisturbed --preset paper --iterations 12000 --quiet")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        assert refuse(f"{TRAIN} -o club") == SAID.format(folder="club", why="File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sorted(contents(Path("club"))) == [CHECKPOINT, "run.json"]
    assert check_whole(Path("club")) > 0
    assert call("embed --resume club --quiet").exit_code == 0
    assert content(Path("club")) == content(Path("undisturbed"))


def test_a_read_only_folder_is_named_and_left(begun):
    begun()
    before = contents(Path("club"))

    def obey() -> None:
        if os.geteuid() == 0:
            ctypes.CDLL(None).prctl(
                24, 1, 0, 0, 0
            )  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: root keeps to permissions

    Path("club").chmod(0o555)
    command = [sys.executable, "-m", "ultrahyperbolic", "embed", "--resume", "club"]
    result = subprocess.run(command, capture_output=True, text=True, preexec_fn=obey)
    Path("club").chmod(0o755)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: cannot write the embedding: club/")
    assert result.stderr.endswith(": Permission denied\n")
    assert contents(Path("club")) == before


def test_what_a_killed_process_left_half_written_is_removed(call, begun):
    begun()
    left = [
        Path("club", f".{name}.123")
        for name in (CHECKPOINT, "run.json", "embedding.parquet", "report.html")
    ]
    for path in left:
        path.write_bytes(b"half")
    Path("club/notes.txt").write_text("mine")
    assert call("embed --resume club --quiet").exit_code == 0
    assert sorted(contents(Path("club"))) == [
        "embedding.parquet",
        "notes.txt",
        "report.html",
        "run.json",
    ]
