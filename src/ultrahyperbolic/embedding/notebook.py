"""What a notebook shows of an embedding: a small table, with no script and nothing to load."""

from __future__ import annotations

from html import escape

import numpy as np

from ..evaluation.verdict import reservations, shows_hierarchy
from .placed import Placed
from .record import RunRecord

_TOP = 5
# Showing a value must not start minutes of work: sums over all pairs are taken up to here, unless they are known.
_SUMMED_NODES = 5000
_MEASURES = {
    "map": "mean average precision",
    "recall_at_1": "recall at 1",
    "violated_orders": "violated orders",
    "tie_order": "tie order",
    "spearman_all": "Spearman with strength",
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
        parts.append('<thead><tr><th>rank</th><th style="text-align:left">node</th><th>δ</th></tr></thead><tbody>')
        for rank, row in enumerate(top, start=1):
            name = escape(_shortened(str(embedding.ids[int(row)])))
            delta = f"{embedding.delta[row]:.6g}"
            place = f"{rank}{_interval(embedding, int(row))}"
            parts.append(f'<tr><td>{place}</td><td style="text-align:left">{name}</td><td>{delta}</td></tr>')
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
