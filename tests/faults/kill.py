"""Kill trainings at random moments, go on, and compare the last bits with those of a training that
nobody disturbed.

python tests/faults/kill.py --kills 200 --json out/kills.json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from pyarrow import parquet

from ultrahyperbolic import datasets, embed
from ultrahyperbolic.cli import main as main_of_command
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.embedding.store import read_record
from ultrahyperbolic.files import read_json
from ultrahyperbolic.training.checkpoint import CHECKPOINT, read_checkpoint


class Training:
    """The command ``embed`` as a process of its own, forked from this one so that libraries are
    imported once.
    """

    def __init__(self, folder: Path, *words: object) -> None:
        self.code: int | None = None
        self.errors = folder / "errors"
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.dup2(os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            sys.argv = [
                "ultrahyperbolic",
                "embed",
                *map(str, words),
                "--quiet",
                "--checkpoint-every",
                "0",
            ]
            try:
                main_of_command()
            except SystemExit as leaving:
                os._exit(leaving.code if isinstance(leaving.code, int) else 1)
            finally:
                os._exit(99)  # a traceback is a failure, whatever it is of

    def runs(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is None

    def kill(self) -> bool:
        """SIGKILL; whether it came before the end."""
        if self.runs():
            os.kill(self.pid, signal.SIGKILL)
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code == -signal.SIGKILL

    def finish(self) -> None:
        while self.runs():
            time.sleep(0.01)
        if self.code:
            raise AssertionError(f"exit code {self.code}: {self.errors.read_text()}")


def warm_up() -> None:
    """Compile, without a thread that a fork would lose."""
    torch.set_num_threads(1)
    embed(datasets.karate(), iterations=5, quiet=True)


def check_whole(club: Path) -> int:
    """Every file of a folder after a kill is whole; how far the checkpoint is."""
    read_record(club)
    if (club / "embedding.parquet").exists():
        Embedding.load(club)
    return read_checkpoint(club)[0].state.iteration if (club / CHECKPOINT).exists() else -1


def content(club: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of the table, and what the record says apart from clocks."""
    record = Embedding.load(club).run
    assert record == read_json(club / "run.json")
    del record["timing"], record["command"]  # which name the folder
    return parquet.read_table(club / "embedding.parquet").to_pydict(), record


def disturb(folder: Path, words: list[object], kills: int, rng: random.Random) -> dict[str, int]:
    """Trainings killed again and again until so many kills are done; what they ended with is
    compared.
    """
    Training(folder, *words, "-o", "undisturbed").finish()
    expected = content(folder / "undisturbed")
    club = folder / "club"
    found = {
        "kills": 0,
        "trainings": 0,
        "resumes": 0,
        "different": 0,
        "in_writing": 0,
        "longest_chain": 0,
    }
    while found["kills"] < kills:
        found["trainings"] += 1
        chain, process = 0, Training(folder, *words, "-o", "club")
        while process.runs() and found["kills"] < kills:
            # From the first checkpoint of this process on, at any moment until its end.
            seen = _checkpoint(club)
            while process.runs() and _checkpoint(club) == seen:
                time.sleep(0.001)
            time.sleep(rng.uniform(0.0, 0.6))
            if not process.kill():
                break
            chain += 1
            found["kills"] += 1
            found["in_writing"] += any(club.glob(".*"))
            check_whole(club)
            found["resumes"] += 1
            process = Training(folder, "--resume", "club")
        process.finish()
        found["longest_chain"] = max(found["longest_chain"], chain)
        found["different"] += content(club) != expected
        left = sorted(path.name for path in club.iterdir())
        assert left == ["embedding.parquet", "report.html", "run.json"], left
        shutil.rmtree(club)
        print(f"{found['kills']} of {kills} kills, {found['trainings']} trainings", file=sys.stderr)
    return found


def _checkpoint(club: Path) -> tuple[int, int] | None:
    try:
        status = (club / CHECKPOINT).stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--backend", default="numba")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    words: list[object] = ["karate", "--iterations", asked.iterations, "--backend", asked.backend]
    started = time.monotonic()
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = disturb(Path(folder), words, asked.kills, random.Random(asked.seed))
    found |= {
        "iterations": asked.iterations,
        "backend": asked.backend,
        "seconds": time.monotonic() - started,
    }
    for name, value in found.items():
        print(f"{name:14} {value if not isinstance(value, float) else f'{value:.0f}'}")
    if asked.json is not None:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.exit(found["different"] > 0)


if __name__ == "__main__":
    main()
