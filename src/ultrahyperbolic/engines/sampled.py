"""The engine for graphs whose pairs are too many: torch, on any device, in time and memory linear
in the sample.

An iteration moves the points that it has drawn. Draws follow from the seed and the number of the
iteration. Losses of a batch are noisy: the best points are those of the lowest loss of one sample
that stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..arrays import Floats
from ..objective import SampledLoss, SampleSizes, Scope
from ..objective.sampled import Estimate, Measure
from ..pairs import usable_threads
from ..pairs.kinds import KernelSpace, kernel_space
from .base import BatchState, Engine, Evaluation, Precision, RunSpec
from .communicator import Communicator
from .reference import moved_by, shifted_by, step_of, torch_threads

# Ties of a batch: on a CPU an iteration then takes a fraction of a second, and a GPU has enough to
# do.
_TIES, _TIES_ELSEWHERE = 1 << 14, 1 << 18
# In the sample that tells the best points, each end meets this many times more nodes.
_EVALUATED = 4
# Iterations between two looks for the best points, each of which costs as much as some iterations.
_LOOK_EVERY = 50
# What is drawn, and what the best points are judged by, are streams of their own.
_DESCENT, _JUDGEMENT = 0, 1


def default_sizes(n_edges: int, device: torch.device) -> SampleSizes:
    """How much an iteration looks at where nothing is said."""
    return SampleSizes(max(1, min(n_edges, _TIES if device.type == "cpu" else _TIES_ELSEWHERE)))


class _SampledRun(NamedTuple):
    """What is known of a run before its first iteration."""

    spec: RunSpec
    space: KernelSpace
    loss: SampledLoss
    judge: SampledLoss

    def measure(self, iteration: int, spring: float) -> Measure:
        """How pairs are compared at an iteration."""
        schedule = self.spec.schedule
        return Measure(
            self.space,
            float(schedule.temperature[iteration]),
            float(schedule.epsilon[iteration]),
            spring,
        )

    def judged(
        self, points: Tensor, offsets: Tensor | None, iteration: int, spring: float
    ) -> Estimate:
        """The objective of an iteration, by the sample that stays the same."""
        drawn = self.judge.draw(self.spec.seed, _JUDGEMENT)
        return self.judge(points, offsets, drawn, self.measure(iteration, spring))


# The points, the free parameters and the offsets of a run on the device; on the CPU they are those
# of the batch.
OnDevice = tuple[Tensor, Tensor, Tensor | None]


@dataclass
class SampledEngine(Engine):
    """Descends by samples. On the CPU results do not depend on the number of threads."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    threads: int | None = None
    """Of the CPU; default: all."""
    precision: Precision = "float64"
    """Of the pairs of a batch with the nodes that all of them meet."""
    communicator: Communicator = field(default_factory=Communicator)
    """Several processes share the blocks of a batch."""
    evaluate_with: Engine | None = None
    """Looks at all pairs where the training ends; default: a sample that is always the same."""
    name: str = field(default="sampled", kw_only=True)

    def __post_init__(self) -> None:
        if self.communicator.size > 1:
            self.name += f", {self.communicator.size} processes"
        if self.evaluate_with is not None:
            self.name += f", then {self.evaluate_with.name}"
        if self.stop_when_ordered:
            raise ValueError(
                "samples do not tell whether every tie is shorter: stop='ordered' needs all pairs"
            )
        self._pool: ThreadPoolExecutor | None = None
        losses: dict[Scope, SampledLoss] = {}
        self._runs: list[_SampledRun] = []
        for spec in self.specs:
            sizes = spec.sample or default_sizes(self.pairs.n_edges, self.device)
            if spec.scope not in losses:
                losses[spec.scope] = SampledLoss(
                    self.pairs,
                    sizes,
                    spec.scope,
                    device=self.device,
                    dtype=getattr(torch, self.precision),
                    mapper=self._map,
                )
            loss = losses[spec.scope].resized(sizes)
            judge = loss.resized(
                replace(sizes, others=_EVALUATED * sizes.others, per_end=_EVALUATED * sizes.per_end)
            )
            if self.device.type == "cuda":
                loss.ways = judge.ways = self.communicator.size
            self._runs.append(
                _SampledRun(spec, kernel_space(spec.manifold, spec.dissimilarity), loss, judge)
            )

    def advance(self, state: BatchState, iterations: int) -> Floats:
        """Perform iterations, changing the state; the losses [B, iterations], each of its batch."""
        losses = np.full((len(self.specs), iterations), np.nan)
        self._follow(torch.from_numpy(state.rows))
        with self._computing():
            for number, run in enumerate(self._runs):
                held = self._hold(state, number, run.spec)
                for step in range(iterations):
                    losses[number, step] = self._iterate(
                        state, number, run, held, state.iteration + step
                    )
                self._copy_back(state, number, held)
                if state.iteration + iterations <= run.spec.settled:
                    self._keep(state, number, state.iteration + iterations - 1)
        state.iteration += iterations
        return losses

    def evaluate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, without moving it."""
        return (
            self.estimate(state)
            if self.evaluate_with is None
            else self.evaluate_with.evaluate(state)
        )

    def nearby(self) -> Callable[[BatchState], Evaluation]:
        """The same for a series of states that hardly differ."""
        return self.estimate if self.evaluate_with is None else self.evaluate_with.nearby()

    def close(self) -> None:
        """Let go of what evaluates."""
        if self.evaluate_with is not None:
            self.evaluate_with.close()

    def estimate(self, state: BatchState) -> Evaluation:
        """The objective where the batch stands, by a sample that is always the same."""
        found = Evaluation.zeros(state)
        found.longest[:] = found.shortest[:] = np.nan
        with self._computing():
            for number, run in enumerate(self._runs):
                points, _, offsets = self._hold(state, number, run.spec)
                estimate = run.judged(
                    points, offsets, state.iteration, float(state.record["spring"][number])
                )
                nodes = estimate.nodes.cpu().numpy()
                found.loss[number] = float(estimate.loss)
                found.gradient[number, nodes, : points.shape[1]] = estimate.gradient.cpu().numpy()
                if estimate.offsets is not None:
                    found.offsets[number, nodes] = estimate.offsets.cpu().numpy()
        return found

    def _iterate(
        self, state: BatchState, number: int, run: _SampledRun, held: OnDevice, iteration: int
    ) -> float:
        """One iteration of a run: estimate, look at the best, move what was touched."""
        spec, record, (points, free, offsets) = run.spec, state.record[number], held
        spring = float(record["spring"])
        record["longest"] = record["shortest"] = math.nan
        due = iteration == spec.settled or iteration % max(self.best_every, _LOOK_EVERY) == 0
        if iteration >= spec.settled and due:
            loss = float(run.judged(points, offsets, iteration, spring).loss)
            if loss < record["best_loss"]:
                self._copy_back(state, number, held)
                self._keep(state, number, iteration)
                record["best_loss"] = loss
        drawn = run.loss.draw(spec.seed, _DESCENT, iteration)
        found = run.loss(points, offsets, drawn, run.measure(iteration, spring))
        value, nodes = float(found.loss), found.nodes
        step, longest = step_of(spec, record, iteration, value)
        phi = spec.optimizer == "phi"
        before, gradient = (free if phi else points)[nodes], found.gradient
        if phi:
            variable = before.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(spec.manifold.phi(variable), variable, gradient)
        moved, near = moved_by(spec, before, gradient, step, longest)
        if phi:
            free[nodes] = moved
            moved = spec.manifold.phi(moved)
        points[nodes] = moved
        if offsets is not None and found.offsets is not None:
            offsets[nodes] = shifted_by(spec, offsets[nodes], found.offsets, near, step, longest)
        return value

    def _hold(self, state: BatchState, number: int, spec: RunSpec) -> OnDevice:
        width = spec.manifold.ambient_dim
        points, free = (
            torch.from_numpy(array[number, :, :width]) for array in (state.points, state.free)
        )
        offsets = (
            torch.from_numpy(state.offsets[number]).to(self.device) if spec.popularity else None
        )
        points = points.to(self.device)
        free = free.to(self.device) if spec.optimizer == "phi" else points
        self._follow(points, None if free is points else free, offsets)
        return points, free, offsets

    def _follow(self, *tensors: Tensor | None) -> None:
        """On CUDA, where sums have no order, take what the first process has; on the CPU it is the
        same.
        """
        for tensor in tensors if self.device.type == "cuda" else ():
            if tensor is not None:
                self.communicator.follow(tensor)

    def _copy_back(self, state: BatchState, number: int, held: OnDevice) -> None:
        """Let the batch know where a run stands; on the CPU it does."""
        if self.device.type == "cpu":
            return
        points, free, offsets = held
        state.points[number, :, : points.shape[1]] = points.cpu().numpy()
        if free is not points:
            state.free[number, :, : points.shape[1]] = free.cpu().numpy()
        if offsets is not None:
            state.offsets[number] = offsets.cpu().numpy()

    def _keep(self, state: BatchState, number: int, iteration: int) -> None:
        """Take the points of a run for its best."""
        state.best[number], state.best_offsets[number] = state.points[number], state.offsets[number]
        state.record["best_iteration"][number] = iteration

    def _map(
        self, work: Callable[[int], tuple[Tensor, ...]], numbers: range
    ) -> Iterable[tuple[Tensor, ...]]:
        mine = self.communicator.owned(len(numbers))
        found = map(work, mine) if self._pool is None else self._pool.map(work, mine)
        return self.communicator.gather_tensors(found, self.device)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Blocks of pairs on threads of ours, each computed by one: sums then do not depend on how
        many there are.
        """
        threads = (self.threads or usable_threads()) if self.device.type == "cpu" else 1
        with (
            torch_threads(1),
            nullcontext() if threads == 1 else ThreadPoolExecutor(threads) as self._pool,
        ):
            try:
                yield
            finally:
                self._pool = None
