"""Train a graph of the board as a user would get it by default, by the paper's recipe, or as before; and measure it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import board_before
import numpy as np
import torch
from board_figures import MEASURES, WHICH, Figures, Value, load, mean, number, save
from board_graphs import Loaded, Shelf
from graphs import Arrays, Floats

from ultrahyperbolic.engines.base import Place
from ultrahyperbolic.evaluation import OverPairs, over_pairs
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training.config import Stop, TrainingConfig, configured
from ultrahyperbolic.training.method import Goal
from ultrahyperbolic.training.plan import Plan, Wishes, configure
from ultrahyperbolic.training.presets import coauthor_settings
from ultrahyperbolic.training.train import embed_many


class Job(NamedTuple):
    """A training."""

    geometry: Geometry
    seed: int


class Trained(NamedTuple):
    """What a training came to."""

    job: Job
    points: Floats
    seconds: float
    """Its share of those of its batch."""
    iterations: int
    start: float
    final: float
    popularity: Floats | None = None

    @property
    def is_finite(self) -> bool:
        """Whether the points and the losses are."""
        return bool(np.isfinite(self.points).all()) and math.isfinite(self.start) and math.isfinite(self.final)

    @property
    def returned_start(self) -> bool:
        """Whether nothing better was found than the points it started from."""
        return self.final == self.start > 0.0


@dataclass(frozen=True)
class How:
    """What all trainings of a run share."""

    place: Place = field(default_factory=Place)
    iterations: int | None = None
    stop: Stop | None = None
    before: Path | None = None
    """The folder that holds the package as it was before."""
    goal: Goal = "balanced"
    """Of trainings as they are now."""


def train(loaded: Loaded, jobs: Sequence[Job], which: str, how: How) -> list[Trained]:
    """All trainings of a graph: as one batch where they may go together."""
    if which == "before":
        return _before(loaded.graph, jobs, how)
    found: dict[int, Trained] = {}
    configs = [_config(loaded, job, which, how) for job in jobs]
    for batch in batches(configs):
        kinds = {(configs[k].geometry, configs[k].optimizer): configs[k] for k in batch}
        short = [replace(config, iterations=20) for config in kinds.values()]
        together(loaded.graph, short, how.place)  # which compiles, untimed
        began = time.perf_counter()
        results = together(loaded.graph, [configs[k] for k in batch], how.place)
        seconds = (time.perf_counter() - began) / len(batch)
        for k, (points, iterations, start, final, popularity) in zip(batch, results, strict=True):
            found[k] = Trained(jobs[k], points, seconds, iterations, start, final, popularity)
    return [found[k] for k in range(len(jobs))]


def _config(loaded: Loaded, job: Job, which: str, how: How) -> TrainingConfig:
    geometry, wishes = job.geometry, Wishes(iterations=how.iterations, stop=how.stop)
    if which == "paper" and loaded.name == "nips":
        authors = configured(
            coauthor_settings(q=geometry.q), p=geometry.p, q=geometry.q, flat=geometry.flat, seed=job.seed
        )
        return replace(authors, iterations=how.iterations or authors.iterations)
    paper = which == "paper"
    goal: Goal = "balanced" if paper else how.goal
    plan = Plan(geometry, wishes, job.seed, "paper" if paper else None, place=how.place, goal=goal)
    (config,) = configure(plan, loaded.graph)
    return config


def batches(configs: Sequence[TrainingConfig]) -> list[list[int]]:
    """The positions of trainings that may go together."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for k, c in enumerate(configs):
        groups.setdefault((c.iterations, c.stop, c.best_every, c.step_back, c.finish), []).append(k)
    return list(groups.values())


Told = tuple[Floats, int, float, float, Floats | None]
"""Points, iterations, the loss at the start and at the end, and popularity."""


def together(graph: Graph, configs: Sequence[TrainingConfig], place: Place) -> list[Told]:
    """What trainings came to: one batch, or two where memory does not suffice."""
    try:
        embeddings = embed_many(graph, configs, place, measures=False)
    except MemoryError:
        if len(configs) == 1:
            raise
        half = len(configs) // 2
        return [*together(graph, configs[:half], place), *together(graph, configs[half:], place)]
    found: list[Told] = []
    for embedding in embeddings:
        result = embedding.record.result
        assert result is not None
        start, final = (math.nan if loss is None else loss for loss in (result.start_loss, result.final_loss))
        found.append(
            (np.array(embedding.points, dtype=np.float64), result.iterations, start, final, embedding.popularity)
        )
    return found


def _before(graph: Graph, jobs: Sequence[Job], how: How) -> list[Trained]:
    if how.before is None:
        raise SystemExit("to train as before, make the source with board.py before FOLDER and give --before FOLDER")
    arrays = Arrays.of(graph)
    asked = [{"geometry": [g.p, g.q, g.flat], "seed": seed, "iterations": how.iterations} for g, seed in jobs]
    place = {"device": None if how.place.device is None else str(how.place.device), "threads": how.place.threads}
    data = {"edges": arrays.edges, "n": np.array(arrays.n), "weights": arrays.weights}
    found = board_before.train(how.before, data, asked, place)
    trained = []
    for job, (points, told) in zip(jobs, found, strict=True):
        start, final = (math.nan if told[end] is None else told[end] for end in ("start", "final"))
        trained.append(Trained(job, points, told["seconds"], told["iterations"], start, final))
    return trained


def measure(
    graph: Graph, geometry: Geometry, points: Floats, place: Place, popularity: Floats | None = None
) -> OverPairs:
    """The measures of points as they are now, whoever trained them."""
    device = place.torch_device
    points_there, manifold = torch.from_numpy(points).to(device), geometry.manifold.to(device)
    return over_pairs(graph, points_there, manifold, popularity=popularity)


def figures_of(graph: Graph, trained: Trained, place: Place) -> dict[str, Value]:
    """What the board keeps of a training."""
    found: dict[str, Value] = {"seconds": trained.seconds, "iterations": trained.iterations}
    found |= {"finite": int(trained.is_finite), "returned_start": int(trained.returned_start)}
    measures = {}
    if trained.is_finite:
        measures = measure(graph, trained.job.geometry, trained.points, place, trained.popularity).measures
    return found | {name: measures.get(name) for name in MEASURES}


def about(loaded: Loaded) -> Figures:
    """What the bars ask of a graph."""
    graph, name = loaded.graph, loaded.name
    return {
        f"{name}/half": loaded.half,
        f"{name}/nodes": graph.n_nodes,
        f"{name}/edges": graph.n_edges,
        f"{name}/weights": len(graph.capacities),
        f"{name}/strengths": len(np.unique(graph.strength)),
    }


def run(
    shelf: Shelf, names: Sequence[str], geometries: Sequence[Geometry], seeds: int, which: Sequence[str],
    how: How, path: Path | None, *, again: bool = False,
) -> Figures:  # fmt: skip
    """Train what the file does not hold yet, and write it after every graph; return all that it holds then."""
    kept = load([path] if path else [])
    settings: Figures = {"run:iterations": how.iterations, "run:stop": how.stop, "run:goal": how.goal}
    if any(kept.get(key, value) != value for key, value in settings.items()):
        raise SystemExit(f"{path} was trained with other iterations, another stop or goal: name another file")
    kept |= settings
    began = time.monotonic()
    for done, name in enumerate(names, 1):
        loaded = shelf.load(name)
        kept |= about(loaded)
        for each in which:
            wanted = [Job(geometry, seed) for geometry in geometries for seed in range(seeds)]
            jobs = [job for job in wanted if again or f"{_stem(name, job, each)}/seconds" not in kept]
            if jobs:
                for trained in train(loaded, jobs, each, how):
                    stem = _stem(name, trained.job, each)
                    found = figures_of(loaded.graph, trained, how.place)
                    kept |= {f"{stem}/{what}": value for what, value in found.items()}
                save(kept, path)
            head = f"[{done} of {len(names)}, {(time.monotonic() - began) / 60:.1f} min] {name}, {WHICH[each]}"
            print(f"{head}: {len(jobs)} trained; {_said(kept, [_stem(name, job, each) for job in wanted])}", flush=True)
    return kept


def _stem(name: str, job: Job, which: str) -> str:
    return f"{name}/{job.geometry.file_name}/{which}/{job.seed}"


def _said(figures: Figures, stems: Iterable[str]) -> str:
    stems = list(stems)
    words = {**MEASURES, "seconds": "seconds"}
    return ", ".join(
        f"{word} {mean(number(figures, f'{s}/{what}') for s in stems):.3f}" for what, word in words.items()
    )
