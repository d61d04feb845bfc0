"""``cluster``: communities of near nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import reason, refusing
from .output import json_id, note, print_json, print_table, shown, write_csv
from .sources import graph_of, open_embedding

if TYPE_CHECKING:
    from ..embedding import Embedding

# Members of a community that are shown.
_SHOWN = 5


@opt.reads_graph
def cluster(
    folder: opt.Folder,
    graph: opt.EmbeddedGraph = None,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Whether to write the column cluster into the folder.")
    ] = True,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Find communities: groups of nodes that lie close together.

    You need not say how many. The nearest pairs of nodes are linked, one
    for each tie of the graph, and the groups with the highest modularity are
    found by Louvain's method. The column cluster of embedding.parquet keeps
    the result, 0 for the largest group; the report uses it for colours.

    Examples:
      ultrahyperbolic cluster club
      ultrahyperbolic cluster club --csv communities.csv
      ultrahyperbolic cluster club --json
    """
    import numpy as np

    from ..progress import bar

    embedding = open_embedding(folder)
    with bar("clustering", show=not as_json):
        groups = embedding.cluster()
    if keep:
        _keep(embedding.with_attributes(cluster=groups), folder, graph, reading)
    write_csv(csv_file, {"node": list(map(str, embedding.ids)), "cluster": groups})
    sizes = np.bincount(groups)
    if as_json:
        nodes = [{"node": json_id(node), "cluster": int(g)} for node, g in zip(embedding.ids, groups, strict=True)]
        print_json({"folder": str(folder), "clusters": len(sizes), "sizes": sizes.tolist(), "nodes": nodes})
        return
    rows = []
    for number, size in enumerate(sizes.tolist()):
        members = np.flatnonzero(groups == number)
        first = members[np.argsort(embedding.rank[members], kind="stable")][:_SHOWN]
        names = ", ".join(shown(embedding.ids[int(row)]) for row in first)
        rows.append((str(number), str(size), names + (", …" if size > _SHOWN else "")))
    print_table(("cluster", "nodes", "most central"), rows, right=("cluster", "nodes"))


def _keep(kept: Embedding, folder: Path, graph: str | None, reading: opt.Reading) -> None:
    """Write the column into the folder, and the report again where there is one."""
    from ..embedding.store import REPORT

    shown_before = (folder / REPORT).exists()
    with refusing(OSError, about="cannot write the column: "):
        kept.save(folder, overwrite=True)
    if not shown_before:
        return
    from ..report import write_report

    data, why = graph_of(kept, folder, graph, reading, quiet=True)
    try:
        write_report(kept, folder, graph=None if why else data)
    except (OSError, ImportError) as error:
        note(f"the report is not written again: {reason(error)}")
