"""A command on several processes, which ``torchrun`` starts: the first runs it, the others compute
for it.
"""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, ParamSpec

import typer

from .errors import refusing

P = ParamSpec("P")


def started_by_torchrun() -> bool:
    """Whether this is one of several processes of a training."""
    return "MASTER_ADDR" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first() -> bool:
    """Whether this process decides, reads and writes."""
    return not started_by_torchrun() or int(os.environ.get("RANK", "0")) == 0


def together(command: Callable[P, None]) -> Callable[P, None]:
    """A command that has the help of other processes, where there are some, and lets them go in the
    end.
    """

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        if not started_by_torchrun():
            command(*arguments, **options)
            return
        from ..engines.communicator import ConnectionLostError, ProcessesError, joined

        try:
            with refusing(ProcessesError), joined():
                command(*arguments, **options)
        except ConnectionLostError as error:
            print(
                f"error: {error}; continue from the last checkpoint with embed --resume FOLDER, "
                "or have torchrun do so with --max-restarts",
                file=sys.stderr,
            )
            raise typer.Exit(1) from None

    return run


def left_behind(folder: Path, command: str) -> Literal["nothing", "a beginning", "a checkpoint"]:
    """What the same command has left in a folder, before torchrun started the processes again."""
    from ..embedding.record import RunRecord
    from ..embedding.store import RECORD
    from ..files import read_sealed_json
    from ..training.checkpoint import CHECKPOINT, read_checkpoint

    restarted = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
    if not (started_by_torchrun() and restarted):
        return "nothing"
    try:
        if (folder / CHECKPOINT).exists():
            return "a checkpoint" if read_checkpoint(folder)[1].command == command else "nothing"
        record = RunRecord.from_json(read_sealed_json(folder / RECORD))
    except (OSError, ValueError):
        return "nothing"
    if record.command != command:
        return "nothing"
    return "a checkpoint" if record.stopped is not None else "a beginning"
