"""``rank``, ``neighbors`` and ``evaluate``: the questions that an embedding answers."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import Refused, refusing, suggestion
from .output import json_id, json_rows, note, number, percent, print_json, print_table, shown
from .sources import aligned, check_unread, find_again, find_graph, open_embedding
from .summary import ranks_in_words

if TYPE_CHECKING:
    import pandas

    from ..embedding import Embedding

_SIDES = {"norm": "_norm", "PageRank": "_pagerank", "closeness": "_closeness"}
_FIRST = ("map", "recall_at_1", "violated_orders", "tie_order", "spearman_all")
_OF_THE_GRAPH = ("transitivity", "open_wedges")


RANK_EXAMPLES = """
Examples:

  ultrahyperbolic rank club
  ultrahyperbolic rank club --top 5
  ultrahyperbolic rank club --all --csv ranking.csv
  ultrahyperbolic rank club --all --json"""


def rank(
    folder: opt.Folder,
    top: Annotated[int, typer.Option("--top", min=1, help="How many nodes, from the top.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All nodes.")] = False,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
) -> None:
    """The hierarchy: nodes by delta, the sum of their distances to all others.

    A small delta stands high. The graph's weights were tie strengths, so a
    node that is strongly tied to many tends to the top (docs/graphs.md).
    Where several seeds were trained, each rank has its interval over them.
    """
    from ..evaluation.verdict import no_hierarchy

    embedding = open_embedding(folder)
    record = embedding.record
    table = embedding.hierarchy() if everything else embedding.hierarchy().head(top)
    _write_csv(csv_file, table)
    if as_json:
        ranks = {} if record.ranks is None else {"ranks": record.ranks.to_json()}
        print_json({"folder": str(folder), "nodes": len(embedding), **ranks, "ranking": json_rows(table)})
        return
    if (words := no_hierarchy(record.measures)) is not None:
        note(words)
    rows = zip(ranks_in_words(table), table["node"], table["delta"], strict=True)
    lines = [(rank, shown(node), number(delta)) for rank, node, delta in rows]
    print_table(("rank", "node", "delta"), lines, right=("rank", "delta"))
    if record.ranks is not None:
        print(f"in brackets: {record.ranks.text}")


NEIGHBORS_EXAMPLES = """
Examples:

  ultrahyperbolic neighbors club 34
  ultrahyperbolic neighbors club "Jean Valjean" -k 3 --json"""


def neighbors(
    folder: opt.Folder,
    node: Annotated[str, typer.Argument(metavar="NODE", show_default=False, help="Its id.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
) -> None:
    """The nodes nearest to a node.

    Near means strongly tied, or tied to the same nodes: the graph's weights
    were tie strengths, not distances (docs/graphs.md). Where nodes have a
    popularity, it is taken from their distances first.
    """
    embedding = open_embedding(folder)
    found = _node(embedding, node, folder)
    table = embedding.neighbors(found, k=k)
    _write_csv(csv_file, table)
    if as_json:
        print_json({"folder": str(folder), "node": json_id(found), "neighbors": json_rows(table)})
        return
    numbers = [name for name in ("distance", "popularity") if name in table]
    rows = zip(table["node"], *(table[name] for name in numbers), strict=True)
    print_table(("node", *numbers), [(shown(near), *map(number, rest)) for near, *rest in rows], right=tuple(numbers))


def _write_csv(path: Path | None, table: pandas.DataFrame) -> None:
    if path is None:
        return
    from ..export.tables import write_table

    with refusing(OSError, about="cannot write the table: "):
        write_table(path, list(table.columns), table.itertuples(index=False))


def _node(embedding: Embedding, text: str, folder: Path) -> Hashable:
    """The id that a text means: itself, or the number (or tuple) that it writes, as JSON does or as it is shown."""
    known = set(embedding.ids)
    if text in known:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = {"inf": math.inf, "-inf": -math.inf}.get(text, text)
    value = tuple(value) if isinstance(value, list) else value
    if isinstance(value, Hashable) and value in known:
        return value
    near = suggestion(text, map(shown, embedding.ids)) if len(embedding) <= 100_000 else ""
    raise Refused(f"no node {text!r} in {folder}{near}")


EVALUATE_EXAMPLES = """
Examples:

  ultrahyperbolic evaluate club
  ultrahyperbolic evaluate club --graph other_ties.tsv
  ultrahyperbolic evaluate out/karate --graph karate --json"""


@opt.reads_graph
def evaluate(
    folder: opt.Folder,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            metavar="GRAPH",
            show_default=False,
            help="The graph to measure by, file or data set; by default the one that was embedded.",
        ),
    ] = None,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Measure an embedding by a graph, with cheap baselines beside it.

    Without --graph it is the graph that was embedded, looked for where
    embed read it. One that is given is read as embed reads it: a weight is
    the strength of a tie, unless --weights-are-distances says otherwise.
    Its nodes must be among those of the embedding. docs/measures.md says
    what each measure is.
    """
    embedding = open_embedding(folder)
    if graph is None:
        check_unread(reading)
        read, why = find_again(embedding.record, folder, quiet=as_json)
        if read is None or why:
            raise Refused(f"evaluate needs the graph, and {why}: give it with --graph")
    else:
        read = find_graph(graph, reading, quiet=as_json)
    data = aligned(read, embedding, folder)

    import torch

    from .. import evaluation

    points = torch.from_numpy(embedding.points.copy())
    measures = evaluation.evaluate(
        data, points, embedding.manifold, progress=not as_json, popularity=embedding.popularity
    )
    trained = trained_on(embedding)
    if as_json:
        same = None if trained is None else trained == read.fingerprint
        source = read.source if graph is None else graph
        print_json({"folder": str(folder), "graph": source, "trained_on_it": same, "measures": measures})
        return
    print(data.describe())
    if trained is not None and trained != read.fingerprint:
        print("this is not the graph that was embedded: its ids, edges or weights differ")
    print()
    _print_measures(measures)


def trained_on(embedding: Embedding) -> str | None:
    """The fingerprint of the graph that was embedded, where the record has it."""
    return None if embedding.record.graph is None else embedding.record.graph.fingerprint


def _print_measures(measures: dict[str, float]) -> None:
    """One row per measure, and beside it the same of what needs no embedding: first what everyone asks for."""
    from ..evaluation.verdict import reservations

    ours = [name for name in measures if not name.endswith((*_SIDES.values(), *_OF_THE_GRAPH))]
    ours = [name for name in _FIRST if name in ours] + [name for name in ours if name not in _FIRST]

    def cell(name: str) -> str:
        return number(measures[name]) if name in measures else ""

    def best(name: str) -> str:
        # A node with fewer neighbours than are looked at keeps a precision below 1.
        return "0" if name.startswith("violated") else "<=1" if name.startswith("precision") else "1"

    rows = [(name, best(name), cell(name), *(cell(name + suffix) for suffix in _SIDES.values())) for name in ours]
    headers = ("measure", "best", "embedding", *_SIDES)
    print_table(headers, rows, right=headers[1:])
    if all(name in measures for name in _OF_THE_GRAPH):
        closed, unclosed = (percent(measures[name]) for name in _OF_THE_GRAPH)
        print(
            f"\nof the graph's wedges {closed} are closed by a triangle, {unclosed} are open (in a tree none and all)"
        )
    for line in reservations(measures):
        print(f"note: {line}")
