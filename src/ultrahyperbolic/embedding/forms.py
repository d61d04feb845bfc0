"""An embedding as tables and graphs of other libraries, and measured."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from .. import evaluation
from ..evaluation.directed import directed_measures
from ..graph import Graph, GraphError, as_graph
from ..graph.attributes import free_names
from ..graph.flow import flow
from .answers import Columns, label_texts

if TYPE_CHECKING:
    import networkx
    import pandas

    from .embedding import Embedding


def frame(columns: Columns) -> pandas.DataFrame:
    """Columns as a data frame; ids keep their types."""
    import pandas as pd

    ids: Columns = {name: _id_column(columns[name]) for name in ("of", "node") if name in columns}
    return pd.DataFrame(columns | ids)


def frame_of_several(nodes: Sequence[Hashable], tables: Sequence[Columns]) -> pandas.DataFrame:
    """The tables of several nodes below each other; the first column says whose each row is."""
    of = [node for node, table in zip(nodes, tables, strict=True) for _ in table["node"]]
    joined: Columns = {"of": of}
    for name in tables[0]:
        parts = [table[name] for table in tables]
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        joined[name] = np.concatenate(arrays) if arrays else [value for part in parts for value in part]
    return frame(joined)


def _id_column(ids: Sequence[object] | NDArray[np.generic]) -> Sequence[object] | NDArray[np.generic]:
    if all(isinstance(node, str) for node in ids) or all(type(node) in (int, float) for node in ids):
        return ids
    column = np.empty(len(ids), dtype=object)  # pandas takes it for a column, and lists of tuples for a table
    column[:] = ids
    return column


def to_pandas(embedding: Embedding) -> pandas.DataFrame:
    """One row per node, in the order of the graph."""
    columns: Columns = {"node": list(embedding.ids)}
    if embedding.labels:
        columns["label"] = label_texts(embedding.ids, embedding.labels)
    columns |= {f"x{k}": embedding.points[:, k] for k in range(embedding.points.shape[1])}
    columns |= {"delta": embedding.delta, **embedding.rank_columns}
    if embedding.popularity is not None:
        columns["popularity"] = embedding.popularity
    names = free_names(list(embedding.attributes), list(columns))
    return frame(columns | {names[name]: values for name, values in embedding.attributes.items()})


def to_networkx(embedding: Embedding) -> networkx.Graph:
    """The graph, or its nodes alone, with what is known of each node."""
    import networkx as nx

    result = nx.Graph() if embedding.graph is None else embedding.graph.to_networkx()
    own: dict[str, list[object]] = {
        "point": embedding.points.tolist(),
        "delta": embedding.delta.tolist(),
        "rank": embedding.rank.tolist(),
    }
    if embedding.popularity is not None:
        own["popularity"] = embedding.popularity.tolist()
    names = free_names(list(embedding.attributes), [*own, "label"])
    own |= {names[name]: values.tolist() for name, values in embedding.attributes.items()}
    for row, (node, label) in enumerate(zip(embedding.ids, label_texts(embedding.ids, embedding.labels), strict=True)):
        result.add_node(node, **{name: values[row] for name, values in own.items()})
        if label:
            result.nodes[node].setdefault("label", label)
    return result


def evaluate(embedding: Embedding, graph: object | None, *, progress: bool) -> dict[str, float]:
    """All measures of an embedding, by a graph whose nodes are among its own."""
    data = embedding.graph if graph is None else as_graph(graph)
    if data is None:
        raise ValueError("measuring needs the graph: pass graph=")
    known = set(embedding.ids)
    strangers = [node for node in data.ids if node not in known]
    if strangers:
        raise GraphError(f"{len(strangers)} nodes of the graph are not in the embedding, such as {strangers[0]!r}")
    points, whole = torch.from_numpy(embedding.points.copy()), data.with_nodes(embedding.ids)
    found = evaluation.evaluate(whole, points, embedding.manifold, progress=progress, popularity=embedding.popularity)
    return found | measures_of_directions(embedding, whole)


def measures_of_directions(embedding: Embedding, graph: Graph) -> dict[str, float]:
    """The measures by the directions of ties, of nodes in the same order; none where ties have no directions."""
    if not (embedding.is_directed and graph.is_directed):
        return {}
    arcs, weights = graph.arcs
    found = directed_measures(embedding.scores, embedding.scores_in, arcs, weights, embedding.heights)
    whole = flow(graph.n_nodes, arcs, weights)
    return found | {"circulation": whole.circulation, "incoherence": whole.incoherence}
