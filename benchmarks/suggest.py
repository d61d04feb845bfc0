"""Ties that were hidden: how well ``Embedding.suggest`` finds them, and whether its scores are
probabilities.

    python benchmarks/suggest.py --json out/suggest.json

For each graph and repetition a tenth of the ties is hidden, and the method learns from the rest
alone. AUC is the chance that a hidden tie has a higher score than another pair without a tie,
beside that of Adamic and Adar's index; p20 is the share of hidden ties among the first 20
suggestions. Equal scores count as if their order were drawn. ECE, the expected calibration error,
is that of the scores of the first 20 suggestions of all repetitions, in ten ranges. The method was
chosen on ``LOOKED`` and two directed graphs. ``ULTRAHYPERBOLIC_DATA`` names the folder of other
graphs.
"""

import os
from pathlib import Path

import numpy as np
from bench import Bar, Figures, Floats, auc, mean, parser, print_bars, save, table
from board_graphs import load_graph

from ultrahyperbolic.arrays import Bools
from ultrahyperbolic.evaluation.links import hold_out_ties
from ultrahyperbolic.evaluation.missing import MISSING, Evidence, learn
from ultrahyperbolic.graph import Graph, read_graph

LOOKED = ("karate", "lesmis", "football", "celegans", "airports", "netscience")
UNSEEN = ("dolphins", "polbooks", "adjnoun", "jazz", "cora", "nips")
DIRECTED = ("law-advice", "worm", "cs-hiring", "ht-advice", "foodweb-benguela")
_FIRST, _ADAMIC = 20, 3  # suggestions that are looked at; which evidence is Adamic and Adar's


def graph_of(name: str) -> Graph:
    folder = Path(os.environ.get("ULTRAHYPERBOLIC_DATA", "."))
    if name in DIRECTED:
        return read_graph(folder / "directed" / f"{name}.tsv.gz", directed=True)
    return load_graph(name, folder).graph


def precision(scores: Floats, hidden: Bools) -> float:
    cut = np.partition(scores, len(scores) - _FIRST)[len(scores) - _FIRST]
    return (
        float(
            hidden[scores > cut].sum()
            + (_FIRST - (scores > cut).sum()) * hidden[scores == cut].mean()
        )
        / _FIRST
    )


def measure(graph: Graph, repeats: int) -> Figures:
    rows, firsts = [], []
    for seed in range(repeats):
        rest, ties = hold_out_ties(graph, MISSING, 1000 + seed)
        known, base, parts = learn(rest), np.array([graph.n_nodes, 1]), []
        for some, evidence, free in Evidence(rest).parts(np.arange(graph.n_nodes)):
            others, which = np.nonzero(free)
            hidden = np.isin(np.column_stack((some[which], others)) @ base, ties @ base)
            parts.append(
                (known.scores(evidence)[others, which], evidence[_ADAMIC, others, which], hidden)
            )
        scores, adamic, hidden = (np.concatenate(column) for column in zip(*parts, strict=True))
        first = np.argsort(-scores, kind="stable")[:_FIRST]
        firsts.append((known.chance(scores[first]), hidden[first]))
        rows.append(
            [measure(values, hidden) for measure in (auc, precision) for values in (scores, adamic)]
        )
    keys = ("auc", "auc_adamic_adar", "p20", "p20_adamic_adar")
    figures: Figures = dict(zip(keys, np.mean(rows, axis=0).tolist(), strict=True))
    said, were = (np.concatenate(column) for column in zip(*firsts, strict=True))
    missed = np.bincount(np.minimum(said * 10, 9).astype(np.int64), said - were)
    return figures | {
        "promised": float(said.mean()),
        "ece": float(np.abs(missed).sum() / len(said)),
    }


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--graphs", nargs="+", default=[*LOOKED, *UNSEEN, *DIRECTED])
    made.add_argument("--repeats", type=int, default=20)
    options = made.parse_args()
    by_graph = {name: measure(graph_of(name), options.repeats) for name in options.graphs}
    for kind, those in (
        ("mean", {*by_graph} - {*DIRECTED}),
        ("directed", {*by_graph} & {*DIRECTED}),
    ):
        by_graph[kind] = {
            key: mean(by_graph[name][key] for name in those) for key in by_graph[options.graphs[0]]
        }
    means, rows = (
        by_graph["mean"],
        [[name, *(f"{v:.3f}" for v in mine.values())] for name, mine in by_graph.items()],
    )
    print(table(["graph", *means], rows))
    worst = min(mine["auc"] - mine["auc_adamic_adar"] for mine in by_graph.values())
    ours, theirs, ece = (
        means["p20"],
        means["p20_adamic_adar"],
        max(mine["ece"] for mine in by_graph.values()),
    )
    bars = [
        Bar(
            "auc_of_each",
            worst >= -0.01,
            f"at least Adamic–Adar − 0.01: the least difference is {worst:.3f}",
        ),
        Bar("auc_mean", means["auc"] >= 0.875, f"at least 0.875: {means['auc']:.3f}"),
        Bar("ece", ece <= 0.1, f"at most 0.1: the largest is {ece:.3f}"),
        Bar("p20", ours >= theirs, f"at least Adamic–Adar's {theirs:.3f}: {ours:.3f}"),
    ]
    figures = {
        f"{name}_{key}": value for name, mine in by_graph.items() for key, value in mine.items()
    }
    save(figures | print_bars(bars), options.json)


if __name__ == "__main__":
    main()
