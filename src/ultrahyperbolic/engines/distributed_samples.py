"""Training by samples on several processes: every one has all points, and looks at some rows of a batch.

What an iteration draws follows from its number, so all processes draw the same. The ends of the batch meet the nodes
that all of them share in blocks of rows, which are fixed by the sizes of the sample and owned by processes; what the
blocks have found travels to all, and every process moves all points that the batch has touched. On CPUs sums are added
up in the order of the blocks whoever has computed them: the bits are those of one process. On CUDA, where sums have no
order, all processes start a chunk of iterations from the points of the first.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from .base import BatchState, Evaluation, Floats, Problem, RunSpec
from .group import Say, Setup, connection, gather_tensors, open_everywhere, own_device, own_rank, owned, say, share
from .processes import processes
from .sampled import Held, SampledEngine

# Whether processes are in step is told by so many of their points.
_LOOKED_AT = 1 << 16


class _Together(SampledEngine):
    """What the first process and the others do alike."""

    def __post_init__(self) -> None:
        self.device = own_device(self.device.type)
        self._sharing = True
        super().__post_init__()
        if self.device.type == "cuda":
            for run in self._runs:
                run.loss.ways = run.judge.ways = processes()

    def _map(self, work: Callable[[int], tuple[Tensor, ...]], numbers: Iterable[int]) -> Iterable[tuple[Tensor, ...]]:
        every = list(numbers)
        mine = owned(len(every), own_rank(), processes())
        return gather_tensors(list(super()._map(work, [every[k] for k in mine])), self.device)

    def _hold(self, state: BatchState, number: int, spec: RunSpec) -> Held:
        held = super()._hold(state, number, spec)
        if self._sharing:
            share(held.points)
            if spec.optimizer == "phi":
                share(held.free)
            if held.offsets is not None:
                share(held.offsets)
        return held

    def _advance(self, state: BatchState, iterations: int) -> Floats:
        """Iterations from where the first process stands; its points travel where ours are not the same."""
        share(torch.from_numpy(state.rows))
        self._sharing = self.device.type == "cuda" or not self._is_in_step(state)
        return SampledEngine.advance(self, state, iterations)

    def _evaluate(self, state: BatchState) -> Evaluation:
        self._sharing = True
        return SampledEngine.evaluate(self, state)

    def _is_in_step(self, state: BatchState) -> bool:
        """Whether all processes have the same points, by some of them."""
        every = max(1, state.points.shape[1] // _LOOKED_AT)
        found = 0
        for number, spec in enumerate(self.specs):
            used = [state.points] + [state.free] * (spec.optimizer == "phi") + [state.offsets] * spec.popularity
            for array in used:
                found = zlib.crc32(np.ascontiguousarray(array[number, ::every]).tobytes(), found)
        mine = torch.tensor([found])
        all_found = [torch.empty_like(mine) for _ in range(processes())]
        with connection():
            dist.all_gather(all_found, mine)
        return len({int(each) for each in all_found}) == 1


@dataclass
class DistributedSampledEngine(_Together):
    """The engine of the first process."""

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = Problem(self.pairs, self.specs, self.best_every, self.stop_when_ordered)
        setup = Setup("sampled", self.threads or 1, self.precision, self.device.type)
        self._number = open_everywhere(problem, setup)
        self.name = f"sampled, {processes()} processes"

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations], each of its batch."""
        say(Say.ADVANCE, self._number, state.iteration, iterations)
        return self._advance(state, iterations)

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, by a sample that is always the same, without moving it."""
        say(Say.EVALUATE, self._number, state.iteration)
        return self._evaluate(state)

    def close(self) -> None:
        """Let the others forget the engine."""
        say(Say.CLOSE, self._number)


@dataclass
class Helper(_Together):
    """The engine of one of the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        widths = [spec.manifold.ambient_dim for spec in self.specs]
        batch, n = len(widths), self.pairs.n_nodes
        points, offsets = np.zeros((batch, n, max(widths))), np.zeros((batch, n))
        free = np.zeros_like(points) if any(spec.optimizer == "phi" for spec in self.specs) else points
        record = BatchState.start([np.zeros((1, 1))] * batch).record
        none = np.zeros(batch, dtype=np.int64)
        # The best points are kept by the first process.
        self._state = BatchState(points, free, points, record, none, none, offsets, offsets, none)

    def help(self, what: Say, numbers: list[float]) -> None:
        """Advance, or evaluate, as the first process does."""
        self._state.iteration = int(numbers[0])
        if what == Say.ADVANCE:
            self._advance(self._state, int(numbers[1]))
        else:
            self._evaluate(self._state)

    def _let_go(self, state: BatchState, number: int, spec: RunSpec, held: Held) -> None:
        pass

    def _keep(self, state: BatchState, number: int, iteration: int) -> None:
        pass
