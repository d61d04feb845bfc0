"""Sums of exp(-d/τ) over all pairs of some rows with some columns, and their gradient, a block of rows at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from ..pairs.kinds import KernelSpace
from .chords import half_chord_table, half_chords, scale_of, signs_of, value_and_slope
from .ranking import NOTHING, both_stretched, stretched

# How many pairs are evaluated at once: small enough for a CPU's cache, large enough to fill a GPU.
_AT_ONCE, _AT_ONCE_ELSEWHERE = 1 << 17, 1 << 25

Mapper = Callable[[Callable[[int], tuple[Tensor, ...]], Iterable[int]], Iterable[tuple[Tensor, ...]]]


def at_once(device: torch.device) -> int:
    """How many pairs are evaluated at once on a device."""
    return _AT_ONCE if device.type == "cpu" else _AT_ONCE_ELSEWHERE


class Measure(NamedTuple):
    """How pairs are compared at an iteration."""

    space: KernelSpace
    temperature: float
    epsilon: float
    spring: float = 0.0
    """κ of a directed graph."""


class Scores(NamedTuple):
    """-d/τ of some pairs, and what its gradient needs."""

    pairs: Tensor
    values: Tensor
    slopes: Tensor


class Local:
    """The points that a sample touches, and their gradient as it grows."""

    def __init__(self, points: Tensor, offsets: Tensor | None, measure: Measure, heights: Tensor | None = None) -> None:
        self.points, self.offsets, self.measure, self.heights = points, offsets, measure, heights
        self.gradient = torch.zeros_like(points)
        self.slopes = None if offsets is None else torch.zeros_like(offsets)
        # ∂(-d/τ)/∂x = factor · d'(w) · (x - y), coordinate by coordinate.
        self.factor = signs_of(measure.space, points) * (-2.0 * scale_of(measure.space) / measure.temperature)

    def scores(self, pairs: Tensor) -> Scores:
        """Of pairs [k, 2], ordered ones where nodes have heights."""
        i, j = pairs.unbind(1)
        space, tau, epsilon, spring = self.measure
        values, slopes = value_and_slope(half_chords(self.points[i], self.points[j], space), space, epsilon)
        if self.offsets is not None:
            values = values - (self.offsets[i] + self.offsets[j])
        if self.heights is not None:
            values = values + stretched(self.heights[i] - self.heights[j], spring)
        return Scores(pairs, values / -tau, slopes)

    def add(self, scores: Scores, pulls: Tensor) -> None:
        """Add the gradient of pairs, where the loss grows with their scores by ``pulls``."""
        i, j = scores.pairs.unbind(1)
        part = (self.points[i] - self.points[j]) * (pulls * scores.slopes)[:, None] * self.factor
        self.gradient.index_add_(0, i, part).index_add_(0, j, part, alpha=-1.0)
        self._shift(i, pulls)
        self._shift(j, pulls)

    def push(self, where: Tensor, points: Tensor, pulls: Tensor, weights: Tensor) -> None:
        """Add the gradient of points x, each against many y: Σ pull·y and Σ pull [k, d + 1], and Σ weight [k]."""
        self.gradient.index_add_(0, where, (points * pulls[:, -1:] - pulls[:, :-1]) * self.factor)
        self._shift(where, weights)

    def _shift(self, where: Tensor, pulls: Tensor) -> None:
        if self.slopes is not None:
            self.slopes.index_add_(0, where, pulls, alpha=1.0 / self.measure.temperature)


class Pairs(NamedTuple):
    """Rows and columns of a table, as places among the touched points."""

    rows: Tensor
    """[r]"""
    columns: Tensor
    """[c]"""
    logs: Tensor
    """[r] the logarithm of what the pairs of a row count for."""
    masked_rows: Tensor
    """[k] where a pair does not count, ascending."""
    masked_columns: Tensor
    """[k]"""


class PairTable:
    """All pairs of some rows with some columns; no more than a block of them exists at a time."""

    def __init__(self, local: Local, pairs: Pairs, dtype: torch.dtype, mapper: Mapper, ways: int = 1) -> None:
        self.local, self.pairs, self.dtype, self.mapper = local, pairs, dtype, mapper
        # Relative to their middle the points lose the fewest digits.
        middle = local.points[pairs.columns].mean(0)
        self.x, self.y = local.points[pairs.rows] - middle, local.points[pairs.columns] - middle
        size, rows = max(1, at_once(middle.device) // len(pairs.columns)), len(pairs.rows)
        cuts = [*range(0, rows, size), rows]
        if ways > 1:  # equal shares for all
            count = min(rows, ways * -(-rows // (ways * size)))
            cuts = [rows * k // count for k in range(count + 1)]
        self.blocks = [slice(*ends) for ends in pairwise(cuts)]
        bounds = torch.tensor(cuts, device=middle.device)
        self._cuts: list[int] = torch.searchsorted(pairs.masked_rows, bounds).tolist()

    @abstractmethod
    def log_sums(self) -> Tensor:
        """log Σ exp(-d/τ) over the pairs, with their weights."""

    @abstractmethod
    def add(self, pulls: Tensor) -> None:
        """Add the gradient, where the loss grows with the log sums by ``pulls``."""

    def scores(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        """-d/τ of a block's pairs, the slopes of d, and 1 where a pair counts and 0 where it does not."""
        block, (space, tau, epsilon, spring) = self.blocks[number], self.local.measure
        w = half_chord_table(self.x[block], self.y, space).to(self.dtype)
        values, slopes = value_and_slope(w, space, epsilon)
        if self.local.offsets is not None:
            rows, columns = (self.local.offsets[at] for at in (self.pairs.rows[block], self.pairs.columns))
            values = values - (rows[:, None] + columns).to(self.dtype)
        if self.local.heights is not None:
            rows, columns = (self.local.heights[at] for at in (self.pairs.rows[block], self.pairs.columns))
            values = values + both_stretched(rows[:, None] - columns, spring, tau).to(self.dtype)
        mine = slice(self._cuts[number], self._cuts[number + 1])
        counts = torch.ones_like(values)
        counts[self.pairs.masked_rows[mine] - block.start, self.pairs.masked_columns[mine]] = 0.0
        return torch.where(counts > 0.0, values / -tau, NOTHING), slopes, counts

    def _with_ones(self, points: Tensor) -> Tensor:
        return torch.nn.functional.pad(points, (0, 1), value=1.0).to(self.dtype)


class GraphTable(PairTable):
    """One sum over all pairs: one pass."""

    def _block(self, number: int) -> tuple[Tensor, ...]:
        """What sums are relative to; of the rows, and then of the columns, Σ pull·y and Σ pull, and Σ weight."""
        scores, slopes, counts = self.scores(number)
        block = self.blocks[number]
        scores = scores + self.pairs.logs[block, None].to(self.dtype)
        level = scores.amax()
        weights = (scores - level).exp_().mul_(counts)
        pulls = slopes.mul_(weights)
        rows, columns = pulls @ self._with_ones(self.y), pulls.T @ self._with_ones(self.x[block])
        return level, rows, weights.sum(1, dtype=torch.float64), columns, weights.sum(0, dtype=torch.float64)

    def log_sums(self) -> Tensor:
        """[1]"""
        found = list(self.mapper(self._block, range(len(self.blocks))))
        levels = torch.stack([block[0] for block in found]).double()
        level = levels.amax()
        factors = (levels - level).exp().unbind()
        parts = [[part.double() * f for part in block[1:]] for block, f in zip(found, factors, strict=True)]
        self._rows = torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])
        self._columns = sum_of(part[2] for part in parts), sum_of(part[3] for part in parts)
        self._total = self._rows[1].sum()
        log = torch.where(self._total > 0.0, level + self._total.clamp_min(1e-300).log(), NOTHING)
        return log[None]

    def add(self, pulls: Tensor) -> None:
        """Rows and columns, whose sums are known."""
        share = torch.where(self._total > 0.0, pulls[0] / self._total.clamp_min(1e-300), 0.0)
        for where, points, sums in (
            (self.pairs.rows, self.x, self._rows),
            (self.pairs.columns, self.y, self._columns),
        ):
            self.local.push(where, points, sums[0] * share, sums[1] * share)


class NodeTable(PairTable):
    """A sum for each row: what the columns get follows from the loss of them all, in a second pass."""

    def _weights(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        scores, slopes, counts = self.scores(number)
        levels = scores.amax(1)
        weights = (scores - levels[:, None]).exp_().mul_(counts)
        return levels, weights, slopes.mul_(weights)

    def _first(self, number: int) -> tuple[Tensor, ...]:
        levels, weights, pulls = self._weights(number)
        return levels.double(), weights.sum(1, dtype=torch.float64), (pulls @ self._with_ones(self.y)).double()

    def _second(self, number: int) -> tuple[Tensor, ...]:
        _, weights, pulls = self._weights(number)
        block = self.blocks[number]
        share = self._shares[block]
        columns = pulls.T @ (self._with_ones(self.x[block]) * share[:, None].to(self.dtype))
        return columns.double(), weights.T.double() @ share

    def log_sums(self) -> Tensor:
        """[r]"""
        found = list(self.mapper(self._first, range(len(self.blocks))))
        levels, self._sums, self._pulls = (torch.cat(parts) for parts in zip(*found, strict=True))
        some = self._sums > 0.0
        return torch.where(some, levels + self._sums.clamp_min(1e-300).log() + self.pairs.logs, NOTHING)

    def add(self, pulls: Tensor) -> None:
        """Rows from the first pass, columns from the second."""
        some = self._sums > 0.0
        self._shares = torch.where(some, pulls / torch.where(some, self._sums, 1.0), 0.0)
        self.local.push(self.pairs.rows, self.x, self._pulls * self._shares[:, None], self._sums * self._shares)
        found = list(self.mapper(self._second, range(len(self.blocks))))
        self.local.push(self.pairs.columns, self.y, sum_of(f[0] for f in found), sum_of(f[1] for f in found))


def sum_of(parts: Iterable[Tensor]) -> Tensor:
    """The sum of tensors, in their order."""
    total: Tensor | None = None
    for part in parts:
        total = part if total is None else total + part
    if total is None:
        raise ValueError("there is nothing to add up")
    return total
