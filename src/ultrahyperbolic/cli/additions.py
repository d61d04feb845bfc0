"""``place`` and ``suggest``: what the graph does not have yet, new nodes and missing ties."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import reason, refusing
from .output import json_id, note, number, print_columns, print_json, print_table, shown, write_csv
from .queries import find_row
from .sources import find_graph, graph_name, graph_of, open_embedding

if TYPE_CHECKING:
    import pandas

    from ..evaluation.missing import Calibration

# Old nodes that are shown for each new one, and new ones that are shown at most.
_NEAREST, _MOST = 3, 20


@opt.reads_graph
def place(
    context: typer.Context,
    folder: opt.Folder,
    new_ties: Annotated[
        str,
        typer.Argument(
            metavar="NEW_TIES", show_default=False, help="A file with the ties of the new nodes."
        ),
    ],
    output: Annotated[Path | None, opt.output("out/NAME OF THE FILE")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an embedding that is already there.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="The same seed gives the same points.")
    ] = 0,
    as_json: opt.Json = False,
    *,
    reading: opt.Reading,
) -> None:
    """Place new nodes by their ties, without training again.

    NEW_TIES is read as embed reads a graph: one tie per line, from a new
    node to an old one or to another new one. Nodes that FOLDER does not have
    are new. Old nodes stay where they are. The output folder holds both, and
    its column new says which nodes are new. To train on the whole graph
    instead, use embed --continue-from.

    Examples:
      ultrahyperbolic place club new_ties.tsv -o newcomers
      ultrahyperbolic place club new_ties.csv --weight calls
    """
    from ..training.checkpoint import CHECKPOINT
    from ..training.place import with_placed
    from .training import claim

    embedding = open_embedding(folder)
    if embedding.is_directed:
        reading = {**reading, "directed": True}
    ties = find_graph(new_ties, reading, quiet=as_json)
    where = output or Path("out") / graph_name(new_ties)
    claim(context, where, overwrite=overwrite)
    if embedding.graph is None:
        note(f"placed by the new ties alone, as {folder} holds no ties: embed its graph again")
    with refusing(ValueError, TypeError):
        new = embedding.transform(ties, seed=seed, quiet=as_json)
        whole = with_placed(embedding, new, ties)
    whole = whole.with_record(replace(whole.record, command=shlex.join(context.obj)))
    with refusing(OSError, TypeError, about="cannot save the embedding: "):
        whole.save(where, overwrite=True)
        (where / CHECKPOINT).unlink(missing_ok=True)  # of the training that was overwritten
    nodes: list[dict[str, object]] = []
    lines = []
    for row, node in enumerate(new.ids if as_json else new.ids[:_MOST], len(embedding)):
        apart = whole.distances_from(row)[: len(embedding)]
        first = apart.argsort(kind="stable")[:_NEAREST]
        near, distances = [embedding.ids[k] for k in first.tolist()], apart[first].tolist()
        nodes.append(
            {"node": json_id(node), "nearest": list(map(json_id, near)), "distances": distances}
        )
        words = (
            f"{shown(old)} ({number(distance)})"
            for old, distance in zip(near, distances, strict=True)
        )
        lines.append((shown(node), ", ".join(words)))
    if as_json:
        print_json({"folder": str(where), "placed": len(new), "nodes": nodes})
        return
    print_table(("new node", "nearest nodes (distance)"), lines)
    if len(new) > _MOST:
        print(f"… and {len(new) - _MOST} more")
    print(f"\nfiles: {where / 'embedding.parquet'}, {where / 'run.json'}")


def suggest(
    folder: opt.Folder,
    k: Annotated[int, typer.Option("-k", min=1, help="How many pairs to show.")] = 20,
    node: Annotated[
        str | None, opt.option("--node", metavar="ID", help="Only pairs of this node.")
    ] = None,
    csv_file: opt.Csv = None,
    as_json: opt.Json = False,
) -> None:
    """Suggest missing ties: the likeliest pairs without one, with reasons.

    The score is the chance that the pair is a tie, if a tenth of your ties
    were missing. It is learned by hiding a tenth of them, and the last line
    says how many suggestions were right then. run.json keeps what was
    learned. In a directed graph, ties lead from the first node to the second.

    Examples:
      ultrahyperbolic suggest club
      ultrahyperbolic suggest club -k 5 --node 34
      ultrahyperbolic suggest club --csv missing.csv
    """
    embedding = open_embedding(folder)
    row = None if node is None else embedding.ids[find_row(embedding.rows, node, folder)]
    graph_of(embedding, folder)

    from ..evaluation.missing import FEWEST_TIES
    from ..training.checkpoint import locked
    from ..training.suggest import calibrate
    from ..training.suggest import suggest as find

    with refusing(ValueError, MemoryError, ImportError):
        calibration = calibrate(embedding, quiet=as_json)
        table = find(embedding, k, row, calibration=calibration, quiet=as_json)
    if not calibration.rounds:
        note(f"there are no scores: they need {FEWEST_TIES} ties or more, and pairs without one")
    elif embedding.record.suggest != calibration.to_json():
        try:
            with locked(folder):
                embedding.with_record(
                    replace(embedding.record, suggest=calibration.to_json())
                ).save_record(folder)
        except OSError as error:
            note(
                "the scores are computed again next time, as run.json cannot be written: "
                f"{reason(error)}"
            )
    _show(table, folder, csv_file, calibration, as_json=as_json)


def _show(
    table: pandas.DataFrame,
    folder: Path,
    csv_file: Path | None,
    calibration: Calibration,
    *,
    as_json: bool,
) -> None:
    write_csv(csv_file, dict(table.items()))
    measured = {name: table.attrs[name] for name in ("precision",) if name in table.attrs}
    if as_json:
        rows = [
            {name: json_id(value) for name, value in row.items()}
            for row in table.to_dict("records")
        ]
        print_json({"folder": str(folder), **measured, "suggestions": rows})
        return
    if not len(table):
        print("every pair is tied: there is nothing to suggest")
        return
    names = [name for name in ("node", "label", "neighbor", "neighbor_label") if name in table]
    columns = {
        name: ["" if cell in ("", None) else shown(cell) for cell in table[name]] for name in names
    }
    columns["distance"] = list(map(number, table["distance"]))
    if table["score"].notna().any():
        columns["score"] = list(map(_whole, table["score"]))
    print_columns(columns | {"reason": table["reason"].tolist()})
    if not calibration.rounds:
        return
    print("score: the chance that this is a tie, if a tenth of your ties were missing")
    if measured:
        hidden, share = calibration.held_out / calibration.rounds, _whole(measured["precision"])
        right = (
            f"on average, {share} of the first {len(table)} suggestions were among them"
            if len(table) > 1
            else f"in {share} of these rounds, the first suggestion was among them"
        )
        most = f" (at most {_whole(hidden / len(table))})" if hidden < len(table) else ""
        print(f"{hidden:.0f} of your ties were hidden, {calibration.rounds} times: {right}{most}")


def _whole(share: float) -> str:
    """A chance in per cent: more digits would promise more than was learnt."""
    return "<1 %" if 0.0 < share < 0.005 else f"{100.0 * share:.0f} %"
