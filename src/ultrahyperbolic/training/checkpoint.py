"""A training on the disk: all it needs to go on as if it had never stopped, and a lock so that a
folder has one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from ..embedding.record import Json, RunRecord
from ..embedding.store import RECORD, REPORT, TABLE, finish_save
from ..engines.base import OF_NODES, OF_RUNS, BatchState
from ..engines.base import RECORD as FIELDS_OF_A_RUN
from ..files import SEAL, alone, digest_of, holder, lock, remove_leftovers, replace_files
from ..loop import Checkpoint, Progress

CHECKPOINT = "checkpoint.safetensors"
EVERY = 10.0
"""Seconds between checkpoints (default)."""

_ABOUT = "ultrahyperbolic"  # the key of the file's metadata
_ARRAYS = (*OF_NODES, *OF_RUNS, "losses")


class Checkpoints:
    """A callback of a training that writes ``checkpoint.safetensors`` to a folder every ``every``
    seconds.

    ``record`` is what ``run.json`` says before the first iteration; it travels with the checkpoint.
    Where time is short, the last is of the moment before iterations were left out: with more time,
    a training goes on from there.
    """

    def __init__(self, folder: Path, record: RunRecord, every: float = EVERY) -> None:
        self.folder, self.record, self.every = folder, record, every
        self.last = time.monotonic()
        self.latest: Progress[BatchState] | None = None
        self.hurried = False

    def __call__(self, progress: Progress[BatchState]) -> None:
        """Write a checkpoint where one is due."""
        if self.hurried:
            return
        self.latest, self.hurried = progress, progress.hurried
        if self.hurried or time.monotonic() - self.last >= self.every:
            self.write_latest()
        if self.hurried:
            self.latest = None

    def write_latest(self) -> None:
        """Write where the training stands, due or not: when it stops."""
        if self.latest is not None:
            write_checkpoint(self.folder, self.latest.checkpoint(), self.record)
            self.last = time.monotonic()


def write_checkpoint(folder: Path, checkpoint: Checkpoint[BatchState], record: RunRecord) -> None:
    """Replace the checkpoint of a folder, whole or not at all; points that are not finite are not
    written.
    """
    from safetensors.numpy import save

    state = checkpoint.state
    if not all(np.isfinite(getattr(state, name)).all() for name in OF_NODES):
        return
    arrays = vars(state) | {"record": state.rows, "losses": checkpoint.losses}
    arrays = {name: np.ascontiguousarray(arrays[name]) for name in _ARRAYS}
    about: dict[str, Json] = {
        "iteration": state.iteration,
        "seconds": checkpoint.seconds,
        "record": record.to_json(),
    }
    about[SEAL] = digest_of(about, list(arrays.values()))
    content = save(arrays, {_ABOUT: json.dumps(about)})
    replace_files(folder, {CHECKPOINT: lambda file: file.write(content)})


def read_checkpoint(folder: Path) -> tuple[Checkpoint[BatchState], RunRecord]:
    """What `write_checkpoint` wrote: the training so far and its record; ``ValueError`` where it is
    not that.
    """
    from safetensors import SafetensorError, safe_open

    path = folder / CHECKPOINT
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()[_ABOUT])
            arrays = {name: file.get_tensor(name) for name in _ARRAYS}
        if about.pop(SEAL) != digest_of(about, list(arrays.values())):
            raise ValueError("its content is not what was written: its sha256 differs")
        losses, rows = arrays.pop("losses"), np.ascontiguousarray(arrays.pop("record"))
        record = rows.view(FIELDS_OF_A_RUN)[:, 0]
        state = BatchState(**arrays, record=record, iteration=about["iteration"])
    except (
        SafetensorError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"{path} is damaged: {why}; remove it to begin the training again"
        ) from None
    return Checkpoint(state, losses, about["seconds"]), RunRecord.from_json(about["record"])


def differences(then: Mapping[str, Json], now: Mapping[str, Json], within: str = "") -> list[str]:
    """Where two records of plain data differ, in words.

    >>> differences({"seed": 0, "beta": -1.0}, {"seed": 1, "beta": -1.0})
    ['seed: 0 then, 1 now']
    """
    found = []
    for key in sorted(set(then) | set(now)):
        a, b, name = then.get(key), now.get(key), f"{within}{key}"
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += differences(a, b, f"{name}.")
        elif a != b:
            found.append(f"{name}: {a} then, {b} now")
    return found


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder to write into, where locks exist; ``BlockingIOError`` where another process
    holds it.

    What killed processes have left is removed, and a save that one of them had half done is
    completed.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # some systems open no folders
        handle = None
    names = (TABLE, RECORD, CHECKPOINT, REPORT)
    try:
        if handle is not None and lock(handle) is False:
            number = holder(handle)
            who = "another process" if number is None else f"process {number}"
            raise BlockingIOError(
                f"{who} is writing into {folder}: wait for it, or name another folder"
            )
        if any(left for name in names for left in folder.glob(f".{name}.*")):
            with (
                suppress(OSError),
                alone(folder) as certain,
            ):  # a folder that cannot be written to is told of later
                if certain:
                    finish_save(folder)
                    remove_leftovers(folder, names)
        yield
    finally:
        if handle is not None:
            os.close(handle)
