"""``prepare``, a graph read once and kept for the next command, and ``datasets``, the graphs that can be named."""

from pathlib import Path
from typing import Annotated

import typer

from ..progress import bar
from . import options as opt
from .errors import Refused, refusing
from .output import print_json, print_table
from .sources import find_graph, graph_name


@opt.reads_graph
def prepare(
    graph: opt.GraphArgument,
    output: Annotated[Path | None, opt.output("NAME OF THE GRAPH.graph")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a prepared graph that is already there.")
    ] = False,
    quiet: opt.Quiet = False,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Prepare a large graph: other commands then start immediately.

    The folder holds the graph as arrays that are mapped into memory. Give
    it in place of the file: embed FOLDER. Options that say how a file is
    read belong here; a prepared graph takes none of them.

    Examples:
      ultrahyperbolic prepare ties.parquet -o ties.graph
      ultrahyperbolic prepare calls.csv --weight minutes --nodes people.csv
      ultrahyperbolic embed ties.graph
    """
    from ..graph import GraphError
    from ..graph.prepared import is_prepared

    folder = output or Path(f"{graph_name(graph)}.graph")
    if is_prepared(folder) and not overwrite:
        raise Refused(f"{folder} holds a prepared graph already: name another folder, or overwrite it (--overwrite)")
    data = find_graph(graph, reading, quiet=quiet or as_json)
    with refusing(OSError, GraphError, about="cannot save the graph: "), bar("saving", show=not (quiet or as_json)):
        data.save(folder, overwrite=overwrite)
    if as_json:
        about = {"nodes": data.n_nodes, "edges": data.n_edges, "fingerprint": data.fingerprint}
        print_json({"folder": str(folder), **about})
    elif not quiet:
        print(f"{data.describe()}\n{folder} holds the prepared graph: ultrahyperbolic embed {folder}")


def datasets(as_json: opt.Json = False) -> None:
    """List the data sets that you can name in place of a file.

    Their weights, if they have any, are tie strengths, as everywhere
    (docs/graphs.md). One that is not here says what it needs when you use it.

    Examples:
      ultrahyperbolic datasets
      ultrahyperbolic datasets --json
      ultrahyperbolic embed lesmis
    """
    from ..datasets import available, names

    found = {name: (line, available(name)) for name, line in names().items()}
    if as_json:
        rows = [{"name": name, "description": line, "available": here} for name, (line, here) in found.items()]
        print_json({"datasets": rows})
        return
    print_table(
        ("name", "here", "what it is"),
        [(name, "yes" if here else "no", line) for name, (line, here) in found.items()],
    )
