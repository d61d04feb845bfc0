"""``suggest``: ties that may be missing."""

from __future__ import annotations

import json
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import Refused, reason, refusing, suggestion
from .output import json_id, note, number, percent, print_json, print_table, shown
from .sources import graph_of, open_embedding

if TYPE_CHECKING:
    import pandas

    from ..embedding import Embedding

EXAMPLES = """
Examples:

  ultrahyperbolic suggest club
  ultrahyperbolic suggest club -k 5 --node 34
  ultrahyperbolic suggest club --graph ties.tsv --csv missing.csv"""


@opt.reads_graph
def suggest(
    folder: opt.Folder,
    graph: opt.EmbeddedGraph = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many pairs to show.")] = 20,
    node: Annotated[
        str | None, typer.Option("--node", metavar="ID", show_default=False, help="Only pairs of this node.")
    ] = None,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Suggest missing ties: the nearest nodes that are not tied.

    The score is a probability, learned by hiding ties: when one tie in ten
    was hidden, this share of pairs as near as these proved to be ties. The
    first time, the graph is embedded up to ten more times for that, each
    without a tenth of its ties. run.json keeps what was learned.
    """
    embedding = open_embedding(folder)
    row = None if node is None else find_node(embedding, node, folder)
    data, why = graph_of(embedding, folder, graph, reading, quiet=as_json)
    if data is None or why:
        raise Refused(f"suggest needs the graph, and {why}: pass --graph")

    from ..training.suggest import FEWEST_TIES, calibrate
    from ..training.suggest import suggest as find

    known = replace(embedding, graph=data)
    with refusing(ValueError, TypeError, MemoryError):
        calibration = calibrate(known, quiet=as_json)
        table = find(known, k, row, calibration=calibration, quiet=as_json)
    if calibration is None:
        note(f"there are no scores: they need {FEWEST_TIES} ties or more, and pairs without one")
    elif embedding.record.suggest != calibration.to_json():
        try:
            embedding.with_record(replace(embedding.record, suggest=calibration.to_json())).save_record(folder)
        except OSError as error:
            note(f"the scores are computed again next time, as run.json cannot be written: {reason(error)}")
    _show(table, folder, csv_file, as_json=as_json)


def _show(table: pandas.DataFrame, folder: Path, csv_file: Path | None, *, as_json: bool) -> None:
    write_csv(csv_file, table)
    if as_json:
        rows = [{name: json_id(value) for name, value in row.items()} for row in table.to_dict("records")]
        print_json({"folder": str(folder), "suggestions": rows})
        return
    if not len(table):
        print("every pair is tied: there is nothing to suggest")
        return
    known = "score" in table and table["score"].notna().any()
    names = [name for name in ("node", "label", "neighbor", "neighbor_label") if name in table]
    headers = (*names, "distance", *(("score",) if known else ()))
    lines = [
        (
            *("" if row[name] in ("", None) else shown(row[name]) for name in names),
            number(row["distance"]),
            *((percent(row["score"]),) if known else ()),
        )
        for row in table.to_dict("records")
    ]
    print_table(headers, lines, right=("distance", "score"))


def write_csv(path: Path | None, table: pandas.DataFrame) -> None:
    """Write a table as CSV, where a file is named for it."""
    if path is None:
        return
    from ..export.tables import write_table

    with refusing(OSError, about="cannot write the table: "):
        write_table(path, list(table.columns), table.itertuples(index=False))


def find_node(embedding: Embedding, text: str, folder: Path) -> Hashable:
    """The id that a text means: itself, or the number that it writes."""
    candidates: list[object] = [text]
    with suppress(ValueError):
        candidates.append(json.loads(text))
    for candidate in candidates:
        if isinstance(candidate, Hashable):
            try:
                return embedding.ids[embedding.index(candidate)]
            except KeyError:
                continue
    near = suggestion(text, map(shown, embedding.ids)) if len(embedding) <= 100_000 else ""
    raise Refused(f"no node {text!r} in {folder}{near}")
