"""The cells of ``defaults.py table``: kept in a file as they come, counted, and written into the docs."""

from __future__ import annotations

import json
import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from graphs import GRAPHS, Known

from ultrahyperbolic.geometry import Geometry

Figures = dict[str, Any]
GEOMETRIES = [Geometry(p, 4 - p) for p in range(4, -1, -1)] + [Geometry(flat=4)]
# Those that are neither hyperbolic nor a sphere nor flat.
MIXED = {geometry.name for geometry in GEOMETRIES if geometry.p and geometry.q}
MARKS = ("<!-- table: written by benchmarks/defaults.py table -->", "<!-- end of table -->")


def key_of(geometry: Geometry) -> str:
    return geometry.file_name


KEYS = {key_of(geometry): geometry.name for geometry in GEOMETRIES}


@dataclass(frozen=True)
class Attempt:
    """The paper's recipe with one step and one bound on moves (None: no bound)."""

    step: float
    longest: float | None
    violated_orders: list[float]
    """Of each seed."""


@dataclass(frozen=True)
class Cell:
    """A geometry on a graph: what ours and the recipe reach from each seed."""

    graph: str
    geometry: str
    """As :func:`key_of` writes it."""
    recipe: str
    """Whose recipe it is compared with: that of the club, or that of NIPS."""
    device: str
    seconds: float
    """Of ours, for one seed."""
    ours: list[dict[str, float]]
    """Measures by name, of each seed."""
    paper: list[Attempt]

    def values(self, what: str) -> Any:
        """[seeds]"""
        return np.array([row[what] for row in self.ours])

    def mean(self, what: str) -> float:
        """Over the seeds."""
        return float(self.values(what).mean())

    def spread(self, what: str) -> float:
        """Standard deviation (n - 1) over the seeds; 0 for one."""
        return float(np.std(self.values(what), ddof=min(1, len(self.ours) - 1)))

    @property
    def share(self) -> float:
        """Violated orders of ours, mean over the seeds."""
        return self.mean("violated_orders")

    @property
    def best(self) -> Attempt:
        """The attempt of the fewest violated orders, mean over the seeds."""
        return min(self.paper, key=lambda attempt: float(np.mean(attempt.violated_orders)))

    @property
    def paper_share(self) -> float:
        """The same of the recipe's best attempt."""
        return float(np.mean(self.best.violated_orders))

    @property
    def ratio(self) -> float:
        """Ours over the recipe's; 1 where both violate nothing."""
        if self.paper_share > 0:
            return self.share / self.paper_share
        return 1.0 if self.share == 0 else math.inf


Cells = dict[tuple[str, str], Cell]


def load(path: Path | None, seeds: int) -> Cells:
    """The cells of a file, or none where there is no file yet. All must have this many seeds."""
    if path is None or not path.exists():
        return {}
    cells: Cells = {}
    for data in json.loads(path.read_text(encoding="utf-8")):
        rows = [{name: math.nan if value is None else value for name, value in row.items()} for row in data["ours"]]
        cell = Cell(**{**data, "ours": rows, "paper": [Attempt(**attempt) for attempt in data["paper"]]})
        if len(cell.ours) != seeds:
            raise SystemExit(f"{path} holds cells of {len(cell.ours)} seeds: name another file, or say --seeds")
        cells[cell.graph, cell.geometry] = cell
    return cells


def save(cells: Cells, path: Path) -> None:
    """Write all of them, so that an interrupted run leaves a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(json.dumps(plain([asdict(cell) for cell in cells.values()]), indent=1) + "\n", encoding="utf-8")
    os.replace(beside, path)


def plain(value: Any) -> Any:
    """JSON has no NaN (the rank correlation where all nodes are equally strong) and no infinity."""
    if isinstance(value, Mapping):
        return {name: plain(some) for name, some in value.items()}
    if isinstance(value, list):
        return [plain(some) for some in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def fewest(shares: Mapping[str, Any]) -> list[str]:
    """The geometry of the fewest violated orders, then those within two standard errors of it over the seeds.

    Of equals a true ultrahyperbolic signature comes last. The seeds jitter one start, so this says how far a result
    depends on the start; it is no test.
    """
    order = sorted(shares, key=lambda g: (float(shares[g].mean()), g in MIXED))
    first = shares[order[0]]

    def near(other: Any) -> bool:
        error = math.sqrt((first.var(ddof=1) + other.var(ddof=1)) / len(first)) if len(first) > 1 else math.inf
        return bool(other.mean() - first.mean() <= 2.0 * error)

    return [order[0], *(g for g in order[1:] if near(shares[g]))]


def nearest(cells: Cells) -> dict[str, list[str]]:
    """:func:`fewest` of every graph whose geometries are all there."""
    found = {}
    for name in GRAPHS:
        row = {KEYS[key]: cells[name, key].values("violated_orders") for key in KEYS if (name, key) in cells}
        if len(row) == len(KEYS):
            found[name] = fewest(row)
    return found


def figures(cells: Cells) -> Figures:
    """All numbers, flat."""
    found: Figures = {}
    for cell in cells.values():
        key = f"{cell.graph.lower().replace(' ', '_').replace(',', '')}_{cell.geometry}"
        found |= {f"{key}_{what}": cell.mean(what) for what in cell.ours[0]}
        found |= {f"{key}_{what}_std": cell.spread(what) for what in cell.ours[0]}
        found |= {
            f"{key}_paper_violated_orders": cell.paper_share, f"{key}_paper_step": cell.best.step,
            f"{key}_ratio": cell.ratio, f"{key}_seconds": cell.seconds,
        }  # fmt: skip
    return found | summary(cells)


def summary(cells: Cells) -> Figures:
    """How the cells compare with the recipe, and which geometries violate fewest where there are cycles."""
    ratios = [cell.ratio for cell in cells.values()]
    found: Figures = {
        "ratio_median": float(np.median(ratios)),
        "ratio_above_1": sum(ratio > 1.0 for ratio in ratios),
        "ratio_count": len(ratios),
        "ratio_of_nothing": sum(cell.share == cell.paper_share == 0 for cell in cells.values()),
    }
    unseen = [cell.ratio for cell in cells.values() if GRAPHS[cell.graph].unseen]
    if unseen:
        found["ratio_count_not_looked_at"] = len(unseen)
        found["ratio_median_not_looked_at"] = float(np.median(unseen))
    rich = [near for name, near in nearest(cells).items() if GRAPHS[name].cycles]
    found["cyclic_graphs"] = len(rich)
    found["cyclic_graphs_fewest_by_ultrahyperbolic"] = sum(near[0] in MIXED for near in rich)
    found["cyclic_graphs_won_by_ultrahyperbolic"] = sum(set(near) <= MIXED for near in rich)
    return found


def page(cells: Cells) -> str:
    """The two tables of ``docs/optimisation.md``, and what can be counted in them."""
    near = nearest(cells)
    missing = [name for name in GRAPHS if name not in near]
    if missing:
        raise SystemExit(f"the page needs every geometry on every graph, and these lack some: {', '.join(missing)}")
    seeds = len(next(iter(cells.values())).ours)
    devices = sorted({cell.device for cell in cells.values()})
    heads = " | ".join(shown(geometry.name) for geometry in GEOMETRIES)
    lines = [
        f"{seeds} seeds, mean ± standard deviation, on {' and '.join(devices)}:",
        "",
        f"| graph | {heads} | fewest |",
        "|---|" + "---|" * (len(GEOMETRIES) + 1),
        *(
            f"| {marked(name)} | "
            + " | ".join(orders(cells[name, key]) for key in KEYS)
            + f" | {first(name, near[name], cells)} |"
            for name in GRAPHS
        ),
        "",
        *counted(cells, near),
        "",
        "Recall@1 in percent / mean average precision / Spearman's ρ between δ and strength (– where all nodes are",
        "equally strong), the same runs; `--json` has the loss, edges against non-edges, ρ₁₀ and the time too:",
        "",
        f"| graph | {heads} |",
        "|---|" + "---|" * len(GEOMETRIES),
        *(f"| {name} | " + " | ".join(retrieval(cells[name, key]) for key in KEYS) + " |" for name in GRAPHS),
    ]  # fmt: skip
    return "\n".join(lines)


def counted(cells: Cells, near: Mapping[str, Sequence[str]]) -> list[str]:
    """The sentences under the first table."""
    found = summary(cells)
    above = [
        f"{cell.graph} {shown(KEYS[cell.geometry])} ({percent(cell.share)} against {percent(cell.paper_share)})"
        for cell in cells.values()
        if cell.ratio > 1.0
    ]
    rich = {name: who for name, who in near.items() if GRAPHS[name].cycles}
    mixed = [name for name, who in rich.items() if who[0] in MIXED]
    clear = [name for name, who in rich.items() if set(who) <= MIXED]
    unseen = (
        f" Over the {found['ratio_count_not_looked_at']} cells of graphs marked * it is "
        f"{found['ratio_median_not_looked_at']:.2f}."
        if "ratio_count_not_looked_at" in found
        else ""
    )
    said = [
        f"- Ours violates more orders than the recipe in {found['ratio_above_1']} of the {found['ratio_count']} cells"
        + (f": {'; '.join(above)}." if above else ".")
        + f" In {found['ratio_of_nothing']} both violate none, which counts as a ratio of 1.",
        f"- The median of ours over the recipe's is {found['ratio_median']:.2f}.{unseen}",
        f"- A true ultrahyperbolic signature violates fewest on {len(mixed)} of the {len(rich)} graphs with cycles"
        + (f": {'; '.join(mixed)}." if mixed else "."),
        f"- On {len(clear)} of them hyperbolic space, sphere and flat space are more than two standard errors behind"
        + (f": {'; '.join(clear)}." if clear else "."),
    ]
    return [textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False) for line in said]


def write_page(cells: Cells, folder: Path) -> None:
    """Put the tables between the two marks of the page."""
    path = folder / "optimisation.md"
    before, start, rest = path.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not start or not end:
        raise SystemExit(f"{path} lacks the marks {MARKS[0]} and {MARKS[1]}")
    path.write_text(f"{before}{start}\n{page(cells)}\n{end}{after}", encoding="utf-8")


def shown(geometry: str) -> str:
    """R^4 as R⁴."""
    return geometry.replace("R^4", "R⁴")


def marked(name: str) -> str:
    """With the sign of what was known of it while the method was sought."""
    known: Known = GRAPHS[name]
    return f"{name} *" if known.unseen else f"{name} †" if known.printed else name


def percent(share: float) -> str:
    return f"{100 * share:.3g}"


def orders(cell: Cell) -> str:
    spread = f" ± {100 * cell.spread('violated_orders'):.2g}" if cell.spread("violated_orders") else ""
    return f"{percent(cell.share)}{spread} [{percent(cell.paper_share)}]"


def first(name: str, near: Sequence[str], cells: Cells) -> str:
    """The last column: *many* where hyperbolic space, a sphere or flat space violates nothing and is not alone."""
    keys = {geometry: key for key, geometry in KEYS.items()}
    none = [geometry for geometry in near if cells[name, keys[geometry]].share == 0]
    if len(none) > 1 and near[0] not in MIXED:
        return "many"
    return shown(near[0]) + (f" (near: {', '.join(map(shown, near[1:]))})" if near[1:] else "")


def retrieval(cell: Cell) -> str:
    rho = cell.mean("strength_rho")
    return (
        f"{100 * cell.mean('recall_at_1'):.1f} ± {100 * cell.spread('recall_at_1'):.1f} / "
        f"{cell.mean('map'):.3f} ± {cell.spread('map'):.3f} / " + ("–" if math.isnan(rho) else f"{rho:.2f}")
    )
