"""All pairs on several processes: each owns some slabs of a pass, and the first adds up all of them.

A pass over the pairs is cut into slabs by the number of nodes alone. Each process owns some of them whole, and the
first adds up all of them in their order: whatever the number of processes, the bits are those of one. It alone reads
the graph, keeps the time, answers Ctrl-C and writes; the others are told, and end with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist

from .base import BatchState, Evaluation, Floats, Problem, evaluation_shapes
from .group import Say, Setup, connection, open_everywhere, own_rank, owned, say, share
from .numba import streaming
from .numba.arguments import Moment, Prepared
from .numba.engine import CompiledRun, NumbaEngine
from .numba.near import NearPairs
from .numba.streaming import prepare, slabs_of
from .processes import ProcessesError, processes


class _Together(NumbaEngine):
    """What the first process and the others do alike."""

    @contextmanager
    def _own_threads(self) -> Iterator[ThreadPoolExecutor | None]:
        if self._threads == 1:
            yield None
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                yield pool


@dataclass
class Helper(_Together):
    """The compiled engine of one of the others."""

    def help(self, what: Say, numbers: Sequence[float]) -> None:
        """Compute the slabs of a pass that are ours, and send them."""
        run = self._runs[int(numbers[0])]
        _share_points(run)
        tau, epsilon, step, max_step, parts, part = numbers[1:]
        now = Moment(tau, epsilon, step, max_step, int(parts), int(part))
        work = run.work_of(now.parts)
        prepared: Prepared = prepare(run.arrays, run.space, now, self.stop_when_ordered, self._edges, work)
        mine = owned(len(work.sums), own_rank(), processes())
        with self._own_threads() as pool:
            self.compute_slabs(run, now, prepared, work, pool, mine)
        if len(mine):
            with connection():
                dist.send(torch.from_numpy(_packed(work, mine)), 0)


def _share_points(run: CompiledRun) -> None:
    """Give all processes the points of the first."""
    arrays = run.arrays
    share(torch.from_numpy(arrays.points))
    if arrays.offsets is not None:
        share(torch.from_numpy(arrays.offsets))
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


def unfit_for(problem: Problem, world: int) -> str | None:
    """Why so many processes cannot look at all pairs of a problem together, in words, or None."""
    n = problem.pairs.n_nodes
    slabs = len(slabs_of(n)) - 1
    if world > slabs:
        return (
            f"{world} processes are too many: the pairs of {n} nodes are cut into {slabs} "
            f"slab{'s' * (slabs != 1)}, so use at most {slabs}"
        )
    return None


@dataclass
class DistributedEngine(_Together):
    """The compiled engine of the first process, whose passes the others help with."""

    name: str = "numba"

    def __post_init__(self) -> None:
        world = processes()
        unfit = unfit_for(Problem(self.pairs, self.specs), world)
        if unfit is not None:
            raise ProcessesError(unfit)
        super().__post_init__()
        problem = Problem(self.pairs, self.specs, self.best_every, self.stop_when_ordered)
        self._number = open_everywhere(problem, Setup("numba", self._threads, self.precision))
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
        say(Say.CLOSE, self._number)

    def _evaluate(self, state: BatchState, lists: Sequence[NearPairs | None]) -> Evaluation:
        found = Evaluation(*(np.zeros(shape) for shape in evaluation_shapes(state)))
        with self._own_threads() as pool:
            for number in range(len(self._runs)):
                self._look(state, found, lists, pool, number)
        return found

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
        say(Say.PASS, self._number, number, *now)
        _share_points(run)
        self.compute_slabs(run, now, prepared, work, pool, owned(count, 0, world))
        for rank in range(1, world):
            theirs = owned(count, rank, world)
            if len(theirs):
                received = np.empty(_packed_size(work, theirs))
                with connection():
                    dist.recv(torch.from_numpy(received), rank)
                _unpack(work, theirs, received)
