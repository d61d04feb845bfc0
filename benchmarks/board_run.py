"""Train the graphs of the board and keep ``graph/geometry/which/seed/measure``; tables of what was
kept.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from bench import Figures, Floats, Value, cell, load, mean, number, save, table
from board_graphs import Loaded, load_graph

from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.evaluation import OverPairs, over_pairs
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.options import complete
from ultrahyperbolic.training.config import Stop, TrainingConfig, configured
from ultrahyperbolic.training.plan import Plan, configure
from ultrahyperbolic.training.presets import coauthor_settings
from ultrahyperbolic.training.train import embed_many

GEOMETRIES = [
    *(Geometry(p, 4 - p) for p in range(4, -1, -1)),
    Geometry(flat=4),
    Geometry(3, 3),
    Geometry(6, 0),
]
KEYS = {geometry.file_name: geometry for geometry in GEOMETRIES}
MEASURES = {
    "map": "mAP",
    "recall_at_1": "Recall@1",
    "tie_order": "tie order",
    "spearman_all": "ρ",
    "strongest_tie": "strongest",
    "delta_centrality": "ρ of δ and centrality",
}
WHICH = {"new": "now", "before": "before", "paper": "paper's recipe"}


class Job(NamedTuple):
    """A training."""

    geometry: Geometry
    seed: int


class Trained(NamedTuple):
    """What a training came to."""

    job: Job
    points: Floats
    popularity: Floats | None
    iterations: int
    start: float
    final: float
    seconds: float
    """Its share of those of its batch."""


@dataclass(frozen=True)
class How:
    """What all trainings of a run share."""

    place: Machine = field(default_factory=Machine)
    iterations: int | None = None
    stop: Stop | None = None


def train(loaded: Loaded, jobs: Sequence[Job], which: str, how: How) -> list[Trained]:
    """All trainings of a graph: as one batch where they may go together."""
    trained: dict[int, Trained] = {}
    configs = [_config(loaded, job, which, how) for job in jobs]
    batches: dict[tuple[object, ...], list[int]] = {}
    for k, c in enumerate(configs):
        batches.setdefault((c.iterations, c.stop, c.best_every, c.step_back, c.finish), []).append(
            k
        )
    for batch in batches.values():
        kinds = {(configs[k].geometry, configs[k].optimizer): configs[k] for k in batch}
        short = [replace(config, iterations=20) for config in kinds.values()]
        together(loaded.graph, short, how.place)  # which compiles, untimed
        began = time.perf_counter()
        embeddings = together(loaded.graph, [configs[k] for k in batch], how.place)
        seconds = (time.perf_counter() - began) / len(batch)
        for k, embedding in zip(batch, embeddings, strict=True):
            result, points = embedding.record.result, np.array(embedding.points, dtype=np.float64)
            assert result is not None
            start, final = (
                math.nan if loss is None else loss
                for loss in (result.start_loss, result.final_loss)
            )
            trained[k] = Trained(
                jobs[k], points, embedding.popularity, result.iterations, start, final, seconds
            )
    return [trained[k] for k in range(len(jobs))]


def _config(loaded: Loaded, job: Job, which: str, how: How) -> TrainingConfig:
    geometry, paper = job.geometry, which == "paper"
    if paper and loaded.name == "nips":
        recipe = coauthor_settings(q=geometry.q)
        authors = configured(recipe, p=geometry.p, q=geometry.q, flat=geometry.flat, seed=job.seed)
        return replace(authors, iterations=how.iterations or authors.iterations)
    recipe = {"preset": "paper"} if paper else {}
    asked = {
        "iterations": how.iterations,
        "stop": how.stop,
        "seed": job.seed,
        **recipe,
        **vars(how.place),
    }
    (config,) = configure(Plan(geometry, complete(asked)), loaded.graph)
    return config


def together(graph: Graph, configs: Sequence[TrainingConfig], place: Machine) -> list[Embedding]:
    """One batch, or two where memory does not suffice."""
    try:
        return list(embed_many(graph, configs, place, measures=False))
    except MemoryError:
        if len(configs) == 1:
            raise
    half = len(configs) // 2
    return [*together(graph, configs[:half], place), *together(graph, configs[half:], place)]


def measure(
    graph: Graph,
    geometry: Geometry,
    points: Floats,
    place: Machine,
    popularity: Floats | None = None,
) -> OverPairs:
    device = place.torch_device
    there, manifold = torch.from_numpy(points).to(device), geometry.manifold.to(device)
    return over_pairs(graph, there, manifold, popularity=popularity)


def figures_of(graph: Graph, trained: Trained, place: Machine) -> Figures:
    finite = bool(np.isfinite([*trained.points.flat, trained.start, trained.final]).all())
    kept: Figures = {
        "seconds": trained.seconds,
        "iterations": trained.iterations,
        "finite": int(finite),
    }
    kept["returned_start"] = int(trained.final == trained.start > 0.0)
    measures = {}
    if finite:
        measures = measure(
            graph, trained.job.geometry, trained.points, place, trained.popularity
        ).measures
    return kept | {name: measures.get(name) for name in MEASURES}


def about(loaded: Loaded) -> Figures:
    graph = loaded.graph
    known: Figures = {"half": loaded.half, "nodes": graph.n_nodes, "edges": graph.n_edges}
    known |= {"weights": len(graph.capacities), "strengths": len(np.unique(graph.strength))}
    return {f"{loaded.name}/{what}": value for what, value in known.items()}


def run(
    folder: Path,
    names: Sequence[str],
    geometries: Sequence[Geometry],
    seeds: int,
    how: How,
    which: Sequence[str] = ("new",),
    path: Path | None = None,
    *,
    again: bool = False,
) -> Figures:
    """Train what the file does not hold yet, and write it after every graph; return all that it
    holds then.
    """
    kept = load([path] if path else [])
    settings: Figures = {"run:iterations": how.iterations, "run:stop": how.stop}
    if any(kept.get(key, value) != value for key, value in settings.items()):
        raise SystemExit(
            f"{path} was trained with other iterations or another stop: name another file"
        )
    kept |= settings
    began = time.monotonic()
    for done, name in enumerate(names, 1):
        loaded = load_graph(name, folder)
        kept |= about(loaded)
        for each in which:
            stems = {
                Job(g, seed): f"{name}/{g.file_name}/{each}/{seed}"
                for g in geometries
                for seed in range(seeds)
            }
            jobs = [job for job, stem in stems.items() if again or f"{stem}/seconds" not in kept]
            if jobs:
                for trained in train(loaded, jobs, each, how):
                    measured = figures_of(loaded.graph, trained, how.place)
                    kept |= {
                        f"{stems[trained.job]}/{what}": value for what, value in measured.items()
                    }
                save(kept, path)
            words = (*MEASURES, "seconds")
            means = {
                what: mean(number(kept, f"{stem}/{what}") for stem in stems.values())
                for what in words
            }
            said = ", ".join(
                f"{MEASURES.get(what, what)} {value:.3f}" for what, value in means.items()
            )
            head = (
                f"[{done} of {len(names)}, {(time.monotonic() - began) / 60:.1f} min] {name}, "
                f"{WHICH[each]}"
            )
            print(f"{head}: {len(jobs)} trained; {said}", flush=True)
    return kept


class Cells:
    """The figures of ``run``, by graph, geometry, which training, and measure."""

    def __init__(self, figures: Mapping[str, Value]) -> None:
        self.figures = figures
        self.graphs = [key.removesuffix("/half") for key in figures if key.endswith("/half")]
        self._seeds: dict[tuple[str, ...], list[str]] = {}
        for key in figures:
            parts = key.split("/")
            if len(parts) == 5 and parts[4] == "seconds":
                self._seeds.setdefault(tuple(parts[:3]), []).append(parts[3])

    def half(self, half: str) -> list[str]:
        """The graphs of a half."""
        return [graph for graph in self.graphs if self.figures[f"{graph}/half"] == half]

    def value(self, graph: str, geometry: str, which: str, measure: str) -> float:
        """The mean of a measure over the seeds; NaN where nothing was trained or it is not
        defined.
        """
        seeds = self._seeds.get((graph, geometry, which), [])
        return mean(
            number(self.figures, f"{graph}/{geometry}/{which}/{seed}/{measure}") for seed in seeds
        )

    def several(
        self, graphs: Sequence[str], geometry: str, which: Sequence[str], measure: str
    ) -> list[float]:
        """The means over the graphs on which all of some trainings have the measure, one per
        training.
        """
        rows = [[self.value(graph, geometry, each, measure) for each in which] for graph in graphs]
        whole = [row for row in rows if not any(map(math.isnan, row))]
        return [mean(row[k] for row in whole) for k in range(len(which))]


HALVES = {
    "looked": "Looked at while the method was sought",
    "unseen": "Not looked at before it was frozen",
}
MIXED = ("Q2_2", "Q3_3")


def shown(geometry: str) -> str:
    return KEYS[geometry].name.replace("R^4", "R⁴")


def tables(figures: Mapping[str, Value]) -> str:
    """The means over each half by geometry, then every graph of the true ultrahyperbolic
    geometries.
    """
    cells, columns = Cells(figures), (*MEASURES, "seconds")
    which = [
        which for which in WHICH if any(key.endswith(f"/{which}/0/seconds") for key in figures)
    ]
    header = [*MEASURES.values(), "seconds"]
    lines = [f"Each cell: {' / '.join(WHICH[each] for each in which)}.", ""]

    def row(first: str, values: Iterator[Sequence[float]]) -> list[str]:
        return [first, *(" / ".join(map(cell, some)) for some in values)]

    for half, title in HALVES.items():
        graphs = cells.half(half)
        if graphs:
            rows = [
                row(shown(g), (cells.several(graphs, g, which, what) for what in columns))
                for g in KEYS
            ]
            lines += [
                f"### {title}: means over {len(graphs)} graphs",
                "",
                table(["geometry", *header], rows),
                "",
            ]
    for geometry in MIXED:
        rows = [
            row(
                graph + mark,
                ([cells.value(graph, geometry, each, what) for each in which] for what in columns),
            )
            for half, mark in (("looked", ""), ("unseen", " *"))
            for graph in cells.half(half)
        ]
        lines += [f"### {shown(geometry)}, graph by graph", "", table(["graph", *header], rows), ""]
    return "\n".join(lines)
