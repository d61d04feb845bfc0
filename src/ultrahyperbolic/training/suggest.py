"""Which ties are missing: the likeliest pairs that have none, each with its chance and a reason."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from ..checks import check_count
from ..embedding import Embedding
from ..evaluation.missing import Calibration, Evidence, learn, likeliest
from ..graph import Graph, as_graph
from ..progress import bar

if TYPE_CHECKING:
    import pandas

# Under which name an embedding remembers what was learnt.
_REMEMBERED = "_calibration"
# The share of all nodes that are near a node on the map; those beyond the other share are far.
_NEAR, _FAR = 0.1, 0.5


def suggest(
    embedding: Embedding,
    k: int = 20,
    node: Hashable | None = None,
    *,
    graph: object = None,
    calibration: Calibration | None = None,
    quiet: bool = True,
) -> pandas.DataFrame:
    """The likeliest pairs without a tie: columns node, neighbor, distance, score and reason, the
    likeliest first.

    Where nodes have labels, ``label`` and ``neighbor_label`` are columns, too. Of a directed graph
    each row is a tie from ``node`` to ``neighbor``, and the distance is that of `Embedding.scores`.

    The score is the chance that the pair is a tie, if a tenth of your ties were missing: it was
    learnt by hiding a tenth of them. It is NaN for a graph of fewer than 20 ties.
    ``attrs["precision"]`` is the share of such suggestions, as many as these, that were right when
    ties were hidden; it is known up to 100 of them, for pairs of all nodes.

    Parameters
    ----------
    embedding
        Where nodes are near.
    k
        How many pairs.
    node
        Pairs of this node alone.
    graph
        Its graph, where the embedding does not hold it: anything `as_graph` takes.
    calibration
        That of `calibrate`; made anew where it is not given.
    quiet
        No progress bar.
    """
    import pandas as pd

    if graph is not None:
        data = as_graph(graph).with_nodes(embedding.ids)
        embedding = replace(embedding, manifold=embedding.space, graph=data)
    data, k = graph_of(embedding), check_count("k", k, 1)
    row = None if node is None else embedding.index(node)
    known = calibrate(embedding, quiet=quiet) if calibration is None else calibration
    evidence = Evidence(data)
    with bar("comparing pairs", 1.0, show=not quiet) as update:
        pairs, scores = likeliest(evidence, known, k, row, update)
    if row is not None and not data.is_directed:
        pairs = np.where(pairs[:, :1] == row, pairs, pairs[:, ::-1])
    distances, nearness = _on_the_map(embedding, pairs)
    reasons = [
        _reason(evidence, *ends, near) for *ends, near in zip(*pairs.T, nearness, strict=True)
    ]
    columns: dict[str, object] = {}
    for name, label, side in (("node", "label", 0), ("neighbor", "neighbor_label", 1)):
        ids = [embedding.ids[i] for i in pairs[:, side].tolist()]
        columns[name] = pd.Series(ids, dtype=object)
        if embedding.labels is not None:
            columns[label] = pd.Series([embedding.labels.get(each) for each in ids], dtype=object)
    columns |= {"distance": distances, "score": known.chance(scores)}
    table = pd.DataFrame(columns | {"reason": pd.Series(reasons, dtype=object)})
    if row is None and 0 < len(table) <= len(known.precision):
        table.attrs["precision"] = known.precision[len(table) - 1]
    return table


def graph_of(embedding: Embedding) -> Graph:
    """The graph of an embedding, or the ties that its folder holds; ``ValueError`` where there are
    none.
    """
    if embedding.graph is not None:
        return embedding.graph
    if embedding.ties is None or embedding.is_directed:
        held = "the directions of ties" if embedding.is_directed else "ties"
        raise ValueError(
            "suggest needs the graph, to know which pairs have no tie, and the embedding holds "
            f"no {held}: "
            "give it with graph="
        )
    return embedding.ties


def calibrate(embedding: Embedding, *, quiet: bool = True) -> Calibration:
    """Learn from hidden ties what makes a tie likely, unless ``run.json`` says it."""
    graph = graph_of(embedding)
    known: Calibration | None = vars(embedding).get(_REMEMBERED) or Calibration.from_json(
        embedding.record.suggest
    )
    if known is None or known.fingerprint != graph.fingerprint:
        with bar("learning from hidden ties", 1.0, show=not quiet) as update:
            known = learn(graph, update)
    vars(embedding)[_REMEMBERED] = known
    return known


def _on_the_map(embedding: Embedding, pairs: Ints) -> tuple[Floats, Floats]:
    """The distances of pairs [k], and the share of nodes [k] that are nearer to one of the two than
    the other is.
    """
    distances, nearness = np.empty(len(pairs)), np.full(len(pairs), math.inf)
    for side in (1, 0):
        for row in np.unique(pairs[:, side]):
            mine = pairs[:, side] == row
            others, far = pairs[mine, 1 - side], embedding.distances_from(int(row))
            shares = (np.searchsorted(np.sort(far), far[others]) - 1.0) / max(1, len(far) - 1)
            nearness[mine] = np.minimum(nearness[mine], shares)
            if side == 0 and embedding.is_directed:
                far = embedding.scores(np.array([row]))[0]
            distances[mine] = far[others]
    return distances, nearness


def _reason(evidence: Evidence, i: int, j: int, nearness: float) -> str:
    """Why two nodes may be tied, in words."""
    parts = ["tied the other way"] if evidence.graph.is_directed and evidence.arcs[j, i] else []
    offsets, nodes = evidence.graph.neighbor_lists
    mine, theirs = (nodes[offsets[node] : offsets[node + 1]] for node in (i, j))
    if shared := len(np.intersect1d(mine, theirs)):
        parts.append(f"{shared} common neighbour{'s' * (shared != 1)}")
    else:
        three = any(
            np.isin(nodes[offsets[node] : offsets[node + 1]], theirs).any() for node in mine
        )
        parts.append("their neighbours are tied" if three else "no short path")
    if nearness <= _NEAR:
        parts.append("near on the map")
    elif nearness > _FAR:
        parts.append("far apart on the map")
    return "; ".join(parts)
