"""``rank``, ``neighbors``, ``cluster`` and ``evaluate``: the questions that an embedding
answers.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from ..checks import percent
from ..progress import bar
from . import options as opt
from .errors import Refused, reason, refusing
from .output import (
    json_rows,
    names,
    note,
    number,
    print_columns,
    print_json,
    print_table,
    shown,
    write_csv,
)
from .signals import leaving
from .sources import check_folder, find_graph, graph_of, open_embedding

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..embedding.answers import Columns, NodeFinder

_SIDES = {"norm": "_norm", "PageRank": "_pagerank", "centrality": "_centrality"}
_FIRST = ("map", "recall_at_1", "violated_orders", "tie_order", "delta_centrality", "spearman_all")
_OF_THE_GRAPH = ("transitivity", "open_wedges")
_MEMBERS = 5  # of a community, shown
_NO_BEST = ("weight_down", "circulation", "incoherence", "measured_nodes")

_RankedBy = Literal["centrality", "delta", "height"]
_ClusteredBy = Literal["graph", "map"]
_HELD_OUT = "Also hide a tenth of the ties, train again, and test whether the map predicts them."
_MEASURED_BY = "Another graph to measure by, a file or data set. Default: the embedded one."


def rank(
    folder: opt.Folder,
    top: Annotated[
        int, typer.Option("--top", min=1, help="How many nodes to show, best first.")
    ] = 20,
    everything: Annotated[bool, typer.Option("--all", help="Show all nodes.")] = False,
    by: Annotated[
        _RankedBy | None,
        typer.Option(
            "--by",
            show_default=False,
            help="Default: height in a directed graph, else centrality.",
        ),
    ] = None,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
) -> None:
    """Rank the nodes, the most central first, or of a directed graph the highest.

    A node is central if currents reach all others easily, with the ties as
    wires and the weights as conductances: over many short paths of strong
    ties (docs/measures.md). It is computed from the graph, so that no seed
    and no geometry changes it. Beside it stand the ranks by delta, the sum of
    a node's distances in the embedding, by strength, eigenvector and
    PageRank. Equal nodes share a rank.

    Examples:
      ultrahyperbolic rank club
      ultrahyperbolic rank club --top 5
      ultrahyperbolic rank club --all --csv ranking.csv
      ultrahyperbolic rank club --all --json
      ultrahyperbolic rank club --by delta
    """
    from ..embedding.answers import (
        INTERVALS,
        OTHER_RANKS,
        ranked_by,
        ranking,
        ranks_in_words,
        score_column,
    )

    saved = open_embedding(folder)
    by = by or ranked_by(saved)
    if by == "delta" and saved.centrality is None:
        note(
            "ranked by delta, as the folder does not hold the graph: embed it again to rank by "
            "centrality"
        )
    with refusing(ValueError, about=f"{folder}: "):
        table = ranking(saved, None if everything else top, by)
    write_csv(csv_file, table)
    words = {"intervals": INTERVALS} if "rank_low" in table else {}
    if as_json:
        about = {"folder": str(folder), "nodes": len(saved), "by": by, **words}
        print_json({**about, "ranking": json_rows(table)})
        return
    score = score_column(saved, by)
    columns = {"rank": ranks_in_words(table), **names(table)}
    columns[by] = [number(cast("float", value)) for value in table[score]]
    columns |= {
        f"by {what}": list(map(str, table[name]))
        for what, name in OTHER_RANKS.items()
        if name in table
    }
    print_columns(columns | _attributes(table, saved, score))
    for text in words.values():
        print(f"in brackets: {text}")


def neighbors(
    folder: opt.Folder,
    node: Annotated[
        str, typer.Argument(metavar="NODE", show_default=False, help="Its id or its label.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many neighbours to show.")] = 10,
    out: Annotated[
        bool | None,
        typer.Option(
            "--out/--in",
            show_default=False,
            help="In a directed graph: ties from the node, or to it.",
        ),
    ] = None,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
) -> None:
    """Show the nodes nearest to a node.

    Near nodes are strongly tied, or tied to the same nodes: weights are tie
    strengths, not distances (docs/graphs.md). The column weight is that of
    their tie, and empty where they have none. A distance is less the
    popularity of both nodes, and can be negative.

    Examples:
      ultrahyperbolic neighbors club 34
      ultrahyperbolic neighbors club "Jean Valjean" -k 3 --json
    """
    from ..embedding.answers import nearest

    saved = open_embedding(folder)
    row = find_row(saved.rows, node, folder)
    with refusing(ValueError, about=f"{folder}: "):
        table = nearest(saved, row, k, None if out is None else "out" if out else "in")
    write_csv(csv_file, table)
    if as_json:
        found = saved.ids[row]
        label = {"label": [saved.labels[found]]} if saved.labels and found in saved.labels else {}
        (about,) = json_rows({"node": [found], **label})
        print_json({"folder": str(folder), **about, "neighbors": json_rows(table)})
        return
    columns = names(table)
    columns["distance"] = [number(cast("float", value)) for value in table["distance"]]
    if "connected" in table:
        weights = zip(table["weight"], table["connected"], strict=True)
        columns["weight"] = [f"{weight:.6g}" if tied else "" for weight, tied in weights]
    print_columns(columns | _attributes(table, saved))


def _attributes(table: Columns, embedding: Embedding, score: str = "") -> dict[str, list[str]]:
    """The attributes of nodes, which are the last columns of a table, as a terminal may see them;
    without the one that is the score.
    """
    found = {}
    for name, values in list(table.items())[len(table) - len(embedding.attributes) :]:
        if name != score:
            cells = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
            found[shown(name)] = [shown(cell) if cell and cell != "nan" else "" for cell in cells]
    return found


def find_row(rows: NodeFinder, text: str, folder: Path) -> int:
    """The row that a text names: by id, by an id that is a number or a tuple, as JSON writes it, or
    by label.
    """
    if rows.has_id(text):
        return rows(text)
    try:
        value = json.loads(text)
    except ValueError:
        value = {"inf": math.inf, "-inf": -math.inf}.get(text, text)
    value = tuple(value) if isinstance(value, list) else value
    if isinstance(value, Hashable) and rows.has_id(value):
        return rows(value)
    with refusing(KeyError, about=f"{folder}: "):
        return rows(text)


def cluster(
    context: typer.Context,
    folder: opt.Folder,
    by: Annotated[
        _ClusteredBy,
        typer.Option("--by", help="Groups of strongly tied nodes, or of nodes near in the map."),
    ] = "graph",
    keep: Annotated[
        bool,
        typer.Option(
            "--keep/--no-keep", help="Whether to write the column cluster into the folder."
        ),
    ] = True,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
) -> None:
    """Find communities: groups of nodes that are strongly tied.

    You need not say how many. The groups with the highest modularity are
    found by Louvain's method, in which a tie counts by its weight. With
    --by map, the nearest pairs of nodes take the place of the ties, one for
    each. The column cluster of embedding.parquet keeps the result, 0 for the
    largest group; the report uses it for colours.

    Examples:
      ultrahyperbolic cluster club
      ultrahyperbolic cluster club --by map
      ultrahyperbolic cluster club --csv communities.csv
      ultrahyperbolic cluster club --json
    """
    import numpy as np

    from .training import hold

    check_folder(folder)
    if keep:
        hold(context, folder)
    embedding = open_embedding(folder)
    if by == "graph":
        graph_of(embedding, folder)
    with bar("clustering", show=not as_json):
        groups = embedding.cluster(by)
    if keep:
        _keep(embedding.with_attributes(cluster=groups), folder)
    write_csv(csv_file, {"node": list(map(str, embedding.ids)), "cluster": groups})
    sizes = np.bincount(groups)
    if as_json:
        nodes = json_rows({"node": embedding.ids, "cluster": groups})
        print_json(
            {"folder": str(folder), "clusters": len(sizes), "sizes": sizes.tolist(), "nodes": nodes}
        )
        return
    rows = []
    for group, size in enumerate(sizes.tolist()):
        members = np.flatnonzero(groups == group)
        first = members[np.argsort(embedding.rank[members], kind="stable")][:_MEMBERS]
        most_central = ", ".join(shown(embedding.ids[int(row)]) for row in first)
        rows.append((str(group), str(size), most_central + (", …" if size > _MEMBERS else "")))
    print_table(("cluster", "nodes", "most central"), rows, right=("cluster", "nodes"))


def _keep(kept: Embedding, folder: Path) -> None:
    """Write the embedding into its folder, and the report again where there is one."""
    from ..embedding.store import REPORT

    shown_before = (folder / REPORT).exists()
    with refusing(OSError, about="cannot write the embedding: "):
        kept.save(folder, overwrite=True)
    if not shown_before:
        return
    from ..report import write_report

    try:
        write_report(kept, folder)
    except (OSError, ImportError) as error:
        note(f"the report is not written again: {reason(error)}")


@opt.reads_graph
def evaluate(
    context: typer.Context,
    folder: opt.Folder,
    graph: Annotated[str | None, opt.option("--graph", metavar="GRAPH", help=_MEASURED_BY)] = None,
    held_out: Annotated[bool, opt.option("--held-out", help=_HELD_OUT)] = False,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Measure how well an embedding fits a graph.

    The measures stand next to those of simple baselines. --graph names
    another graph to measure by, such as ties that were held out. It is read
    as embed reads it: weights are tie strengths unless you give
    --weights-are-distances. All its nodes must be in the embedding.
    docs/measures.md explains the measures.

    They count the ties that the training was given. --held-out says how
    well the same training predicts ties that it has not seen, and keeps that
    for the report.

    Examples:
      ultrahyperbolic evaluate club
      ultrahyperbolic evaluate club --held-out
      ultrahyperbolic evaluate club --graph other_ties.tsv
      ultrahyperbolic evaluate out/karate --graph karate --json
    """
    from ..graph import GraphError
    from ..verdict import of_hidden_ties

    if held_out and graph is not None:
        raise Refused("--held-out trains on the ties of the folder: leave --graph out")
    context.with_resource(bar(f"evaluating {folder}", show=not as_json))
    if held_out:
        from .training import hold

        check_folder(folder)
        hold(context, folder)
    embedding = open_embedding(folder)
    if graph is not None:
        measured_by = find_graph(graph, reading, quiet=as_json)
    elif reading:
        raise Refused("without --graph no graph is read: leave out how to read it")
    else:
        measured_by = graph_of(embedding, folder)
    with refusing(GraphError, about=f"{measured_by.source}: "):
        measures = embedding.evaluate(measured_by, progress=not as_json)
    if held_out:
        from ..training.hidden import hidden_ties

        interrupted = leaving("interrupted: the hidden ties are not measured")
        with interrupted, refusing(ValueError, MemoryError, about=f"{folder}: "):
            hidden = hidden_ties(embedding, measured_by, quiet=as_json)
        embedding = embedding.with_record(replace(embedding.record, held_out=hidden))
        _keep(embedding, folder)
    trained = None if embedding.record.graph is None else embedding.record.graph.fingerprint
    if as_json:
        same = None if trained is None else trained == measured_by.fingerprint
        source = measured_by.source if graph is None else graph
        about = {"folder": str(folder), "graph": source, "trained_on_it": same}
        known = embedding.record.held_out if same else {}
        print_json({**about, "measures": measures, **({"held_out": known} if known else {})})
        return
    print(measured_by.describe())
    if trained is not None and trained != measured_by.fingerprint:
        print("this is not the graph that was embedded: its ids, ties or weights differ")
    print()
    _print_measures(measures, unfinished=embedding.record.unfinished)
    if trained == measured_by.fingerprint:
        known, ties = embedding.record.held_out, measured_by.n_edges
        print(of_hidden_ties(known, ties, shlex.quote(str(folder))))


def _print_measures(measures: dict[str, float], *, unfinished: bool) -> None:
    """One row per measure, first what everyone asks for; then the same of what needs no
    embedding.
    """
    from ..verdict import MEANINGS, reservations

    beside = {name + suffix for name in measures for suffix in _SIDES.values()}
    ours = [name for name in measures if name not in beside and name not in _OF_THE_GRAPH]
    ours = [name for name in _FIRST if name in ours] + [name for name in ours if name not in _FIRST]

    def cell(name: str) -> str:
        return number(measures[name]) if name in measures else ""

    def best(name: str) -> str:
        if name in _NO_BEST or name.endswith("_error"):
            return ""
        # A node with fewer neighbours than are looked at keeps a precision below 1.
        return (
            "0" if name.startswith("violated") else "<=1" if name.startswith("precision") else "1"
        )

    rows = [(name, best(name), cell(name), MEANINGS.get(name, "standard error")) for name in ours]
    print_table(("measure", "best", "embedding", "what it is"), rows, right=("best", "embedding"))
    if compared := [
        name for name in ours if any(name + suffix in measures for suffix in _SIDES.values())
    ]:
        print("\nρ of other rankings:")
        sides = [(name, *(cell(name + suffix) for suffix in _SIDES.values())) for name in compared]
        print_table(("measure", *_SIDES), sides, right=tuple(_SIDES))
    if all(name in measures for name in _OF_THE_GRAPH):
        closed, unclosed = (percent(measures[name]) for name in _OF_THE_GRAPH)
        print(
            f"\nof all pairs of ties that share a node, {closed} are closed into a triangle and "
            f"{unclosed} are open (in a tree: 0 % and 100 %)"
        )
    for line in reservations(measures, unfinished=unfinished):
        print(f"note: {line}")
