"""The engine of CUDA devices as the registry knows it; Triton itself is loaded when one is made."""

from __future__ import annotations

from importlib.util import find_spec

import torch

from ..base import (
    EDGE_BYTES,
    LIBRARY_BYTES,
    Backend,
    Engine,
    EngineKind,
    Machine,
    Memory,
    Problem,
    batch_bytes,
    unknown_scope,
    unknown_space,
)

_LISTED_NODES = 32_768  # up to which a bitmap tells ties
_ROWS = 1 << 18  # of points whose partial gradients fill a device, beyond one for each point


class TritonKind:
    """The engine for the registry."""

    name: Backend = "triton"

    def unfit(self, problem: Problem | None, machine: Machine) -> str | None:
        """It needs Triton and a CUDA device."""
        if find_spec("triton") is None:
            return "backend 'triton' needs the triton package, which is not installed"
        if machine.torch_device.type != "cuda":
            return f"backend 'triton' computes on cuda, got device {machine.device}"
        if not torch.cuda.is_available():
            return "backend 'triton' needs a CUDA device, and torch finds none"
        return unknown_space(problem) or unknown_scope(self.name, () if problem is None else problem.specs)

    def memory(self, problem: Problem, machine: Machine) -> Memory:
        """The batch on the host, and again on the device with the partial gradients and the edges."""
        n, m, runs, widest = problem.pairs.n_nodes, problem.pairs.n_edges, len(problem.specs), max(problem.widths)
        item = 8 if machine.precision == "float64" else 4
        passes = widest * (runs * n * (item + 5 * 8) + _ROWS * item)
        passes += runs * 6 * 8 * m + 2 * EDGE_BYTES * m + min(n * n // 8, 16 * m + 8 * n)
        # While the ties of large graphs are sorted by block of rows, each is there twice in a few arrays.
        passes += 5 * 8 * (2 * m + n) if n > _LISTED_NODES else 0
        popular = sum(spec.popularity for spec in problem.specs)
        if popular:
            # One row more of the partial gradients, and of each run offsets and what edges pull.
            passes += popular * (n * (item + 4 * 8) + 8 * m) + _ROWS * item
        return Memory(batch_bytes(problem), passes + LIBRARY_BYTES)

    def make(self, problem: Problem, machine: Machine) -> Engine:
        """The engine."""
        from .engine import TritonEngine

        return TritonEngine(*problem, device=machine.torch_device, precision=machine.precision or "float32")


KIND: EngineKind = TritonKind()
