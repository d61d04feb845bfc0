"""One training on several processes, which ``torchrun`` starts: the first decides everything, the others compute slabs.

A pass over the pairs is cut into slabs by the number of nodes alone. Each process owns some of them whole, and the
first adds up all of them in their order: whatever the number of processes, the bits are those of one. It alone reads
the graph, keeps the time, answers Ctrl-C and writes; the others are told, and end with it.

A message is a header of numbers, sent to all. To *open* an engine the first process sends the graph and the runs
with their digest, and each of the others answers with what is wrong, or nothing. A *pass* sends the points of a run.
"""

from __future__ import annotations

import hashlib
import os
import platform
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch.distributed.rendezvous import rendezvous

from ..objective import RankedPairs
from ..version import __version__
from .base import BatchState, Evaluation, Floats, Precision, Problem, RunSpec, Schedule, evaluation_shapes
from .numba import streaming
from .numba.arguments import Moment, Prepared
from .numba.engine import CompiledRun, NumbaEngine
from .numba.near import NearPairs
from .numba.streaming import prepare, slabs_of
from .processes import ProcessesError, processes, set_processes

# A process waits for the first as long as that measures and writes; one that is gone is noticed at once.
_PATIENCE = timedelta(days=2)
# What is said, of which run, and the moment of its schedule.
_HEADER = 2 + len(Moment._fields)


_NO_SCHEDULE = Schedule.constant(1, temperature=1.0, step=1.0)


class ConnectionLostError(RuntimeError):
    """Another process of the training is gone."""


class _Say(IntEnum):
    LEAVE = 0
    OPEN = 1
    PASS = 2
    CLOSE = 3


class _Opening(NamedTuple):
    """What an engine is made of."""

    n_nodes: int
    edges: NDArray[np.int64]
    weaker: NDArray[np.int64]
    specs: Sequence[RunSpec]
    best_every: int
    stop_when_ordered: bool
    precision: Precision
    versions: dict[str, str]

    @property
    def digest(self) -> str:
        """Of everything."""
        found = hashlib.sha256(repr((self.n_nodes, *self[4:])).encode())
        for array in (self.edges, self.weaker, *(spec.schedule.rows for spec in self.specs)):
            found.update(np.ascontiguousarray(array).data)
        for spec in self.specs:
            schedule = spec.schedule
            found.update(repr(replace(spec, schedule=_NO_SCHEDULE)).encode())
            found.update(repr((schedule.drop_below, schedule.drop_factor, schedule.parts)).encode())
        return found.hexdigest()


@contextmanager
def joined() -> Iterator[None]:
    """Be the first of the processes that torchrun has started, and let the others go in the end."""
    _join()
    try:
        yield
    finally:
        with suppress(ConnectionLostError):  # who is gone needs no telling
            _say(_Say.LEAVE)
        set_processes(1)
        dist.destroy_process_group()


def serve() -> int:
    """Be one of the others until the first lets go of them; the exit code.

    Ctrl-C and polite kills reach all processes, and it is the first that answers them.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    engine: _Helper | None = None
    try:
        _join()
        while True:
            what, number, *moment = _hear()
            if what == _Say.LEAVE:
                break
            if what == _Say.OPEN:
                engine = _open_here()
            elif what == _Say.CLOSE or engine is None:
                engine = None
            else:
                engine.help(number, moment)
    except RuntimeError:
        return 1  # the first process is gone, and whoever started us sees why
    dist.destroy_process_group()
    return 0


def _join() -> None:
    store, rank, world = next(rendezvous("env://", timeout=_PATIENCE))
    # The launcher's store outlives a restart: what processes that are gone have written there is not for us.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    own = dist.PrefixStore(f"ultrahyperbolic/{attempt}", store)  # type: ignore[attr-defined]  # documented all the same
    dist.init_process_group("gloo", store=own, rank=rank, world_size=world, timeout=_PATIENCE)
    set_processes(dist.get_world_size())


@contextmanager
def _connection() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConnectionLostError(f"another process of this training is gone ({words})") from None


def _say(what: _Say, *numbers: float) -> None:
    header = torch.zeros(_HEADER, dtype=torch.float64)
    header[: 1 + len(numbers)] = torch.tensor([float(what), *numbers], dtype=torch.float64)
    with _connection():
        dist.broadcast(header, 0)


def _hear() -> list[float]:
    header = torch.zeros(_HEADER, dtype=torch.float64)
    with _connection():
        dist.broadcast(header, 0)
    found: list[float] = header.tolist()
    return found


def _versions() -> dict[str, str]:
    """What the bits of a result depend on."""
    import numba

    return {
        "ultrahyperbolic": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
    }


def open_everywhere(problem: Problem, precision: Precision) -> None:
    """Have every other process make the engine of a problem; ``ProcessesError`` with what is wrong with one of them."""
    pairs = problem.pairs
    opening = _Opening(pairs.n_nodes, pairs.edges, pairs.weaker, *problem[1:], precision, _versions())
    _say(_Say.OPEN)
    answers: list[object] = [None] * processes()
    with _connection():
        dist.broadcast_object_list([opening, opening.digest], 0)
        dist.all_gather_object(answers, "")
    wrong = [f"process {rank}: {answer}" for rank, answer in enumerate(answers) if answer]
    if wrong:
        raise ProcessesError("; ".join(wrong))


def _open_here() -> _Helper | None:
    """The engine that the first process asks for; None where this one cannot make it, which it says."""
    received: list[object] = [None, None]
    with _connection():
        dist.broadcast_object_list(received, 0)
    opening, digest = received
    if not isinstance(opening, _Opening):
        raise ConnectionLostError("the first process speaks another language")
    engine, wrong = None, ""
    here = _versions()
    differing = [
        f"{name} {here[name]} here, {then} there" for name, then in opening.versions.items() if here[name] != then
    ]
    if differing:
        wrong = f"other versions than the first process, whose bits may differ ({'; '.join(differing)})"
    elif opening.digest != digest:
        wrong = "the graph or the settings have changed on the way"
    else:
        try:
            pairs = RankedPairs(opening.n_nodes, opening.edges, opening.weaker)
            engine = _Helper(pairs, *opening[3:6], threads=1, precision=opening.precision)
        except (MemoryError, ValueError, ImportError) as error:
            wrong = str(error) or type(error).__name__
    answers: list[object] = [None] * processes()
    with _connection():
        dist.all_gather_object(answers, wrong)
    return engine if not any(answers) else None


def slabs_owned(count: int, rank: int, world: int) -> range:
    """The slabs of a process, one after the other: all have about equally many pairs."""
    return range(count * rank // world, count * (rank + 1) // world)


class _Helper(NumbaEngine):
    """The compiled engine of one of the others."""

    def help(self, number: float, moment: Sequence[float]) -> None:
        """Compute the slabs of a pass that are ours, and send them."""
        run = self._runs[int(number)]
        _share_points(run)
        tau, epsilon, step, max_step, parts, part = moment
        now = Moment(tau, epsilon, step, max_step, int(parts), int(part))
        work = run.work_of(now.parts)
        prepared: Prepared = prepare(run.arrays, run.space, now, self.stop_when_ordered, self._edges, work)
        mine = slabs_owned(len(work.sums), dist.get_rank(), processes())
        self.compute_slabs(run, now, prepared, work, None, mine)
        if len(mine):
            with _connection():
                dist.send(torch.from_numpy(_packed(work, mine)), 0)


def _share_points(run: CompiledRun) -> None:
    """Give all processes the points of the first."""
    arrays = run.arrays
    with _connection():
        dist.broadcast(torch.from_numpy(arrays.points), 0)
        if arrays.offsets is not None:
            dist.broadcast(torch.from_numpy(arrays.offsets), 0)
    arrays.pair_points[:] = arrays.points


def _packed_size(work: streaming.Workspace, slabs: range) -> int:
    _, width, n = work.gradients.shape
    return sum(2 + width * (n - int(work.slabs[s])) for s in slabs)


def _packed(work: streaming.Workspace, slabs: range) -> Floats:
    """The sums and the gradients of some slabs, which begin at their first rows."""
    parts = [part for s in slabs for part in (work.sums[s], work.gradients[s][:, work.slabs[s] :].ravel())]
    return np.concatenate(parts).astype(np.float64, copy=False)


def _unpack(work: streaming.Workspace, slabs: range, packed: Floats) -> None:
    _, width, n = work.gradients.shape
    at = 0
    for s in slabs:
        first = int(work.slabs[s])
        size = width * (n - first)
        work.sums[s] = packed[at : at + 2]
        work.gradients[s][:, first:] = packed[at + 2 : at + 2 + size].reshape(width, n - first)
        at += 2 + size


@dataclass
class DistributedEngine(NumbaEngine):
    """The compiled engine of the first process, whose passes the others help with."""

    name: str = "numba"

    def __post_init__(self) -> None:
        slabs, world = len(slabs_of(self.pairs.n_nodes)) - 1, processes()
        if world > slabs:
            raise ProcessesError(
                f"{world} processes are too many: the pairs of {self.pairs.n_nodes} nodes are cut into {slabs} "
                f"slab{'s' * (slabs != 1)}, so use at most {slabs}"
            )
        if any(spec.scope == "node" for spec in self.specs):
            raise ProcessesError(
                "scope 'node' is computed by one process: start it without torchrun, or use scope 'graph'"
            )
        super().__post_init__()
        open_everywhere(Problem(self.pairs, self.specs, self.best_every, self.stop_when_ordered), self.precision)
        self.name = f"numba, {world} processes"

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations]."""
        losses = np.full((len(self.specs), iterations), np.nan)
        with self._own_threads() as pool:
            for number, run in enumerate(self._runs):
                run.read_from(state, number)
                self._advance_together(run, losses[number], state.iteration, pool)
                run.write_to(state, number)
        state.iteration += iterations
        return losses

    def close(self) -> None:
        """Let the others forget the engine."""
        _say(_Say.CLOSE)

    def _evaluate(self, state: BatchState, lists: Sequence[NearPairs | None]) -> Evaluation:
        found = Evaluation(*(np.zeros(shape) for shape in evaluation_shapes(state)))
        with self._own_threads() as pool:
            for number in range(len(self._runs)):
                self._look(state, found, lists, pool, number)
        return found

    @contextmanager
    def _own_threads(self) -> Iterator[ThreadPoolExecutor | None]:
        if self._threads == 1:
            yield None
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                yield pool

    def _pass(
        self,
        run: CompiledRun,
        now: Moment,
        prepared: Prepared,
        work: streaming.Workspace,
        pool: ThreadPoolExecutor | None,
    ) -> None:
        """The slabs of a pass: ours here, the others' from where they were computed."""
        world, count = processes(), len(work.sums)
        number = next(k for k, each in enumerate(self._runs) if each is run)
        _say(_Say.PASS, number, *now)
        _share_points(run)
        self.compute_slabs(run, now, prepared, work, pool, slabs_owned(count, 0, world))
        for rank in range(1, world):
            theirs = slabs_owned(count, rank, world)
            if len(theirs):
                received = np.empty(_packed_size(work, theirs))
                with _connection():
                    dist.recv(torch.from_numpy(received), rank)
                _unpack(work, theirs, received)
