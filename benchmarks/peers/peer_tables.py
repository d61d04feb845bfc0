"""The tables of the comparison, from the figures of ``run``, ``baselines`` and ``closure``, between marks of a page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from board_figures import Value, number
from runs import ALL, DEPTHS, GRAPHS, OURS, PEERS, SCORES

Names = Mapping[str, str]

TITLES: Names = {name: peer.title for name, peer in ALL.items()} | SCORES
# Measure: how it is printed, and whether more is better (None: no contest).
MEASURES: dict[str, tuple[str, bool | None]] = {
    "map": (".3f", True),
    "recall_at_1": (".3f", True),
    "violated_orders": (".4f", False),
    "tie_order": (".3f", True),
    "spearman_all": (".3f", None),
    "auc": (".3f", True),
    "cpu": (".2f", False),
    "process_cpu": (".1f", False),
    "memory": (".0f", False),
}


def value(figures: Mapping[str, Value], name: str, graph: str, measure: str) -> float:
    """The mean over the seeds; NaN where there is none."""
    return number(figures, f"{name}.{graph}.{measure}")


def seeds(figures: Mapping[str, Value], name: str, graph: str, measure: str) -> int:
    """Of how many seeds it is the mean."""
    return sum(not math.isnan(number(figures, f"{name}.{graph}.seed{k}.{measure}")) for k in range(100))


def table(
    figures: Mapping[str, Value], measure: str, graphs: Sequence[str], names: Sequence[str], form: str,
    more: bool | None,
) -> str:  # fmt: skip
    """A row for each graph, a column for each peer that has something; the first of a row is bold."""
    names = [n for n in names if any(not math.isnan(value(figures, n, graph, measure)) for graph in graphs)]
    lines = [f"| graph | {' | '.join(TITLES[name] for name in names)} |", "|---" * (len(names) + 1) + "|"]
    for graph in graphs:
        row = [value(figures, name, graph, measure) for name in names]
        known = [f"{each:{form}}" for each in row if not math.isnan(each)]
        if not known:
            continue
        best = None if more is None else (max if more else min)(known, key=float)
        cells = ["–" if math.isnan(each) else _bold(f"{each:{form}}", best) for each in row]
        lines.append(f"| {graph} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _bold(text: str, best: str | None) -> str:
    return f"**{text}**" if text == best else text


def tables(figures: Mapping[str, Value]) -> dict[str, str]:
    """All tables, by the name of their mark."""
    everybody = [*PEERS, *OURS]
    made = {
        name: table(figures, name, GRAPHS, [*everybody, *SCORES], form, more) for name, (form, more) in MEASURES.items()
    }
    made["depth"] = table(figures, "depth", DEPTHS, [*everybody, *SCORES], ".3f", True)
    made["closure"] = closures(figures)
    made["seeds"] = few_seeds(figures)
    return made


def closures(figures: Mapping[str, Value]) -> str:
    """Both protocols, a row for each peer and closure."""
    lines = [
        "| closure | peer | mAP, published | mean rank, published | mAP, both ways | mean rank, both ways | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    measures = ("directed_map", "directed_mean_rank", "map", "mean_rank", "cpu")
    for graph in ("mammals", "phenotypes"):
        for name, title in TITLES.items():
            row = [value(figures, name, f"{graph}_closure", measure) for measure in measures]
            if not math.isnan(row[0]):
                forms = (".3f", ".2f", ".3f", ".2f", ".1f")
                cells = " | ".join(f"{each:{form}}" for each, form in zip(row, forms, strict=True))
                lines.append(f"| {graph} | {title} | {cells} |")
    return "\n".join(lines)


def few_seeds(figures: Mapping[str, Value], wanted: int = 3) -> str:
    """What was trained from fewer seeds than the rest, in words."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for measure, words in (("map", "trainings"), ("auc", "held-out trainings")):
        for name, peer in ALL.items():
            for graph in dict.fromkeys((*GRAPHS, *DEPTHS)):
                count = seeds(figures, name, graph, measure)
                if 0 < count < wanted and peer.seeded:
                    found.setdefault((peer.title, words, count), []).append(graph)
    lines = [f"- {title}, {words} from {n} seed{'s' if n > 1 else ''}: {', '.join(graphs)}"
             for (title, words, n), graphs in found.items()]  # fmt: skip
    return "\n".join(lines) if lines else "Every figure is the mean of three seeds."


def written(page: str, made: Mapping[str, str]) -> str:
    """A page with the tables between ``<!-- NAME -->`` and ``<!-- end of NAME -->``; marks it lacks are an error."""
    for name, text in made.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.S)
        page, count = pattern.subn(lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"the page must have one <!-- {name} --> and <!-- end of {name} -->, it has {count}")
    return page
