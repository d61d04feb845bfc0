"""What all benchmarks share: their arguments, figures under flat keys, timing, tables, plots and
marks of pages.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import sys
import timeit
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ultrahyperbolic.arrays import Bools
from ultrahyperbolic.arrays import Floats as Floats
from ultrahyperbolic.arrays import Ints as Ints

if TYPE_CHECKING:
    from ultrahyperbolic.graph import Graph

Value = float | int | str | bool | None
Figures = dict[str, Any]
"""Flat keys; each value is a number, a text, a truth value or None."""


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The arguments of a benchmark, of which ``--json`` is one; its docstring is the help."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--json", type=Path, metavar="FILE", help="write the figures to FILE, under flat keys"
    )
    return made


def add_folder(made: argparse.ArgumentParser) -> None:
    """The option that says where graphs are."""
    default = Path(os.environ.get("ULTRAHYPERBOLIC_DATA", "."))
    made.add_argument(
        "--folder", type=Path, default=default, help="of graphs (or ULTRAHYPERBOLIC_DATA names it)"
    )


def found(folder: Path, name: str) -> Path:
    """A file of the folder, or of its ``graphs``."""
    for path in (folder / name, folder / "graphs" / name):
        if path.exists():
            return path
    raise SystemExit(
        f"{folder} has no {name}: name a folder that has it with --folder or ULTRAHYPERBOLIC_DATA"
    )


def graph_named(name: str, folder: Path | None = None) -> Graph:
    """A data set, a file, or a table of the folder (default: what ``ULTRAHYPERBOLIC_DATA``
    names).
    """
    from ultrahyperbolic import datasets
    from ultrahyperbolic.graph import read_graph

    if name in datasets.names():
        return datasets.load(name)
    if Path(name).exists():
        return read_graph(name)
    return read_graph(
        found(folder or Path(os.environ.get("ULTRAHYPERBOLIC_DATA", ".")), f"{name}.tsv.gz")
    )


def load(paths: Iterable[Path]) -> Figures:
    """The figures of files, the later ones on top; of a file that is not there, none."""
    kept: Figures = {}
    for path in paths:
        if path.exists():
            kept |= json.loads(path.read_text(encoding="utf-8"))
    return kept


def save(figures: Mapping[str, Value], path: Path | None) -> None:
    """Write all of them at once, so that an interrupted run leaves a whole file; JSON has neither
    NaN nor infinity.
    """
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {
        key: None if isinstance(v, float) and not math.isfinite(v) else v
        for key, v in figures.items()
    }
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(beside, path)


def show(figures: Mapping[str, Value], bars: Mapping[str, str] | None = None) -> None:
    """Print figures one below the other, with what is wanted of them."""
    for key, value in figures.items():
        text = f"{value:.5g}" if isinstance(value, float) else str(value)
        print(
            f"  {key:34s} {text:>12}" + (f"  ({bars[key]})" if bars and key in bars else ""),
            flush=True,
        )


def finish(
    figures: Mapping[str, Value], path: Path | None, bars: Mapping[str, str] | None = None
) -> None:
    """Print and write figures."""
    show(figures, bars)
    save(figures, path)


def number(figures: Mapping[str, Value], key: str) -> float:
    """A figure; NaN where it is missing or not defined."""
    value = figures.get(key)
    return math.nan if value is None or isinstance(value, str) else float(value)


def mean(values: Iterable[float]) -> float:
    """Of what is defined; NaN of nothing."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def cell(value: float, form: str = ".3f") -> str:
    """A figure of a table; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:{form}}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with aligned columns, so that it reads in a terminal, too."""
    lines = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)


class Bar(NamedTuple):
    """Something that must hold."""

    key: str
    holds: bool | None
    """None where it was not measured."""
    said: str
    """The figures."""


def print_bars(bars: Sequence[Bar], stem: str = "bars:") -> Figures:
    """Each bar on a line; the figures say whether they hold."""
    words = {True: "holds", False: "FAILS", None: "not measured"}
    for bar in bars:
        print(f"  {words[bar.holds]:13s} {bar.key}: {bar.said}")
    failed = sum(bar.holds is False for bar in bars)
    print(f"{sum(bar.holds is True for bar in bars)} hold, {failed} fail, of {len(bars)}")
    return {**{f"{stem}{bar.key}": bar.holds for bar in bars}, f"{stem}failed": failed}


def fill(path: Path, texts: Mapping[str, str]) -> None:
    """Write texts into a page, each between ``<!-- NAME -->`` or ``<!-- NAME: … -->`` and ``<!--
    end of NAME -->``.
    """
    page = path.read_text(encoding="utf-8")
    for name, text in texts.items():
        marks = re.compile(rf"(<!-- {name}(?:: [^\n]*?)? -->\n).*?(<!-- end of {name} -->)", re.S)
        parts = marks.split(page)
        if len(parts) != 4:
            raise SystemExit(f"{path} must have one <!-- {name} --> and <!-- end of {name} -->")
        before, start, end, after = parts
        page = f"{before}{start}{text.strip()}\n{end}{after}"
    path.write_text(page, encoding="utf-8")


class Panel(NamedTuple):
    """Lines by label, each of x and y, on logarithmic scales."""

    x: str
    y: str
    title: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]


def draw(path: Path, *panels: Panel) -> None:
    """Panels side by side, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0 * len(panels), 3.8), layout="constrained")
    for axis, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for label, (x, y) in panel.lines.items():
            axis.plot(x, y, ".-", label=label)
        axis.set(xlabel=panel.x, ylabel=panel.y, title=panel.title, xscale="log", yscale="log")
        axis.grid(alpha=0.3)
        if len(panel.lines) > 1:
            axis.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def best(work: Callable[[], object], repeats: int) -> float:
    """The least seconds of several times."""
    return min(timeit.repeat(work, number=1, repeat=repeats))


def auc(scores: Floats, hidden: Bools) -> float:
    """The chance that what was hidden scores higher than the others; equal scores count half."""
    others, mine = np.sort(scores[~hidden]), scores[hidden]
    below = np.searchsorted(others, mine) + np.searchsorted(others, mine, side="right")
    return float(below.mean() / (2 * len(others)))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent with which y grows with x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def peak_bytes() -> float:
    """Resident memory of this process at most, so far."""
    return float(
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        * (1 if sys.platform == "darwin" else 1024)
    )


def random_edges(n: int, m: int, seed: int = 0) -> Ints:
    """[≤ m, 2] distinct pairs of n nodes, the lower first, in ascending order."""
    ends = np.random.default_rng(seed).integers(0, n, (m, 2))
    edges: Ints = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    return edges


def power_law_ends(nodes: int, rng: np.random.Generator) -> Callable[[int], Ints]:
    """Draws pairs [2, size] of nodes whose expected degrees follow a power law with exponent
    2.5.
    """
    reach = np.cumsum((np.arange(nodes) + 10.0) ** (-1 / 1.5))
    return lambda size: np.searchsorted(reach, rng.random((2, size)) * reach[-1])
