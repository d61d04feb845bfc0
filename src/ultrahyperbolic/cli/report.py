"""``report``: a page to look at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as opt
from .answers import aligned, trained_on
from .errors import reason, refusing
from .output import note, print_json
from .sources import find_graph, open_embedding

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..graph import Graph

EXAMPLES = """
Examples:

  ultrahyperbolic report club
  ultrahyperbolic report club --graph ties.tsv"""


@opt.reads_graph
def report(
    folder: opt.Folder,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            metavar="GRAPH",
            show_default=False,
            help="The graph that was embedded, file or data set; looked for where embed read it if not said.",
        ),
    ] = None,
    as_json: opt.Json = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Write report.html into the folder, to look at in a browser.

    It is one file that needs no network: how well the points fit, the
    graph by height, the points in space, the ranking with search, the
    distances, and how to do it again. A graph given by --graph is read as
    embed reads it: a weight is the strength of a tie (docs/graphs.md).
    """
    embedding = open_embedding(folder)
    if graph is None:
        data = _recorded(embedding, folder)
    else:
        data = aligned(find_graph(graph, reading, quiet=as_json), embedding, folder)

    from ..progress import bar
    from ..report import write_report

    with refusing(OSError, ImportError, about="cannot write the report: "), bar("report", show=not as_json):
        page = write_report(embedding, folder, graph=data)
    if as_json:
        print_json({"folder": str(folder), "report": str(page), "graph": None if data is None else data.source})
    else:
        print(f"report, to open in a browser: {page}")


def _recorded(embedding: Embedding, folder: Path) -> Graph | None:
    """The graph that was embedded, where it can be read again and is still the same."""
    about = embedding.run.get("graph")
    source = about.get("source") if isinstance(about, dict) else None
    if not isinstance(source, str):
        why = "the record does not say where it came from"
    elif not (Path(source).is_file() or _bundled(source)):
        why = f"{source} is not here"
    else:
        reading = embedding.run.get("reading")
        try:
            found = find_graph(source, reading if isinstance(reading, Mapping) else {}, quiet=True)
            if found.fingerprint == trained_on(embedding):
                return aligned(found, embedding, folder)
            why = f"{source} has changed since"
        except (typer.TyperException, TypeError, ValueError) as error:
            why = reason(error)
    note(f"the graph cannot be drawn, as {why}: give it with --graph")
    return None


def _bundled(name: str) -> bool:
    """Whether a data set of this name is here without a download."""
    from ..datasets import available, names

    return name in names() and available(name)
