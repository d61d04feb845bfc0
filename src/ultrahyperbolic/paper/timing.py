"""The running times of the supplement beside ours."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

from ..datasets import karate
from ..embedding import BatchState, TrainingConfig
from ..embedding.backends import make_engine
from ..objective import RankedPairs
from . import Figures
from .console import Console
from .recipe import settings

# 10,000 iterations of the weighted karate club, in seconds, as printed in the supplement.
PUBLISHED = {
    "chi_i7_7700k": ("χ, Intel i7-7700K", 182.0),
    "chi_i7_8650u": ("χ, Intel i7-8650U", 254.0),
    "phi_i7_7700k": ("φ, Intel i7-7700K", 165.0),
}
ITERATIONS = 10_000
_REFERENCE_ITERATIONS = 300


def timing(*, seeds: int | None = None, output: Path, quiet: bool = False) -> Figures:
    """Time the compiled loop and the torch reference on one thread; ``seeds`` repeats, of which the best counts."""
    repeats = 3 if seeds is None else seeds
    if repeats < 1:
        raise ValueError(f"seeds must be at least 1, got {repeats}")
    figures: Figures = {f"published_{key}_seconds": seconds for key, (_, seconds) in PUBLISHED.items()}
    for way, name in (("descent", "chi"), ("phi", "phi")):
        figures[f"{name}_seconds"] = _seconds(way, "numba", ITERATIONS, repeats)
        short = _seconds(way, "reference", _REFERENCE_ITERATIONS, 1)
        figures[f"{name}_reference_seconds"] = short * ITERATIONS / _REFERENCE_ITERATIONS
    figures["phi_over_chi"] = figures["phi_seconds"] / figures["chi_seconds"]
    figures["published_phi_over_chi"] = 165.0 / 182.0
    lines = [
        "10,000 iterations on the weighted karate club, Q^{3,1}, float64, one thread of this machine "
        f"({platform.machine()}, {os.cpu_count()} cores):",
        "",
        "| | seconds |",
        "|---|---|",
        *(f"| paper: {label} | {seconds:.0f} |" for label, seconds in PUBLISHED.values()),
        f"| χ, compiled loop | {figures['chi_seconds']:.2f} |",
        f"| φ, compiled loop | {figures['phi_seconds']:.2f} |",
        f"| χ, torch reference (from {_REFERENCE_ITERATIONS} iterations) | {figures['chi_reference_seconds']:.1f} |",
        f"| φ, torch reference (from {_REFERENCE_ITERATIONS} iterations) | {figures['phi_reference_seconds']:.1f} |",
        "",
        f"φ takes {figures['phi_over_chi']:.2f} of the time of χ here, {165 / 182:.2f} in the paper.",
    ]
    console = Console(quiet)
    console.print("\n".join(lines))
    output.mkdir(parents=True, exist_ok=True)
    (output / "timing.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    console.files(output, ("timing.md",))
    return figures


def _seconds(way: str, backend: Any, iterations: int, repeats: int) -> float:
    graph = karate()
    recipe: dict[str, Any] = {**settings(weighted=True, q=1), "optimizer": way}
    config = TrainingConfig(p=3, q=1, **recipe)
    engine = make_engine(RankedPairs.of(graph), [config], backend=backend, threads=1)
    engine.advance(BatchState.start([config.starting_points(graph)]), 2)  # compile, warm up
    best = float("inf")
    for _ in range(repeats):
        state = BatchState.start([config.starting_points(graph)])
        started = time.perf_counter()
        engine.advance(state, iterations)
        best = min(best, time.perf_counter() - started)
    return best
