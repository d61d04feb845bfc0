"""The board's tables in Markdown, and whether its bars hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from board_figures import KEYS, MEASURES, WHICH, Cells, Figures, Value, number

HALVES = {"looked": "Looked at while the method was sought", "unseen": "Not looked at before it was frozen"}
MIXED = ("Q2_2", "Q3_3")
# Hyperbolic space, the sphere, the plane.
PLAIN = ("Q4_0", "Q6_0", "Q0_4", "R4")
DISTINCT_STRENGTHS = 5


class Bar(NamedTuple):
    """Something that must hold."""

    key: str
    holds: bool | None
    """None where it was not measured."""
    said: str
    """The figures."""


def shown(geometry: str) -> str:
    """R^4 as R⁴."""
    return KEYS[geometry].name.replace("R^4", "R⁴")


def figure(value: float) -> str:
    """Three decimals; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def tables(figures: Mapping[str, Value]) -> str:
    """The means over each half by geometry, then every graph of the true ultrahyperbolic geometries."""
    cells = Cells(figures)
    which = cells.trained()
    lines = [f"Each cell: {' / '.join(WHICH[each] for each in which)}.", ""]
    for half, title in HALVES.items():
        graphs = cells.half(half)
        if graphs:
            lines += [f"### {title}: means over {len(graphs)} graphs", "", *_means(cells, graphs, which), ""]
    for geometry in MIXED:
        rows = [
            _row(cells, graph, geometry, which) for graph in cells.graphs if cells.figures[f"{graph}/half"] in HALVES
        ]
        lines += [f"### {shown(geometry)}, graph by graph", "", *_head("graph"), *rows, ""]
    return "\n".join(lines)


def _head(first: str) -> list[str]:
    columns = [first, *MEASURES.values(), "seconds"]
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def _means(cells: Cells, graphs: Sequence[str], which: Sequence[str]) -> list[str]:
    lines = _head("geometry")
    for geometry in KEYS:
        parts = []
        for measure in (*MEASURES, "seconds"):
            found = cells.several(graphs, geometry, which, measure)
            parts.append(" / ".join(figure(found[each]) for each in which))
        lines.append(f"| {shown(geometry)} | {' | '.join(parts)} |")
    return lines


def _row(cells: Cells, graph: str, geometry: str, which: Sequence[str]) -> str:
    mark = " *" if cells.figures[f"{graph}/half"] == "unseen" else ""
    parts = [
        " / ".join(figure(cells.value(graph, geometry, each, measure)) for each in which)
        for measure in (*MEASURES, "seconds")
    ]
    return f"| {graph}{mark} | {' | '.join(parts)} |"


def bars(figures: Mapping[str, Value]) -> list[Bar]:
    """Every bar of what was measured."""
    cells = Cells(figures)
    found = [*_sound(cells)] if cells.graphs else []
    for half in HALVES:
        graphs = cells.half(half)
        if graphs:
            for geometry in MIXED:
                found += _mixed(cells, half, graphs, geometry)
            for geometry in PLAIN:
                found += _plain(cells, half, graphs, geometry)
    return found + list(_others(figures))


def _sound(cells: Cells) -> Iterator[Bar]:
    """Nothing is NaN, and nothing returned its start."""
    new = [key for key in cells.figures if key.split("/")[2:3] == ["new"]]
    broken = [key for key in new if key.endswith("/finite") and not cells.figures[key]]
    # What one graph has no order of, it has of no training.
    for graph in cells.graphs:
        for measure in MEASURES:
            mine = [key for key in cells.figures if key.startswith(f"{graph}/") and key.endswith(f"/{measure}")]
            if any(cells.figures[key] is not None for key in mine):
                broken += [key for key in mine if key.split("/")[2] == "new" and cells.figures[key] is None]
    stuck = [key for key in new if key.endswith("/returned_start") and cells.figures[key]]
    yield Bar("nothing NaN", not broken, ", ".join(broken) or "all finite")
    yield Bar("nothing returned its start", not stuck, ", ".join(stuck) or "none")


def _compared(key: str, new: float, before: float, least: float) -> Bar:
    change = new - before
    said = f"{figure(before)} -> {figure(new)}, at least {least:+g}"
    return Bar(key, None if math.isnan(change) else change >= least - 1e-12, said)


def _mean_of(cells: Cells, graphs: Sequence[str], geometry: str, measure: str) -> tuple[float, float]:
    found = cells.several(graphs, geometry, ("new", "before"), measure)
    return found["new"], found["before"]


def _mixed(cells: Cells, half: str, graphs: Sequence[str], geometry: str) -> Iterator[Bar]:
    key = f"{half}, {shown(geometry)}"
    yield _compared(f"{key}: mAP", *_mean_of(cells, graphs, geometry, "map"), 0.0)
    ranked = [graph for graph in graphs if number(cells.figures, f"{graph}/strengths") >= DISTINCT_STRENGTHS]
    before = {graph: cells.value(graph, geometry, "before", "spearman_all") for graph in ranked}
    low = [graph for graph in ranked if before[graph] < 0.6]
    high = [graph for graph in ranked if before[graph] >= 0.6]
    for words, some, least in (("ρ where it was below .6", low, 0.2), ("ρ elsewhere", high, -0.03)):
        if some:
            bar = _compared(f"{key}: {words}", *_mean_of(cells, some, geometry, "spearman_all"), least)
            yield bar._replace(said=f"{bar.said} ({len(some)} graphs)")
    weighted = [graph for graph in graphs if number(cells.figures, f"{graph}/weights") > 1]
    if weighted:
        yield _compared(f"{key}: tie order", *_mean_of(cells, weighted, geometry, "tie_order"), 0.05)


def _plain(cells: Cells, half: str, graphs: Sequence[str], geometry: str) -> Iterator[Bar]:
    for measure, word in MEASURES.items():
        yield _compared(f"{half}, {shown(geometry)}: {word}", *_mean_of(cells, graphs, geometry, measure), 0.0)


# The bars of the other parts: key, the least or the most, and its value.
_LEAST: dict[str, float] = {
    "nips:Q2_2/map": 0.97, "nips:Q2_2/recall_at_1": 0.995, "nips:Q2_2/spearman_all": 0.80, "nips:Q2_2/tie_order": 0.75,
    "nips:Q3_3/map": 0.99, "nips:Q3_3/recall_at_1": 0.999, "nips:Q3_3/spearman_all": 0.84, "nips:Q3_3/tie_order": 0.87,
    "karate:leaders_first": 0.95, "karate:map": 0.98, "karate:tie_order": 0.90,
    "choice:looked/difference": -0.01, "choice:unseen/difference": -0.01, "choice:least_difference": -0.04,
    "choice:select_agrees": 1.0,
}  # fmt: skip
_MOST: dict[str, float] = {
    "choice:most_time_ratio": 3.0, "cost:netscience/ratio": 0.2, "cost:nips/ratio": 1 / 3,
    "cost:netscience/terminal_ratio": 1.1, "cost:nips/terminal_ratio": 1.1,
}  # fmt: skip


def _others(figures: Mapping[str, Value]) -> Iterator[Bar]:
    for key, value in figures.items():
        if key in _LEAST:
            yield Bar(key, number(figures, key) >= _LEAST[key], f"{value}, at least {_LEAST[key]:.3g}")
        elif key in _MOST:
            yield Bar(key, number(figures, key) <= _MOST[key], f"{value}, at most {_MOST[key]:.3g}")
        elif key.startswith("longer:") and key.endswith("/difference"):
            yield Bar(key, number(figures, key) >= -0.005, f"{value}, at least -0.005")
        elif key.startswith("ranks:") and key.endswith("/inside"):
            yield Bar(key, number(figures, key) >= 0.85, f"{value}, at least 0.85")


def print_bars(found: Sequence[Bar]) -> Figures:
    """Each bar on a line; the figures are whether they hold."""
    words = {True: "holds", False: "FAILS", None: "not measured"}
    for bar in found:
        print(f"  {words[bar.holds]:13s} {bar.key}: {bar.said}")
    failed = sum(bar.holds is False for bar in found)
    print(f"{sum(bar.holds is True for bar in found)} hold, {failed} fail, of {len(found)}")
    return {**{f"bars:{bar.key}": bar.holds for bar in found}, "bars:failed": failed}
