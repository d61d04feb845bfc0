"""Files that other programs open: GraphML, GEXF, VOSviewer's JSON, and a table of the nodes."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..checks import check_choice, cut
from ..embedding import Embedding
from ..embedding.answers import label_texts
from ..evaluation import communities
from ..files import id_as_json, replace_file
from ..graph import Graph
from ..graph.ids import check_texts
from ..plot.layout import plane
from ..progress import bar
from .tables import write_table

if TYPE_CHECKING:
    import networkx

Format = Literal["graphml", "gexf", "vosviewer", "csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SPAN = 1000.0  # the longer side of a drawing, in the units that viewers of graphs expect
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Exported(NamedTuple):
    """What `export` wrote."""

    files: list[Path]
    notes: list[str]
    """What was changed on the way, where anything was."""


def export(
    embedding: Embedding,
    path: str | os.PathLike[str],
    format: Format,
    *,
    graph: Graph | None = None,
    overwrite: bool = False,
    progress: bool = False,
) -> Exported:
    """Write an embedding for another program; ``docs/exports.md`` says what each file holds.

    Formats are ``"graphml"`` and ``"gexf"``, for Gephi and others; ``"vosviewer"``, the JSON of
    VOSviewer; ``"csv"`` and ``"parquet"``, a table with one row per node. The first three need the
    ``graph`` that was embedded, in the order of the nodes of the embedding, by default the
    embedding's own; the tables get its labels and strengths. ``overwrite`` replaces a file that is
    there, and ``progress`` shows a bar on a terminal.
    """
    check_choice("format", format, FORMATS)
    graph = embedding.graph if graph is None else graph
    if graph is not None and list(graph.ids) != list(embedding.ids):
        raise ValueError(
            "graph must have the nodes of the embedding in their order: use graph.with_nodes(ids)"
        )
    target = Path(path)
    notes: list[str] = []
    with bar(f"writing {target}", show=progress):
        _check_free(target, overwrite)
        table = _table(embedding, graph)
        if format in ("csv", "parquet"):
            for name in table.keys() & {"node", "label"}:
                check_texts(table[name], name, str(path))
        if format == "csv":
            write_table(target, list(table), zip(*table.values(), strict=True))
        elif format == "parquet":
            replace_file(target, _parquet(table))
        elif graph is None:
            raise ValueError(f"{format} needs the graph: pass graph=")
        elif format == "vosviewer":
            replace_file(target, json.dumps(_vosviewer(graph, table)))
            if graph.is_directed:
                notes = ["VOSviewer has no directions: opposite ties are added"]
        else:
            network, notes = _network(graph, table)
            replace_file(target, _as_xml(network, format))
    return Exported([target], notes)


def id_texts(ids: Iterable[Hashable]) -> list[str]:
    """Ids as text: text as it is, others as JSON writes them, as in ``embedding.parquet``.

    >>> id_texts(["a", 1, ("b", 2), float("inf")])
    ['a', '1', '["b", 2]', 'Infinity']
    """
    return [node if isinstance(node, str) else json.dumps(id_as_json(node)) for node in ids]


def _check_free(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file")
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path} is there already: name another, or overwrite it (overwrite=True, --overwrite)"
        )
    path.parent.mkdir(parents=True, exist_ok=True)


def _table(embedding: Embedding, graph: Graph | None) -> dict[str, list[Any]]:
    """What is known of each node, a column by name: its id as text, its label, empty where it has
    none, if any has one, its place in the plane, and its numbers.
    """
    table: dict[str, list[Any]] = {"node": id_texts(embedding.ids)}
    if graph is not None and graph.labels:
        table["label"] = label_texts(graph.ids, graph.labels)
    numbers: dict[str, NDArray[Any]] = dict(zip("xy", _scaled_plane(embedding).T, strict=True))
    numbers["rank"] = embedding.rank
    if embedding.is_directed:
        numbers["height"] = embedding.heights
    if embedding.centrality is not None:
        numbers["centrality"] = embedding.centrality.values
    numbers["delta"] = embedding.delta
    if embedding.popularity is not None:
        numbers["popularity"] = embedding.popularity
    if graph is not None:
        # Those that ``cluster`` wrote, where it did; else they are found now.
        kept = embedding.attributes.get("cluster")
        is_kept = kept is not None and kept.dtype.kind == "i"
        numbers |= {"strength": graph.strength, "degree": graph.degree}
        numbers["community"] = kept if is_kept and kept is not None else communities(graph)
    numbers |= {f"x{k}": column for k, column in enumerate(embedding.points.T)}
    return table | {name: values.tolist() for name, values in numbers.items()}


def _scaled_plane(embedding: Embedding) -> Floats:
    """The plane, centred and as large as viewers of graphs expect."""
    places = plane(embedding)
    places = places - (places.max(0) + places.min(0)) / 2.0
    return np.asarray(places * (_SPAN / max(float(np.ptp(places, axis=0).max()), 1e-300)))


def _parquet(table: dict[str, list[Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(table), out)
    return out.getvalue()


def _network(graph: Graph, table: dict[str, list[Any]]) -> tuple[networkx.Graph, list[str]]:
    """The graph with what is known of its nodes, in text that XML can hold, and a note where that
    is another.
    """
    import networkx as nx

    numbers = dict(table)
    changed = 0
    for name in table.keys() & {"node", "label"}:
        numbers[name] = [_NOT_XML.sub("\ufffd", text) for text in table[name]]
        changed += sum(old != new for old, new in zip(table[name], numbers[name], strict=True))
    ids = numbers.pop("node")
    ((twice, count),) = Counter(ids).most_common(1)
    if count > 1:
        raise ValueError(
            f"two nodes are {cut(repr(twice))} when written as text: make the ids differ"
        )
    network = nx.DiGraph() if graph.is_directed else nx.Graph()
    for node, *values in zip(ids, *numbers.values(), strict=True):
        about = dict(zip(numbers, values, strict=True))
        network.add_node(node, **{name: value for name, value in about.items() if value != ""})
    ties, weights = graph.arcs if graph.is_directed else (graph.edges, graph.weights)
    ends = ((ids[i], ids[j]) for i, j in ties.tolist())
    network.add_weighted_edges_from(
        (*pair, weight) for pair, weight in zip(ends, weights.tolist(), strict=True)
    )
    note = f"{changed} ids or labels hold characters that XML cannot write, which became \ufffd"
    return network, [note] if changed else []


def _as_xml(network: networkx.Graph, format: Literal["graphml", "gexf"]) -> bytes:
    import networkx as nx

    out = io.BytesIO()
    if format == "graphml":
        nx.write_graphml_xml(network, out)
        return out.getvalue()
    for _, about in network.nodes(data=True):
        about["viz"] = {"position": {"x": about.pop("x"), "y": about.pop("y"), "z": 0.0}}
    nx.write_gexf(network, out)
    return out.getvalue()


def _vosviewer(graph: Graph, table: dict[str, list[Any]]) -> dict[str, object]:
    """The network as VOSviewer documents it: ids and clusters are numbers from 1."""
    items = []
    for number, values in enumerate(zip(*table.values(), strict=True), 1):
        node = dict(zip(table, values, strict=True))
        items.append(
            {
                "id": number,
                "label": node.get("label") or node["node"],
                "x": node["x"] * 2.0 / _SPAN,
                "y": node["y"] * 2.0 / _SPAN,
                "cluster": node["community"] + 1,
                "weights": {"Links": node["degree"], "Total link strength": node["strength"]},
                "scores": {"Rank": node["rank"]},
            }
        )
    ties = zip((graph.edges + 1).tolist(), graph.weights.tolist(), strict=True)
    links = [{"source_id": i, "target_id": j, "strength": weight} for (i, j), weight in ties]
    return {"network": {"items": items, "links": links}}
