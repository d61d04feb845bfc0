"""A training of the command as it lies in its folder: begun, and gone on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .errors import Refused, refusing
from .sources import find_again

if TYPE_CHECKING:
    from ..graph import Graph
    from ..loop import SoFar
    from ..training.config import TrainingConfig

# What may be said beside --resume; everything else is in the folder.
_ALLOWED_WITH_RESUME = (
    "resume",
    "time_limit",
    "checkpoint_every",
    "threads",
    "tensorboard",
    "with_report",
    "quiet",
    "as_json",
)


@dataclass(frozen=True)
class Task:
    """What is to be trained, and how far it has come."""

    folder: Path
    graph: Graph
    configs: list[TrainingConfig]
    record: dict[str, Any]
    """What ``run.json`` says before the first iteration."""
    so_far: SoFar | None = None


def hold(context: typer.Context, folder: Path) -> None:
    """Keep other trainings out of a folder until the command ends."""
    from ..training.checkpoint import locked

    with refusing(BlockingIOError):
        context.with_resource(locked(folder))


def reopen(context: typer.Context, folder: Path, *, time_limit: float | None, quiet: bool) -> Task | str:
    """The training of a folder, or why it ended where it is finished.

    A ``time_limit`` counts from now; without one the limit of the folder holds, for all parts together.
    """
    from ..embedding.embedding import RECORD
    from ..engines.registry import choose_backend
    from ..files import check_writable, read_sealed_json
    from ..loop import unfinished
    from ..training.checkpoint import CHECKPOINT, read_checkpoint
    from ..training.config import TrainingConfig
    from ..training.embed import versions

    _refuse_others(context)
    if not folder.is_dir():
        raise Refused(f"{folder}: {'this is a file' if folder.exists() else 'no such folder'}; give one embed wrote")
    hold(context, folder)
    so_far = None
    with refusing(OSError, ValueError):
        written = read_sealed_json(folder / RECORD) if (folder / RECORD).exists() else {}
        record = written
        if (folder / CHECKPOINT).exists():
            so_far, record = read_checkpoint(folder)
    if "training" not in record:
        raise Refused(f"{folder} holds no training of the command embed: there is nothing to go on with")
    if so_far is None and written["stopped"] is not None and not unfinished(written["stopped"]):
        return str(written["stopped"])
    limit = _time_limit(folder, record["training"]["time_limit"], time_limit, so_far)
    if so_far is not None and written.get("stopped", "") is None:
        # A record that is not complete belongs to the training of the checkpoint.
        _refuse_differences(folder, "run.json and the checkpoint are of two trainings", written, record)
    here = {name: version for name, version in versions().items() if name != "python"}
    there = {name: record["versions"].get(name) for name in here}
    _refuse_differences(folder, "other versions, whose bits may differ", {"versions": there}, {"versions": here})
    with refusing(OSError, about="cannot write the embedding: "):
        check_writable(folder)
    data, why = find_again(record, folder, quiet=quiet, download=True)
    if data is None:
        raise Refused(f"{folder} cannot be gone on with, as {why}: put it back")
    kept = {"fingerprint": record["graph"]["fingerprint"], "nodes": record["graph"]["nodes"]}
    found = {"fingerprint": data.fingerprint, "nodes": data.n_nodes}
    _refuse_differences(folder, "another graph", {"graph": kept}, {"graph": found})
    how = {**record["training"], "time_limit": limit}
    with refusing(ValueError, TypeError):
        configs = [TrainingConfig.from_json(config) for config in how["configs"]]
        choose_backend(data.n_nodes, device=how["device"], backend=how["backend"], precision=how["precision"])
    return Task(folder, data, configs, {**record, "training": how, "stopped": None, "measures": {}}, so_far)


def _time_limit(folder: Path, before: float | None, more: float | None, so_far: SoFar | None) -> float | None:
    """The seconds that all parts of a training may take together."""
    spent = 0.0 if so_far is None else so_far.seconds
    if more is not None:
        return round(spent + more, 3)
    if before is not None and spent >= before:
        raise Refused(f"{folder} has reached its time limit of {before:g} s: add --time-limit SECONDS to continue")
    return before


def _refuse_others(context: typer.Context) -> None:
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in _ALLOWED_WITH_RESUME and source is not None and source.name == "COMMANDLINE":
            name = parameter.opts[0] if parameter.opts[0].startswith("-") else "GRAPH"
            raise Refused(f"--resume takes everything from the folder: leave {name} out")


def _refuse_differences(folder: Path, what: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    from ..training.checkpoint import differences

    keys = ("training", "graph", "versions", "seed")
    a, b = ({key: record[key] for key in keys if key in record} for record in (then, now))
    for record in (a, b):
        if "training" in record:  # of which more time makes no other
            record["training"] = {key: value for key, value in record["training"].items() if key != "time_limit"}
    found = differences(a, b)
    if found:
        raise Refused(f"{folder} cannot be gone on with, {what}: {'; '.join(found)}")
