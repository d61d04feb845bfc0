"""The tables of the comparison, and what it must show, from the figures of ``compare.py``."""

import math
from collections.abc import Mapping, Sequence

from bench import Bar, Figures, Value, cell, number, print_bars
from bench import table as markdown
from compare import ALL, CLOSURES, DEPTHS, GRAPHS, PEERS

TITLES = {name: peer.title for name, peer in ALL.items()} | {
    "degree": "degree",
    "pagerank": "PageRank",
    "centrality": "current flow",
    "adamic_adar": "Adamic–Adar",
    "preferential": "pref. attachment",
}
# Measure: how it is printed, and whether more is better (None: no contest).
MEASURES: dict[str, tuple[str, bool | None]] = {
    "map": (".3f", True),
    "tie_order": (".3f", True),
    "auc": (".3f", True),
    "cpu": (".2f", False),
    "memory": (".0f", False),
}
COSTS = ("cpu", "memory")
COST_GRAPHS = ("lesmis", "celegans", "airports", "nips")
NEAR = 0.005
FIRST_OF = 10
TIMES_WEMBED = 4.0
SHARE_OF_GENSIM = 0.1


def table(
    figures: Mapping[str, Value], measure: str, graphs: Sequence[str], form: str, more: bool | None
) -> str:
    """A row for each graph, a column for each method that has something; the first of a row is
    bold.
    """
    values = {(n, g): number(figures, f"{n}.{g}.{measure}") for n in TITLES for g in graphs}
    names = [
        name for name in TITLES if not all(math.isnan(values[name, graph]) for graph in graphs)
    ]
    rows = []
    for graph in graphs:
        cells = [cell(values[name, graph], form) for name in names]
        known = [text for text in cells if text != "–"]
        best = (max if more else min)(known, key=float) if known and more is not None else None
        if known:
            rows.append([graph, *(f"**{text}**" if text == best else text for text in cells)])
    return markdown(["graph", *(TITLES[name] for name in names)], rows)


def tables(figures: Mapping[str, Value]) -> dict[str, str]:
    made = {
        name: table(figures, name, COST_GRAPHS if name in COSTS else GRAPHS, form, more)
        for name, (form, more) in MEASURES.items()
    }
    forms = {
        "directed_map": ".3f",
        "directed_mean_rank": ".2f",
        "map": ".3f",
        "mean_rank": ".2f",
        "cpu": ".1f",
    }
    header = [
        "closure",
        "peer",
        "mAP, published",
        "mean rank, published",
        "mAP, both ways",
        "mean rank, both ways",
    ]
    made["closure"] = markdown(
        [*header, "CPU s"],
        [
            [
                graph,
                title,
                *(
                    cell(number(figures, f"{name}.{graph}_closure.{m}"), form)
                    for m, form in forms.items()
                ),
            ]
            for graph in CLOSURES
            for name, title in TITLES.items()
            if f"{name}.{graph}_closure.directed_map" in figures
        ],
    )
    made["seeds"] = few_seeds(figures)
    return made


def few_seeds(figures: Mapping[str, Value], wanted: int = 3) -> str:
    """What was trained from fewer seeds than the rest, in words."""
    fewer: dict[str, list[str]] = {}
    for measure, words in (("map", "trainings"), ("auc", "held-out trainings")):
        for name, peer in ALL.items():
            for graph in dict.fromkeys((*GRAPHS, *DEPTHS)):
                keys = [f"{name}.{graph}.seed{k}.{measure}" for k in range(100)]
                n = sum(not math.isnan(number(figures, key)) for key in keys)
                if 0 < n < wanted and peer.seeded:
                    title = f"- {peer.title}, {words} from {n} seed{'s' if n > 1 else ''}"
                    fewer.setdefault(title, []).append(graph)
    lines = [f"{title}: {', '.join(graphs)}" for title, graphs in fewer.items()]
    return "\n".join(lines) or "Every figure is the mean of three seeds."


def first(
    figures: Mapping[str, Value], ours: str, graphs: Sequence[str], measure: str, near: float
) -> tuple[int, int]:
    """On how many graphs we are first, or within ``near`` of the first, and of how many; each is
    printed.
    """
    held = known = 0
    for graph in graphs:
        mine = number(figures, f"{ours}.{graph}.{measure}")
        theirs = {TITLES[name]: number(figures, f"{name}.{graph}.{measure}") for name in PEERS}
        best = max(
            (value, name)
            for name, value in [*theirs.items(), ("no peer", -math.inf)]
            if not math.isnan(value)
        )
        if not math.isnan(mine):
            known, held = known + 1, held + (mine >= best[0] - near)
            print(f"  {graph}: {measure} {mine:.3f}, the first peer {best[1]} {best[0]:.3f}")
    return held, known


def bars(figures: Mapping[str, Value]) -> Figures:
    """Print each with its figures; ``bars.failed`` counts those that do not hold or were not
    measured.
    """

    def value(name: str, graph: str, measure: str) -> float:
        return number(figures, f"{name}.{graph}.{measure}")

    def bar(key: str, said: str, known: float, *, holds: bool) -> Bar:
        return Bar(key, None if math.isnan(known) else holds, said)

    held, known = first(figures, "ours", GRAPHS, "map", NEAR)
    kept: Figures = {"bars.map_first": held}
    said = f"first or within {NEAR} on {held} of {known}, {FIRST_OF} of 12 asked"
    made = [Bar("map", held >= FIRST_OF if known == len(GRAPHS) else None, said)]
    for measure, graphs in (("tie_order", GRAPHS), ("depth", DEPTHS)):
        held, known = first(figures, "ours", graphs, measure, 0.0)
        made.append(Bar(measure, held == known if known else None, f"first on {held} of {known}"))
    for graph in ("netscience", "nips"):
        mine, theirs = value("q22", graph, "cpu"), value("wembed", graph, "cpu")
        kept[f"bars.cpu_{graph}_ratio"] = mine / theirs
        said = (
            f"{mine:.1f} s, {mine / theirs:.2f} times WEmbed's {theirs:.1f} s, {TIMES_WEMBED:g} "
            "allowed"
        )
        made.append(bar(f"cpu_{graph}", said, mine / theirs, holds=mine / theirs <= TIMES_WEMBED))
    share, chosen = (
        value(name, "nips", "cpu") / value("gensim", "nips", "cpu") for name in ("q22", "ours")
    )
    kept["bars.gensim_cpu_with_choice"] = chosen
    said = (
        f"{share:.3f} of gensim's on nips, less than {SHARE_OF_GENSIM} asked; {chosen:.3f} with a "
        "choice"
    )
    made.append(bar("gensim_cpu", said, share, holds=share < SHARE_OF_GENSIM))
    for measure, sign in (("recall_at_1", 1.0), ("violated_orders", -1.0), ("spearman_all", 1.0)):
        mine, theirs = value("q22", "nips", measure), value("gensim", "nips", measure)
        ahead = sign * (mine - theirs)
        made.append(
            bar(
                f"gensim_{measure}",
                f"{mine:.4g}, gensim {theirs:.4g}, on nips",
                ahead,
                holds=ahead > 0.0,
            )
        )
    return (
        print_bars(made, "bars.")
        | kept
        | {"bars.failed": sum(each.holds is not True for each in made)}
    )
