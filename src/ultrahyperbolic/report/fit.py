"""How well an embedding fits its graph, in tiles with a plain sentence each, and the comparison of
geometries.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape

import numpy as np

from ..checks import is_number
from ..embedding.record import Json
from ..graph import Graph
from ..verdict import of_hidden_ties, reservations
from .contents import Contents
from .words import join_words, percent, short_name, table

Row = Mapping[str, Json]
_EXTRA = ("mAP", "tie order", "iterations")  # columns that narrow screens leave out


def tiles(contents: Contents) -> str:
    """The measures in tiles of a title, a number and a sentence each."""
    chance = by_chance(contents.graph) if contents.graph is not None else {}
    found = list(_tiles(contents.measures, chance))
    if not found:
        return (
            '<p class="absent">This run has no recorded measures. '
            "To compute them: <code>ultrahyperbolic evaluate FOLDER</code>.</p>"
        )
    cells = (
        f'<div class="tile"><h3>{title}</h3><strong>{number}</strong><span>{words}</span>'
        f"<small>{more}</small></div>"
        for title, number, words, more in found
    )
    ties = 0 if contents.graph is None else contents.graph.n_edges
    hidden = _sentence(of_hidden_ties(contents.embedding.record.held_out, ties))
    return (
        f'<p class="hidden-ties">{hidden}</p><div class="tiles">{"".join(cells)}</div>'
        f"{_long_ties(contents)}"
    )


def _long_ties(contents: Contents) -> str:
    """The table of the strong ties that came out long; empty where there are none."""
    if contents.graph is None or not contents.distances.long:
        return ""
    alike = len(contents.graph.capacities) == 1
    rows = [
        [
            " – ".join(short_name(contents.called[row]) for row in tie.ends),
            f"{tie.weight:.6g}",
            f"{tie.length:.3f}",
            f"{percent(tie.longer_than)} of ties",
        ]
        for tie in contents.distances.long
    ]
    words = "These ties" if alike else "These ties are among the strongest quarter, and"
    heads = ("tie", "weight", "distance", "longer than")
    return (
        f"<h3>{'Ties' if alike else 'Strong ties'} that came out long</h3><p>{words} lie far "
        "apart on the map: do "
        f"not trust the map here.</p>{table('long', heads, rows, extra=(2,))}"
    )


def _tiles(
    measures: Mapping[str, float], chance: Mapping[str, float]
) -> Iterator[tuple[str, str, str, str]]:
    """For each measure that is known: a title, a number, a sentence and details."""
    if "map" in measures:
        words = (
            "How cleanly each node’s neighbours come before all other nodes when sorted by "
            "distance. 1 is perfect."
        )
        guess = f"; chance level: {chance['map']:.3f}" if "map" in chance else ""
        more = f"Mean average precision (mAP){guess}."
        if "recall_at_1" in measures:
            guess = (
                f" (Recall@1; chance level: {percent(chance['recall_at_1'])})"
                if "recall_at_1" in chance
                else ""
            )
            more += (
                f" For {percent(measures['recall_at_1'])} of the nodes, the nearest node is a "
                f"neighbour{guess}."
            )
        yield "Neighbours", f"{measures['map']:.3f}", words, more
    if "violated_orders" in measures:
        words = "How often a tied pair lies closer together than an untied pair."
        more = (
            f"The other {percent(measures['violated_orders'])} are violated orders. Chance level: "
            "50 %."
        )
        yield "Ties and non-ties", percent(1 - measures["violated_orders"]), words, more
    if "tie_order" in measures:
        words = "How often the stronger of two ties is the shorter one."
        more = "Tie order. Chance level: 50 %."
        if "strongest_tie" in measures:
            more += (
                f" For {percent(measures['strongest_tie'])} of the nodes, the nearest node is a "
                "strongest tie."
            )
        yield "Strong and weak ties", percent(measures["tie_order"]), words, more
    if "delta_centrality" in measures:
        words = (
            "How well δ, the sum of a node’s distances, agrees with its centrality. 1 is perfect, "
            "0 is chance."
        )
        more = "Spearman’s ρ. The ranking comes from the network itself, not from the map."
        yield "Map and centrality", f"{measures['delta_centrality']:.3f}", words, more


def warnings(measures: Mapping[str, float], *, unfinished: bool) -> str:
    """Warnings for the top of the page, about what the map and the ranking do not show; often
    empty.
    """
    return "".join(
        f'<p class="warning" role="note"><strong>Note:</strong> {_sentence(words)}</p>'
        for words in reservations(measures, unfinished=unfinished)
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{escape(words[1:])}."


def by_chance(graph: Graph) -> dict[str, float]:
    """What Recall@1 and mAP are on average if nodes are ranked at random.

    With N others of which k are neighbours, a random node is one with chance k/N, and the mean
    average precision of a random order is (k-1)/(N-1) + H_N/N · (1 - (k-1)/(N-1)).
    """
    others, degree = graph.n_nodes - 1, graph.degree[~graph.isolated].astype(np.float64)
    if others < 2 or not len(degree):
        return {}
    harmonic = float((1.0 / np.arange(1, others + 1)).sum())
    rest = (degree - 1.0) / (others - 1.0)
    precision = rest + harmonic / others * (1.0 - rest)
    return {"recall_at_1": float(degree.mean() / others), "map": float(precision.mean())}


def selection(found: Mapping[str, Json] | None) -> str:
    """The section with the table of ``select``; nothing where it did not run."""
    rows = None if found is None else found.get("rows")
    if found is None or not isinstance(rows, list):
        return ""
    known = [row for row in rows if isinstance(row, Mapping)]
    winner, by_links = found.get("winner"), found.get("by") == "links"
    cells: dict[str, Callable[[Row], str]] = {
        "held-out accuracy" if by_links else "score": lambda row: _number(row.get("score"), ".4f"),
        "mAP": lambda row: _number(row.get("map"), ".3f"),
        "tie order": lambda row: _number(row.get("tie_order"), ".3f"),
        "violated orders": lambda row: _share(row.get("violated_orders")),
        "difference from the best": lambda row: _difference(row, winner),
        "iterations": lambda row: _number(row.get("iterations"), ",.0f"),
    }
    columns = {head: cell for head, cell in cells.items() if any(map(cell, known))}
    names = [_geometry(row.get("geometry", "")) for row in known]
    lines = [
        [
            f"<strong>{name}</strong> (chosen)" if row.get("geometry") == winner else name,
            *(cell(row) for cell in columns.values()),
        ]
        for name, row in zip(names, known, strict=True)
    ]
    extra = tuple(k for k, head in enumerate(columns, start=1) if head in _EXTRA)
    scores = (
        "Held-out accuracy: how often a tie that was hidden from training lies closer together "
        "than an untied pair. Chance level is 0.5; 1 is best."
        if by_links
        else "The score is the mean of mAP and tie order (mAP alone where all weights are equal); "
        "1 is best."
    )
    return (
        '<section id="select" aria-labelledby="select-title"><h2 id="select-title">Choosing the '
        f"geometry</h2><p>{_choice(found)}</p>"
        f"{table('choices', ['geometry', *columns], lines, extra=extra)}<p>{scores}</p></section>"
    )


def _choice(found: Mapping[str, Json]) -> str:
    """The winner, the geometries within noise of it, and the prior."""
    winner = found.get("winner")
    words = [f"Chosen: {_geometry(winner)}."] if winner else []
    near = found.get("within_noise_of")
    others = [_geometry(name) for name in near if name != winner] if isinstance(near, list) else []
    if others:
        words.append(f"Within two standard errors of it across the seeds: {join_words(others)}.")
    elif found.get("seeds") == 1:
        words.append("With one seed, differences may be noise.")
    prior = found.get("prior")
    if isinstance(prior, Mapping) and prior:
        hints = (f"{_geometry(name)} {_number(value, '.3f')}" for name, value in prior.items())
        words.append(f"Prior from the shape of the graph: {', '.join(hints)}.")
    return " ".join(words)


def _difference(row: Row, winner: Json) -> str:
    mean, error = row.get("difference"), row.get("difference_error")
    if not is_number(mean) or row.get("geometry") == winner:
        return ""
    return f"{mean:+.4f} ± {error:.4f}" if is_number(error) else f"{mean:+.4f}"


def _share(value: Json) -> str:
    return f"{100 * value:.2f} %" if is_number(value) else ""


def _geometry(name: Json) -> str:
    """Q^{3,1} or R^4 as HTML.

    >>> _geometry("Q^{3,1}"), _geometry("R^4"), _geometry("<b>")
    ('<i>Q</i><sup>3,1</sup>', '<i>R</i><sup>4</sup>', '&lt;b&gt;')
    """
    return re.sub(
        r"\b([QR])\^[{(]?(\d+(?:,\d+)?)[})]?", r"<i>\1</i><sup>\2</sup>", escape(str(name))
    )


def _number(value: Json, form: str) -> str:
    return f"{value:{form}}" if is_number(value) else escape(str(value or ""))
