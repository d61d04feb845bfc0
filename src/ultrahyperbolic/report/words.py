"""What the page says: fragments of HTML, with everything that came from elsewhere escaped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape

from ..embedding import Embedding
from ..embedding.record import GraphRecord, Json, RunRecord
from ..evaluation.verdict import no_hierarchy, shows_hierarchy
from ..graph import Graph
from ..graph.columns import Columns
from ..graph.fold import policy_words
from ..loop import Stopped
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
    geometry = contents.embedding.geometry
    return f"{_source(contents)} on {contents.embedding.manifold if geometry is None else geometry.plain_name}"


def heading(contents: Contents) -> str:
    """The same, as a heading."""
    return f"<bdi>{escape(_source(contents))}</bdi> on {_geometry_markup(contents.embedding)}"


def unfinished_note(record: RunRecord) -> str:
    """That the training stopped early, for the top of the page; nothing where it did not."""
    if record.stopped is None or not record.unfinished:
        return ""
    total = (record.config or {}).get("iterations")
    words = f"This training is unfinished: {escape(record.stopped.text)}"
    if record.result is not None and isinstance(total, int):
        words += f" after {record.result.iterations:,} of {total:,} iterations"
    more = "" if record.stopped.why is Stopped.INTERRUPTED else " --time-limit SECONDS"
    command = f" To continue: <code>ultrahyperbolic embed --resume FOLDER{more}</code>." if record.training else ""
    return f'<p class="unfinished" role="note"><strong>{words}.</strong>{command}</p>'


def lead(contents: Contents) -> str:
    """One sentence for those who have ten seconds."""
    counts = f"{len(contents.embedding):,} nodes"
    edges = _recorded(contents).edges
    if edges is not None:
        counts += f" and {edges:,} {'ties' if edges != 1 else 'tie'}"
    top = [f"<bdi>{escape(_cut(name))}</bdi>" for name in contents.data["nodes"]["name"][:3]]
    placed = f"{counts} were placed so that strongly tied nodes lie close together."
    if shows_hierarchy(contents.measures):
        are = "are" if len(top) > 1 else "is"
        return f"{placed} A node that is near to all others stands high: at the top {are} {join_words(top)}."
    none = no_hierarchy(contents.measures)
    said = "" if none is None else f" But {escape(none)}."
    have = "have" if len(top) > 1 else "has"
    return f"{placed}{said} {join_words(top)} {have} the smallest δ, the sum of the distances to all others."


def about(contents: Contents) -> str:
    """What was embedded, and on which geometry: a list of facts."""
    graph = _recorded(contents)
    facts = [("Graph", f"<bdi>{escape(_source(contents))}</bdi>"), ("Nodes", f"{len(contents.embedding):,}")]
    if contents.graph is not None and graph.fingerprint not in (None, contents.graph.fingerprint):
        facts.append(
            ("Note", "the graph drawn here is not the one that was embedded, or its nodes come in another order")
        )
    if graph.edges is not None:
        facts.append(("Edges", f"{graph.edges:,}{_weights(contents.graph)}"))
    if graph.capacities is not None:
        classes = graph.capacities
        facts.append(("Classes", f"{classes:,} {'distinct weights' if classes != 1 else 'weight: all ties alike'}"))
    if columns := _columns(graph.columns):
        facts.append(("Columns", escape(columns)))
    record = contents.embedding.record
    if record.stopped is not None:
        facts.append(("Training", f"{escape(record.stopped.text)}{_seconds(record)}"))
    if record.graph is not None or contents.graph is not None:
        done = [f"{escape(policy_words(name))}: {count:,}" for name, count in graph.policies.items() if count]
        facts.append(("Policies applied", "; ".join(done) or "none was needed"))
    facts.append(("Geometry", _geometry_words(contents.embedding)))
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
    return f"the {shown.top:,} nodes with the smallest δ, {drawn:,} drawn evenly from the other {others:,},"


def ranking_title(contents: Contents) -> str:
    """A ranking, where the measures bear one out."""
    return "The ranking" if shows_hierarchy(contents.measures) else "Nodes by δ"


def ranking_note(contents: Contents) -> str:
    """What stands beside the ranks, and which nodes the table holds."""
    ranks = contents.embedding.record.ranks
    known = ranks is not None and contents.embedding.rank_intervals is not None
    beside = f"<p>In brackets: {escape(ranks.text)}.</p>" if known and ranks is not None else ""
    if contents.shown.whole:
        return beside
    return beside + (
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
    seen = contents.distances
    with_graph = contents.graph is not None
    heads = ["kind of pair", "edges", "non-edges"] if with_graph else ["kind of pair", "pairs"]
    columns = [seen.edge_kinds, seen.other_kinds] if with_graph else [seen.other_kinds]
    rows = []
    for k, kind in enumerate(KINDS):
        words = f"<span>{kind}</span><small>{_KIND_WORDS[kind]}</small>"
        cells = [f"{percent(counts[k] / max(1, counts.sum()))}<small>{counts[k]:,}</small>" for counts in columns]
        rows.append([words, *cells])
    geometry = contents.embedding.geometry
    if geometry is not None and geometry.p and geometry.q:
        remark = "On this geometry a pair can be of each kind, and the distance D_γ is made for all of them."
    elif geometry is not None and not geometry.is_flat:
        kind = "space-like" if geometry.q == 0 else "time-like"
        remark = f"On this geometry every pair of different points is {kind}: there is one kind of geodesic."
    else:
        remark = "In flat space every pair of different points is space-like."
    return f"<p>{remark}</p>{table('kinds', heads, rows)}"


def selection(found: Mapping[str, Json] | None) -> str:
    """The table of ``select``, or nothing where it did not run."""
    rows = None if found is None else found.get("rows")
    if found is None or not isinstance(rows, list):
        return ""
    heads = ["geometry", "violated orders", "held-out ties farther", "seeds", "iterations", "trained"]
    winner = found.get("winner")
    lines = []
    for row in rows:
        if not isinstance(row, Mapping):
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
        alone = any(
            isinstance(row, Mapping) and row.get("geometry") == winner and row.get("seeds") == 1 for row in rows
        )
        told = "One seed cannot tell it from" if alone else "Within two standard errors of it over the seeds:"
        words += f" {told} {join_words(others) or 'another'}."
    prior = found.get("prior")
    if isinstance(prior, Mapping) and prior:
        words += " Before any training: " + ", ".join(f"{escape(str(k))} {_number(v)}" for k, v in prior.items()) + "."
    return (
        '<section id="select" aria-labelledby="select-title"><h2 id="select-title">Which geometry the graph wants</h2>'
        f"<p>{words}</p>{table('choices', heads, lines, extra=(3, 4))}"
        "<p>Held-out ties farther: how often a tie that the training did not see is farther than a pair without one. "
        "The chance level is 50 % for this and for violated orders; 0 % is best.</p></section>"
    )


def how_to_repeat(contents: Contents) -> str:
    """The command, the seed, and what else a result depends on."""
    record = contents.embedding.record
    call = record.command or record.call
    parts = [
        f"<pre><code>{escape(call)}</code></pre>" if call else '<p class="absent">The record does not say how.</p>'
    ]
    facts = []
    if record.seed is not None:
        facts.append(("Seed", escape(str(record.seed))))
    fingerprint = _recorded(contents).fingerprint
    if fingerprint is not None:
        facts.append(("Graph, sha256", f"<code>{escape(fingerprint)}</code>"))
    if record.versions:
        facts.append(("Versions", ", ".join(f"{escape(k)} {escape(v)}" for k, v in record.versions.items())))
    if record.timing.backend is not None:
        facts.append(("Backend", escape(record.timing.backend)))
    listed = "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in facts)
    return f"{parts[0]}<dl>{listed}</dl>"


def _geometry_markup(embedding: Embedding) -> str:
    return escape(str(embedding.manifold)) if embedding.geometry is None else embedding.geometry.markup


def _geometry_words(embedding: Embedding) -> str:
    name, geometry = _geometry_markup(embedding), embedding.geometry
    if geometry is None:
        return name
    if geometry.is_flat:
        return f"{name}, flat space of dimension {geometry.dim} with the squared distance"
    p, q, beta = geometry.space_dimensions, geometry.time_dimensions - 1, geometry.beta
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


def _recorded(contents: Contents) -> GraphRecord:
    """What is known of the graph: from the graph itself, else from the record."""
    graph, record = contents.graph, contents.embedding.record.graph
    if graph is None:
        return record or GraphRecord()
    known = record or GraphRecord(
        source=graph.source,
        policies={str(name): count for name, count in graph.policies.items()},
        columns=None if graph.columns is None else graph.columns._asdict(),
    )
    return replace(known, nodes=graph.n_nodes, edges=graph.n_edges, capacities=len(graph.capacities))


def _columns(record: Mapping[str, Json] | None) -> str:
    """Which columns of a table were taken, where a record says so."""
    if record is None or set(record) != set(Columns._fields):
        return ""
    source, target, weight = (
        value if isinstance(value, str | int) and not isinstance(value, bool) else None
        for value in (record[name] for name in Columns._fields)
    )
    return "" if source is None or target is None else str(Columns(source, target, weight)).removeprefix("columns: ")


def _source(contents: Contents) -> str:
    return _cut(_recorded(contents).source or "A graph")


def _cut(text: str) -> str:
    return text if len(text) <= _TITLE_CHARACTERS else f"{text[:_TITLE_CHARACTERS]}…"


def _seconds(record: RunRecord) -> str:
    return "" if record.timing.seconds is None else f", in {record.timing.seconds:.1f} s"


def _spread(row: Mapping[str, Json], key: str) -> str:
    """A share with its spread over the seeds, in per cent."""
    mean, spread = row.get(key), row.get(f"{key}_spread")
    if not isinstance(mean, int | float):
        return ""
    around = f" ± {100 * spread:.3g}" if isinstance(spread, int | float) else ""
    return f"{100 * mean:.4g}{around} %"


def _number(value: Json) -> str:
    return (
        f"{value:,.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else escape(str(value or ""))
    )
