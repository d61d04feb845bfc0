"""What the reproductions share: printing, progress, drawings without a screen, and what is common
to tables.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engines.base import BatchState
from ..export.tables import write_table
from ..files import replace_file
from ..geometry import Geometry
from ..graph.errors import need
from ..loop import Progress
from ..progress import bar
from . import Figures


def finish(
    lines: Sequence[str], folder: Path, names: Sequence[str], page: str = "", *, quiet: bool
) -> None:
    """Print the lines, which a ``page`` of the folder keeps, and where the files are; nothing when
    quiet.
    """
    if not quiet:
        print("\n".join(lines))
    if page:
        replace_file(folder / page, "\n".join(lines) + "\n")
    if not quiet:
        print(f"\nwritten to {folder}: {', '.join([page] * bool(page) + [*names])}")


@contextmanager
def progress(
    title: str, total: int, quiet: bool
) -> Iterator[Callable[[Progress[BatchState]], None]]:
    """A progress bar over the iterations of a batch, on a terminal."""
    with bar(title, total, show=not quiet) as update:
        yield lambda done: update(done.iteration, "")


def write_figure(name: str, folder: Path, draw: Callable[..., Any]) -> list[str]:
    """Write a figure as PNG and PDF. Returns the names of the files."""
    from .. import plot

    figure = draw()
    return [plot.save(figure, folder / f"{name}.{suffix}").name for suffix in ("png", "pdf")]


Value = tuple[float, float | None]
"""A mean and its standard deviation (n - 1), which one value alone does not have."""


class Series(NamedTuple):
    """The values of one source in a table, and how they are drawn."""

    name: str
    column: str  # what the heads of its columns in the CSV begin with
    color: str
    marker: str
    values: Sequence[Sequence[Value]]  # row by row, a value for each geometry


def label(geometry: Geometry) -> str:
    """R⁴ (flat), or Q^{3,1}."""
    return f"R{'⁰¹²³⁴⁵⁶⁷⁸⁹'[geometry.dim]} (flat)" if geometry.is_flat else geometry.name


def put(figures: Figures, name: str, values: NDArray[np.float64]) -> None:
    """Values of several seeds as ``NAME_mean`` and ``NAME_std``, one value as ``NAME``."""
    if len(values) == 1:
        figures[name] = float(values[0])
    else:
        figures[f"{name}_mean"], figures[f"{name}_std"] = (
            float(np.mean(values)),
            float(np.std(values, ddof=1)),
        )


def get(figures: Figures, name: str) -> Value:
    """What `put` put there."""
    return (
        (figures[name], None)
        if name in figures
        else (figures[f"{name}_mean"], figures[f"{name}_std"])
    )


def series_of(
    figures: Figures, name: str, color: str, columns: Sequence[str], rows: Sequence[str], way: str
) -> Series:
    """Those that `put` put there as ``COLUMN WAY _ROW``."""
    values = [[get(figures, f"{key}{way}_{row}") for key in columns] for row in rows]
    return Series(name, f"{way}_".lstrip("_"), color, "o", values)


def row_of(cells: Sequence[str]) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def head_of(*titles: str) -> list[str]:
    """The head of a table in Markdown."""
    return [row_of(titles).replace("|  |", "| |", 1), "|" + "---|" * len(titles)]


def write_cells(
    path: Path, rows: Sequence[str], columns: Sequence[Geometry], series: Sequence[Series]
) -> None:
    """The values of a table as CSV, one line for each geometry and row."""
    heads = [f"{each.column}{part}" for each in series for part in ("mean", "std")]
    lines: list[list[object]] = []
    for (place, geometry), (number, row) in product(enumerate(columns), enumerate(rows)):
        cells = [part for each in series for part in each.values[number][place]]
        lines.append([geometry.file_name, row, *("" if cell is None else cell for cell in cells)])
    write_table(path, ["geometry", "measure", *heads], lines)


def draw_table(
    path: Path, titles: Sequence[str], columns: Sequence[Geometry], series: Sequence[Series]
) -> None:
    """A panel for each row of a table, with the series side by side in each column."""
    figure = need("matplotlib.figure", "drawing").Figure(
        (3 + 2 * len(columns), 3.4), layout="constrained"
    )
    axes = figure.subplots(1, len(titles))
    positions = np.arange(len(columns))
    ticks = [
        label(geometry).split(" ")[0].replace("^{", " ").replace("}", "") for geometry in columns
    ]
    for number, (title, axis) in enumerate(zip(titles, axes, strict=True)):
        for shift, each in zip(np.linspace(-0.2, 0.2, len(series)), series, strict=True):
            means = [mean for mean, _ in each.values[number]]
            spreads = [spread or 0.0 for _, spread in each.values[number]]
            axis.errorbar(
                positions + shift,
                means,
                spreads,
                fmt=each.marker,
                color=each.color,
                label=each.name,
            )
        axis.set_xticks(positions, ticks)
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    axes[-1].legend(fontsize=7, loc="lower right")
    replace_file(path, lambda file: figure.savefig(file, dpi=130))
