"""``export``: an embedding in the files of other viewers."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from . import options as opt
from .errors import Refused, refusing
from .output import note, print_json
from .sources import graph_of, open_embedding

# Where to write in the folder of the embedding, if nothing else is said.
_NAMES = {
    "atlas": "atlas.parquet",
    "projector": "projector",
    "graphml": "graph.graphml",
    "gexf": "graph.gexf",
    "vosviewer": "vosviewer.json",
}


@opt.reads_graph
def export(
    folder: opt.Folder,
    form: Annotated[
        Literal["atlas", "projector", "graphml", "gexf", "vosviewer"], opt.option("--format", help="What to write.")
    ],
    graph: opt.EmbeddedGraph = None,
    output: Annotated[
        Path | None, opt.option("-o", "--output", metavar="PATH", help="Where to write. Default: into FOLDER.")
    ] = None,
    neighbors: Annotated[
        int, typer.Option("-k", "--neighbors", min=1, help="How many nearest nodes of each node, for atlas.")
    ] = 15,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are already there.")] = False,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Write an embedding for another viewer.

    atlas: a Parquet file for Embedding Atlas. projector: a folder of TSV
    files for TensorBoard. graphml, gexf: the graph with positions, ranks,
    strengths and communities, for Gephi, Cytoscape and others. vosviewer:
    the same as JSON for VOSviewer. docs/exports.md says what is in the files.

    Examples:
      ultrahyperbolic export club --format atlas
      ultrahyperbolic export club --format gexf -o club.gexf
      ultrahyperbolic export club --format graphml --graph ties.tsv
      ultrahyperbolic export club --format projector -o projector
    """
    embedding = open_embedding(folder)
    data, why = graph_of(embedding, folder, graph, reading, quiet=as_json)
    if why and form in ("graphml", "gexf", "vosviewer"):
        raise Refused(f"{form} needs the graph, and {why}: give it with --graph")
    data = None if why else data
    target = output or folder / _NAMES[form]
    with refusing(OSError, ValueError, ImportError):
        files, notes = embedding.export(
            target, form, graph=data, neighbors=neighbors, overwrite=overwrite, progress=not as_json
        )
    if why:
        notes.append(f"there are no labels and strengths, as {why}: give the graph with --graph")
    for text in notes:
        note(text)
    names = [str(path) for path in files]
    if as_json:
        print_json({"folder": str(folder), "format": form, "files": names, "notes": notes})
        return
    print(f"files: {', '.join(names)}")
