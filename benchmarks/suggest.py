"""Ties that were hidden: how well ``Embedding.suggest`` finds them, and whether its scores are probabilities.

    python benchmarks/suggest.py --json out/suggest.json

For each graph and repetition a tenth of the ties is hidden and the rest embedded. AUC is the chance that a hidden tie
is nearer than a pair without one, beside that of Adamic and Adar's index, of preferential attachment, and of the
embedding with popularity (``goal="neighbours"``). *promised* is the mean score of all pairs within a range of scores,
*kept* the share of them that are hidden ties. ``ULTRAHYPERBOLIC_DATA`` names the folder of other graphs.
"""

import math
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from bench import Figures, Floats, graph_named, parser, save, show
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parent / "peers"))

from measuring import auc, link_aucs

import ultrahyperbolic as uh
from ultrahyperbolic.evaluation import hold_out_edges
from ultrahyperbolic.evaluation.links import HeldOut
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training.suggest import MISSING, Calibration, base_rate, calibrate, nearest_untied

_RANGES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)


def promises(embedding: uh.Embedding, split: HeldOut, calibration: Calibration) -> tuple[Floats, NDArray[np.bool_]]:
    """The score of every pair without a tie in the rest, and whether it was hidden."""
    rest = split.graph
    count = rest.n_nodes * (rest.n_nodes - 1) // 2 - rest.n_edges
    pairs, _ = nearest_untied(embedding, count)
    scores = calibration.chance(np.arange(1, len(pairs) + 1) / len(pairs), base_rate(rest))
    codes = split.edges[:, 0] * rest.n_nodes + split.edges[:, 1]
    return scores, np.isin(pairs[:, 0] * rest.n_nodes + pairs[:, 1], codes)


def measure(graph: Graph, repeats: int) -> Figures:
    aucs, scores, hidden = [], [], []
    began = time.perf_counter()
    calibration = calibrate(uh.embed(graph, quiet=True))
    seconds = time.perf_counter() - began
    assert calibration is not None
    for seed in range(repeats):
        split = hold_out_edges(graph, MISSING, 1000 + seed)
        plain = uh.embed(split.graph, quiet=True)
        popular = uh.embed(split.graph, goal="neighbours", quiet=True)
        both = [
            auc(graph, torch.from_numpy(e.points.copy()), e.manifold, split, popularity=e.popularity)
            for e in (plain, popular)
        ]
        aucs.append([*both, *link_aucs(graph, split).values()])
        promised, were = promises(plain, split, calibration)
        scores.append(promised)
        hidden.append(were)
    keys = ("auc", "auc_popularity", "auc_adamic_adar", "auc_preferential")
    figures: Figures = dict(zip(keys, np.mean(aucs, axis=0).tolist(), strict=True))
    figures["top20_promised"], figures["top20_kept"] = (
        float(np.mean([each[:20] for each in some])) for some in (scores, hidden)
    )
    every, were = np.concatenate(scores), np.concatenate(hidden)
    for low, high in pairwise(_RANGES):
        here = (every >= low) & (every < (math.inf if high == 1.0 else high))
        if here.any():
            shares = {"promised": float(every[here].mean()), "kept": float(were[here].mean())}
            mine = {"pairs": int(here.sum())} | shares
            figures |= {f"from_{low:g}_{what}": value for what, value in mine.items()}
    return figures | {"calibration_seconds": seconds}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--graphs", nargs="+", default=["karate", "lesmis", "netscience", "airports", "celegans"])
    made.add_argument("--repeats", type=int, default=3)
    options = made.parse_args()
    figures: Figures = {}
    for name in options.graphs:
        mine = {f"{name}_{key}": v for key, v in measure(graph_named(name), options.repeats).items()}
        show(mine)
        figures |= mine
    save(figures, options.json)


if __name__ == "__main__":
    main()
