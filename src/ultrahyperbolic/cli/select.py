"""``select``: which geometry a graph wants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from . import options as opt
from .errors import Refused, refusing
from .output import print_json, print_table
from .signals import leaving
from .sources import find_graph

if TYPE_CHECKING:
    from ..training.select import Selection

EXAMPLES = """
Examples:

  ultrahyperbolic select karate --dim 4
  ultrahyperbolic select ties.tsv --dim 2,4,6 --seeds 5 -o out/select
  ultrahyperbolic select roads.tsv --unweighted --device cuda --json"""


@opt.reads_graph
def select(
    graph: opt.GraphArgument,
    dim: Annotated[
        str, typer.Option("--dim", metavar="D", help="Dimension of the manifolds, or several: 2,4,6.")
    ] = "4",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Starts, each with other edges held out.")] = 3,
    iterations: Annotated[
        int, typer.Option("--iterations", min=1, help="Of the longest trainings; the first take a quarter.")
    ] = 2000,
    held_out: Annotated[float, typer.Option("--held-out", help="Share of the edges held out.")] = 0.1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first seed.")] = 0,
    device: Annotated[str | None, typer.Option("--device", show_default=False, help="cpu or cuda.")] = None,
    backend: Annotated[
        Literal["auto", "numba", "triton", "reference"], typer.Option("--backend", help="What computes.")
    ] = "auto",
    threads: Annotated[int | None, typer.Option("--threads", min=1, show_default=False, help="CPU threads.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", show_default=False, help="Write select.json and select.png here."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors (and --json).")] = False,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Which geometry does a graph want? Flat space and all signatures, compared.

    Every geometry is trained on the same edges; the weaker half is dropped
    after short trainings. What decides is how often a held-out tie is
    farther than a pair without one. The graph's own hints are shown beside.
    """
    from ..graph import GraphError

    dims = _dims(dim)
    if not 0.0 < held_out < 1.0:
        raise Refused(f"--held-out {held_out:g}: a share between 0 and 1 is needed")
    if device is not None:
        opt.device_kind(device)
    if output is not None:
        from ..paper.console import pyplot

        with refusing(OSError, ImportError, about="cannot write the comparison: "):
            pyplot()  # said before the work if it is not installed
            output.mkdir(parents=True, exist_ok=True)
    data = find_graph(graph, reading, quiet=quiet)
    from ..training.select import select as compare

    with leaving("interrupted: nothing is chosen"), refusing(GraphError, ValueError, MemoryError):
        found = compare(
            data, dim=dims, seeds=seeds, iterations=iterations, held_out=held_out, seed=seed, quiet=quiet,
            device=device, backend=backend, threads=threads,
        )  # fmt: skip
    if output is not None:
        from ..files import as_json_data, replace_file

        with refusing(OSError, about="cannot write the comparison: "):
            replace_file(output / "select.json", json.dumps(as_json_data(found.to_json()), indent=2) + "\n")
            _plot(found, output / "select.png")
    if as_json:
        print_json(found.to_json())
    elif not quiet:
        _print(found)
        if output is not None:
            print(f"\nfiles: {output / 'select.json'}, {output / 'select.png'}")


def _dims(text: str) -> list[int]:
    try:
        dims = [int(part) for part in text.split(",")]
    except ValueError:
        dims = []
    if not dims or min(dims) < 1:
        raise Refused(f"--dim {text}: write a whole number above 0, or several such as 2,4,6")
    return dims


def _print(found: Selection) -> None:
    rows = [
        (row.geometry.name, _cell(row.held_out), _cell(row.violated_orders), str(row.iterations)) for row in found.rows
    ]
    heads = ("geometry", "held-out ties farther", "violated orders", "iterations")
    print_table(heads, rows, right=heads[1:])
    print(f"\n{verdict(found)}")
    hints = found.prior
    print(
        f"the graph alone: Gromov's δ {hints['gromov_delta']:g} of a diameter of {hints['diameter']:g} hops "
        f"(2δ/diameter {hints['relative_delta']:.2f}: 0 for a tree); {100 * hints['transitivity']:.0f} % of its "
        f"wedges are closed by a triangle and {100 * hints['open_wedges']:.0f} % are open (0 and 100 % in a tree); "
        f"{100 * hints['time_inertia']:.0f} % of its spectrum asks for more time dimensions"
    )
    print(f"in {found.seconds:.1f} s")


def verdict(found: Selection) -> str:
    """One sentence: the winner, and what lies within two standard errors of it."""
    best, near, seeds = found.best.name, ", ".join(found.within_noise), len(found.rows[0].scores)
    if not near:
        return f"{best} fits best, more than two standard errors over the {seeds} seeds ahead of what was kept"
    if seeds == 1:
        return f"{best} fits best, but one seed cannot tell it from {near}"
    return f"{best} fits best; within two standard errors over the {seeds} seeds: {near}"


def _cell(shares: Sequence[float]) -> str:
    """The mean in percent, and the deviation over the seeds."""
    if not shares:
        return "-"
    spread = f" ± {100 * stdev(shares):.2f}" if len(shares) > 1 else ""
    return f"{100 * fmean(shares):.2f} %{spread}"


def _plot(found: Selection, path: Path) -> None:
    from ..files import replace_files
    from ..paper.console import pyplot

    plt = pyplot()
    figure, axis = plt.subplots(figsize=(1.5 + 0.9 * len(found.rows), 3.6), layout="constrained")
    for place, row in enumerate(found.rows):
        values = [100 * value for value in row.scores]
        axis.plot([place] * len(values), values, "o", color="#0072B2" if row.kept else "#999999", alpha=0.6)
        axis.plot(place, sum(values) / len(values), "_", color="black", markersize=18)
    axis.set_xticks(range(len(found.rows)), [f"${row.geometry.name}$" for row in found.rows])
    axis.set_ylabel("held-out ties farther, %" if found.rows[0].held_out else "violated orders, %")
    axis.set_title("one dot a seed; grey: dropped early", fontsize=9)
    axis.grid(alpha=0.3, axis="y")
    replace_files(path.parent, {path.name: lambda file: figure.savefig(file, dpi=120)})
    plt.close(figure)
