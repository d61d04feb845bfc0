"""How well an embedding fits its graph, in tiles of one number each."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from ..evaluation import reservations
from ..graph import Graph
from .contents import Contents
from .markup import join_words, percent


def tiles(contents: Contents) -> str:
    """How well it fits, in tiles of one number and a sentence each, and what it does not show."""
    measures = contents.measures
    chance = by_chance(contents.graph) if contents.graph is not None else {}
    found = []
    if "map" in measures:
        guess = f"; by guessing {chance['map']:.3f}" if "map" in chance else ""
        words = "is the mean average precision of the neighbours: 1 if they all come before all others"
        found.append((f"{measures['map']:.3f}", words, f"mAP{guess}."))
    if "recall_at_1" in measures:
        guess = f"; by guessing {percent(chance['recall_at_1'])}" if "recall_at_1" in chance else ""
        words = "of nodes have a neighbour as their nearest node"
        found.append((percent(measures["recall_at_1"]), words, f"Recall@1{guess}."))
    if "violated_orders" in measures:
        kept = percent(1 - measures["violated_orders"])
        words = "of all comparisons of a tie with a non-tie find the tie shorter"
        found.append((kept, words, f"Violated orders {percent(measures['violated_orders'])}; by guessing 50 %."))
    if "tie_order" in measures:
        words = "of all comparisons of a stronger tie with a weaker one find the stronger shorter"
        found.append((percent(measures["tie_order"]), words, "Tie order; by guessing 50 %."))
    if "spearman_all" in measures:
        words = "is Spearman's correlation of height and strength, the sum of a node's weights: 1 if they agree"
        found.append((f"{measures['spearman_all']:.3f}", words, _compared(measures)))
    if not found:
        return (
            '<p class="absent">The record of this training holds no measures; '
            "<code>ultrahyperbolic evaluate</code> takes them.</p>"
        )
    cells = (f'<div class="tile"><strong>{a}</strong><span>{b}</span><small>{c}</small></div>' for a, b, c in found)
    notes = "".join(f'<p role="note"><strong>Note:</strong> {escape(words)}.</p>' for words in reservations(measures))
    return f'<div class="tiles">{"".join(cells)}</div>{notes}'


def by_chance(graph: Graph) -> dict[str, float]:
    """What Recall@1 and mAP are on average if nodes are ranked at random.

    With N others of which k are neighbours, a random node is one with chance k/N, and the mean average precision of a
    random order is (k-1)/(N-1) + H_N/N · (1 - (k-1)/(N-1)).
    """
    others, degree = graph.n_nodes - 1, graph.degree[~graph.isolated].astype(np.float64)
    if others < 2 or not len(degree):
        return {}
    harmonic = float((1.0 / np.arange(1, others + 1)).sum())
    rest = (degree - 1.0) / (others - 1.0)
    precision = rest + harmonic / others * (1.0 - rest)
    return {"recall_at_1": float(degree.mean() / others), "map": float(precision.mean())}


def _compared(measures: Mapping[str, float]) -> str:
    """The same correlation of what needs no embedding."""
    others = {"PageRank": "spearman_all_pagerank", "closeness": "spearman_all_closeness", "norm": "spearman_all_norm"}
    found = {name: measures[key] for name, key in others.items() if key in measures}
    if not found:
        return "Strength itself has 1."
    better = [name for name, value in found.items() if value > measures["spearman_all"]]
    words = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
    end = (
        f"{join_words(better)} {'follow' if len(better) > 1 else 'follows'} strength more closely"
        if better
        else "all less"
    )
    return f"Without an embedding: {words}; {end}."
