"""The HTML table that a notebook shows for a graph."""

from collections.abc import Collection, Iterable, Sequence
from html import escape

import numpy as np

from .base import BaseGraph
from .fold import policy_words

_TOP = 5
_LONGEST = 80


def summary(graph: BaseGraph) -> str:
    """Sizes, weights, data cleaning, and the nodes with the strongest ties."""
    rows = [("nodes", f"{len(graph.ids):,}"), ("ties", f"{len(graph.edges):,}")]
    if graph.source:
        rows.insert(0, ("source", graph.source))
    if len(graph.capacities):
        low, high = graph.capacities[0], graph.capacities[-1]
        weights = f"all {low:g}" if low == high else f"{low:g} to {high:g} ({len(graph.capacities):,} different ones)"
        rows.append(("weights", weights))
    if graph.attributes:
        rows.append(("columns of nodes", ", ".join(graph.attributes)))
    rows += [(policy_words(policy), f"{count:,}") for policy, count in graph.policies.items()]
    facts = html_table("Graph", [(text(name), text(value)) for name, value in rows])
    if not len(graph.edges):
        return f"<div>{facts}</div>"
    labels, top = graph.labels or {}, np.argsort(-graph.strength, kind="stable")[:_TOP].tolist()
    names = [node if (label := labels.get(node)) is None else label for node in (graph.ids[row] for row in top)]
    strongest = [
        (text(name), f"{graph.strength[row]:g}", str(graph.degree[row])) for name, row in zip(names, top, strict=True)
    ]
    return f"<div>{facts}{html_table('Strongest nodes', strongest, ('node', 'strength', 'ties'))}</div>"


def html_table(
    caption: str, rows: Iterable[Sequence[str]], heads: Sequence[str] = (), left: Collection[int] = (0,)
) -> str:
    """A table of cells that are markup already, those of the columns ``left`` to the left."""

    def line(cells: Sequence[str], first: str, others: str) -> str:
        tags = (first, *[others] * (len(cells) - 1))
        sides = (' style="text-align:left"' if k in left else "" for k in range(len(cells)))
        parts = zip(tags, sides, cells, strict=True)
        return f"<tr>{''.join(f'<{tag}{side}>{cell}</{tag}>' for tag, side, cell in parts)}</tr>"

    head = f"<thead>{line(heads, 'th', 'th')}</thead>" if heads else ""
    body = "".join(line(row, "td" if heads else "th", "td") for row in rows)
    return f"<table><caption>{caption}</caption>{head}<tbody>{body}</tbody></table>"


def text(value: object) -> str:
    """Text with markup escaped, cut where it is long."""
    shown = str(value)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")
