"""What the commands print: tables and plain lines for people, JSON for scripts."""

from __future__ import annotations

import json
import logging
import math
import shlex
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from ..checks import cut, percent
from ..progress import waited
from .errors import refusing

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..embedding.answers import Columns
    from ..graph import Graph
    from ..loop import Ending

_TOP = 10  # nodes in a summary
_RIGHT = (
    "rank",
    "centrality",
    "delta",
    "height",
    "strength",
    "by centrality",
    "by delta",
    "by strength",
    "by eigenvector",
    "by PageRank",
    "distance",
    "weight",
    "score",
)

_SENTENCES = {
    "map": "mean average precision of the neighbours {value:.3f} (1 is best)",
    "recall_at_1": "the nearest node is a neighbour for {share} of nodes",
    "violated_orders": "a tie is shorter than a non-tie in {rest} of all comparisons",
    "tie_order": "of two ties, the stronger is shorter in {share} (chance: 50 %)",
    "map_out": "mean average precision of where ties lead, and where they come from: {value:.3f} "
    "and {back:.3f}",
    "direction": "ties have the right direction in {share} (chance: 50 %)",
    "circulation": "{share} of the weight goes round in cycles, which no ranking shows",
    "delta_centrality": "delta, the sum of distances on the map, agrees with centrality: ρ = "
    "{value:.3f}",
}


def print_json(data: Mapping[str, object]) -> None:
    """One object on stdout, of strict JSON: what is not finite is null."""
    from ..files import as_json_data  # which waits for numpy

    print(json.dumps(as_json_data(data), indent=2, allow_nan=False))


def json_id(node: Hashable) -> object:
    """An id as strict JSON can hold it: of an infinite number the text that ``embedding.parquet``
    has.

    >>> json_id(7.5), json_id(float("-inf")), json_id(("a", float("inf")))
    (7.5, '-Infinity', ['a', 'Infinity'])
    """
    if isinstance(node, tuple):
        return [json_id(part) for part in node]
    return json.dumps(node) if isinstance(node, float) and math.isinf(node) else node


def json_rows(table: Columns) -> list[dict[str, object]]:
    """The rows of a table with a column of nodes."""
    from ..embedding.answers import rows_of

    return [row | {"node": json_id(row["node"])} for row in rows_of(table)]


def write_csv(path: Path | None, table: Columns) -> None:
    """Write a table as CSV, where a file is named for it."""
    if path is None:
        return
    from ..embedding.answers import rows_of
    from ..export.tables import write_table

    with refusing(OSError, about="cannot write the table: "):
        write_table(path, list(table), (tuple(row.values()) for row in rows_of(table)))


def print_columns(columns: Mapping[str, Sequence[str]]) -> None:
    """Columns by their headers; those of numbers to the right."""
    print_table(tuple(columns), zip(*columns.values(), strict=True), right=_RIGHT)


def names(table: Columns) -> dict[str, list[str]]:
    """The nodes of a table, and their labels, as a terminal may see them."""
    found = {"node": [shown(node) for node in cast("Sequence[Hashable]", table["node"])]}
    if "label" in table:
        found["label"] = [shown(str(label)) if label else "" for label in table["label"]]
    return found


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> None:
    """Columns with headers, those named in ``right`` to the right; nothing is folded."""
    from rich.cells import cell_len

    # Rich's own tables take a millisecond a row, and a ranking may have a million.
    table = [tuple(headers), *map(tuple, rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = []
        for header, width, text in zip(headers, widths, row, strict=True):
            blanks = " " * (width - cell_len(text))
            cells.append(blanks + text if header in right else text + blanks)
        return "  ".join(cells).rstrip()

    typer.secho(line(table[0]), bold=True)
    for row in table[1:]:
        print(line(row))


def show_log() -> None:
    """Show on stderr what the library has to say, as it is, once however often this is called."""
    if logging.lastResort is not None:  # Python's own, for programs that say nothing of handlers
        logging.getLogger("ultrahyperbolic").addHandler(logging.lastResort)


def note(text: str) -> None:
    """A remark that is no result: on stderr, at once, so that it stands before what follows."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def shown(node: Hashable) -> str:
    r"""An id as a terminal may see it: of a long one the beginning and the end.

    >>> print(shown("34"), shown(34), shown("a\tb"), len(shown("x" * 60_000)))
    34 34 'a\tb' 81
    """
    text = node if isinstance(node, str) else repr(node)
    text = text if text.isprintable() and text else repr(text)
    return cut(text)


def number(value: float) -> str:
    """A number with the digits that people compare.

    >>> number(0.5), number(1234.5678), number(0.000012345)
    ('0.5000', '1235', '1.234e-05')
    """
    return (
        f"{value:.4f}"
        if 0.01 <= abs(value) < 100 or value == 0
        else f"{value:.4g}"
        if abs(value) < 1e4
        else f"{value:.6g}"
    )


def summary_as_json(embedding: Embedding, folder: Path) -> dict[str, object]:
    """What a script wants to know; ``seconds`` is the training alone, ``waited`` all since the
    command was started.
    """
    from ..embedding.answers import ranking

    run = embedding.run
    return {
        "folder": str(folder),
        "files": [str(file) for file in files(folder)],
        **{name: run.get(name) for name in ("graph", "config", "seed", "stopped")},
        "unfinished": embedding.record.unfinished,
        **{name: run.get(name) for name in ("iterations", "steps_back", "nonfinite", "best_loss")},
        "seconds": embedding.record.timing.seconds,
        "waited": waited(),
        "measures": run.get("measures"),
        "top": json_rows(ranking(embedding, _TOP)),
    }


def print_summary(embedding: Embedding, graph: Graph, folder: Path) -> None:
    """The graph, the training, the measures and the first of the ranking."""
    from ..embedding.answers import INTERVALS, ranked_by, ranking, ranks_in_words, score_column
    from ..graph.fold import policy_words
    from ..spaces import described
    from ..verdict import RANKED, of_hidden_ties, reservations

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
    where = described(embedding.space) or embedding.manifold
    seconds = record.timing.seconds or 0.0
    print(f"embedded on {where}, seed {record.seed}, after {seconds:.1f} s of training: {stopped}")
    if result is not None and result.nonfinite:
        print(
            f"  the training diverged {result.nonfinite} times and went back, each time with half "
            "the step"
        )
    for line in in_words(record.measures):
        print(f"  {line}")
    for line in reservations(record.measures, unfinished=record.unfinished):
        print(f"  note: {line}")
    if record.measures:
        print(f"  {of_hidden_ties(record.held_out, graph.n_edges, shlex.quote(str(folder)))}")
    table, by = ranking(embedding, _TOP), ranked_by(embedding)
    print(f"\n{RANKED[by]}:")
    columns = {"rank": ranks_in_words(table), **names(table)}
    columns[by] = [number(cast("float", value)) for value in table[score_column(embedding, by)]]
    strengths = dict(zip(graph.ids, graph.strength, strict=True))
    columns["strength"] = [
        f"{strengths[node]:g}" for node in cast("Sequence[Hashable]", table["node"])
    ]
    print_columns(columns)
    if "rank_low" in table:
        print(f"in brackets: {INTERVALS}")
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
    """What people expect of an embedding, in lines that need no glossary.

    >>> in_words({"violated_orders": 0.0})
    ['a tie is shorter than a non-tie in 100 % of all comparisons']
    """
    lines = []
    for name, words in _SENTENCES.items():
        if (value := measures.get(name)) is not None:
            share, rest, back = (
                percent(value),
                percent(1.0 - value),
                measures.get("map_in", math.nan),
            )
            lines.append(words.format(value=value, share=share, rest=rest, back=back))
    return lines
