"""The HTML table that a notebook shows for a graph."""

from __future__ import annotations

from html import escape

import numpy as np

from .base import BaseGraph
from .fold import policy_words

_TOP = 5
_LONGEST = 80


def summary(graph: BaseGraph) -> str:
    """Sizes, weights, data cleaning, and the nodes with the strongest ties."""
    rows = [("nodes", f"{len(graph.ids):,}"), ("edges", f"{len(graph.edges):,}")]
    if graph.source:
        rows.insert(0, ("source", graph.source))
    if len(graph.capacities):
        low, high = graph.capacities[0], graph.capacities[-1]
        weights = f"all {low:g}" if low == high else f"{low:g} to {high:g} ({len(graph.capacities):,} different ones)"
        rows.append(("weights", weights))
    if graph.attributes:
        rows.append(("columns of nodes", ", ".join(graph.attributes)))
    rows += [(policy_words(policy), f"{count:,}") for policy, count in graph.policies.items()]
    parts = ["<table><caption>Graph</caption><tbody>"]
    for name, value in rows:
        parts.append(f'<tr><th style="text-align:left">{_text(name)}</th><td>{_text(value)}</td></tr>')
    parts.append("</tbody></table>")
    if len(graph.edges):
        parts.append("<table><caption>Strongest nodes</caption><thead><tr>")
        parts.append('<th style="text-align:left">node</th><th>strength</th><th>ties</th></tr></thead><tbody>')
        labels = graph.labels or {}
        for row in np.argsort(-graph.strength, kind="stable")[:_TOP].tolist():
            node = graph.ids[row]
            label = labels.get(node)
            cells = f"<td>{graph.strength[row]:g}</td><td>{graph.degree[row]}</td>"
            parts.append(f'<tr><td style="text-align:left">{_text(node if label is None else label)}</td>{cells}</tr>')
        parts.append("</tbody></table>")
    return "<div>" + "".join(parts) + "</div>"


def _text(value: object) -> str:
    """Text with markup escaped, cut where it is long."""
    text = str(value)
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
