"""Tables 2 and 3 of the supplement: hierarchy and neighbours among the co-authors of NIPS 1988 to 2003."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from .. import datasets
from ..embedding import Embedding
from ..engines.base import Machine
from ..graph import Graph
from ..training.presets import COAUTHOR_DIFFERENCES
from ..training.train import embed_many
from . import Figures
from .coauthors import TABLE2, TABLE3, Job, Loss, PublishedTable, Results, write
from .console import Console, label, progress
from .sampled import embed_sampled

Batches = Iterator[tuple[Sequence[Job], Sequence[Embedding]]]


def reproduce_table(
    table: PublishedTable,
    *,
    seeds: int | None = None,
    output: Path,
    quiet: bool = False,
    loss: Loss = "exact",
    iterations: int | None = None,
    device: str | None = None,
    threads: int | None = None,
) -> Figures:
    """Train every geometry, and print the table beside the published one.

    The steps of a geometry are one batch on the exact loss. The files are written after each batch, with the columns
    that are finished by then: that is what Ctrl-C leaves behind.
    """
    count, length = 1 if seeds is None else seeds, table.iterations if iterations is None else iterations
    if count < 1 or length < 1:
        raise ValueError(f"seeds and iterations must be at least 1, got {count} and {length}")
    graph, console = datasets.nips(), Console(quiet)
    console.differences(COAUTHOR_DIFFERENCES)
    results = Results(table, graph, loss, length)
    # Those with one step first: most columns are there soon.
    geometries = sorted([*table.columns, table.beside], key=lambda geometry: len(geometry.ladder))
    jobs = [
        Job(g, rung, g.config(rung, seed, length)) for seed in range(count) for g in geometries for rung in g.ladder
    ]
    train = _exact if loss == "exact" else _sampled
    output.mkdir(parents=True, exist_ok=True)
    for batch, embeddings in train(graph, jobs, table.title, quiet, Machine(device, threads=threads)):
        for job, embedding in zip(batch, embeddings, strict=True):
            results.add(job, embedding)
        names = write(output, results)
    console.finish(results.markdown(), output, names)
    return results.figures()


table2 = partial(reproduce_table, TABLE2)
"""Four dimensions."""
table3 = partial(reproduce_table, TABLE3)
"""Six dimensions."""


def _exact(graph: Graph, jobs: Sequence[Job], title: str, quiet: bool, place: Machine) -> Batches:
    """The steps of a geometry at a time."""
    for (geometry, seed), group in groupby(jobs, key=lambda job: (job.geometry, job.config.seed)):
        batch = list(group)
        configs = [job.config for job in batch]
        with progress(f"{title}, {label(geometry.geometry)}, seed {seed}", configs[0].iterations, quiet) as callback:
            embeddings = embed_many(graph, configs, place, measures=False, callbacks=[callback])
        yield batch, embeddings


def _sampled(graph: Graph, jobs: Sequence[Job], title: str, quiet: bool, place: Machine) -> Batches:
    """A training at a time: each takes hours."""
    for job in jobs:
        name = f"{title}, {label(job.geometry.geometry)}, step {job.rung[0]:g}, seed {job.config.seed}"
        with progress(name, job.config.iterations, quiet) as callback:
            embedding = embed_sampled(graph, job.config, place, callback=callback, quiet=quiet)
        yield [job], [embedding]
