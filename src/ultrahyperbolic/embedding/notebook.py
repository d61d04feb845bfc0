"""What a notebook shows of an embedding: a small table, with no script and nothing to load."""

from __future__ import annotations

from html import escape

import numpy as np

from .placed import Placed
from .record import RunRecord

_TOP = 5
# Showing a value must not start minutes of work: sums over all pairs are taken up to here, unless they are known.
_SUMMED_NODES = 5000
_MEASURES = {
    "violated_orders": "violated orders",
    "recall_at_1": "recall at 1",
    "map": "mean average precision",
    "mean_rank": "mean rank",
    "spearman_all": "Spearman with strength",
}


def summary(embedding: Placed) -> str:
    """Geometry, training, measures and the top of the hierarchy."""
    rows = [("nodes", f"{len(embedding):,}"), ("geometry", _geometry(embedding)), *_training(embedding.record)]
    measures = embedding.record.measures
    rows += [(words, f"{measures[name]:.4g}") for name, words in _MEASURES.items() if name in measures]
    parts = ["<table><caption>Embedding</caption><tbody>"]
    parts += [f'<tr><th style="text-align:left">{escape(name)}</th><td>{value}</td></tr>' for name, value in rows]
    parts.append("</tbody></table>")
    if len(embedding) <= _SUMMED_NODES or "delta" in vars(embedding):
        top = np.argsort(embedding.rank)[:_TOP]
        parts.append("<table><caption>The top of the hierarchy</caption>")
        parts.append('<thead><tr><th>rank</th><th style="text-align:left">node</th><th>δ</th></tr></thead><tbody>')
        for rank, row in enumerate(top, start=1):
            name = escape(_shortened(str(embedding.ids[int(row)])))
            delta = f"{embedding.delta[row]:.6g}"
            parts.append(f'<tr><td>{rank}</td><td style="text-align:left">{name}</td><td>{delta}</td></tr>')
        parts.append("</tbody></table>")
    return "<div>" + "".join(parts) + "</div>"


def _geometry(embedding: Placed) -> str:
    geometry = embedding.geometry
    if geometry is None:
        return escape(str(embedding.manifold))
    return geometry.markup if geometry.is_flat else f"{geometry.markup}, β = {geometry.beta:g}"


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
