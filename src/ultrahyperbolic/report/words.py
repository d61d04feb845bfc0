"""What the page says: fragments of HTML, with everything that came from elsewhere escaped."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from html import escape

import numpy as np

from .. import checks
from ..arrays import Ints
from ..embedding import Embedding
from ..embedding.answers import INTERVALS, RankedBy, ranks_by
from ..embedding.record import GraphRecord, Json, RunRecord
from ..graph import Graph
from ..graph.columns import Columns
from ..graph.fold import policy_words
from ..loop import Stopped
from ..plot.maps import Kinds
from ..spaces import described
from ..verdict import TIE_ORDER_FROM, poor_fit
from .contents import Contents

percent = partial(checks.percent, digits=1)
_TITLE_CHARACTERS, _NAME_CHARACTERS = 80, 24
_TOLD = 3  # communities and nodes that the lead names
_LONG_FACTS = ("Note", "Data cleaning", "Geometry")
_ENDINGS = re.compile(
    r"(\.(tsv|csv|txt|edges|parquet|graphml|gml|gexf|net|mtx|json|gz|bz2|xz|zst))+$", re.IGNORECASE
)
_PATH = re.compile(r"[^<>\s]*[/\\][^<>\s]*")
_FOLDERS = re.compile(r"(?<![^\s='\"])/[^\s'\"]*/")  # of an absolute path


def title(contents: Contents) -> str:
    """The name of the graph and where it was embedded, as text."""
    geometry = described(contents.embedding.space)
    where = contents.embedding.manifold if geometry is None else geometry.plain_name
    return f"{_name(contents)} on {where}"


def heading(contents: Contents, title: str | None) -> str:
    """The same, or what was given as the title, as a heading."""
    where = _geometry_markup(contents.embedding)
    geometry = contents.embedding.geometry
    kind = "" if geometry is None else "flat space " if geometry.is_flat else "the curved space "
    return f"<bdi>{escape(title or _name(contents))}</bdi><small>Embedded in {kind}{where}</small>"


def unfinished_note(record: RunRecord) -> str:
    """A note for the top of the page that the training stopped early; empty if it did not."""
    if record.stopped is None or not record.unfinished:
        return ""
    total = (record.config or {}).get("iterations")
    words = f"This training is unfinished: {escape(record.stopped.text)}"
    if record.result is not None and isinstance(total, int):
        words += f" after {record.result.iterations:,} of {total:,} iterations"
    more = "" if record.stopped.why is Stopped.INTERRUPTED else " --time-limit SECONDS"
    command = (
        f" To continue: <code>ultrahyperbolic embed --resume FOLDER{more}</code>."
        if record.training
        else ""
    )
    return f'<p class="warning unfinished" role="note"><strong>{words}.</strong>{command}</p>'


def lead(contents: Contents) -> str:
    """What is there: size, communities, who is central and how sure that is, and what fits
    badly.
    """
    parts = (_size, _placed, _communities, _centre, _top, _worst)
    return " ".join(words for part in parts if (words := part(contents)))


def _size(contents: Contents) -> str:
    graph = contents.graph
    words, edges = _counted(len(contents.embedding), "node"), _recorded(contents).edges
    directed = _directed_ties(contents)
    if directed is not None:
        words += f" and {_counted(directed, 'directed tie')}"
    elif edges is not None:
        words += f" and {_counted(edges, 'tie')}"
    if graph is not None and graph.n_edges:
        sizes = np.bincount(graph.component)
        words += f", in {_counted(len(sizes), 'component')}"
        words += f", the largest of {sizes.max():,}" if len(sizes) > 1 else ""
    return f"The network has {words}."


def _directed_ties(contents: Contents) -> int | None:
    """How many there are, where directions were kept; a pair may have two."""
    graph = contents.graph
    if graph is None or not graph.is_directed or not contents.embedding.is_directed:
        return None
    return len(graph.arcs[1])


def _placed(contents: Contents) -> str:
    if poor_fit(contents.measures) is not None:
        return "The nodes were placed to bring tied ones close together, which worked badly here."
    strongly = "strongly " if contents.measures.get("tie_order", 0.0) >= TIE_ORDER_FROM else ""
    return f"The nodes were placed so that {strongly}tied ones lie close together."


def _communities(contents: Contents) -> str:
    """How many there are, and the strongest two of the largest."""
    found = contents.columns[0]
    if not isinstance(found, Kinds) or len(found.kinds) < 2:
        return ""
    names, strength = contents.data["nodes"]["name"], contents.data["nodes"].get("strength")
    sizes, told = np.bincount(found.codes), []
    for kind, size in enumerate(sizes[:_TOLD].tolist()):
        own = np.flatnonzero(found.codes == kind).tolist()
        best = sorted(own, key=lambda k: -strength[k])[:2] if strength else own[:2]
        told.append(f"{join_words([short_name(names[k]) for k in best])} ({size:,})")
    where = "" if contents.shown.whole else " among the nodes shown"
    largest = "" if len(sizes) <= _TOLD else ". The largest"
    return (
        f"There are {len(sizes):,} communities{where}{largest}, by their strongest members: "
        f"{'; '.join(told)}."
    )


def _centre(contents: Contents) -> str:
    """The first three, with their intervals."""
    by: RankedBy = "delta" if contents.embedding.centrality is None else "centrality"
    top = _first(contents, ranks_by(contents.embedding, by))
    if by == "centrality":
        return f"The most central {'nodes are' if len(top) > 1 else 'node is'} {join_words(top)}."
    have = "have" if len(top) > 1 else "has"
    return f"{join_words(top)} {have} the smallest δ, the sum of the distances to all other nodes."


def _top(contents: Contents) -> str:
    """The highest of a directed network."""
    if not contents.embedding.is_directed:
        return ""
    named = _first(contents, ranks_by(contents.embedding, "height"))
    down = contents.measures.get("weight_down")
    share = "" if down is None else f"; {percent(down)} of the weight points down"
    return (
        f"The highest, from which ties point down, {'are' if len(named) > 1 else 'is'} "
        f"{join_words(named)}{share}."
    )


def _worst(contents: Contents) -> str:
    if not contents.distances.long:
        return ""
    tie = contents.distances.long[0]
    ends = " – ".join(short_name(contents.called[row]) for row in tie.ends)
    share = f'<span class="whole">{percent(tie.longer_than)}</span>'
    return f"Of the strong ties, {ends} fits worst: it is longer than {share} of the ties."


def _first(contents: Contents, ranks: Mapping[str, Ints]) -> list[str]:
    """Names of the first nodes of a ranking, with their ranks or the intervals of these."""
    rank, named = ranks["rank"], []
    for k in np.argsort(rank, kind="stable")[:_TOLD].tolist():
        low, high = (int(ranks.get(end, rank)[k]) for end in ("rank_low", "rank_high"))
        between = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        named.append(
            f'{short_name(contents.called[k])} <span class="whole">(rank {between})</span>'
        )
    return named


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def facts(contents: Contents) -> str:
    """What was embedded, and where: a list of facts."""
    graph, record = _recorded(contents), contents.embedding.record
    source = escape(_FOLDERS.sub("", _source(contents)))
    found = {"Graph": f"<bdi>{source}</bdi>", "Nodes": f"{len(contents.embedding):,}"}
    if contents.graph is not None and graph.fingerprint not in (None, contents.graph.fingerprint):
        found["Note"] = (
            "this is not the graph that was embedded, or its nodes come in a different order"
        )
    if graph.edges is not None:
        directed = _directed_ties(contents)
        ties = f"{graph.edges:,}"
        if directed is not None:
            ties = f"{directed:,} directed, between {ties} pairs"
        found["Ties"] = f"{ties}{_weights(contents.graph)}"
    if graph.capacities is not None:
        found["Weights"] = f"{graph.capacities:,} distinct" if graph.capacities > 1 else "all equal"
    if columns := _columns(graph.columns):
        found["Columns"] = escape(columns)
    if record.stopped is not None:
        seconds = record.timing.seconds
        spent = "" if seconds is None else f" after {seconds:.1f} s of training"
        found["Training"] = f"{escape(record.stopped.text)}{spent}"
    if record.graph is not None or contents.graph is not None:
        done = (f"{policy_words(name)}: {n:,}" for name, n in graph.policies.items() if n)
        found["Data cleaning"] = escape("; ".join(done)) or "none needed"
    found["Geometry"] = _geometry_words(contents.embedding)
    return _listed(found)


def _weights(graph: Graph | None) -> str:
    if graph is None or not len(graph.capacities):
        return ""
    low, high = graph.capacities[[0, -1]]
    return f", all of weight {low:g}" if low == high else f", with weights from {low:g} to {high:g}"


def _listed(facts: Mapping[str, str]) -> str:
    return "".join(
        f"<div{' class=long' * (name in _LONG_FACTS)}><dt>{name}</dt><dd>{fact}</dd></div>"
        for name, fact in facts.items()
    )


def map_note(contents: Contents) -> str:
    """How to read the map, and what of the graph it shows."""
    words = [
        "Nodes that are close in the embedding lie close together. Long distances on the map, and "
        "its directions, have "
        "no meaning."
    ]
    shown, edges = contents.shown, contents.edges
    if not shown.whole:
        words.append(
            f"The map shows {sample_words(contents)}; the shading shows where the others lie."
        )
    elif contents.graph is not None and contents.graph.component.max(initial=0) > 0:
        words.append("Parts of the network that no tie joins are drawn side by side.")
    if edges is None:
        return (
            f'<p class="note">{" ".join(words)}</p><p class="absent">The ties are missing, '
            "because the embedding holds none: embed the graph again.</p>"
        )
    drawn = int(edges.drawn.sum())
    if drawn < edges.between:
        words.append(
            f"The map draws the strongest ties of each node, {drawn:,} of {edges.between:,}; "
            "select a node to see all "
            "of its ties."
        )
    elif shown.whole:
        weighted = contents.graph is not None and len(contents.graph.capacities) > 1
        what = "ties" if _directed_ties(contents) is None else "tied pairs"
        words.append(
            f"All {edges.between:,} {what} are drawn{'; strong ones are thicker' * weighted}."
        )
    else:
        words.append(f"All {edges.between:,} ties between the nodes shown are drawn.")
    return f'<p class="note">{" ".join(words)}</p>'


def sample_words(contents: Contents) -> str:
    """Which nodes are shown, if not all are."""
    shown = contents.shown
    drawn, others = len(shown.nodes) - shown.top, shown.total - shown.top
    return f"the {shown.top:,} nodes that rank first and a random {drawn:,} of the other {others:,}"


def ranking_note(contents: Contents) -> str:
    """What δ is, what the brackets and the bars mean, and which nodes the table lists."""
    said = ["δ is the sum of a node’s distances to all other nodes in the embedding."]
    if contents.embedding.centrality is not None:
        said.insert(
            0,
            "Centrality is current-flow closeness: how easily currents reach all other nodes, "
            "with ties as wires that "
            "conduct by their weight. Many short paths of strong ties make a node central.",
        )
    said.append("The longer the bar, the better the rank.")
    if "rank_low" in contents.data["nodes"]:
        said.append(f"In brackets: {INTERVALS}.")
    if not contents.shown.whole:
        said.append(
            f"The table lists {sample_words(contents)}. For all nodes: <code>ultrahyperbolic rank "
            "FOLDER --all</code>. "
            "Ranks and δ count all nodes."
        )
    return f'<p class="hint about">{" ".join(said)}</p>'


def pairs_note(contents: Contents) -> str:
    """Which pairs the histograms count."""
    seen = contents.distances
    edges, others = int(seen.edges.sum()), int(seen.others.sum())
    if contents.graph is None:
        counted = f"all {others:,} pairs" if seen.all_pairs else f"{others:,} random pairs"
        return (
            f"<p>Counts cover {counted}. Which of them are tied is unknown without the graph.</p>"
        )
    first = f"all {edges:,} ties" if seen.all_edges else f"{edges:,} random ties"
    second = f"all {others:,} untied pairs" if seen.all_pairs else f"{others:,} random untied pairs"
    return (
        "<p>In a good embedding, tied pairs lie close together and untied pairs far apart. "
        f"Counts cover {first} and {second}; the last bar includes all larger distances.</p>"
    )


def how_to_repeat(contents: Contents) -> str:
    """The command, the seed, and what else a result depends on."""
    record = contents.embedding.record
    # A page is shared: where its files lay is nobody's business.
    call = _FOLDERS.sub("", record.command or record.call or "")
    said = (
        f"<pre><code>{escape(call)}</code></pre>"
        if call
        else '<p class="absent">The command was not recorded.</p>'
    )
    facts = {}
    if record.seed is not None:
        facts["Seed"] = escape(str(record.seed))
    if (fingerprint := _recorded(contents).fingerprint) is not None:
        facts["Graph, sha256"] = f"<code>{escape(fingerprint)}</code>"
    if record.versions:
        facts["Versions"] = escape(", ".join(f"{k} {v}" for k, v in record.versions.items()))
    if record.timing.backend is not None:
        facts["Backend"] = escape(record.timing.backend)
    return f"{said}<dl>{_listed(facts)}</dl>"


def _geometry_markup(embedding: Embedding) -> str:
    geometry = described(embedding.space)
    return escape(str(embedding.manifold)) if geometry is None else geometry.markup


def _geometry_words(embedding: Embedding) -> str:
    name, geometry = _geometry_markup(embedding), embedding.geometry
    if geometry is None:
        return f"{name}: geometries side by side" if " × " in name else name
    if geometry.is_flat:
        return (
            f"{name}: flat space with {geometry.dim} dimensions, measured by the squared distance"
        )
    p, q, beta = geometry.space_dimensions, geometry.time_dimensions - 1, geometry.beta
    if q == 0:
        kind = f"hyperbolic space with {p} dimensions"
    elif p == 0:
        kind = f"a sphere with {q} dimensions"
    else:
        kind = (
            f"a pseudo-hyperboloid: a curved space with {p} space and {q} time dimensions "
            f"({p + q + 1} coordinates)"
        )
    return f"{name}: {kind}; β = {beta:g}, curvature {1 / beta:g}"


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
    return replace(
        known, nodes=graph.n_nodes, edges=graph.n_edges, capacities=len(graph.capacities)
    )


def _columns(record: Mapping[str, Json] | None) -> str:
    """Which columns of a table were used, if the record says so."""
    values = ((record or {}).get(name) for name in Columns._fields)
    source, target, weight = (value if isinstance(value, str | int) else None for value in values)
    if source is None or target is None:
        return ""
    return str(Columns(source, target, weight)).removeprefix("columns: ")


def _source(contents: Contents) -> str:
    text = _recorded(contents).source or "A network"
    return text if len(text) <= _TITLE_CHARACTERS else f"{text[:_TITLE_CHARACTERS]}…"


def _name(contents: Contents) -> str:
    """What to call the graph; for a file, its name without folders and endings."""
    source = _source(contents)
    is_path = _PATH.fullmatch(source)
    name = re.split(r"[/\\]", source.rstrip("/\\"))[-1] if is_path else source
    return _ENDINGS.sub("", name) or source


def table(
    kind: str, heads: Iterable[str], rows: Iterable[Iterable[str]], *, extra: tuple[int, ...] = ()
) -> str:
    """A table of cells that are markup already; narrow screens leave the columns ``extra`` out."""

    def cells(tag: str, contents: Iterable[str]) -> str:
        kinds = ((cell, "extra" if k in extra else "cell") for k, cell in enumerate(contents))
        return "".join(f'<{tag} class="{kind}">{cell}</{tag}>' for cell, kind in kinds)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        "<table "
        f'class="{kind}"><thead><tr>{cells("th", heads)}</tr></thead><tbody>{body}</tbody></table>'
    )


def short_name(name: str) -> str:
    """The name of a node, cut where it is long.

    >>> short_name("<Ann>")
    '<bdi>&lt;Ann&gt;</bdi>'
    """
    if len(name) <= _NAME_CHARACTERS:
        return f"<bdi>{escape(name)}</bdi>"
    return f'<bdi title="{escape(name)}">{escape(name[:_NAME_CHARACTERS])}…</bdi>'


def join_words(words: list[str]) -> str:
    """Words in a sentence.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
