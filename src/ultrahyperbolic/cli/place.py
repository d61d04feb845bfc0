"""``place``: new nodes in an old embedding."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from . import options as opt
from .errors import refusing
from .output import json_id, note, number, print_json, print_table, shown
from .sources import find_graph, graph_name, graph_of, open_embedding

# Old nodes that are shown for each new one, and new ones that are shown at most.
_NEAREST, _MOST = 3, 20


@opt.reads_graph
def place(
    context: typer.Context,
    folder: opt.Folder,
    new_ties: Annotated[
        str, typer.Argument(metavar="NEW_TIES", show_default=False, help="A file with the ties of the new nodes.")
    ],
    output: Annotated[Path | None, opt.output("out/NAME OF THE FILE")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an embedding that is already there.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same points.")] = 0,
    graph: opt.EmbeddedGraph = None,
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
      ultrahyperbolic place club new_ties.csv --weight calls --graph ties.csv
    """
    from ..embedding.store import prepare_folder
    from ..training.place import with_placed

    embedding = open_embedding(folder)
    if embedding.is_directed:
        reading = {**reading, "directed": True}
    ties = find_graph(new_ties, reading, quiet=as_json)
    where = output or Path("out") / graph_name(new_ties)
    with refusing(OSError, about="cannot write the embedding: "), refusing(FileExistsError):
        prepare_folder(where, overwrite=overwrite)
    data, why = graph_of(embedding, folder, graph, reading if graph else {}, quiet=True)
    if data is None:
        note(f"placed by the new ties alone, as {why}; pass --graph for a better fit")
    else:
        embedding = replace(embedding, graph=data)
    with refusing(ValueError, TypeError):
        new = embedding.transform(ties, seed=seed, quiet=as_json)
        whole = with_placed(embedding, new, ties)
    whole = whole.with_record(replace(whole.record, command=shlex.join(context.obj)))
    with refusing(OSError, TypeError, about="cannot save the embedding: "):
        whole.save(where, overwrite=True)
    import numpy as np
    import torch

    old, points = (torch.from_numpy(e.points.copy()) for e in (embedding, new))
    apart = embedding.manifold.cdist(points, old, dissimilarity="geodesic").numpy()
    if embedding.popularity is not None and new.popularity is not None:
        apart = apart - (new.popularity[:, None] + embedding.popularity)
    near = np.argsort(apart, axis=1, kind="stable")[:, :_NEAREST]
    apart = np.take_along_axis(apart, near, 1)
    if as_json:
        nodes = [
            {
                "node": json_id(node),
                "nearest": [json_id(embedding.ids[int(i)]) for i in near[row]],
                "distances": apart[row].tolist(),
            }
            for row, node in enumerate(new.ids)
        ]
        print_json({"folder": str(where), "placed": len(new), "nodes": nodes})
        return
    lines = []
    for row, node in enumerate(new.ids[:_MOST]):
        names = (f"{shown(embedding.ids[int(i)])} ({number(d)})" for i, d in zip(near[row], apart[row], strict=True))
        lines.append((shown(node), ", ".join(names)))
    print_table(("new node", "nearest nodes (distance)"), lines)
    if len(new) > _MOST:
        print(f"… and {len(new) - _MOST} more")
    print(f"\nfiles: {where / 'embedding.parquet'}, {where / 'run.json'}")
