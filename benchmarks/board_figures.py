"""What the board measures, under flat keys: ``graph/geometry/which/seed/measure``; kept in a file, and averaged."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ultrahyperbolic.geometry import Geometry

Value = float | int | str | bool | None
Figures = dict[str, Value]

GEOMETRIES = [*(Geometry(p, 4 - p) for p in range(4, -1, -1)), Geometry(flat=4), Geometry(3, 3), Geometry(6, 0)]
KEYS = {geometry.file_name: geometry for geometry in GEOMETRIES}
MEASURES = {"map": "mAP", "recall_at_1": "Recall@1", "tie_order": "tie order", "spearman_all": "ρ"}
WHICH = {"new": "now", "before": "before", "paper": "paper's recipe"}


def load(paths: Iterable[Path]) -> Figures:
    """The figures of files, the later ones on top; of a file that is not there, none."""
    found: Figures = {}
    for path in paths:
        if path.exists():
            found |= json.loads(path.read_text(encoding="utf-8"))
    return found


def save(figures: Mapping[str, Value], path: Path | None) -> None:
    """Write all of them at once, so that an interrupted run leaves a whole file; JSON has neither NaN nor infinity."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in figures.items()}
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(beside, path)


def number(figures: Mapping[str, Value], key: str) -> float:
    """A figure; NaN where it is missing or not defined."""
    value = figures.get(key)
    return math.nan if value is None or isinstance(value, str) else float(value)


def mean(values: Iterable[float]) -> float:
    """Of what is defined; NaN of nothing."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


class Cells:
    """The figures of ``run``, by graph, geometry, which training, and measure."""

    def __init__(self, figures: Mapping[str, Value]) -> None:
        self.figures = figures
        self.graphs = [key.removesuffix("/half") for key in figures if key.endswith("/half")]
        self._seeds: dict[tuple[str, str, str], list[str]] = {}
        for key in figures:
            parts = key.split("/")
            if len(parts) == 5 and parts[4] == "seconds":
                self._seeds.setdefault((parts[0], parts[1], parts[2]), []).append(parts[3])

    def half(self, half: str) -> list[str]:
        """The graphs of a half."""
        return [graph for graph in self.graphs if self.figures[f"{graph}/half"] == half]

    def seeds(self, graph: str, geometry: str, which: str) -> list[str]:
        """Those that were trained."""
        return self._seeds.get((graph, geometry, which), [])

    def value(self, graph: str, geometry: str, which: str, measure: str) -> float:
        """The mean of a measure over the seeds; NaN where nothing was trained or it is not defined."""
        stem = f"{graph}/{geometry}/{which}"
        return mean(number(self.figures, f"{stem}/{seed}/{measure}") for seed in self.seeds(graph, geometry, which))

    def several(self, graphs: Sequence[str], geometry: str, which: Sequence[str], measure: str) -> dict[str, float]:
        """The means over the graphs on which all of some trainings have the measure, by training."""
        rows = [[self.value(graph, geometry, each, measure) for each in which] for graph in graphs]
        whole = [row for row in rows if not any(map(math.isnan, row))]
        return {each: mean(row[k] for row in whole) for k, each in enumerate(which)}

    def trained(self) -> list[str]:
        """Which trainings there are."""
        return [which for which in WHICH if any(which == place[2] for place in self._seeds)]
