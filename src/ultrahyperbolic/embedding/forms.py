"""An embedding as tables and graphs for other libraries, as a notebook shows it, and measured by
directions.
"""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from ..evaluation.directed import directed_measures
from ..graph import Graph
from ..graph.heights import flow
from ..graph.markup import html_table, text
from ..pairs import distances_from
from ..spaces import Space
from ..verdict import MEANINGS, RANKED, reservations
from .answers import (
    Columns,
    label_texts,
    names_at,
    ranked_by,
    ranking,
    ranks_in_words,
    rows_of,
    score_column,
    with_attributes,
)

if TYPE_CHECKING:
    import networkx
    import pandas

    from .embedding import Embedding

_TOP = 5  # nodes that a notebook shows
# Showing a value must not start minutes of work: sums over all pairs are taken up to here, unless
# they are known.
_SUMMED_NODES = 5000


def frame(columns: Columns) -> pandas.DataFrame:
    """Columns as a data frame; ids keep their types."""
    import pandas as pd

    plain: dict[str, object] = dict(columns)
    for name in ("of", "node"):
        ids = columns.get(name, [])
        if not (
            all(isinstance(node, str) for node in ids)
            or all(type(node) in (int, float) for node in ids)
        ):
            plain[name] = pd.Series(
                list(ids), dtype=object
            )  # of tuples, say, which a data frame takes for a table
    return pd.DataFrame(plain)


def to_pandas(embedding: Embedding) -> pandas.DataFrame:
    """One row per node, in the order of the graph."""
    rows = np.arange(len(embedding))
    columns = names_at(embedding, rows) | {
        f"x{k}": embedding.points[:, k] for k in range(embedding.points.shape[1])
    }
    return frame(with_attributes(columns | _scores(embedding), embedding, rows))


def _scores(embedding: Embedding) -> Columns:
    """What is known of every node beside its place."""
    found: Columns = {"rank": embedding.rank, "delta": embedding.delta}
    if embedding.centrality is not None:
        found["centrality"] = embedding.centrality.values
    return found if embedding.popularity is None else found | {"popularity": embedding.popularity}


def to_networkx(embedding: Embedding) -> networkx.Graph:
    """The graph, or its nodes alone, with what is known of each node."""
    import networkx as nx

    result = nx.Graph() if embedding.graph is None else embedding.graph.to_networkx()
    own: Columns = {
        "label": label_texts(embedding.ids, embedding.labels),
        "point": embedding.points,
    }
    table = with_attributes(own | _scores(embedding), embedding, np.arange(len(embedding)))
    for node, known in zip(embedding.ids, rows_of(table), strict=True):
        label = known.pop("label")
        result.add_node(node, **known)
        if label:
            result.nodes[node].setdefault("label", label)
    return result


def measures_of_directions(embedding: Embedding, graph: Graph) -> dict[str, float]:
    """The measures by the directions of ties, of nodes in the same order; none where ties have no
    directions.
    """
    if not (embedding.is_directed and graph.is_directed):
        return {}
    arcs, weights = graph.arcs
    found = directed_measures(
        embedding.scores, embedding.scores_in, arcs, weights, embedding.heights
    )
    whole = flow(graph.n_nodes, arcs, weights)
    return found | {"circulation": whole.circulation, "incoherence": whole.incoherence}


def landmarks(manifold: Space, points: Floats, k: int) -> Ints:
    """The rows of at most k points that are far from each other, each the farthest from those
    before it.
    """
    chosen, far = [int(roots(manifold, points[0], points).argmax())], np.full(len(points), np.inf)
    while len(chosen) < min(k, len(points)):
        far = np.minimum(far, roots(manifold, points[chosen[-1]], points))
        far[chosen] = -np.inf
        chosen.append(int(far.argmax()))
    return np.array(chosen)


def roots(manifold: Space, here: Floats, there: Floats) -> Floats:
    """[n] the roots of the distances of a point [d] to points [n, d]."""
    return np.sqrt(np.maximum(distances_from(manifold, here, there), 0.0))


def to_html(embedding: Embedding) -> str:
    """A small table, with no script and nothing to load: geometry, training, measures and the most
    central nodes.
    """
    geometry = embedding.geometry
    where = escape(str(embedding.manifold)) if geometry is None else geometry.markup
    if geometry is not None and not geometry.is_flat:
        where += f", β = {geometry.beta:g}"
    rows = [("nodes", f"{len(embedding):,}"), ("geometry", where)]
    record, measures = embedding.record, embedding.record.measures
    if record.graph is not None and record.graph.source:
        rows.append(("graph", text(record.graph.source)))
    if record.stopped is not None:
        rows.append(("training", text(f"seed {record.seed}: {record.stopped.text}")))
    if record.result is not None and record.result.best_loss is not None:
        rows.append(("best loss", f"{record.result.best_loss:.6g}"))
    rows += [
        (words, f"{measures[name]:.4g}")
        for name, words in islice(MEANINGS.items(), 6)
        if name in measures
    ]
    notes = reservations(measures, unfinished=record.unfinished)
    rows += [("note", escape(words)) for words in notes]
    parts = [html_table("Embedding", rows)]
    if len(embedding) <= _SUMMED_NODES or "delta" in vars(embedding):
        table, by = ranking(embedding, _TOP), ranked_by(embedding)
        names = [map(text, table[name]) for name in ("node", "label") if name in table]
        scores = (f"{value:.6g}" for value in table[score_column(embedding, by)])
        heads = ("rank", *("node", "label")[: len(names)], by)
        cells = zip(ranks_in_words(table), *names, scores, strict=True)
        parts.append(html_table(RANKED[by].capitalize(), cells, heads, left=(1, 2)[: len(names)]))
    return f"<div>{''.join(parts)}</div>"
