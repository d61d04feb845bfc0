"""``report``, ``plot`` and ``export``: an embedding shown, drawn, written for other tools."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..progress import bar
from . import options as opt
from .errors import Refused, refusing
from .output import note, print_json
from .sources import check_folder, graph_of, open_embedding

_OUTPUT = "The picture: its ending says whether PNG, SVG or PDF. Default: map.png in FOLDER."
_COLOUR = "What colours show: community, or a column of the nodes."
# Where to write in the folder of the embedding, if nothing else is said.
_NAMES = {
    "graphml": "graph.graphml",
    "gexf": "graph.gexf",
    "vosviewer": "vosviewer.json",
    "csv": "nodes.csv",
    "parquet": "nodes.parquet",
}


@opt.reads_graph
def report(
    context: typer.Context,
    folder: opt.Folder,
    graph: opt.EmbeddedGraph = None,
    title: Annotated[str | None, opt.option("--title", help=opt.TITLE)] = None,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Write the HTML report into the folder; open it in a browser.

    It is one file and needs no network: a map with names, the ranking with
    intervals, a card of the selected node, how well the map fits, and how to
    reproduce the run. A graph given by --graph is read as embed reads it: a weight is
    the strength of a tie (docs/graphs.md).

    Examples:
      ultrahyperbolic report club
      ultrahyperbolic report club --graph ties.tsv --title "Our club"
    """
    from .training import hold

    check_folder(folder)
    hold(context, folder)
    embedding = open_embedding(folder)
    data, why = graph_of(embedding, folder, graph, reading, quiet=as_json)
    if data is None and embedding.ties is not None and not embedding.is_directed:
        data = embedding.ties
        note(f"{why}: the report has the ties that were embedded; to read others, pass --graph")
    elif data is None:
        note(f"the graph cannot be drawn, as {why}: give it with --graph")

    from ..report import write_report

    with (
        refusing(OSError, ImportError, about="cannot write the report: "),
        bar("report", show=not as_json),
    ):
        if title is not None:
            embedding = embedding.with_record(replace(embedding.record, title=title or None))
            embedding.save_record(folder)
        page = write_report(embedding, folder, graph=data)
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "report": str(page),
                "graph": None if data is None else data.source,
            }
        )
    else:
        print(f"report, to open in a browser: {page}")


def plot(
    context: typer.Context,
    folder: opt.Folder,
    output: Annotated[
        Path | None, opt.option("-o", "--output", metavar="FILE", help=_OUTPUT)
    ] = None,
    colour: Annotated[
        str, typer.Option("--colour", "--color", metavar="COLUMN", help=_COLOUR)
    ] = "community",
    names: Annotated[
        int, typer.Option("--names", metavar="N", min=0, help="Name at most this many nodes.")
    ] = 60,
    title: Annotated[
        str, opt.option("--title", metavar="TEXT", help="A line above the map. Default: none.")
    ] = "",
    theme: Annotated[
        Literal["light", "dark"], typer.Option("--theme", help="Background of the picture.")
    ] = "light",
    as_json: opt.Json = False,
) -> None:
    """Draw the map of an embedding: a picture to print or to share.

    The picture is the map of the report: strongly tied nodes lie close
    together, and the most central nodes have names. The interactive map is
    the HTML report.

    Examples:
      ultrahyperbolic plot club
      ultrahyperbolic plot club -o club.svg --title "The karate club"
      ultrahyperbolic plot club --colour club --names 10 --theme dark
    """
    from .training import hold

    target = output or folder / "map.png"
    if target.suffix.lower() == ".html":
        raise Refused(f"{target}: the page is the report: ultrahyperbolic report {folder}")
    check_folder(folder)
    if output is None:
        hold(context, folder)
    embedding = open_embedding(folder)
    data = None
    if embedding.is_directed:  # the folder has the ties, and the file which way they lead
        data, why = graph_of(embedding, folder, None, {}, quiet=True)
        if data is None:
            note(f"there are no arrows, as {why}")

    from .. import plot as figures

    with refusing(ValueError, OSError, ImportError):
        picture = figures.plot_map(
            embedding, data, colour=colour, names=names, title=title, theme=theme
        )
        figures.save(picture, target, dpi=150)
    if as_json:
        print_json({"folder": str(folder), "file": str(target)})
    else:
        print(f"file: {target}")


@opt.reads_graph
def export(
    context: typer.Context,
    folder: opt.Folder,
    form: Annotated[
        Literal["graphml", "gexf", "vosviewer", "csv", "parquet"],
        opt.option("--format", help="What to write."),
    ],
    graph: opt.EmbeddedGraph = None,
    output: Annotated[
        Path | None,
        opt.option("-o", "--output", metavar="PATH", help="Where to write. Default: into FOLDER."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is already there.")
    ] = False,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Write an embedding for another program.

    graphml, gexf: the graph with positions, ranks, strengths and communities,
    for Gephi, Cytoscape and others. vosviewer: the same as JSON for
    VOSviewer. csv, parquet: a table with one row per node.
    docs/exports.md says what is in the files.

    Examples:
      ultrahyperbolic export club --format gexf -o club.gexf
      ultrahyperbolic export club --format graphml --graph ties.tsv
      ultrahyperbolic export club --format csv
    """
    from .training import hold

    check_folder(folder)
    if output is None:
        hold(context, folder)
    embedding = open_embedding(folder)
    data, why = graph_of(embedding, folder, graph, reading, quiet=as_json)
    if data is None and form in ("graphml", "gexf", "vosviewer"):
        raise Refused(f"{form} needs the graph, and {why}: give it with --graph")
    target = output or folder / _NAMES[form]
    with refusing(OSError, ValueError, ImportError):
        files, notes = embedding.export(
            target, form, graph=data, overwrite=overwrite, progress=not as_json
        )
    if data is None:
        notes.append(f"there are no labels and strengths, as {why}: give the graph with --graph")
    for text in notes:
        note(text)
    names = [str(path) for path in files]
    if as_json:
        print_json({"folder": str(folder), "format": form, "files": names, "notes": notes})
        return
    print(f"files: {', '.join(names)}")
