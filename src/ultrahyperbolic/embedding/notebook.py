"""What a notebook shows of an embedding: a small table, with no script and nothing to load."""

from __future__ import annotations

from html import escape

import numpy as np

from ..verdict import reservations, shows_hierarchy
from .answers import label_texts
from .placed import Placed
from .record import RunRecord

_TOP = 5
# Showing a value must not start minutes of work: sums over all pairs are taken up to here, unless they are known.
_SUMMED_NODES = 5000
_MEASURES = {
    "map": "mean average precision",
    "recall_at_1": "nearest node is a neighbour",
    "violated_orders": "share of comparisons that are wrong",
    "tie_order": "of two ties, the stronger is shorter",
    "spearman_all": "agreement of rank and strength (ρ)",
    "mean_rank": "mean rank",
}


def summary(embedding: Placed) -> str:
    """Geometry, training, measures and the nodes with the smallest δ."""
    rows = [("nodes", f"{len(embedding):,}"), ("geometry", _geometry(embedding)), *_training(embedding.record)]
    measures = embedding.record.measures
    rows += [(words, f"{measures[name]:.4g}") for name, words in _MEASURES.items() if name in measures]
    rows += [("note", escape(words)) for words in reservations(measures)]
    parts = ["<table><caption>Embedding</caption><tbody>"]
    parts += [f'<tr><th style="text-align:left">{escape(name)}</th><td>{value}</td></tr>' for name, value in rows]
    parts.append("</tbody></table>")
    if len(embedding) <= _SUMMED_NODES or "delta" in vars(embedding):
        top = np.argsort(embedding.rank)[:_TOP]
        caption = "The top of the hierarchy" if shows_hierarchy(measures) else "Nodes by δ"
        parts.append(f"<table><caption>{caption}</caption>")
        named = bool(embedding.labels)
        heads = '<th style="text-align:left">node</th>' + '<th style="text-align:left">label</th>' * named
        parts.append(f"<thead><tr><th>rank</th>{heads}<th>δ</th></tr></thead><tbody>")
        for rank, row in enumerate(top.tolist(), start=1):
            node = embedding.ids[row]
            names = [str(node)] + label_texts([node], embedding.labels) * named
            cells = "".join(f'<td style="text-align:left">{escape(_shortened(name))}</td>' for name in names)
            place = f"{rank}{_interval(embedding, row)}"
            parts.append(f"<tr><td>{place}</td>{cells}<td>{embedding.delta[row]:.6g}</td></tr>")
        parts.append("</tbody></table>")
        if embedding.record.ranks is not None:
            parts.append(f"<div>In brackets: {escape(embedding.record.ranks.text)}.</div>")
    return "<div>" + "".join(parts) + "</div>"


def _geometry(embedding: Placed) -> str:
    geometry = embedding.geometry
    if geometry is None:
        return escape(str(embedding.manifold))
    return geometry.markup if geometry.is_flat else f"{geometry.markup}, β = {geometry.beta:g}"


def _interval(embedding: Placed, row: int) -> str:
    """The ranks of a node over the seeds, in brackets, where they are known."""
    found = embedding.rank_intervals
    return "" if found is None else f" ({found.low[row]}–{found.high[row]})"


def _training(record: RunRecord) -> list[tuple[str, str]]:
    rows = []
    if record.graph is not None and record.graph.source:
        rows.append(("graph", escape(_shortened(record.graph.source))))
    if record.stopped is not None:
        rows.append(("training", escape(_shortened(f"seed {record.seed}: {record.stopped.text}"))))
    if record.result is not None and record.result.best_loss is not None:
        rows.append(("best loss", f"{record.result.best_loss:.6g}"))
    return rows


def _shortened(text: str) -> str:
    """Text that does not make the table a mile wide."""
    return text if len(text) <= 80 else text[:79] + "…"
