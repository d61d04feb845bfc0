"""A training of the command in its folder: written down, trained, kept, and continued after
Ctrl-C.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..progress import bar
from .errors import Refused, reason, refusing
from .output import note, print_json, print_summary, resuming, summary_as_json
from .signals import cut_short, end, on_interrupt
from .sources import check_folder, check_table, open_embedding, read_again

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..embedding.record import Json, RunRecord
    from ..engines.base import BatchState
    from ..loop import Checkpoint, Progress
    from ..training.checkpoint import Checkpoints
    from ..training.execution import Execution


@dataclass(frozen=True)
class Task:
    """What is to be trained, and how far it has come."""

    folder: Path
    execution: Execution
    record: RunRecord  # what run.json says before the first iteration
    checkpoint: Checkpoint[BatchState] | None = None


@dataclass(frozen=True)
class Keeping:
    """What becomes of a training beside its points."""

    checkpoint_every: float | None = None  # seconds
    with_report: bool = True
    title: str | None = None  # of the report
    quiet: bool = False
    as_json: bool = False


# What may be said beside --resume; everything else is in the folder.
_WITH_RESUME = ("resume", "time_limit", "threads", *Keeping.__dataclass_fields__)


def hold(context: typer.Context, folder: Path) -> None:
    """Keep other commands from writing into a folder until this one ends."""
    from ..training.checkpoint import locked

    with refusing(BlockingIOError):
        context.with_resource(locked(folder))


def claim(context: typer.Context, folder: Path, *, overwrite: bool) -> None:
    """Make the folder and keep it to ourselves; what is there is kept unless ``overwrite``."""
    from ..embedding.store import prepare_folder
    from ..training.checkpoint import CHECKPOINT

    with refusing(OSError, about="cannot write the embedding: "), refusing(FileExistsError):
        if not folder.is_dir():
            prepare_folder(folder, overwrite=overwrite)
        hold(context, folder)
        if (folder / CHECKPOINT).exists() and not overwrite:
            raise Refused(
                f"{folder} holds a training that is not finished: continue it with --resume, or "
                "add --overwrite"
            )
        prepare_folder(folder, overwrite=overwrite)


def begin(task: Task) -> None:
    """Write what is known before the first iteration; what is overwritten stays until the new one
    is whole.
    """
    from ..embedding.store import TABLE, write_record
    from ..files import check_writable
    from ..training.checkpoint import CHECKPOINT

    with refusing(OSError, about="cannot write the embedding: "):
        if (task.folder / TABLE).exists():
            check_writable(task.folder)
        else:
            write_record(task.folder, task.record)
        (task.folder / CHECKPOINT).unlink(missing_ok=True)


def train_and_keep(task: Task, keeping: Keeping) -> None:
    """Train, measure, save and report; Ctrl-C keeps the best points so far, and a checkpoint to go
    on from.
    """
    from ..loop import Stopped
    from ..training.batch import SOON_NODES

    graph, asked = task.execution.graph, _Asked(task)
    soon = graph.n_nodes <= SOON_NODES
    with on_interrupt(partial(asked, 130)), on_interrupt(partial(asked, 143), signal.SIGTERM):
        embedding, checkpoints = _train(task, asked, keeping)
        embedding = _with_delta(embedding, task, keeping, asked, soon=soon)
        with refusing(OSError, about="cannot save the embedding: "):
            embedding.save(task.folder, overwrite=True)
    ending, result = embedding.record.stopped, embedding.record.result
    interrupted = ending is not None and ending.why is Stopped.INTERRUPTED
    left_out = "" if interrupted else "measuring"
    # Who asked when the training was over by itself does not want to wait for what comes after it,
    # either.
    if not asked.code or (interrupted and soon):
        embedding, left_out = _complete(embedding, task, keeping, asked)
    if left_out:
        _stop_here(checkpoints)
    if keeping.as_json:
        print_json(summary_as_json(embedding, task.folder))
    elif not keeping.quiet:
        print_summary(embedding, graph, task.folder)
    if (interrupted or left_out) and ending is not None and result is not None:
        what = (
            f"interrupted in {left_out}"
            if left_out
            else f"interrupted after {result.iterations} iterations"
        )
        again = f"to continue: ultrahyperbolic {resuming(task.folder, ending)}"
        print(f"{what}: the best points so far are in {task.folder}; {again}", file=sys.stderr)
        raise typer.Exit(asked.code or 130)


class _Asked:
    """Whether Ctrl-C or a polite kill came: the first time is noted, the second, or one before all
    results, leaves.
    """

    def __init__(self, task: Task) -> None:
        self.folder, self.code, self.something = task.folder, 0, task.checkpoint is not None

    def __call__(self, code: int) -> None:
        if not self.something:
            end("interrupted before there was anything to keep: no embedding is saved", code)
        if self.code:
            end(
                f"stopped immediately; to continue: ultrahyperbolic embed --resume {self.folder}",
                code,
            )
        self.code = code


def _train(task: Task, asked: _Asked, keeping: Keeping) -> tuple[Embedding, Checkpoints]:
    """The embedding, or the end of the command where there is nothing to keep."""
    from ..interrupted import Interrupted
    from ..training.checkpoint import EVERY, Checkpoints

    execution, every = task.execution, keeping.checkpoint_every
    checkpoints = Checkpoints(task.folder, task.record, EVERY if every is None else every)

    def between(progress: Progress[BatchState]) -> None:
        last = asked.code > 0  # a signal from here on is for the next chunk
        asked.something = True
        with refusing(OSError, about="cannot write the checkpoint, the previous one stays: "):
            checkpoints(progress)
        if last:
            raise KeyboardInterrupt

    with refusing(MemoryError):
        try:
            embedding = execution.train(
                [between], measures=False, checkpoint=task.checkpoint, asked=lambda: asked.code > 0
            )
        except Interrupted as interrupted:
            if interrupted.embedding is None:
                raise
            embedding = interrupted.embedding
    record, result, before = embedding.record, embedding.record.result, task.record
    if record.unfinished:
        _stop_here(checkpoints)
    if result is None or result.best_iteration < 0:
        print("error: the training diverged from the start: no embedding is saved", file=sys.stderr)
        raise typer.Exit(1)
    kept = {
        name: getattr(before, name)
        for name in ("graph", "training", "select", "command", "call", "reading")
    }
    timing, title = (
        replace(record.timing, started=before.timing.started),
        keeping.title or before.title,
    )
    return embedding.with_record(replace(record, timing=timing, title=title, **kept)), checkpoints


def _with_delta(
    embedding: Embedding, task: Task, keeping: Keeping, asked: _Asked, *, soon: bool
) -> Embedding:
    """With the measures of all pairs, which give δ too, as saving needs; who cannot wait gets an
    estimate of that.
    """
    from ..evaluation.summary import delta_from_samples
    from ..training.train import with_pair_measures

    execution, found = task.execution, None
    if soon or not asked.code:
        measure = partial(
            with_pair_measures, execution.graph, embedding, device=execution.machine.device
        )
        found, code = cut_short(lambda: measure(quiet=keeping.quiet, seconds=execution.measuring))
        asked.code = code or asked.code
    if found is None and not soon:
        estimated = delta_from_samples(
            execution.graph, embedding.points, embedding.space, embedding.popularity
        )
        embedding.remember(estimated, None)
        if not keeping.quiet:
            note(
                "delta and ranks are estimated from a few nodes; there are no measures and no "
                "report"
            )
    return embedding if found is None else found


def _stop_here(checkpoints: Checkpoints) -> None:
    """Write a checkpoint from which the training can go on; what it has reached is saved in any
    case.
    """
    try:
        checkpoints.write_latest()
    except OSError as error:
        note(f"cannot write the checkpoint, the previous one stays: {reason(error)}")


def _complete(
    embedding: Embedding, task: Task, keeping: Keeping, asked: _Asked
) -> tuple[Embedding, str]:
    """Complete the measures and the record and write the report; what Ctrl-C left no time for, if
    any.
    """
    from ..report import write_report
    from ..training.checkpoint import CHECKPOINT
    from ..training.train import with_node_measures

    graph, seconds = task.execution.graph, task.execution.measuring
    found, code = cut_short(
        lambda: with_node_measures(graph, embedding, quiet=keeping.quiet, seconds=seconds)
    )
    complete = embedding if found is None else found
    if code:
        asked.code = code
        return complete, "measuring"

    def report() -> None:
        with bar("report", show=not keeping.quiet):
            write_report(complete, task.folder)

    with refusing(OSError, about="cannot save the embedding: "):
        complete.save_record(task.folder)
        if keeping.with_report and (code := cut_short(report)[1]):
            asked.code = code
            return complete, "writing the report"
        # Last of all: a process that is killed before has something left to do.
        if not complete.record.unfinished:
            (task.folder / CHECKPOINT).unlink(missing_ok=True)
    return complete, ""


def resume(
    context: typer.Context,
    folder: Path,
    time_limit: float | None,
    threads: int | None,
    keeping: Keeping,
    *,
    again: bool = False,
) -> None:
    """Go on with the training of a folder, or say that it is finished; ``again`` where the command
    was restarted.
    """
    context.with_resource(bar(f"continuing {folder}", show=not keeping.quiet))
    for parameter in () if again else context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if (
            parameter.name not in _WITH_RESUME
            and source is not None
            and source.name == "COMMANDLINE"
        ):
            name = parameter.opts[0] if parameter.opts[0].startswith("-") else "GRAPH"
            raise Refused(f"--resume takes everything from the folder: leave {name} out")
    check_folder(folder)
    hold(context, folder)
    task = _reopen(folder, time_limit=time_limit, threads=threads, quiet=keeping.quiet)
    if isinstance(task, Task):
        train_and_keep(task, keeping)
    elif keeping.as_json:
        print_json(summary_as_json(open_embedding(folder), folder))
    elif not keeping.quiet:
        print(f"{folder} is finished: {task}")


def _reopen(
    folder: Path, *, time_limit: float | None, threads: int | None, quiet: bool
) -> Task | str:
    """The training of a folder, or why it ended where it is finished.

    A ``time_limit`` counts from now; without one the limit of the folder holds, for all parts
    together.
    """
    from ..embedding.record import RunRecord
    from ..embedding.store import read_record
    from ..engines.communicator import versions
    from ..files import check_writable
    from ..loop import Stopped
    from ..training.checkpoint import CHECKPOINT, read_checkpoint
    from ..training.execution import Execution

    checkpoint = None
    with refusing(OSError, ValueError):
        record = written = read_record(folder)
        if (folder / CHECKPOINT).exists():
            checkpoint, record = read_checkpoint(folder)
    if checkpoint is None:
        check_table(folder, written)
    if record.training is None or record.graph is None:
        raise Refused(
            f"{folder} holds no training of the command embed: there is nothing to continue"
        )
    if checkpoint is None and written.stopped is not None and not written.unfinished:
        return written.stopped.text
    if checkpoint is None and any(
        config.get("start") == "given" for config in record.training.configs
    ):
        raise Refused(
            f"{folder} has no checkpoint yet, and its starting points are not kept: run embed "
            "--continue-from again"
        )
    spent = 0.0 if checkpoint is None else checkpoint.seconds
    limit = record.training.time_limit if time_limit is None else round(spent + time_limit, 3)
    reached = written.stopped is not None and written.stopped.why is Stopped.TIME_LIMIT
    if limit is not None and (spent >= limit or (reached and time_limit is None)):
        raise Refused(
            f"{folder} has reached its time limit of {limit:g} s: add --time-limit SECONDS to "
            "continue"
        )
    if checkpoint is not None and written != RunRecord() and written.stopped is None:
        # A record that is not complete belongs to the training of the checkpoint.
        _refuse(
            folder,
            "run.json and the checkpoint are of two trainings",
            _compared(written),
            _compared(record),
        )
    here = {name: version for name, version in versions().items() if name != "python"}
    then = {name: record.versions.get(name, "") for name in here}
    _refuse(folder, "other versions, whose bits may differ", {"versions": then}, {"versions": here})
    with refusing(OSError, about="cannot write the embedding: "):
        check_writable(folder)
    data = read_again(record, folder, quiet=quiet)
    kept: dict[str, Json] = {"fingerprint": record.graph.fingerprint, "nodes": record.graph.nodes}
    found: dict[str, Json] = {"fingerprint": data.fingerprint, "nodes": data.n_nodes}
    _refuse(folder, "another graph", {"graph": kept}, {"graph": found})
    record = replace(
        record, training=replace(record.training, time_limit=limit), stopped=None, measures={}
    )
    with refusing(ValueError, TypeError):
        return Task(
            folder,
            Execution.going_on(record, data, threads=threads, quiet=quiet),
            record,
            checkpoint,
        )


def _compared(record: RunRecord) -> dict[str, Json]:
    """What is the same in all records of one training; more time makes no other."""
    training = None if record.training is None else replace(record.training, time_limit=None)
    plain = replace(record, training=training).to_json()
    return {key: plain.get(key) for key in ("training", "graph", "versions", "seed")}


def _refuse(folder: Path, what: str, then: Mapping[str, Json], now: Mapping[str, Json]) -> None:
    from ..training.checkpoint import differences

    if found := differences(then, now):
        raise Refused(f"{folder} cannot be resumed, {what}: {'; '.join(found)}")
