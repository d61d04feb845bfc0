"""``report``: the HTML report."""

from dataclasses import replace
from typing import Annotated

from . import options as opt
from .errors import refusing
from .output import note, print_json
from .sources import graph_of, open_embedding


@opt.reads_graph
def report(
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
    embedding = open_embedding(folder)
    data, why = graph_of(embedding, folder, graph, reading, quiet=as_json)
    if why:
        data = None
        note(f"the graph cannot be drawn, as {why}: give it with --graph")

    from ..progress import bar
    from ..report import write_report

    with refusing(OSError, ImportError, about="cannot write the report: "), bar("report", show=not as_json):
        if title is not None:
            embedding = embedding.with_record(replace(embedding.record, title=title or None))
            embedding.save_record(folder)
        page = write_report(embedding, folder, graph=data)
    if as_json:
        print_json({"folder": str(folder), "report": str(page), "graph": None if data is None else data.source})
    else:
        print(f"report, to open in a browser: {page}")
