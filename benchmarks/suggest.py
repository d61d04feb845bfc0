"""Ties that were hidden: how well ``Embedding.suggest`` finds them, and whether its scores are probabilities.

    python benchmarks/suggest.py --json out/suggest.json

For each graph and repetition a tenth of the ties is hidden, and the method learns from the rest alone. AUC is the
chance that a hidden tie has a higher score than another pair without a tie, beside that of Adamic and Adar's index; p20
is the share of hidden ties among the first 20 suggestions. Equal scores count as if their order were drawn. ECE, the
expected calibration error, is that of the scores of the first 20 suggestions of all repetitions, in ten ranges. The
method was chosen on the graphs of ``LOOKED``. ``ULTRAHYPERBOLIC_DATA`` names the folder of other graphs.
"""

import os
import time
from pathlib import Path

import numpy as np
from bench import Bar, Figures, Floats, found, graph_named, mean, parser, print_bars, save, table

from ultrahyperbolic.arrays import Bools
from ultrahyperbolic.evaluation.links import hold_out_ties
from ultrahyperbolic.evaluation.missing import MISSING, Evidence, learn
from ultrahyperbolic.graph import Graph, read_graph

LOOKED = ("karate", "lesmis", "football", "celegans", "airports", "netscience")
UNSEEN = ("dolphins", "polbooks", "adjnoun", "jazz", "cora", "nips")
_FIRST, _ADAMIC = 20, 3  # suggestions that are looked at; which evidence is Adamic and Adar's


def graph_of(name: str) -> Graph:
    folder = Path(os.environ.get("ULTRAHYPERBOLIC_DATA", "."))
    if name == "cora":
        with np.load(found(folder, "cora.npz")) as data:
            return Graph.from_arrays(*data["edges"].astype(np.int64).T, ids=len(data["labels"]))
    if name == "nips":
        return read_graph(found(folder, "nips_edges.txt"))
    return graph_named(name)


def auc(scores: Floats, hidden: Bools) -> float:
    others, mine = np.sort(scores[~hidden]), scores[hidden]
    below = np.searchsorted(others, mine) + np.searchsorted(others, mine, side="right")
    return float(below.mean() / (2 * len(others)))


def precision(scores: Floats, hidden: Bools) -> float:
    cut = np.partition(scores, len(scores) - _FIRST)[len(scores) - _FIRST]
    above, level = scores > cut, scores == cut
    return float(hidden[above].sum() + (_FIRST - above.sum()) * hidden[level].mean()) / _FIRST


def calibration_error(promised: Floats, kept: Bools) -> float:
    which = np.minimum(promised * 10, 9).astype(np.int64)
    return float(np.abs(np.bincount(which, promised - kept)).sum() / len(kept))


def measure(graph: Graph, repeats: int) -> Figures:
    rows, promised, kept = [], [], []
    for seed in range(repeats):
        rest, ties = hold_out_ties(graph, MISSING, 1000 + seed)
        began = time.perf_counter()
        known = learn(rest)
        seconds = time.perf_counter() - began
        code = {tuple(tie) for tie in ties.tolist()}
        parts = []
        for some, evidence, free in Evidence(rest).parts(np.arange(graph.n_nodes)):
            others, which = np.nonzero(free)
            pairs = zip(some[which].tolist(), others.tolist(), strict=True)
            hidden = np.array([pair in code for pair in pairs], dtype=bool)
            parts.append((known.scores(evidence)[others, which], evidence[_ADAMIC, others, which], hidden))
        scores, adamic, hidden = (np.concatenate(column) for column in zip(*parts, strict=True))
        first = np.argsort(-scores, kind="stable")[:_FIRST]
        promised.append(known.chance(scores[first]))
        kept.append(hidden[first])
        found = (auc(scores, hidden), auc(adamic, hidden), precision(scores, hidden), precision(adamic, hidden))
        rows.append((*found, seconds))
    keys = ("auc", "auc_adamic_adar", "p20", "p20_adamic_adar", "seconds")
    figures: Figures = dict(zip(keys, np.mean(rows, axis=0).tolist(), strict=True))
    error = calibration_error(np.concatenate(promised), np.concatenate(kept))
    return figures | {"promised": float(np.mean(promised)), "ece": error}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--graphs", nargs="+", default=[*LOOKED, *UNSEEN])
    made.add_argument("--repeats", type=int, default=5)
    options = made.parse_args()
    by_graph = {name: measure(graph_of(name), options.repeats) for name in options.graphs}
    header = list(next(iter(by_graph.values())))
    means: Figures = {key: mean(mine[key] for mine in by_graph.values()) for key in header}
    rows = [[name, *(f"{mine[key]:.3f}" for key in header)] for name, mine in (by_graph | {"mean": means}).items()]
    print(table(["graph", *header], rows))
    worst = min(mine["auc"] - mine["auc_adamic_adar"] for mine in by_graph.values())
    bars = [
        Bar("auc_of_each", worst >= -0.01, f"at least Adamic–Adar − 0.01: the least difference is {worst:.3f}"),
        Bar("auc_mean", means["auc"] >= 0.875, f"at least 0.875: {means['auc']:.3f}"),
        Bar("ece", means["ece"] <= 0.1, f"at most 0.1: {means['ece']:.3f}"),
        Bar(
            "p20",
            means["p20"] >= means["p20_adamic_adar"],
            f"{means['p20']:.3f}, Adamic–Adar {means['p20_adamic_adar']:.3f}",
        ),
    ]
    figures = {f"{name}_{key}": value for name, mine in by_graph.items() for key, value in mine.items()}
    save(figures | {f"mean_{key}": value for key, value in means.items()} | print_bars(bars), options.json)


if __name__ == "__main__":
    main()
