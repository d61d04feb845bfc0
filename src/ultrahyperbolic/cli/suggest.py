"""``suggest``: ties that may be missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import Refused, reason, refusing
from .output import json_id, note, number, percent, print_columns, print_json, shown, write_csv
from .queries import find_row
from .sources import graph_of, open_embedding

if TYPE_CHECKING:
    import pandas


@opt.reads_graph
def suggest(
    folder: opt.Folder,
    graph: opt.EmbeddedGraph = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many pairs to show.")] = 20,
    node: Annotated[str | None, opt.option("--node", metavar="ID", help="Only pairs of this node.")] = None,
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

    Examples:
      ultrahyperbolic suggest club
      ultrahyperbolic suggest club -k 5 --node 34
      ultrahyperbolic suggest club --graph ties.tsv --csv missing.csv
    """
    embedding = open_embedding(folder)
    row = None if node is None else embedding.ids[find_row(embedding.rows, node, folder)]
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
    write_csv(csv_file, dict(table.items()))
    if as_json:
        rows = [{name: json_id(value) for name, value in row.items()} for row in table.to_dict("records")]
        print_json({"folder": str(folder), "suggestions": rows})
        return
    if not len(table):
        print("every pair is tied: there is nothing to suggest")
        return
    names = [name for name in ("node", "label", "neighbor", "neighbor_label") if name in table]
    columns = {name: ["" if cell in ("", None) else shown(cell) for cell in table[name]] for name in names}
    columns["distance"] = list(map(number, table["distance"]))
    if "score" in table and table["score"].notna().any():
        columns["score"] = list(map(percent, table["score"]))
    print_columns(columns)
