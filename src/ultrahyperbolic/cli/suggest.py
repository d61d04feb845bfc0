"""``suggest``: ties that may be missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import Refused, reason, refusing
from .output import json_id, note, number, print_columns, print_json, shown, write_csv
from .queries import find_row
from .sources import check_unread, graph_of, open_embedding

if TYPE_CHECKING:
    import pandas

    from ..evaluation.missing import Calibration


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
    """Suggest missing ties: the likeliest pairs without one, with reasons.

    The score is the chance that the pair is a tie, if a tenth of your ties
    were missing. It is learned by hiding a tenth of them, and the last line
    says how many suggestions were right then. run.json keeps what was
    learned. In a directed graph, ties lead from the first node to the second.

    Examples:
      ultrahyperbolic suggest club
      ultrahyperbolic suggest club -k 5 --node 34
      ultrahyperbolic suggest club --graph ties.tsv --csv missing.csv
    """
    embedding = open_embedding(folder)
    row = None if node is None else embedding.ids[find_row(embedding.rows, node, folder)]
    if graph is None and embedding.ties is not None and not embedding.is_directed:
        check_unread(reading)
        known = embedding
    else:
        data, why = graph_of(embedding, folder, graph, reading, quiet=as_json)
        if data is None or why:
            raise Refused(f"suggest needs the graph, and {why}: pass --graph")
        known = replace(embedding, graph=data)

    from ..evaluation.missing import FEWEST_TIES
    from ..training.suggest import calibrate
    from ..training.suggest import suggest as find

    with refusing(ValueError, MemoryError, ImportError):
        calibration = calibrate(known, quiet=as_json)
        table = find(known, k, row, calibration=calibration, quiet=as_json)
    if not calibration.rounds:
        note(f"there are no scores: they need {FEWEST_TIES} ties or more, and pairs without one")
    elif embedding.record.suggest != calibration.to_json():
        try:
            embedding.with_record(replace(embedding.record, suggest=calibration.to_json())).save_record(folder)
        except OSError as error:
            note(f"the scores are computed again next time, as run.json cannot be written: {reason(error)}")
    _show(table, folder, csv_file, calibration, as_json=as_json)


def _show(
    table: pandas.DataFrame, folder: Path, csv_file: Path | None, calibration: Calibration, *, as_json: bool
) -> None:
    write_csv(csv_file, dict(table.items()))
    measured = {name: table.attrs[name] for name in ("precision",) if name in table.attrs}
    if as_json:
        rows = [{name: json_id(value) for name, value in row.items()} for row in table.to_dict("records")]
        print_json({"folder": str(folder), **measured, "suggestions": rows})
        return
    if not len(table):
        print("every pair is tied: there is nothing to suggest")
        return
    names = [name for name in ("node", "label", "neighbor", "neighbor_label") if name in table]
    columns = {name: ["" if cell in ("", None) else shown(cell) for cell in table[name]] for name in names}
    columns["distance"] = list(map(number, table["distance"]))
    if table["score"].notna().any():
        columns["score"] = list(map(_whole, table["score"]))
    print_columns(columns | {"reason": table["reason"].tolist()})
    if not calibration.rounds:
        return
    print("score: the chance that this is a tie, if a tenth of your ties were missing")
    if measured:
        hidden = calibration.held_out / calibration.rounds
        print(
            f"when a tenth of your ties was hidden, {_whole(measured['precision'])} of the first {len(table)} "
            f"suggestions were hidden ties; there were {hidden:.0f}"
        )


def _whole(share: float) -> str:
    """A chance in per cent: more digits would promise more than was learnt."""
    return "<1 %" if 0.0 < share < 0.005 else f"{100.0 * share:.0f} %"
