"""``select``: which geometry suits a graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import need
from ..options import Compared
from ..progress import bar
from . import options as opt
from .errors import Refused, refusing
from .output import note, print_json, print_table
from .signals import leaving
from .sources import find_graph

if TYPE_CHECKING:
    from ..training.selection import Selection

_ITERATIONS = (
    "Iterations of a full training; the comparison runs a sixth of them. Default: as for embed."
)
_SEEDS = "How many seeds to average over. Default: 1, or 5 with --by links."
_HELD_OUT = "Share of the ties that --by links holds out. Default: 0.1."


@opt.reads_graph
@opt.trains(*Compared.__annotations__)
def select(
    context: typer.Context,
    graph: opt.GraphArgument,
    dim: Annotated[
        str,
        typer.Option("--dim", metavar="D", help="Dimension of the manifolds, or several: 2,4,6."),
    ] = "4",
    seeds: Annotated[int | None, opt.option("--seeds", min=1, help=_SEEDS)] = None,
    iterations: Annotated[
        int | None, opt.option("--iterations", rare=True, min=1, help=_ITERATIONS)
    ] = None,
    held_out: Annotated[float | None, opt.option("--held-out", rare=True, help=_HELD_OUT)] = None,
    output: Annotated[
        Path | None,
        opt.option(
            "-o", "--output", metavar="FOLDER", help="Write select.json and select.png here."
        ),
    ] = None,
    goal: opt.Goal = None,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    *,
    asked: Compared,
    reading: opt.Reading,
) -> None:
    """Find the geometry that suits a graph best.

    Flat space and all signatures are trained briefly. The one that shows neighbours and the
    order of ties best wins; embed --dim makes the same choice. With --by links, ties that were
    held out decide. Below the table stands what the graph alone suggests.

    Examples:
      ultrahyperbolic select karate --dim 4
      ultrahyperbolic select ties.tsv --seeds 5
      ultrahyperbolic select ties.tsv --dim 2,4,6 --by links -o out/select
      ultrahyperbolic select roads.tsv --unweighted --device cuda --json
    """
    from ..graph import GraphError

    opt.check_goal(goal, quiet=quiet)
    try:
        dims = [int(part) for part in dim.split(",")]
    except ValueError:
        dims = [0]
    if min(dims) < 1:
        raise Refused(f"--dim {dim}: write a whole number above 0, or several such as 2,4,6")
    if held_out is not None and asked["by"] != "links":
        raise Refused(f"--held-out {held_out:g}: ties are held out with --by links only")
    if held_out is not None and not 0.0 < held_out < 1.0:
        raise Refused(f"--held-out {held_out:g}: a share between 0 and 1 is needed")
    if isinstance(asked["device"], str):
        opt.check_device(asked["device"])
    if output is not None:
        with refusing(OSError, ImportError, about="cannot write the comparison: "):
            need("matplotlib", "drawing")  # said before the work if it is not installed
            output.mkdir(parents=True, exist_ok=True)
    context.with_resource(bar(f"comparing geometries for {graph}", show=not quiet))
    data = find_graph(graph, reading, quiet=quiet)
    from ..graph.fold import said_of_directions
    from ..training.select import select as compare

    if not quiet and (words := said_of_directions(data.source, data.policies)) is not None:
        note(words)
    with leaving("interrupted: nothing is chosen"), refusing(GraphError, ValueError, MemoryError):
        found = compare(
            data,
            dim=dims,
            seeds=seeds,
            iterations=iterations,
            held_out=held_out or 0.1,
            quiet=quiet,
            **asked,
        )
    if output is not None:
        from ..files import as_json_data, replace_file

        with refusing(OSError, about="cannot write the comparison: "):
            replace_file(
                output / "select.json", json.dumps(as_json_data(found.to_json()), indent=2) + "\n"
            )
            _plot(found, output / "select.png")
    if as_json:
        print_json(found.to_json())
    elif not quiet:
        _print(found)
        if output is not None:
            print(f"\nfiles: {output / 'select.json'}, {output / 'select.png'}")


def _print(found: Selection) -> None:
    heads = ("geometry", *found.cells(found.rows[0]))
    rows = [(row.geometry.name, *found.cells(row).values()) for row in found.rows]
    print_table(heads, rows, right=heads[1:])
    print(f"\n{verdict(found)}")
    if found.seeds > 1:
        print(
            f"means over {found.seeds} seeds; difference to the winner, mean ± standard error "
            "over the seeds"
        )
    hints = found.prior
    print(
        f"the graph alone: Gromov's δ {hints['gromov_delta']:g} of a diameter of "
        f"{hints['diameter']:g} hops (2δ/diameter {hints['relative_delta']:.2f}: 0 for a tree); "
        f"{100 * hints['transitivity']:.0f} % of its wedges are closed by a triangle and "
        f"{100 * hints['open_wedges']:.0f} % are open (0 and 100 % in a tree); "
        f"{100 * hints['time_inertia']:.0f} % of its spectrum asks for more time dimensions"
    )
    print(f"in {found.seconds:.1f} s")


def verdict(found: Selection) -> str:
    """One sentence: the winner, and what lies within two standard errors of it."""
    best, near, seeds = found.best.name, ", ".join(found.within_noise), found.seeds
    if seeds == 1:
        return (
            f"{best} fits best; one seed cannot tell how much of a difference is noise: try "
            "--seeds 5"
        )
    if not near:
        return f"{best} fits best, more than two standard errors over the {seeds} seeds ahead"
    return f"{best} fits best; within two standard errors over the {seeds} seeds: {near}"


def _plot(found: Selection, path: Path) -> None:
    from ..files import replace_file

    figure = need("matplotlib.figure", "drawing").Figure(
        (1.5 + 0.9 * len(found.rows), 3.6), layout="constrained"
    )
    axis = figure.subplots()
    for place, row in enumerate(found.rows):
        axis.plot([place] * len(row.scores), row.scores, "o", color="#0072B2", alpha=0.6)
        axis.plot(place, row.score, "_", color="black", markersize=18)
    axis.set_xticks(range(len(found.rows)), [f"${row.geometry.name}$" for row in found.rows])
    axis.set_ylabel(found.score_name)
    axis.set_title("one dot a seed", fontsize=9)
    axis.grid(alpha=0.3, axis="y")
    replace_file(path, lambda file: figure.savefig(file, dpi=120))
