"""Tables 2 and 3 of the supplement: hierarchy and neighbours among the co-authors of NIPS 1988 to
2003.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from .. import datasets
from ..embedding import Embedding
from ..engines.base import Machine
from ..evaluation import delta, norm_proxy, recall_at_1, strength_spearman
from ..files import replace_file
from ..geometry import Geometry
from ..graph import Graph
from ..training.config import TrainingConfig, configured, located_in
from ..training.inputs import Choice
from ..training.presets import COAUTHOR_DIFFERENCES, coauthor_settings, told
from ..training.train import embed_many
from . import Figures, write_figures
from .console import (
    Series,
    draw_table,
    finish,
    get,
    head_of,
    label,
    progress,
    put,
    row_of,
    series_of,
    write_cells,
)
from .sampled import SAMPLES, embed_sampled

NAMES = {
    "rho_all": "Spearman's ρ, all authors",
    "rho10": "Spearman's ρ, s_i ≥ 10",
    "rho20": "Spearman's ρ, s_i ≥ 20",
    "recall_at_1": "Recall@1 (%)",
}
ROWS = tuple(NAMES)
Rung = tuple[float, float | None]
"""A step, and the longest move of a point. Where the scripts' step diverges, or is far from done
when the iterations are over, longer steps with bounded moves do better; of these the lowest loss
is kept, and nothing else looked at.
"""
SCRIPTS: Rung = (1e-8, None)


@dataclass(frozen=True)
class Column:
    """A column of a table, or a training reported below it."""

    key: str
    geometry: Geometry
    perturb_first: bool = False

    @property
    def ladder(self) -> Sequence[Rung]:
        """The steps to try."""
        if self.geometry.is_flat:
            return (SCRIPTS, (1e-7, 1e-3), (1e-6, 1e-3))
        return (SCRIPTS,) if self.geometry.has_cone else ((1e-8, 1e-3), (1e-7, 1e-3))

    def config(self, rung: Rung, seed: int, iterations: int) -> TrainingConfig:
        """The training at a step."""
        step, longest = rung
        return configured(
            coauthor_settings(q=self.geometry.q),
            **located_in(self.geometry),
            seed=seed,
            iterations=iterations,
            step=step,
            max_step=None if longest is None else (longest, longest),
            perturb_first=self.perturb_first,
        )


@dataclass(frozen=True)
class PublishedTable:
    """A table of the supplement: its dimension, the iterations, and the figures as printed."""

    name: str
    title: str
    dimension: int
    iterations: int
    published: dict[str, tuple[float, ...]]  # by column, the measures in the order of ROWS
    norm_published: tuple[float, ...] = ()  # the norm on Q^{d,0} in place of δ

    @property
    def columns(self) -> list[Column]:
        """Flat space, then the signatures from hyperbolic to spherical."""
        return [
            Column(geometry.file_name, geometry)
            for geometry in Choice.of(self.dimension).geometries
        ]

    @property
    def beside(self) -> Column:
        """Flat space with all coordinates started at random."""
        return Column(
            f"R{self.dimension}_all_coordinates", Geometry(flat=self.dimension), perturb_first=True
        )


TABLE2 = PublishedTable(
    "table2",
    "Table 2",
    4,
    10_000,
    {
        "R4": (0.469, 0.512, 0.217, 70.7),
        "Q4_0": (0.460, 0.490, 0.292, 70.2),
        "Q3_1": (0.629, 0.552, 0.316, 83.5),
        "Q2_2": (0.667, 0.493, 0.307, 82.6),
        "Q1_3": (0.625, 0.441, 0.227, 78.1),
        "Q0_4": (0.437, 0.493, 0.387, 69.7),
    },
    norm_published=(0.044, -0.113, 0.264),
)
TABLE3 = PublishedTable(
    "table3",
    "Table 3",
    6,
    25_000,
    {
        "R6": (0.554, 0.459, 0.372, 88.6),
        "Q6_0": (0.455, 0.515, 0.321, 99.9),
        "Q5_1": (0.617, 0.507, 0.211, 93.1),
        "Q4_2": (0.666, 0.501, 0.317, 96.4),
        "Q3_3": (0.688, 0.514, 0.383, 96.7),
        "Q2_4": (0.675, 0.470, 0.370, 95.7),
        "Q1_5": (0.610, 0.494, 0.213, 93.5),
        "Q0_6": (0.456, 0.532, 0.257, 99.9),
    },
)


Loss = Literal["exact", "sampled"]
_PROSE = {
    "rho_all": "ρ",
    "rho10": "ρ (s_i ≥ 10)",
    "rho20": "ρ (s_i ≥ 20)",
    "recall_at_1": "Recall@1",
}
AT_LEAST = {"rho_all": None, "rho10": 10.0, "rho20": 20.0}


Score = dict[str, float]
"""What one training reached, by name: the measures, the loss, the steps back, and what the norm
gives in place of δ.
"""


@dataclass
class Results:
    """The scores of the trainings that are finished."""

    table: PublishedTable
    graph: Graph
    loss: Loss
    iterations: int
    scores: dict[tuple[str, Rung], list[Score]] = field(default_factory=dict)
    backend: str = ""

    def add(self, column: Column, rung: Rung, embedding: Embedding) -> None:
        """Measure a training."""
        points = torch.from_numpy(np.array(embedding.points))
        recall = 100.0 * recall_at_1(self.graph, points, embedding.manifold)
        result = embedding.record.result
        assert result is not None  # of a training
        best = math.inf if result.best_loss is None else result.best_loss
        score = {"recall_at_1": recall, "loss": best, "steps_back": float(result.steps_back)}
        for before, values in {
            "": delta(points, embedding.manifold),
            "norm_": norm_proxy(points),
        }.items():
            for row, least in AT_LEAST.items():
                score[before + row] = strength_spearman(self.graph, values, at_least=least)
        self.scores.setdefault((column.key, rung), []).append(score)
        self.backend = embedding.record.timing.backend or ""

    def kept(self, geometry: Column) -> Rung | None:
        """The step of the lowest mean loss; None while some step is not finished."""
        tried = {rung: self.scores.get((geometry.key, rung), []) for rung in geometry.ladder}
        if not all(tried.values()):
            return None
        return min(tried, key=lambda rung: float(np.mean([score["loss"] for score in tried[rung]])))

    def columns(self) -> list[Column]:
        """The finished columns."""
        return [geometry for geometry in self.table.columns if self.kept(geometry) is not None]

    def figures(self) -> Figures:
        """Everything under flat keys: plain for one seed, with ``_mean`` and ``_std`` (n - 1) for
        several.
        """
        figures: Figures = {}
        for geometry in self.columns():
            self._describe(figures, geometry.key, geometry, self.kept(geometry))
            for row, value in zip(ROWS, self.table.published[geometry.key], strict=True):
                figures[f"{geometry.key}_{row}_published"] = value
        hyperbolic = self.table.columns[1]
        if (rung := self.kept(hyperbolic)) is not None:
            mine = self.scores[hyperbolic.key, rung]
            for row in AT_LEAST:
                put(
                    figures, f"norm_proxy_{row}", np.array([score[f"norm_{row}"] for score in mine])
                )
            for row, value in zip(AT_LEAST, self.table.norm_published, strict=False):
                figures[f"norm_proxy_{row}_published"] = value
        flat, free = self.table.columns[0], self.table.beside
        if (flat.key, SCRIPTS) in self.scores:
            self._describe(figures, f"{flat.key}_scripts_step", flat, SCRIPTS)
        self._describe(figures, free.key, free, self.kept(free))
        return figures

    def _describe(self, figures: Figures, name: str, geometry: Column, rung: Rung | None) -> None:
        if rung is None:
            return
        for row in (*ROWS, "loss", "steps_back"):
            put(
                figures,
                f"{name}_{row}",
                np.array([score[row] for score in self.scores[geometry.key, rung]]),
            )
        figures[f"{name}_step"] = rung[0]

    def markdown(self) -> list[str]:
        """The table with the published figures in brackets, and remarks."""
        figures, columns, table = self.figures(), self.columns(), self.table
        if not columns:
            return [f"{table.title}: no column is finished yet."]
        count = max(len(scores) for scores in self.scores.values())
        drawn = (
            "the exact loss"
            if self.loss == "exact"
            else f"{SAMPLES:,} untied pairs per tie, drawn each iteration"
        )
        spread = "seed 0" if count == 1 else f"{count} seeds: mean ± standard deviation (n - 1)"
        lines = [
            f"Co-authors of NIPS 1988 to 2003, {table.dimension} dimensions, {drawn}, τ = 1e-4, "
            f"{self.iterations:,}",
            f"iterations, {spread}; the published figure (one run) in brackets. Backend: "
            f"{self.backend}.",
            "",
            *head_of("", *(label(column.geometry) for column in columns)),
        ]
        for column, row in enumerate(ROWS):
            cells = [
                f"{_shown(figures, g.key, row)} [{_digits(row, table.published[g.key][column])}]"
                for g in columns
            ]
            lines.append(row_of([NAMES[row], *cells]))
        for row, title in (("loss", "Loss reached"), ("steps_back", "Times it went back")):
            lines.append(row_of([title, *(_shown(figures, g.key, row) for g in columns)]))
        lines.append(row_of(["Step", *(f"{figures[g.key + '_step']:.0e}" for g in columns)]))
        return [*lines, *self._remarks(figures)]

    def _remarks(self, figures: Figures) -> list[str]:
        flat, free, hyperbolic = self.table.columns[0], self.table.beside, self.table.columns[1]
        lines = ["", *_REMARKS]
        if self.kept(hyperbolic) is not None:
            values = []
            for row in AT_LEAST:
                published = figures.get(f"norm_proxy_{row}_published")
                beside = "" if published is None else f" [{_digits(row, published)}]"
                values.append(f"{_PROSE[row]} {_shown(figures, 'norm_proxy', row)}{beside}")
            lines += [
                "",
                f"Norm on {label(hyperbolic.geometry)} in place of δ: {', '.join(values)}.",
            ]
        for name, title in (
            (f"{flat.key}_scripts_step", "at the scripts' step"),
            (free.key, f"with all {self.table.dimension} coordinates started at random"),
        ):
            if f"{name}_step" in figures:
                values = [f"{_PROSE[row]} {_shown(figures, name, row)}" for row in ROWS]
                step = f"step {figures[f'{name}_step']:.0e}, loss {_shown(figures, name, 'loss')}"
                lines += ["", f"Flat space {title}: {step}, {', '.join(values)}."]
        return lines


_REMARKS = (
    "Signatures with p and q above 0 have the scripts' step. Flat, hyperbolic and spherical space "
    "have the step that",
    "reached the lowest loss of a few, with moves of at most 1e-3 (flat space's 1e-8 has no "
    "bound): with the scripts'",
    "own they diverge or are far from done. A training whose loss is 1.5 times its best goes back "
    "to its best points",
    "with half the step.",
)


def _digits(row: str, value: float) -> str:
    return format(
        value, {"loss": ",.0f", "steps_back": ".2g", "recall_at_1": ".1f"}.get(row, ".3f")
    )


def _shown(figures: Figures, key: str, row: str) -> str:
    mean, spread = get(figures, f"{key}_{row}")
    return _digits(row, mean) + ("" if spread is None else f" ± {_digits(row, spread)}")


def write(folder: Path, results: Results) -> list[str]:
    """Write what is finished as Markdown, JSON, CSV and, where there is matplotlib, a plot; returns
    the names.
    """
    name, figures = results.table.name, results.figures()
    replace_file(folder / f"{name}.md", "\n".join(results.markdown()) + "\n")
    write_figures(folder / f"{name}.json", figures)
    series = _series(results.table, figures)
    geometries = [column.geometry for column in results.columns()]
    write_cells(folder / f"{name}.csv", ROWS, geometries, series)
    names = [f"{name}.{ending}" for ending in ("md", "csv", "json")]
    if geometries and find_spec("matplotlib") is not None:
        draw(folder / f"{name}.png", results.table, figures)
        names.append(f"{name}.png")
    return names


def draw(path: Path, table: PublishedTable, figures: Figures) -> None:
    """A plot of the columns that the figures hold, ours beside the published."""
    geometries = [column.geometry for column in _held(table, figures)]
    draw_table(path, list(NAMES.values()), geometries, _series(table, figures))


def _held(table: PublishedTable, figures: Figures) -> list[Column]:
    return [column for column in table.columns if f"{column.key}_step" in figures]


def _series(table: PublishedTable, figures: Figures) -> list[Series]:
    keys = [column.key for column in _held(table, figures)]
    printed = [
        [(table.published[key][number], None) for key in keys] for number in range(len(ROWS))
    ]
    return [
        series_of(figures, "ours", "#0072B2", keys, ROWS, ""),
        Series("published", "published_", "#D55E00", "s", printed),
    ]


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

    The steps of a geometry are one batch on the exact loss; on the sampled one each takes hours.
    The files are written after each batch, with the columns that are finished by then: that is what
    Ctrl-C leaves behind.
    """
    count, length = (
        1 if seeds is None else seeds,
        table.iterations if iterations is None else iterations,
    )
    if count < 1 or length < 1:
        raise ValueError(f"seeds and iterations must be at least 1, got {count} and {length}")
    graph = datasets.nips()
    if not quiet:
        print(told("paper", COAUTHOR_DIFFERENCES), end="\n\n")
    results = Results(table, graph, loss, length)
    # Those with one step first: most columns are there soon.
    columns = sorted([*table.columns, table.beside], key=lambda column: len(column.ladder))
    place, sampled = Machine(device, threads=threads), loss == "sampled"
    for seed, column in product(range(count), columns):
        for rungs in [[rung] for rung in column.ladder] if sampled else [column.ladder]:
            configs = [column.config(rung, seed, length) for rung in rungs]
            step = f", step {rungs[0][0]:g}" if sampled else ""
            with progress(
                f"{table.title}, {label(column.geometry)}{step}, seed {seed}", length, quiet
            ) as callback:
                if sampled:
                    embeddings = [
                        embed_sampled(graph, configs[0], place, callback=callback, quiet=quiet)
                    ]
                else:
                    embeddings = embed_many(
                        graph, configs, place, measures=False, callbacks=[callback]
                    )
            for rung, embedding in zip(rungs, embeddings, strict=True):
                results.add(column, rung, embedding)
            names = write(output, results)
    finish(results.markdown(), output, names, quiet=quiet)
    return results.figures()


table2 = partial(reproduce_table, TABLE2)
"""Four dimensions."""
table3 = partial(reproduce_table, TABLE3)
"""Six dimensions."""
