"""The running times of the supplement beside ours."""

import os
import platform
import time
from pathlib import Path

import torch

from .. import datasets
from ..checks import check_count
from ..engines.base import Backend, BatchState, Engine, Machine, Optimizer
from ..engines.registry import make_engine, resolve
from ..graph import Graph, GraphError
from ..pairs import usable_threads
from ..training.config import TrainingConfig, configured
from ..training.presets import coauthor_settings, settings
from ..training.train import problem_of
from . import Figures
from .console import finish, head_of
from .sampled import SAMPLES, ResampledEngine

# 10,000 iterations, in seconds, as printed in the supplement: of the weighted karate club, and of
# NIPS in 4 dimensions.
PUBLISHED = {
    "chi_i7_7700k": ("χ, Intel i7-7700K", 182.0),
    "chi_i7_8650u": ("χ, Intel i7-8650U", 254.0),
    "phi_i7_7700k": ("φ, Intel i7-7700K", 165.0),
}
NIPS_PUBLISHED = 10 * 3600.0
ITERATIONS = 10_000
_REFERENCE_ITERATIONS = 300
# On the co-authors, the CPU is timed over these iterations only, and the sampled loss over even
# fewer.
_NIPS_ITERATIONS = 200
_SAMPLED_ITERATIONS = {"cpu": 1, "cuda": 20}


def timing(*, seeds: int | None = None, output: Path, quiet: bool = False) -> Figures:
    """Time the karate club on one thread, best of ``seeds`` repeats, and the co-authors on all
    threads.
    """
    repeats = check_count("seeds", 3 if seeds is None else seeds, 1)
    figures: Figures = {}
    finish(
        [*_club(figures, repeats), "", *_coauthors(figures)], output, (), "timing.md", quiet=quiet
    )
    return figures


def _club(figures: Figures, repeats: int) -> list[str]:
    """The karate club: the compiled loop and the torch reference, each on one thread."""
    graph = datasets.karate()
    figures |= {f"published_{key}_seconds": seconds for key, (_, seconds) in PUBLISHED.items()}
    backends: dict[str, tuple[Backend, int, int]] = {
        "": ("numba", ITERATIONS, repeats),
        "_reference": ("reference", _REFERENCE_ITERATIONS, 1),
    }
    ways: tuple[tuple[str, str, Optimizer], ...] = (("χ", "chi", "descent"), ("φ", "phi", "phi"))
    for _, name, way in ways:
        config = configured(settings(weighted=True, q=1), p=3, q=1, optimizer=way)
        for suffix, (backend, iterations, times) in backends.items():
            if backend == "numba" and way == "phi":
                continue  # which the reference alone computes
            engine = make_engine(problem_of(graph, [config]), Machine(backend=backend, threads=1))
            found = min(_seconds(engine, graph, config, iterations) for _ in range(times))
            figures[f"{name}{suffix}_seconds"] = found * ITERATIONS / iterations
    figures["phi_over_chi"] = figures["phi_reference_seconds"] / figures["chi_reference_seconds"]
    figures["published_phi_over_chi"] = 165.0 / 182.0
    of_torch = f"torch reference (from {_REFERENCE_ITERATIONS} iterations)"
    return [
        "10,000 iterations on the weighted karate club, Q^{3,1}, float64, one thread of this "
        "machine "
        f"({platform.machine()}, {os.cpu_count()} cores):",
        "",
        *head_of("", "seconds"),
        *(f"| paper: {label} | {seconds:.0f} |" for label, seconds in PUBLISHED.values()),
        f"| χ, compiled loop | {figures['chi_seconds']:.2f} |",
        *(
            f"| {sign}, {of_torch} | {figures[f'{name}_reference_seconds']:.1f} |"
            for sign, name, _ in ways
        ),
        "",
        f"φ takes {figures['phi_over_chi']:.2f} of the time of χ here, {165 / 182:.2f} in the "
        "paper.",
    ]


def _coauthors(figures: Figures) -> list[str]:
    """The co-authors of NIPS: the exact loss on all CPU threads and on a GPU, and the paper's
    sampled loss.
    """
    try:
        graph = datasets.nips()
    except GraphError as error:
        return [f"The co-authors of NIPS are not timed: {error}."]
    figures["published_nips_seconds"] = NIPS_PUBLISHED
    config = configured(coauthor_settings(q=1), p=3, q=1)
    problem = problem_of(graph, [config])
    rows = [
        ("paper: 42,000 untied pairs per tie, drawn each iteration, NVIDIA TITAN V", NIPS_PUBLISHED)
    ]

    def add(loss: str, device: str, engine: Engine, iterations: int, label: str) -> None:
        seconds = _seconds(engine, graph, config, iterations) * ITERATIONS / iterations
        figures[f"nips_{loss}_{device}_seconds"] = seconds
        rows.append(
            (label if iterations == ITERATIONS else f"{label} (from {iterations})", seconds)
        )

    where, device = f"{usable_threads()} threads", "cpu"
    backend, exact = (
        resolve(Machine("cpu"), graph.n_nodes).backend,
        make_engine(problem, Machine("cpu")),
    )
    add("exact", "cpu", exact, _NIPS_ITERATIONS, f"the exact loss, {backend}, {where}")
    if torch.cuda.is_available():
        where, device = torch.cuda.get_device_name("cuda"), "cuda"
        add(
            "exact",
            "cuda",
            make_engine(problem, Machine("cuda")),
            ITERATIONS,
            f"the exact loss, {where}",
        )
    sampled = ResampledEngine(
        problem.pairs, problem.specs, device=torch.device(device), seeds=[config.seed]
    )
    label = f"{SAMPLES:,} drawn as in the paper, torch, {where}"
    add("sampled", device, sampled, _SAMPLED_ITERATIONS[device], label)
    return [
        "10,000 iterations on the co-authors of NIPS, Q^{3,1}:",
        "",
        *head_of("", "seconds"),
        *(f"| {label} | {seconds:,.{0 if seconds >= 10 else 1}f} |" for label, seconds in rows),
    ]


def _seconds(engine: Engine, graph: Graph, config: TrainingConfig, iterations: int) -> float:
    """What ``iterations`` iterations take, once everything is compiled."""
    engine.advance(BatchState.start([config.starting_points(graph)]), min(2, iterations))
    state = BatchState.start([config.starting_points(graph)])
    started = time.perf_counter()
    engine.advance(state, iterations)
    return time.perf_counter() - started
