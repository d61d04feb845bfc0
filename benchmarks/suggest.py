"""Ties that were hidden: how well ``Embedding.suggest`` finds them, and whether its scores are probabilities.

    python benchmarks/suggest.py --json out/suggest.json

For each graph and repetition a tenth of the ties is hidden and the rest embedded. AUC is the chance that a hidden tie
is nearer than a pair without one, over all such pairs, beside that of Adamic and Adar's index, of preferential
attachment, and of the embedding with popularity (``goal="neighbours"``). Scores are learnt as for the whole graph, by
hiding other tenths of its ties, and compared with what was hidden here: *promised* is the mean score of all pairs
within a range of scores, *kept* the share of them that are hidden ties. Graphs other than the data sets come from the
folder that ``ULTRAHYPERBOLIC_DATA`` names.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from place import graphs

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation import hold_out_edges, link_prediction
from ultrahyperbolic.evaluation.links import HeldOut
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training.suggest import MISSING, Calibration, base_rate, calibrate, nearest_untied

_TABLES = ("netscience", "airports", "celegans")
_RANGES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
Floats = NDArray[np.float64]


def auc_of(scores: Floats, whole: Graph, split: HeldOut) -> float:
    """The chance that a hidden tie has the higher score than a pair without a tie; half where they are equal."""
    free = np.triu(np.ones(scores.shape, dtype=bool), 1)
    free[whole.edges[:, 0], whole.edges[:, 1]] = False
    others, hidden = np.sort(scores[free]), scores[split.edges[:, 0], split.edges[:, 1]]
    below = np.searchsorted(others, hidden, "left") + np.searchsorted(others, hidden, "right")
    return float(below.mean() / (2 * len(others)))


def adamic_adar(graph: Graph) -> Floats:
    """Σ 1/log(degree) over the common neighbours [n, n]."""
    tied = (graph.adjacency() > 0).astype(float).toarray()
    degree = tied.sum(1)
    share = np.zeros_like(degree)
    share[degree > 1] = 1.0 / np.log(degree[degree > 1])
    found: Floats = (tied * share) @ tied
    return found


def embedding_auc(embedding: uh.Embedding, whole: Graph, split: HeldOut) -> float:
    points = torch.from_numpy(embedding.points.copy())
    return link_prediction(whole, points, embedding.manifold, split.edges, popularity=embedding.popularity).auc


def promises(embedding: uh.Embedding, split: HeldOut, calibration: Calibration) -> tuple[Floats, NDArray[np.bool_]]:
    """The score of every pair without a tie in the rest, and whether it was hidden."""
    rest = split.graph
    count = rest.n_nodes * (rest.n_nodes - 1) // 2 - rest.n_edges
    pairs, _ = nearest_untied(embedding, count)
    scores = calibration.chance(np.arange(1, len(pairs) + 1) / len(pairs), base_rate(rest))
    codes = split.edges[:, 0] * rest.n_nodes + split.edges[:, 1]
    return scores, np.isin(pairs[:, 0] * rest.n_nodes + pairs[:, 1], codes)


def measure(name: str, graph: Graph, repeats: int) -> dict[str, float]:
    aucs, scores, hidden = [], [], []
    began = time.perf_counter()
    calibration = calibrate(uh.embed(graph, quiet=True))
    seconds = time.perf_counter() - began
    assert calibration is not None
    for seed in range(repeats):
        split = hold_out_edges(graph, MISSING, 1000 + seed)
        plain = uh.embed(split.graph, quiet=True)
        popular = uh.embed(split.graph, goal="neighbours", quiet=True)
        degree = split.graph.degree.astype(float)
        aucs.append([
            embedding_auc(plain, graph, split), embedding_auc(popular, graph, split),
            auc_of(adamic_adar(split.graph), graph, split), auc_of(np.outer(degree, degree), graph, split),
        ])  # fmt: skip
        found, were = promises(plain, split, calibration)
        scores.append(found)
        hidden.append(were)
    keys = ("auc", "auc_popularity", "auc_adamic_adar", "auc_preferential")
    figures = {f"{name}_{key}": round(value, 4) for key, value in zip(keys, np.mean(aucs, axis=0), strict=True)}
    every, were = np.concatenate(scores), np.concatenate(hidden)
    first = np.concatenate([found[:20] for found in scores]), np.concatenate([found[:20] for found in hidden])
    figures |= {f"{name}_top20_promised": round(float(first[0].mean()), 4)}
    figures |= {f"{name}_top20_kept": round(float(first[1].mean()), 4)}
    for low, high in pairwise(_RANGES):
        here = (every >= low) & (every < (math.inf if high == 1.0 else high))
        if here.any():
            key = f"{name}_from_{low:g}"
            figures |= {f"{key}_pairs": int(here.sum()), f"{key}_promised": round(float(every[here].mean()), 4)}
            figures |= {f"{key}_kept": round(float(were[here].mean()), 4)}
    return figures | {f"{name}_calibration_seconds": round(seconds, 1)}


def show(name: str, figures: dict[str, float]) -> None:
    print(f"\n{name}")
    for key in ("auc", "auc_popularity", "auc_adamic_adar", "auc_preferential"):
        print(f"  {key.replace('_', ' '):24} {figures[f'{name}_{key}']:.3f}")
    print(f"  {'score':>12} {'pairs':>9} {'promised':>9} {'kept':>9}")
    for low, high in pairwise(_RANGES):
        key = f"{name}_from_{low:g}"
        if f"{key}_pairs" in figures:
            values = figures[f"{key}_pairs"], figures[f"{key}_promised"], figures[f"{key}_kept"]
            print(f"  {f'{low:g} – {high:g}':>12} {values[0]:>9} {values[1]:>9.4f} {values[2]:>9.4f}")
    promised, kept = figures[f"{name}_top20_promised"], figures[f"{name}_top20_kept"]
    print(f"  {'first 20':>12} {'':>9} {promised:>9.4f} {kept:>9.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", help="data sets, or graphs of the folder")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    for name, graph in graphs(arguments.graphs, _TABLES).items():
        found = measure(name, graph, arguments.repeats)
        show(name, found)
        figures |= found
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
