"""What the page says: fragments of HTML, with everything that came from elsewhere escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ..geometry import Manifold, PseudoHyperboloid
from ..graph import Graph
from ..graph.columns import Columns
from ..graph.fold import policy_words
from ..loop import INTERRUPTED, unfinished
from .choice import MOST_EDGES
from .contents import Contents
from .distances import KINDS
from .markup import join_words, percent, table

_TITLE_CHARACTERS = 80
_KIND_WORDS = {
    "space-like": "joined by a geodesic that runs off as in hyperbolic space; any distance",
    "null": "on each other's light cone, to rounding, or at the same place: distance 0",
    "time-like": "joined by a geodesic that comes back as on a sphere; below π√|β|",
    "joined by no geodesic": "too far round for any geodesic; D_γ continues straight on from π/2 √|β|",
}


def title(contents: Contents) -> str:
    """What and where, as text."""
    return f"{_source(contents)} on {geometry_name(contents.embedding.manifold)}"


def heading(contents: Contents) -> str:
    """The same, as a heading."""
    return f"<bdi>{escape(_source(contents))}</bdi> on {_geometry_markup(contents.embedding.manifold)}"


def geometry_name(manifold: Manifold) -> str:
    """A geometry in a line of text.

    >>> geometry_name(PseudoHyperboloid(3, 1))
    'Q^(3,1)'
    """
    return f"Q^({manifold.p},{manifold.q})" if isinstance(manifold, PseudoHyperboloid) else f"R^{manifold.dim}"


def unfinished_note(run: Mapping[str, Any]) -> str:
    """That the training stopped early, for the top of the page; nothing where it did not."""
    stopped, iterations, config = run.get("stopped"), run.get("iterations"), run.get("config")
    if not unfinished(stopped):
        return ""
    total = config.get("iterations") if isinstance(config, dict) else None
    words = f"This training is unfinished: {escape(str(stopped))}"
    if isinstance(iterations, int) and isinstance(total, int):
        words += f" after {iterations:,} of {total:,} iterations"
    more = "" if stopped == INTERRUPTED else " --time-limit SECONDS"
    command = f" To continue: <code>ultrahyperbolic embed --resume FOLDER{more}</code>." if "training" in run else ""
    return f'<p class="unfinished" role="note"><strong>{words}.</strong>{command}</p>'


def lead(contents: Contents) -> str:
    """One sentence for those who have ten seconds."""
    counts = f"{len(contents.embedding):,} nodes"
    edges = _recorded(contents).get("edges")
    if isinstance(edges, int):
        counts += f" and {edges:,} {'ties' if edges != 1 else 'tie'}"
    top = [f"<bdi>{escape(_cut(name))}</bdi>" for name in contents.data["nodes"]["name"][:3]]
    return (
        f"{counts} became points, such that stronger ties are shorter. A node that is near to all others stands high: "
        f"at the top {'are' if len(top) > 1 else 'is'} {join_words(top)}."
    )


def about(contents: Contents) -> str:
    """What was embedded, and on which geometry: a list of facts."""
    graph = _recorded(contents)
    facts = [("Graph", f"<bdi>{escape(_source(contents))}</bdi>"), ("Nodes", f"{len(contents.embedding):,}")]
    if (
        contents.graph is not None
        and graph.get("fingerprint", contents.graph.fingerprint) != contents.graph.fingerprint
    ):
        facts.append(
            ("Note", "the graph drawn here is not the one that was embedded, or its nodes come in another order")
        )
    if isinstance(graph.get("edges"), int):
        facts.append(("Edges", f"{graph['edges']:,}{_weights(contents.graph)}"))
    if isinstance(graph.get("capacities"), int):
        classes = graph["capacities"]
        facts.append(("Classes", f"{classes:,} {'distinct weights' if classes != 1 else 'weight: all ties alike'}"))
    if columns := _columns(graph.get("columns")):
        facts.append(("Columns", escape(columns)))
    stopped = contents.embedding.run.get("stopped")
    if isinstance(stopped, str):
        facts.append(("Training", f"{escape(stopped)}{_seconds(contents.embedding.run)}"))
    policies = graph.get("policies")
    if isinstance(policies, dict):
        done = [f"{escape(policy_words(str(name)))}: {count:,}" for name, count in policies.items() if count]
        facts.append(("Policies applied", "; ".join(done) or "none was needed"))
    facts.append(("Geometry", _geometry_words(contents.embedding.manifold)))
    kinds = {"Note": "long", "Policies applied": "long", "Geometry": "long"}
    return "".join(
        f'<div class="{kinds.get(name, "short")}"><dt>{name}</dt><dd>{fact}</dd></div>' for name, fact in facts
    )


def graph_note(contents: Contents) -> str:
    """What of the graph is drawn."""
    shown, edges = contents.shown, contents.edges
    if edges is None:
        return (
            '<p class="absent">The graph is not at hand, so it cannot be drawn: '
            "<code>ultrahyperbolic report FOLDER --graph GRAPH</code> draws it.</p>"
        )
    words = [f"Drawn are all {shown.total:,} nodes"] if shown.whole else [f"Drawn are {sample_words(contents)}"]
    if len(edges.weights) < edges.between:
        words.append(f"and the {MOST_EDGES:,} strongest of the {edges.between:,} edges among them.")
    elif shown.whole:
        words.append(f"and all {edges.between:,} edges.")
    else:
        recorded = contents.graph.n_edges if contents.graph is not None else edges.between
        words.append(f"and the {edges.between:,} edges among them, of {recorded:,}.")
    return f"<p>{' '.join(words)}</p>"


def sample_words(contents: Contents) -> str:
    """Which nodes are shown, where not all are."""
    shown = contents.shown
    drawn, others = len(shown.nodes) - shown.top, shown.total - shown.top
    return f"the first {shown.top:,} nodes of the hierarchy, {drawn:,} drawn evenly from the other {others:,},"


def ranking_note(contents: Contents) -> str:
    """Which nodes the table holds."""
    if contents.shown.whole:
        return ""
    return (
        f"<p>This page holds {sample_words(contents).rstrip(',')}; the rest is in <code>embedding.parquet</code>, "
        "and <code>ultrahyperbolic rank FOLDER --all</code> prints it. Ranks and δ are of all nodes.</p>"
    )


def pairs_note(contents: Contents) -> str:
    """Which pairs the histograms count."""
    seen = contents.distances
    edges, others = int(seen.edges.sum()), int(seen.others.sum())
    what = "pairs without an edge" if contents.graph is not None else "pairs"
    if contents.graph is None:
        counted = (
            f"{'all ' if seen.all_pairs else ''}{others:,} pairs{'' if seen.all_pairs else ' drawn evenly from all'}"
        )
        return f"<p>Counted are {counted}. Which of them are edges is not known, as the graph is not at hand.</p>"
    first = f"all {edges:,} edges" if seen.all_edges else f"{edges:,} edges drawn evenly from all"
    second = f"all {others:,} {what}" if seen.all_pairs else f"{others:,} {what} drawn evenly from all"
    return f"<p>Counted are {first}, and {second}. The last bar holds what is farther, too.</p>"


def kinds(contents: Contents) -> str:
    """The table of space-like, null and time-like pairs."""
    seen, manifold = contents.distances, contents.embedding.manifold
    with_graph = contents.graph is not None
    heads = ["kind of pair", "edges", "non-edges"] if with_graph else ["kind of pair", "pairs"]
    columns = [seen.edge_kinds, seen.other_kinds] if with_graph else [seen.other_kinds]
    rows = []
    for k, kind in enumerate(KINDS):
        words = f"<span>{kind}</span><small>{_KIND_WORDS[kind]}</small>"
        cells = [f"{percent(counts[k] / max(1, counts.sum()))}<small>{counts[k]:,}</small>" for counts in columns]
        rows.append([words, *cells])
    if isinstance(manifold, PseudoHyperboloid) and manifold.p and manifold.q:
        remark = "On this geometry a pair can be of each kind, and the distance D_γ is made for all of them."
    elif isinstance(manifold, PseudoHyperboloid):
        kind = "space-like" if manifold.q == 0 else "time-like"
        remark = f"On this geometry every pair of different points is {kind}: there is one kind of geodesic."
    else:
        remark = "In flat space every pair of different points is space-like."
    return f"<p>{remark}</p>{table('kinds', heads, rows)}"


def selection(run: Mapping[str, Any]) -> str:
    """The table of ``select``, or nothing where it did not run."""
    found = run.get("select")
    rows = found.get("rows") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(rows, list):
        return ""
    heads = ["geometry", "violated orders", "held-out ties farther", "seeds", "iterations", "trained"]
    winner = found.get("winner")
    lines = []
    for row in rows:
        if not isinstance(row, dict):
            continue
        name = escape(str(row.get("geometry", "")))
        name = f"<strong>{name}</strong> (chosen)" if row.get("geometry") == winner else name
        kept = {"True": "to the end", "False": "left early"}.get(str(row.get("kept")), "")
        lines.append(
            [
                name, _spread(row, "violated_orders"), _spread(row, "held_out"),
                _number(row.get("seeds")), _number(row.get("iterations")), kept,
            ]
        )  # fmt: skip
    near = found.get("within_noise_of")
    others = [escape(str(name)) for name in near if name != winner] if isinstance(near, list) else []
    words = f"Chosen was {escape(str(winner))}." if winner else ""
    if found.get("within_noise"):
        chosen = next((row for row in rows if isinstance(row, dict) and row.get("geometry") == winner), {})
        alone = chosen.get("seeds") == 1
        told = "One seed cannot tell it from" if alone else "Within two standard errors of it over the seeds:"
        words += f" {told} {join_words(others) or 'another'}."
    prior = found.get("prior")
    if isinstance(prior, dict) and prior:
        words += " Before any training: " + ", ".join(f"{escape(str(k))} {_number(v)}" for k, v in prior.items()) + "."
    return (
        '<section id="select" aria-labelledby="select-title"><h2 id="select-title">Which geometry the graph wants</h2>'
        f"<p>{words}</p>{table('choices', heads, lines, extra=(3, 4))}"
        "<p>Held-out ties farther: how often a tie that the training did not see is farther than a pair without one. "
        "The chance level is 50 % for this and for violated orders; 0 % is best.</p></section>"
    )


def how_to_repeat(contents: Contents) -> str:
    """The command, the seed, and what else a result depends on."""
    run = contents.embedding.run
    call = next((text for key in ("command", "call") if isinstance(text := run.get(key), str)), None)
    parts = [
        f"<pre><code>{escape(call)}</code></pre>" if call else '<p class="absent">The record does not say how.</p>'
    ]
    facts = []
    if "seed" in run:
        facts.append(("Seed", escape(str(run["seed"]))))
    fingerprint = _recorded(contents).get("fingerprint")
    if isinstance(fingerprint, str):
        facts.append(("Graph, sha256", f"<code>{escape(fingerprint)}</code>"))
    versions, timing = run.get("versions"), run.get("timing")
    if isinstance(versions, dict):
        facts.append(("Versions", ", ".join(f"{escape(str(k))} {escape(str(v))}" for k, v in versions.items())))
    if isinstance(timing, dict) and "backend" in timing:
        facts.append(("Backend", escape(str(timing["backend"]))))
    listed = "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in facts)
    return f"{parts[0]}<dl>{listed}</dl>"


def _geometry_markup(manifold: Manifold) -> str:
    if isinstance(manifold, PseudoHyperboloid):
        return f"<i>Q</i><sup>{manifold.p},{manifold.q}</sup>"
    return f"<i>R</i><sup>{manifold.dim}</sup>"


def _geometry_words(manifold: Manifold) -> str:
    name = _geometry_markup(manifold)
    if not isinstance(manifold, PseudoHyperboloid):
        return f"{name}, flat space of dimension {manifold.dim} with the squared distance"
    p, q, beta = manifold.p, manifold.q, manifold.beta.item()
    if q == 0:
        kind = f"hyperbolic space of dimension {p}"
    elif p == 0:
        kind = f"a sphere of dimension {q}"
    else:
        kind = f"a pseudo-hyperboloid of dimension {p + q}, with {p} space and {q + 1} time dimensions around it"
    return f"{name}, {kind}; β = {beta:g}, curvature {1 / beta:g}"


def _weights(graph: Graph | None) -> str:
    if graph is None or not len(graph.capacities):
        return ""
    low, high = graph.capacities[0], graph.capacities[-1]
    return f", every weight {low:g}" if low == high else f", of weight {low:g} to {high:g}"


def _recorded(contents: Contents) -> dict[str, Any]:
    """What is known of the graph: from the graph itself, else from the record."""
    graph, record = contents.graph, contents.embedding.run.get("graph")
    found = dict(record) if isinstance(record, dict) else {}
    if graph is not None:
        found |= {"nodes": graph.n_nodes, "edges": graph.n_edges, "capacities": len(graph.capacities)}
        found.setdefault("policies", dict(graph.policies))
        found.setdefault("source", graph.source)
        found.setdefault("columns", None if graph.columns is None else graph.columns._asdict())
    return found


def _columns(record: Any) -> str:
    """Which columns of a table were taken, where a record says so."""
    names = list(record.values()) if isinstance(record, dict) and set(record) == set(Columns._fields) else []
    if not names or not all(isinstance(name, str | int) for name in names if name is not None) or None in names[:2]:
        return ""
    return str(Columns(**record)).removeprefix("columns: ")


def _source(contents: Contents) -> str:
    return _cut(str(_recorded(contents).get("source") or "A graph"))


def _cut(text: str) -> str:
    return text if len(text) <= _TITLE_CHARACTERS else f"{text[:_TITLE_CHARACTERS]}…"


def _seconds(run: Mapping[str, Any]) -> str:
    timing = run.get("timing")
    seconds = timing.get("seconds") if isinstance(timing, dict) else None
    return f", in {seconds:.1f} s" if isinstance(seconds, int | float) else ""


def _spread(row: Mapping[str, Any], key: str) -> str:
    """A share with its spread over the seeds, in per cent."""
    mean, spread = row.get(key), row.get(f"{key}_spread")
    if not isinstance(mean, int | float):
        return ""
    around = f" ± {100 * spread:.3g}" if isinstance(spread, int | float) else ""
    return f"{100 * mean:.4g}{around} %"


def _number(value: Any) -> str:
    return (
        f"{value:,.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else escape(str(value or ""))
    )
