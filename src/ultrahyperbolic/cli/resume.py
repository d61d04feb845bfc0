"""A training in its folder, opened to continue it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .errors import Refused, refusing
from .sources import find_again
from .training import Task, hold

if TYPE_CHECKING:
    from ..embedding.record import Json, RunRecord
    from ..engines.base import BatchState
    from ..loop import Checkpoint

# What may be said beside --resume; everything else is in the folder.
_WITH_RESUME = (
    "resume",
    "time_limit",
    "checkpoint_every",
    "threads",
    "tensorboard",
    "with_report",
    "title",
    "quiet",
    "as_json",
)


def reopen(
    context: typer.Context,
    folder: Path,
    *,
    time_limit: float | None,
    threads: int | None,
    quiet: bool,
    again: bool = False,
) -> Task | str:
    """The training of a folder, or why it ended where it is finished; ``again`` where the same command runs again.

    A ``time_limit`` counts from now; without one the limit of the folder holds, for all parts together.
    """
    from ..embedding.record import RunRecord
    from ..embedding.store import RECORD
    from ..engines.communicator import versions
    from ..files import check_writable, read_sealed_json
    from ..training.checkpoint import CHECKPOINT, differences, read_checkpoint
    from ..training.execution import Execution

    for parameter in () if again else context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in _WITH_RESUME and source is not None and source.name == "COMMANDLINE":
            name = parameter.opts[0] if parameter.opts[0].startswith("-") else "GRAPH"
            raise Refused(f"--resume takes everything from the folder: leave {name} out")
    if not folder.is_dir():
        raise Refused(f"{folder}: {'this is a file' if folder.exists() else 'no such folder'}; give one embed wrote")
    hold(context, folder)
    checkpoint = None
    with refusing(OSError, ValueError):
        there = (folder / RECORD).exists()
        record = written = RunRecord.from_json(read_sealed_json(folder / RECORD) if there else {})
        if (folder / CHECKPOINT).exists():
            checkpoint, record = read_checkpoint(folder)
    if record.training is None or record.graph is None:
        raise Refused(f"{folder} holds no training of the command embed: there is nothing to continue")
    if checkpoint is None and written.stopped is not None and not written.unfinished:
        return written.stopped.text
    if checkpoint is None and any(config.get("start") == "given" for config in record.training.configs):
        raise Refused(
            f"{folder} has no checkpoint yet, and its starting points are not kept: run embed --continue-from again"
        )
    limit = _time_limit(folder, record.training.time_limit, time_limit, checkpoint)
    if checkpoint is not None and there and written.stopped is None:
        # A record that is not complete belongs to the training of the checkpoint.
        _refuse_differences(folder, "run.json and the checkpoint are of two trainings", written, record)
    here = {name: version for name, version in versions().items() if name != "python"}
    then = {name: record.versions.get(name, "") for name in here}
    _refuse(folder, "other versions, whose bits may differ", differences({"versions": then}, {"versions": here}))
    with refusing(OSError, about="cannot write the embedding: "):
        check_writable(folder)
    data, why = find_again(record, folder, quiet=quiet, download=True)
    if data is None:
        raise Refused(f"{folder} cannot be resumed, as {why}: put it back")
    kept: dict[str, Json] = {"fingerprint": record.graph.fingerprint, "nodes": record.graph.nodes}
    found: dict[str, Json] = {"fingerprint": data.fingerprint, "nodes": data.n_nodes}
    _refuse(folder, "another graph", differences({"graph": kept}, {"graph": found}))
    record = replace(record, training=replace(record.training, time_limit=limit), stopped=None, measures={})
    with refusing(ValueError, TypeError):
        execution = Execution.going_on(record, data, threads=threads, quiet=quiet)
    return Task(folder, execution, record, checkpoint)


def _time_limit(
    folder: Path, before: float | None, more: float | None, checkpoint: Checkpoint[BatchState] | None
) -> float | None:
    """The seconds that all parts of a training may take together."""
    spent = 0.0 if checkpoint is None else checkpoint.seconds
    if more is not None:
        return round(spent + more, 3)
    if before is not None and spent >= before:
        raise Refused(f"{folder} has reached its time limit of {before:g} s: add --time-limit SECONDS to continue")
    return before


def _refuse_differences(folder: Path, what: str, then: RunRecord, now: RunRecord) -> None:
    """Refuse two records that are not of one training; more time makes no other."""
    from ..training.checkpoint import differences

    def compared(record: RunRecord) -> dict[str, Json]:
        training = None if record.training is None else replace(record.training, time_limit=None)
        return replace(record, training=training).to_json()

    before, after = compared(then), compared(now)
    keys = [key for key in ("training", "graph", "versions", "seed") if key in before or key in after]
    _refuse(folder, what, differences({key: before.get(key) for key in keys}, {key: after.get(key) for key in keys}))


def _refuse(folder: Path, what: str, found: list[str]) -> None:
    if found:
        raise Refused(f"{folder} cannot be resumed, {what}: {'; '.join(found)}")
