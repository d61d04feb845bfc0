"""Sums of exp(-d/τ) over all pairs of some rows with some columns, and their gradient, a block of
rows at a time.
"""

import math
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from ..pairs.kinds import CONE, KernelSpace, Kind
from .ranking import NOTHING, both_stretched, stretched


def scale_of(space: KernelSpace) -> float:
    """The factor from a squared chord to w."""
    return 1.0 if space.time == 0 else 0.25 / space.radius**2


def signs_of(space: KernelSpace, like: Tensor) -> Tensor:
    """[d] the metric's signs, time coordinates first."""
    signs = torch.ones_like(like[0])
    signs[: space.time] = -1.0
    return signs


def half_chords(x: Tensor, y: Tensor, space: KernelSpace) -> Tensor:
    """w [k] of points x [k, d] and y [k, d]."""
    difference = x - y
    squares = difference.square()
    if space.time == 1:
        # The difference of the time coordinates is that of the space coordinates, which lose no
        # digits.
        along = (difference[:, 1:] * (x + y)[:, 1:]).sum(1) / (x[:, 0] + y[:, 0])
        total = squares[:, 1:].sum(1) - along.square()
    else:
        total = squares[:, space.time :].sum(1) - squares[:, : space.time].sum(1)
    return scale_of(space) * total


def half_chord_table(x: Tensor, y: Tensor, space: KernelSpace) -> Tensor:
    """w [r, c] of points x [r, d] with y [c, d], relative to their middle as terms cancel, by one
    matrix product.
    """
    signed, scale = signs_of(space, x), scale_of(space)
    left, right = (z.square() @ (scale * signed) for z in (x, y))
    one = torch.ones_like(left[:, None])
    rows = torch.cat((x * (-2.0 * scale * signed), left[:, None], one), 1)
    columns = torch.cat((y, torch.ones_like(right[:, None]), right[:, None]), 1)
    w = rows @ columns.T
    if space.time in (0, 1):
        return w.clamp_min_(0.0)  # rounding alone makes it negative
    return w.clamp_max_(0.0) if space.time == x.shape[1] else w


def value_and_slope(
    w: Tensor, space: KernelSpace, epsilon: float | Tensor
) -> tuple[Tensor, Tensor]:
    """The dissimilarity of w [...] and its derivative; where that has a pole, 0 or a large
    number.
    """
    kind, radius = space.kind, space.radius
    tiny = torch.finfo(w.dtype).tiny
    if kind == Kind.FLAT_SQUARED:
        return w, torch.ones_like(w)
    if kind == Kind.FLAT_SMOOTHED:
        return _smooth(w, 1.0, epsilon)
    if kind == Kind.FLAT_DISTANCE:
        root = w.clamp_min(tiny).sqrt()
        return root, torch.where(w > tiny, 0.5 / root, 0.0)
    root = w.abs().clamp_min(tiny).sqrt()
    if kind == Kind.EXTRINSIC:
        return 2.0 * radius * root, torch.where(w.abs() > tiny, radius * w.sign() / root, 0.0)
    angle, rate = _arc(w, root, broken=kind == Kind.BROKEN)
    if kind == Kind.SMOOTHED:
        # σ = ±D² and its slope, which is finite on the cone, where D itself has a pole.
        length = radius * angle
        return _smooth(
            length.square() * w.sign(), (2.0 * radius**2) * (angle * rate).abs(), epsilon
        )
    value, slope = radius * angle, torch.where(w.abs() > tiny, radius * rate, 0.0)
    if kind == Kind.CONE_RULE:
        near = w.abs() < CONE
        return torch.where(near, 4.0 * radius * w.abs(), value), torch.where(
            near, 4.0 * radius * w.sign(), slope
        )
    return value, slope


def _smooth(
    square: Tensor, slope: Tensor | float, epsilon: float | Tensor
) -> tuple[Tensor, Tensor]:
    """(σ² + ε²)^¼ - √ε and its derivative, from σ and its derivative; σ is not squared, and may be
    large.
    """
    if isinstance(epsilon, float):
        epsilon = torch.tensor(epsilon, dtype=square.dtype, device=square.device)
    h = torch.hypot(square, epsilon)
    root = h.sqrt()
    value = (square / (h + epsilon)) * (square / (root + epsilon.sqrt()))
    return value, 0.5 * (square / h) / root * slope


def _arc(w: Tensor, root: Tensor, *, broken: bool) -> tuple[Tensor, Tensor]:
    """D_γ (Eq. 9), or the broken geodesic, in units of the radius, and its derivative; ``root`` is
    √|w|.
    """
    size = root.square()
    far = torch.sqrt(1.0 + size)
    angle, rate = 2.0 * torch.asinh(root), 1.0 / (root * far)
    near = root.clamp_max(math.sqrt(0.5))
    back, back_rate = 2.0 * torch.asin(near), -1.0 / (near * torch.sqrt(1.0 - near.square()))
    if broken:
        rest = 1.0 + w
        edge = rest.abs().clamp_min(torch.finfo(w.dtype).tiny).sqrt()
        inside = math.pi - 2.0 * torch.asin(edge.clamp_max(math.sqrt(0.5)))
        beyond, beyond_angle = rest <= 0.0, math.pi + 2.0 * torch.asinh(edge)
        slope = -1.0 / (edge * torch.where(beyond, torch.sqrt(1.0 + edge.square()), root))
        tail, tail_rate = (
            torch.where(beyond, beyond_angle, inside),
            torch.where(rest == 0.0, 0.0, slope),
        )
    else:
        tail, tail_rate = math.pi / 2 - 1.0 - 2.0 * w, torch.full_like(w, -2.0)
    low = w < -0.5
    back, back_rate = torch.where(low, tail, back), torch.where(low, tail_rate, back_rate)
    return torch.where(w > 0.0, angle, back), torch.where(w > 0.0, rate, back_rate)


# How many pairs are evaluated at once: small enough for a CPU's cache, large enough to fill a GPU.
_AT_ONCE, _AT_ONCE_ELSEWHERE = 1 << 17, 1 << 25

Mapper = Callable[[Callable[[int], tuple[Tensor, ...]], range], Iterable[tuple[Tensor, ...]]]


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


class Local:
    """The points that a sample touches, and their gradient as it grows."""

    def __init__(
        self,
        points: Tensor,
        offsets: Tensor | None,
        measure: Measure,
        heights: Tensor | None = None,
    ) -> None:
        self.points, self.offsets, self.measure, self.heights = points, offsets, measure, heights
        self.gradient = torch.zeros_like(points)
        self.slopes = None if offsets is None else torch.zeros_like(offsets)
        # ∂(-d/τ)/∂x = factor · d'(w) · (x - y), coordinate by coordinate.
        self.factor = signs_of(measure.space, points) * (
            -2.0 * scale_of(measure.space) / measure.temperature
        )

    def scores(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """-d/τ of pairs [k, 2], ordered ones where nodes have heights, and the slopes of d."""
        i, j = pairs.unbind(1)
        space, tau, epsilon, spring = self.measure
        values, slopes = value_and_slope(
            half_chords(self.points[i], self.points[j], space), space, epsilon
        )
        if self.offsets is not None:
            values = values - (self.offsets[i] + self.offsets[j])
        if self.heights is not None:
            values = values + stretched(self.heights[i] - self.heights[j], spring)
        return values / -tau, slopes

    def add(self, pairs: Tensor, slopes: Tensor, pulls: Tensor) -> None:
        """Add the gradient of pairs, where the loss grows with their scores by ``pulls``."""
        i, j = pairs.unbind(1)
        part = (self.points[i] - self.points[j]) * (pulls * slopes)[:, None] * self.factor
        self.gradient.index_add_(0, i, part).index_add_(0, j, part, alpha=-1.0)
        self._shift(i, pulls)
        self._shift(j, pulls)

    def push(self, where: Tensor, points: Tensor, pulls: Tensor, weights: Tensor) -> None:
        """Add the gradient of points x, each against many y: Σ pull·y and Σ pull [k, d + 1], and Σ
        weight [k].
        """
        self.gradient.index_add_(0, where, (points * pulls[:, -1:] - pulls[:, :-1]) * self.factor)
        self._shift(where, weights)

    def _shift(self, where: Tensor, pulls: Tensor) -> None:
        if self.slopes is not None:
            self.slopes.index_add_(0, where, pulls, alpha=1.0 / self.measure.temperature)


class PairTable:
    """All pairs of some rows [r] with some columns [c], places of points; no more than a block
    exists at a time.

    ``logs`` [r] are the logarithms of what the pairs of a row count for; ``masked``, rows [k],
    ascending, and columns [k] of pairs that do not count.
    """

    def __init__(
        self,
        local: Local,
        rows: Tensor,
        columns: Tensor,
        logs: Tensor,
        masked: tuple[Tensor, Tensor],
        dtype: torch.dtype,
        mapper: Mapper,
        ways: int,
    ) -> None:
        self.local, self.rows, self.columns, self.logs, self.masked = (
            local,
            rows,
            columns,
            logs,
            masked,
        )
        self.dtype, self.mapper = dtype, mapper
        # Relative to their middle the points lose the fewest digits.
        middle = local.points[columns].mean(0)
        self.x, self.y = local.points[rows] - middle, local.points[columns] - middle
        size, height = max(1, at_once(middle.device) // len(columns)), len(rows)
        cuts = [*range(0, height, size), height]
        if ways > 1:  # equal shares for all
            count = min(height, ways * -(-height // (ways * size)))
            cuts = [height * k // count for k in range(count + 1)]
        self.blocks = [slice(*ends) for ends in pairwise(cuts)]
        self._cuts: list[int] = torch.searchsorted(
            masked[0], torch.tensor(cuts, device=middle.device)
        ).tolist()

    def scores(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        """-d/τ of a block's pairs, the slopes of d, and 1 where a pair counts and 0 where it does
        not.
        """
        block, (space, tau, epsilon, spring) = self.blocks[number], self.local.measure
        w = half_chord_table(self.x[block], self.y, space).to(self.dtype)
        values, slopes = value_and_slope(w, space, epsilon)
        if self.local.offsets is not None:
            rows, columns = (self.local.offsets[at] for at in (self.rows[block], self.columns))
            values = values - (rows[:, None] + columns).to(self.dtype)
        if self.local.heights is not None:
            rows, columns = (self.local.heights[at] for at in (self.rows[block], self.columns))
            values = values + both_stretched(rows[:, None] - columns, spring, tau).to(self.dtype)
        rows, columns = (at[self._cuts[number] : self._cuts[number + 1]] for at in self.masked)
        counts = torch.ones_like(values)
        counts[rows - block.start, columns] = 0.0
        return torch.where(counts > 0.0, values / -tau, NOTHING), slopes, counts

    def _with_ones(self, points: Tensor) -> Tensor:
        return torch.nn.functional.pad(points, (0, 1), value=1.0).to(self.dtype)


class GraphTable(PairTable):
    """One sum over all pairs: one pass."""

    def _block(self, number: int) -> tuple[Tensor, ...]:
        """What sums are relative to; of the rows, and then of the columns, Σ pull·y and Σ pull, and
        Σ weight.
        """
        scores, slopes, counts = self.scores(number)
        block = self.blocks[number]
        scores = scores + self.logs[block, None].to(self.dtype)
        level = scores.amax()
        weights = (scores - level).exp_().mul_(counts)
        pulls = slopes.mul_(weights)
        rows, columns = pulls @ self._with_ones(self.y), pulls.T @ self._with_ones(self.x[block])
        return (
            level,
            rows,
            weights.sum(1, dtype=torch.float64),
            columns,
            weights.sum(0, dtype=torch.float64),
        )

    def log_sums(self) -> Tensor:
        """[1] log Σ exp(-d/τ) over the pairs, with their weights."""
        each, *found = zip(*self.mapper(self._block, range(len(self.blocks))), strict=True)
        levels = torch.stack(each).double()
        level = levels.amax()
        factors = (levels - level).exp().unbind()
        sums = [
            [part.double() * f for part, f in zip(parts, factors, strict=True)] for parts in found
        ]
        self._of_rows = torch.cat(sums[0]), torch.cat(sums[1])
        self._of_columns = reduce(torch.add, sums[2]), reduce(torch.add, sums[3])
        self._total = self._of_rows[1].sum()
        log = torch.where(self._total > 0.0, level + self._total.clamp_min(1e-300).log(), NOTHING)
        return log[None]

    def add(self, pulls: Tensor) -> None:
        """Add the gradient of rows and columns, where the loss grows with the log sum by
        ``pulls``.
        """
        share = torch.where(self._total > 0.0, pulls[0] / self._total.clamp_min(1e-300), 0.0)
        for where, points, sums in (
            (self.rows, self.x, self._of_rows),
            (self.columns, self.y, self._of_columns),
        ):
            self.local.push(where, points, sums[0] * share, sums[1] * share)


class NodeTable(PairTable):
    """A sum for each row: what the columns get follows from the loss of them all, in a second
    pass.
    """

    def _weights(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        scores, slopes, counts = self.scores(number)
        levels = scores.amax(1)
        weights = (scores - levels[:, None]).exp_().mul_(counts)
        return levels, weights, slopes.mul_(weights)

    def _first(self, number: int) -> tuple[Tensor, ...]:
        levels, weights, pulls = self._weights(number)
        return (
            levels.double(),
            weights.sum(1, dtype=torch.float64),
            (pulls @ self._with_ones(self.y)).double(),
        )

    def _second(self, number: int) -> tuple[Tensor, ...]:
        _, weights, pulls = self._weights(number)
        block = self.blocks[number]
        share = self._shares[block]
        columns = pulls.T @ (self._with_ones(self.x[block]) * share[:, None].to(self.dtype))
        return columns.double(), weights.T.double() @ share

    def log_sums(self) -> Tensor:
        """[r] the same for each row."""
        found = list(self.mapper(self._first, range(len(self.blocks))))
        levels, self._sums, self._pulls = (torch.cat(parts) for parts in zip(*found, strict=True))
        some = self._sums > 0.0
        return torch.where(some, levels + self._sums.clamp_min(1e-300).log() + self.logs, NOTHING)

    def add(self, pulls: Tensor) -> None:
        """Rows from the first pass, columns from the second."""
        some = self._sums > 0.0
        self._shares = torch.where(some, pulls / torch.where(some, self._sums, 1.0), 0.0)
        self.local.push(
            self.rows, self.x, self._pulls * self._shares[:, None], self._sums * self._shares
        )
        found = list(self.mapper(self._second, range(len(self.blocks))))
        self.local.push(
            self.columns, self.y, *(reduce(torch.add, parts) for parts in zip(*found, strict=True))
        )
