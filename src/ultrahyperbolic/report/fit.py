"""How well an embedding fits its graph: four measures, each with a plain sentence."""

from collections.abc import Iterable, Mapping
from html import escape

import numpy as np

from ..evaluation import reservations
from ..graph import Graph
from .contents import Contents
from .markup import join_words, percent, short_name, table


def tiles(contents: Contents) -> str:
    """The measures in tiles of a title, a number and a sentence each."""
    measures = contents.measures
    chance = by_chance(contents.graph) if contents.graph is not None else {}
    found = list(_tiles(measures, chance))
    if not found:
        return (
            '<p class="absent">This run has no recorded measures. '
            "To compute them: <code>ultrahyperbolic evaluate FOLDER</code>.</p>"
        )
    cells = (
        f'<div class="tile"><h3>{title}</h3><strong>{number}</strong><span>{words}</span><small>{more}</small></div>'
        for title, number, words, more in found
    )
    return f'<div class="tiles">{"".join(cells)}</div>{_long_ties(contents)}'


def _long_ties(contents: Contents) -> str:
    """The table of the strong ties that came out long; empty where there are none."""
    if contents.graph is None or not contents.distances.long:
        return ""
    alike = len(contents.graph.capacities) == 1
    rows = [
        [" – ".join(short_name(contents.called[row]) for row in tie.ends), f"{tie.weight:.6g}", f"{tie.length:.3f}",
         f"{percent(tie.longer_than)} of ties"]
        for tie in contents.distances.long
    ]  # fmt: skip
    words = "These ties" if alike else "These ties are among the strongest quarter, and"
    heads = ("tie", "weight", "distance", "longer than")
    return (
        f"<h3>{'Ties' if alike else 'Strong ties'} that came out long</h3><p>{words} lie far apart on the map: here it "
        f"says the least about the network.</p>{table('long', heads, rows, extra=(2,))}"
    )


def _tiles(measures: Mapping[str, float], chance: Mapping[str, float]) -> Iterable[tuple[str, str, str, str]]:
    """For each measure that is known: a title, a number, a sentence and details."""
    if "map" in measures:
        words = "How cleanly each node’s neighbours come before all other nodes when sorted by distance. 1 is perfect."
        guess = f"; chance level: {chance['map']:.3f}" if "map" in chance else ""
        more = f"Mean average precision (mAP){guess}."
        if "recall_at_1" in measures:
            guess = f" (Recall@1; chance level: {percent(chance['recall_at_1'])})" if "recall_at_1" in chance else ""
            nearest = percent(measures["recall_at_1"])
            more += f" For {nearest} of the nodes, the nearest node is a neighbour{guess}."
        yield "Neighbours", f"{measures['map']:.3f}", words, more
    if "violated_orders" in measures:
        words = "How often a tied pair lies closer together than an untied pair."
        more = f"The other {percent(measures['violated_orders'])} are violated orders. Chance level: 50 %."
        yield "Ties and gaps", percent(1 - measures["violated_orders"]), words, more
    if "tie_order" in measures:
        words = "How often the stronger of two ties is the shorter one."
        more = "Tie order. Chance level: 50 %."
        if "strongest_tie" in measures:
            more += f" For {percent(measures['strongest_tie'])} of the nodes, the nearest node is a strongest tie."
        yield "Strong and weak ties", percent(measures["tie_order"]), words, more
    if "spearman_all" in measures:
        words = "How well the ranking agrees with strength, the sum of a node’s tie weights. 1 is perfect, 0 is chance."
        more = f"Spearman’s ρ. {_compared(measures)}"
        if "stability" in measures:
            more += f" Rankings of different seeds agree with each other by ρ = {measures['stability']:.3f}."
        yield "Hierarchy", f"{measures['spearman_all']:.3f}", words, more


def warnings(measures: Mapping[str, float]) -> str:
    """Warnings for the top of the page, about what the map and the ranking do not show; often empty."""
    said = [f"{words[0].upper()}{words[1:]}" for words in reservations(measures)]
    return "".join(f'<p class="warning" role="note"><strong>Note:</strong> {escape(words)}.</p>' for words in said)


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
    """The same correlation for centralities that need no embedding."""
    others = {"PageRank": "spearman_all_pagerank", "closeness": "spearman_all_closeness", "norm": "spearman_all_norm"}
    found = {name: measures[key] for name, key in others.items() if key in measures}
    if not found:
        return "Strength itself has 1."
    better = [name for name, value in found.items() if value > measures["spearman_all"]]
    words = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
    agree = "agree" if len(better) > 1 else "agrees"
    end = f"{join_words(better)} {agree} more closely with strength" if better else "all agree less with strength"
    return f"For comparison: {words}; {end}."
