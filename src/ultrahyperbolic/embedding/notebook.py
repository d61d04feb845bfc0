"""What a notebook shows of an embedding: a small table, with no script and nothing to load."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..graph.notebook import html_table, text
from ..verdict import reservations, shows_hierarchy
from .answers import interval_words, ranking, ranks_in_words

if TYPE_CHECKING:
    from .embedding import Embedding

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


def summary(embedding: Embedding) -> str:
    """Geometry, training, measures and the nodes with the smallest δ."""
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
    rows += [(words, f"{measures[name]:.4g}") for name, words in _MEASURES.items() if name in measures]
    rows += [("note", escape(words)) for words in reservations(measures)]
    parts = [html_table("Embedding", rows)]
    if len(embedding) <= _SUMMED_NODES or "delta" in vars(embedding):
        caption = "The top of the hierarchy" if shows_hierarchy(measures) else "Nodes by δ"
        table = ranking(embedding, _TOP)
        ranks, deltas = ranks_in_words(table), (f"{delta:.6g}" for delta in table["delta"])
        names = [map(text, table[name]) for name in ("node", "label") if name in table]
        heads = ("rank", *("node", "label")[: len(names)], "δ")
        parts.append(html_table(caption, zip(ranks, *names, deltas, strict=True), heads, left=(1, 2)[: len(names)]))
        parts.append(f"<div>In brackets: {escape(interval_words(embedding))}.</div>")
    return f"<div>{''.join(parts)}</div>"
