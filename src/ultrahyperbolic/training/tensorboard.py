"""A training written down for TensorBoard as it goes."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluation import violated_orders

if TYPE_CHECKING:
    from ..engines.base import BatchState
    from ..graph import Graph
    from ..loop import Callback, Progress
    from .config import TrainingConfig

# Iterations between two entries, at which chunks always end: what is written does not depend on the clock,
EVERY = 100
# but for violated orders, which take a pass over all pairs: after the first, these may take this share of the time.
_COUNTING = 0.02


class TensorBoard:
    """A callback of a training: loss, temperature, ε, longest edge, shortest non-edge and violated orders of each run.

    Each run of a batch has a folder of its own below ``folder``, named by its geometry and seed. Runs that were in
    ``folder`` before are left alone; TensorBoard shows them beside. ``tensorboard --logdir folder`` reads it, also
    while the training runs. ``graph`` and ``configs`` are what is trained, as `embed_many` takes it.
    """

    def __init__(self, folder: str | os.PathLike[str], graph: Graph, configs: Sequence[TrainingConfig]) -> None:
        self.graph, self.configs = graph, configs
        self.schedules = [config.schedule() for config in configs]
        names: list[str] = []
        for config in configs:
            name = f"{config.geometry.file_name}_seed{config.seed}"
            names.append(name if name not in names else f"{name}_{len(names)}")
        writer = writer_class()
        self.writers: list[Any] = [writer(os.fspath(Path(folder) / name)) for name in names]
        self.counting = 0.0  # seconds
        self.unwritten: tuple[Progress[BatchState], list[list[tuple[str, float]]]] | None = None

    def __call__(self, progress: Progress[BatchState]) -> None:
        """Write what a chunk of iterations came to, where it is due."""
        last = progress.iteration == progress.total or bool(progress.state.done.all())
        # The state goes on, so that what may turn out to be the last is noted now.
        values = [self._values(progress, run) for run in range(len(self.writers))]
        self.unwritten = progress, values
        if last or progress.passes(EVERY):
            self._write(progress, values, counted=last or self.counting <= _COUNTING * progress.seconds)

    def close(self) -> None:
        """Write where the training stopped, wherever that was, and close the files."""
        try:
            if self.unwritten is not None:
                progress, values = self.unwritten
                self._write(progress, values, counted=progress.state.iteration == progress.iteration)
        finally:
            for writer in self.writers:
                writer.close()

    def _write(self, progress: Progress[BatchState], values: list[list[tuple[str, float]]], *, counted: bool) -> None:
        self.unwritten = None
        for run, writer in enumerate(self.writers):
            for name, value in values[run] + ([self._violated(progress, run)] if counted else []):
                if math.isfinite(value):
                    writer.add_scalar(name, value, progress.iteration)
            writer.flush()

    def _values(self, progress: Progress[BatchState], run: int) -> list[tuple[str, float]]:
        schedule = self.schedules[run]
        at = min(progress.iteration, len(schedule)) - 1  # the finish is at the last values
        record = progress.state.record[run]
        return [
            ("loss", float(progress.loss[run])),
            ("temperature", float(schedule.temperature[at])),
            ("epsilon", float(schedule.epsilon[at])),
            ("longest_edge", float(record["longest"])),
            ("shortest_nonedge", float(record["shortest"])),
        ]

    def _violated(self, progress: Progress[BatchState], run: int) -> tuple[str, float]:
        began, geometry = time.monotonic(), self.configs[run].geometry
        finishing = progress.iteration > len(self.schedules[run])
        state = progress.state
        where, offsets = (state.best, state.best_offsets) if finishing else (state.points, state.offsets)
        points = where[run, :, : geometry.ambient_dim].copy()
        share = violated_orders(self.graph, points, geometry, popularity=offsets[run].copy()).edges_vs_nonedges
        self.counting += time.monotonic() - began
        return "violated_orders", share


@contextmanager
def with_tensorboard(
    folder: str | os.PathLike[str] | None, graph: Graph, configs: Sequence[TrainingConfig]
) -> Iterator[list[Callback[BatchState]]]:
    """The callback that writes for TensorBoard until the training ends, however it ends; none without a folder."""
    if folder is None:
        yield []
        return
    with closing(TensorBoard(folder, graph, configs)) as board:
        yield [board]


def check_board(folder: str | os.PathLike[str] | None) -> None:
    """Raise, before a training, for what would keep TensorBoard's files from being written."""
    if folder is None:
        return
    if Path(folder).exists() and not Path(folder).is_dir():
        raise FileExistsError(f"tensorboard {folder}: this is a file; name a folder")
    writer_class()


def writer_class() -> Any:
    """What writes for TensorBoard, or an ``ImportError`` that says what to install."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ImportError(
            "writing for TensorBoard needs tensorboard: pip install 'ultrahyperbolic[tensorboard]'"
        ) from None
    return SummaryWriter
