"""What ``embed`` prints about an embedding: for people, and for scripts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..progress import waited
from .output import json_rows, names, number, percent, print_columns

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..graph import Graph
    from ..loop import Ending

_TOP = 10


def as_json(embedding: Embedding, folder: Path) -> dict[str, object]:
    """What a script wants to know; ``seconds`` is the training alone, ``waited`` all since the command was started."""
    from ..embedding.answers import ranking

    run = embedding.run
    timing = run.get("timing")
    return {
        "folder": str(folder),
        "files": [str(file) for file in files(folder)],
        **{name: run.get(name) for name in ("graph", "config", "seed", "stopped")},
        "unfinished": embedding.record.unfinished,
        **{name: run.get(name) for name in ("iterations", "steps_back", "nonfinite", "best_loss")},
        "seconds": timing.get("seconds") if isinstance(timing, Mapping) else None,
        "waited": waited(),
        "measures": run.get("measures"),
        "ranks": run.get("ranks"),
        "top": json_rows(ranking(embedding, _TOP)),
    }


def print_summary(embedding: Embedding, graph: Graph, folder: Path) -> None:
    """The graph, the training, the measures and the nodes with the smallest delta."""
    from ..embedding.answers import interval_words, ranking, ranks_in_words
    from ..geometry.named import described
    from ..graph.fold import policy_words
    from ..verdict import reservations, shows_hierarchy

    record, result = embedding.record, embedding.record.result
    stopped = "" if record.stopped is None else record.stopped.text
    if record.unfinished and record.stopped is not None and result is not None:
        total = (record.config or {}).get("iterations")
        print(
            f"unfinished: {stopped} after {result.iterations} of {total} iterations; "
            f"to continue: ultrahyperbolic {resuming(folder, record.stopped)}"
        )
    parts = None if record.graph is None else record.graph.components
    counted = "" if parts is None else f", {parts} component{'s' * (parts != 1)}"
    print(f"{graph.source or 'graph'}: {graph.counts_in_words}{counted}")
    for policy, count in graph.policies.items():
        hint = "; --directed keeps them" * (policy == "asymmetric_pairs_summed")
        print(f"  {policy_words(policy)}: {count}{hint}")
    geometry = embedding.geometry
    if record.select is not None and geometry is not None:
        others = record.select.get("within_noise_of")
        near = ", ".join(map(str, others)) if isinstance(others, list) else ""
        print(
            f"geometry: {record.select.get('winner')} was chosen for dimension {geometry.dim}"
            + (f"; {near} did about as well" if near else "")
        )
    where = described(embedding.manifold) or embedding.manifold
    seconds = waited() or record.timing.seconds or 0.0
    print(f"embedded on {where}, seed {record.seed}, in {seconds:.1f} s: {stopped}")
    if result is not None and result.nonfinite:
        print(f"  the training diverged {result.nonfinite} times and went back, each time with half the step")
    for line in in_words(record.measures):
        print(f"  {line}")
    for line in reservations(record.measures):
        print(f"  note: {line}")
    print(f"\n{'the top of the hierarchy' if shows_hierarchy(record.measures) else 'nodes by delta'}:")
    top = embedding.rank.argsort(kind="stable")[:_TOP]
    table = ranking(embedding, _TOP)
    columns = {"rank": ranks_in_words(table), **names(table)}
    columns["delta"] = [number(delta) for delta in embedding.delta[top]]
    columns["strength"] = [f"{strength:g}" for strength in graph.strength[top]]
    print_columns(columns)
    print(f"in brackets: {interval_words(embedding)}")
    points, kept, *report = files(folder)
    print(f"\nfiles: {points}, {kept}")
    for page in report:
        print(f"report, to open in a browser: {page}")


def files(folder: Path) -> list[Path]:
    """The files of an embedding that are there, the report last."""
    from ..embedding.store import RECORD, REPORT, TABLE

    return [path for name in (TABLE, RECORD, REPORT) if (path := folder / name).exists()]


def resuming(folder: Path, ending: Ending) -> str:
    """The command that continues a training."""
    from ..loop import Stopped

    more = " --time-limit SECONDS" if ending.why is Stopped.TIME_LIMIT else ""
    return f"embed --resume {shlex.quote(str(folder))}{more}"


def in_words(measures: Mapping[str, float]) -> list[str]:
    """The four things people expect of an embedding, in lines that need no glossary.

    Neighbours, ties against non-ties, strong ties against weak ones, and the hierarchy.

    >>> in_words({"violated_orders": 0.0})
    ['a tie is shorter than a non-tie in 100 % of all comparisons']
    """
    lines = []
    if "map" in measures:
        lines.append(f"mean average precision of the neighbours {measures['map']:.3f} (1 is best)")
    if "recall_at_1" in measures:
        lines.append(f"the nearest node is a neighbour for {percent(measures['recall_at_1'])} of nodes")
    if "violated_orders" in measures:
        kept = percent(1 - measures["violated_orders"])
        lines.append(f"a tie is shorter than a non-tie in {kept} of all comparisons")
    if "tie_order" in measures:
        lines.append(f"of two ties, the stronger is shorter in {percent(measures['tie_order'])} (chance: 50 %)")
    if "map_out" in measures and "map_in" in measures:
        both = f"{measures['map_out']:.3f} and {measures['map_in']:.3f}"
        lines.append(f"mean average precision of where ties lead, and where they come from: {both}")
    if "direction" in measures:
        lines.append(f"ties have the right direction in {percent(measures['direction'])} (chance: 50 %)")
    if "circulation" in measures:
        lines.append(f"{percent(measures['circulation'])} of the weight goes round in cycles, which no ranking shows")
    if "spearman_all" in measures:
        others = {"PageRank": "spearman_all_pagerank", "closeness": "spearman_all_closeness"}
        beside = ", ".join(f"{name} {measures[key]:.3f}" for name, key in others.items() if key in measures)
        text = f"rank agrees with strength: ρ = {measures['spearman_all']:.3f}"
        lines.append(f"{text} ({beside})" if beside else text)
    return lines
