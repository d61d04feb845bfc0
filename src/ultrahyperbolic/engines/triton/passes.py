"""The pass over all pairs on a CUDA device, tiled like attention.

A program holds a block of rows and streams the columns through; its threads keep sums of their own
pairs to the end, so the bits are the same every time. A first sweep finds the nearest pair without
an edge, to which the sums are relative.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
import torch
import triton
from numpy.typing import NDArray
from torch import Tensor

from ...arrays import Floats
from ...objective import Closeness
from ...objective.tables import half_chord_table, scale_of, signs_of, value_and_slope
from ...pairs.kinds import KernelSpace
from ..base import EXACT_NODES_ON_CUDA
from .pair_functions import SMOOTHED
from .pair_kernels import least_kernel, nearest_kernel, pass_kernel

_BLOCK = 256


class ClosenessTerm:
    """The term for the runs of one graph."""

    def __init__(self, closeness: Closeness, device: torch.device) -> None:
        self.few, self.many = (
            min(count, len(closeness.landmarks)) for count in (closeness.few, closeness.many)
        )
        self.landmarks, self.component, self.target = (
            torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in closeness[:3]
        )
        self.nodes = torch.arange(len(self.component), device=device)
        # Nodes component after component, cut into blocks: a sum is one thread's. Where blocks and
        # components begin.
        self.order = self.component.argsort(stable=True)
        sizes = torch.bincount(self.component)
        blocks = (sizes + _BLOCK - 1) // _BLOCK
        before, self.components = (
            sizes.cumsum(0) - sizes,
            torch.cat((sizes.new_zeros(1), blocks.cumsum(0))),
        )
        place = torch.arange(int(self.components[-1]), device=device) - self.components[
            :-1
        ].repeat_interleave(blocks)
        self.blocks = torch.cat(
            (before.repeat_interleave(blocks) + _BLOCK * place, sizes.sum()[None])
        )

    def _mean(self, values: Tensor, counts: Tensor) -> Tensor:
        """[n] the mean over the node's component, of the nodes that count."""
        both = torch.stack((values * counts, counts), 1)[self.order]
        sums = torch.segment_reduce(both, "sum", offsets=self.blocks, unsafe=True)
        sums = torch.segment_reduce(sums, "sum", offsets=self.components, unsafe=True)
        return (sums[:, 0] / sums[:, 1].clamp_min(1.0))[self.component]

    def add(
        self,
        points: Tensor,
        offsets: Tensor | None,
        space: KernelSpace,
        schedule: tuple[Tensor, Tensor],
        weight: float,
        iteration: Tensor | None,
        gradient: Tensor,
        slopes: Tensor | None,
    ) -> Tensor:
        """The term at points [d, n], its gradient added; ``schedule``: τ, ε. No iteration: an
        evaluation.
        """
        tau, epsilon = schedule
        rows = torch.arange(self.many if iteration is None else self.few, device=points.device)
        if iteration is not None:
            rows = (rows + iteration * self.few) % len(self.landmarks)
        marks = self.landmarks[rows]
        x = points.T
        y = x[marks]
        middle = x.mean(0)
        values, rates = value_and_slope(
            half_chord_table(y - middle, x - middle, space), space, epsilon
        )
        if offsets is not None:
            values = values - (offsets[marks][:, None] + offsets)
        here = (
            (self.component[marks][:, None] == self.component) & (marks[:, None] != self.nodes)
        ).double()
        met = here.sum(0)
        counts = (met > 0).double()
        excess = (values * here).sum(0) / met.clamp_min(1.0) - space.radius * self.target
        ratio = (excess - self._mean(excess, counts)) / tau
        loss = (
            (ratio.abs() + torch.log1p(torch.exp(-2.0 * ratio.abs())) - math.log(2.0)) * counts
        ).sum()
        pulls = torch.tanh(ratio) * counts
        pulls = (pulls - self._mean(pulls, counts)) * counts * (weight / tau) / met.clamp_min(1.0)
        pairs = here * pulls * rates
        factor = 2.0 * scale_of(space) * signs_of(space, x)
        added = (x * pairs.sum(0)[:, None] - pairs.T @ y) * factor
        added[marks] = added[marks] + (y * pairs.sum(1)[:, None] - pairs @ x) * factor
        gradient += added.T
        if slopes is not None:
            shift = -met * pulls
            shift[marks] = shift[marks] - (here * pulls).sum(1)
            slopes += shift
        return weight * loss


# Up to this many nodes a bitmap of all pairs tells edges: 128 MiB.
BITMAP_NODES = 32_768
# The spacing of the grid of split coordinates, in units of the radius: whole squares up to 64 radii
# apart.
_SPACING = 2.0**-5


def on_device(device: torch.device) -> AbstractContextManager[object]:
    """Make a CUDA device the current one, where Triton launches; nothing for the CPU and Triton's
    interpreter.
    """
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


# The series of asinh(√v)/√v in v, with terms that leave less than the rounding of float64, and of
# float32. Half the angle of any w of [-1/2, 1/2] has v in [-0.1465, 0.1124].
EXACT_COEFFICIENTS = tuple((-1) ** k * math.comb(2 * k, k) / 4**k / (2 * k + 1) for k in range(19))
_SINGLE_COEFFICIENTS = EXACT_COEFFICIENTS[:7]


class Shape(NamedTuple):
    """How the pass is cut: rows and columns of a tile, and warps of a program."""

    rows: int
    columns: int
    warps: int

    @classmethod
    def of(cls, d: int, dtype: torch.dtype) -> Shape:
        """What suits d coordinates: each thread keeps d + 1 sums of a few pairs in registers."""
        if dtype == torch.float64:
            return cls(16, 32, 4) if d <= 6 else cls(16, 16, 4) if d <= 16 else cls(16, 16, 8)
        return cls(16, 32, 4) if d <= 8 else cls(16, 16, 2) if d <= 24 else cls(16, 16, 8)


class Passes:
    """The pass over all pairs for a batch of runs of one graph on one device; what it reads and
    writes stays there.

    The batch's points are float64 [runs, d, n], the first ``time`` coordinates time, and pairs of
    the given ``dtype``. ``edges`` are [m, 2], ``kind`` is the number of the dissimilarity. With
    ``popular`` gradients have one row more, and a directed graph has ``heights`` [n].
    """

    def __init__(
        self,
        n: int,
        edges: NDArray[np.int64],
        runs: int,
        d: int,
        time: int,
        kind: int,
        dtype: torch.dtype,
        device: torch.device,
        *,
        popular: bool = False,
        heights: Floats | None = None,
    ) -> None:
        self.popular, self.directed = popular, heights is not None
        # Of each run and node, what is taken from its dissimilarities; nothing looks at them where
        # there are none.
        self.offsets = torch.zeros(runs, n if popular else 1, dtype=torch.float64, device=device)
        # κ of each run, and the heights of a directed graph's nodes.
        self.springs = torch.zeros(runs, dtype=torch.float64, device=device)
        self.heights = self.springs if heights is None else torch.from_numpy(heights).to(device)
        self.n, self.runs, self.d, self.time, self.kind, self.dtype, self.device = (
            n,
            runs,
            d,
            time,
            kind,
            dtype,
            device,
        )
        # Of a graph so large that all pairs are never looked at, w is made of products of matrices:
        # tensor cores take half the time, and digits near the cone are lost. They want 16
        # coordinates at least.
        products = n > EXACT_NODES_ON_CUDA and dtype == torch.float32
        self.products = max(16, triton.next_power_of_2(d)) if products else 0
        # Near the cone the smoothed dissimilarity is flat and its slope is worth its digits;
        # without a cone (on the sphere) no squares are subtracted, and the other dissimilarities
        # are not smooth there.
        self.split = (
            dtype == torch.float32 and kind == SMOOTHED.value and time != d and not products
        )
        self.interpreted = device.type != "cuda"
        # An interpreter takes as long for a large tile as for a small one.
        self.shape = Shape(64, 64, 4) if self.interpreted or products else Shape.of(d, dtype)
        self.blocks = triton.cdiv(n, self.shape.rows)
        column_tiles = triton.cdiv(n, self.shape.columns)
        # Enough programs to fill the device a few times over, and no more: each adds a gradient to
        # be summed. Runs do not count, so that a run adds up in the same order in every batch.
        wanted = 1
        if not self.interpreted:
            wanted = triton.cdiv(
                8 * torch.cuda.get_device_properties(device).multi_processor_count, self.blocks
            )
        self.tiles = triton.cdiv(column_tiles, min(max(wanted, 1), column_tiles))
        self.splits = triton.cdiv(column_tiles, self.tiles)
        self.use_bitmap = n <= BITMAP_NODES
        self.sums = torch.zeros(runs, self.blocks, self.splits, dtype=torch.float64, device=device)
        self.gradient = torch.zeros(runs, self.splits, d + popular, n, dtype=dtype, device=device)
        self.found = torch.zeros(
            runs, self.blocks, self.splits, 2, dtype=torch.float64, device=device
        )
        self.least = torch.zeros(runs, dtype=torch.float64, device=device)
        self._exclude(edges)

    def _exclude(self, edges: NDArray[np.int64]) -> None:
        n, device = self.n, self.device
        nothing = torch.zeros(1, dtype=torch.int32, device=device)
        self.words = 0
        self.bitmap = self.list_columns = self.list_rows = self.list_starts = self.list_stops = (
            nothing
        )
        if self.use_bitmap:
            # Rows and columns beyond the last node are left out by the same bits.
            height = self.blocks * self.shape.rows
            self.words = triton.cdiv(triton.cdiv(n, self.shape.columns) * self.shape.columns, 32)
            bits = np.zeros((height, self.words), dtype=np.uint32)
            both = np.concatenate((edges, edges[:, ::-1], np.repeat(np.arange(n)[:, None], 2, 1)))
            np.bitwise_or.at(
                bits,
                (both[:, 0], both[:, 1] // 32),
                np.uint32(1) << (both[:, 1] % 32).astype(np.uint32),
            )
            for j in range(n, self.words * 32):
                bits[:, j // 32] |= np.uint32(1 << (j % 32))
            bits[n:] = 0xFFFFFFFF
            self.bitmap = torch.from_numpy(bits.view(np.int32)).to(device)
            return
        size, every = self.shape.rows, torch.arange(n, device=device)
        first, second = torch.from_numpy(np.ascontiguousarray(edges)).to(device).unbind(1)
        rows, columns = torch.cat((first, second, every)), torch.cat((second, first, every))
        # By block, then by column: one number for each, to be sorted there.
        key = ((rows // size * (n + 1) + columns) * size + rows % size).sort().values
        machine = key // size
        self.list_columns = (machine % (n + 1)).int()
        self.list_rows = (machine // (n + 1) * size + key % size).int()
        # Where the columns of each split begin and end in the list of each block.
        edges_of = torch.arange(self.splits + 1, device=device) * (self.tiles * self.shape.columns)
        wanted = torch.arange(self.blocks, device=device)[:, None] * (n + 1) + edges_of.clamp_max(n)
        limits = torch.searchsorted(machine, wanted)
        self.list_starts, self.list_stops = limits[:, :-1].contiguous(), limits[:, 1:].contiguous()

    def spacing(self, radius: torch.Tensor) -> torch.Tensor:
        """The spacing of each run's grid, a power of two: [runs], on the device."""
        return torch.exp2(torch.floor(torch.log2(radius))) * _SPACING

    def pair_points(self, points: torch.Tensor, radius: torch.Tensor) -> torch.Tensor:
        """Points [runs, d, n] as the pass reads them: [runs, d or 2d, n] in the precision of
        pairs.
        """
        if not self.split:
            return points.to(self.dtype)
        spacing = self.spacing(radius)[:, None, None]
        coarse = torch.floor(points / spacing + 0.5) * spacing
        return torch.cat((coarse, points - coarse), 1).to(self.dtype)

    def launch(
        self,
        points: torch.Tensor,
        factors: torch.Tensor,
        radius: torch.Tensor,
        schedule: torch.Tensor,
        iterations: torch.Tensor,
        *,
        parts: int = 1,
    ) -> None:
        """Put the pass on the current stream of the device: ``least``, ``sums`` and ``gradient``
        hold what it finds.

        Points are those of `pair_points`, and factors [runs, d], the metric's signs over 4|β|, in
        the precision of pairs; radius is [runs], and τ and ε of schedule [runs, 4, T] are read at
        iterations [runs]. Of ``parts`` of the pairs, it looks at that of the iteration.
        """
        when, single = (schedule, schedule.shape[-1], iterations), self.dtype == torch.float32
        of_all = {
            "D": self.d,
            "TIME": self.time,
            "SPLIT": self.split,
            "BM": self.shape.rows,
            "BN": self.shape.columns,
            "BITMAP": self.use_bitmap,
            "SAMPLED": parts > 1,
            "KIND": self.kind,
            "COEFFICIENTS": _SINGLE_COEFFICIENTS if single else EXACT_COEFFICIENTS,
            "FAST": single and not self.interpreted,
            "POPULAR": self.popular,
            "DIRECTED": self.directed,
            "PRODUCTS": self.products,
            "num_warps": self.shape.warps,
        }
        added = self.offsets, self.heights, self.springs
        excluded = (
            self.bitmap,
            self.words,
            self.list_columns,
            self.list_rows,
            self.list_starts,
            self.list_stops,
        )
        grid = self.blocks, self.splits, self.runs
        with on_device(self.device):
            nearest_kernel[grid](
                points,
                factors,
                radius,
                self.n,
                *when,
                *added,
                *excluded,
                self.found,
                self.splits,
                self.tiles,
                parts,
                **of_all,
            )
            if self.popular:
                torch.amin(self.found[..., 0], dim=(1, 2), out=self.least)
            else:
                least_kernel[(self.runs,)](
                    self.found,
                    self.blocks * self.splits,
                    *when,
                    radius,
                    self.least,
                    KIND=self.kind,
                    COEFFICIENTS=EXACT_COEFFICIENTS,
                    SIZE=1024,
                )
            pass_kernel[grid](
                points,
                factors,
                radius,
                self.n,
                *when,
                self.least,
                *added,
                *excluded,
                self.sums,
                self.gradient,
                self.splits,
                self.tiles,
                parts,
                **of_all,
            )
