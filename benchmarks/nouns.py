"""WordNet's nouns, on which hyperbolic embeddings are compared: ``python benchmarks/nouns.py [--json FILE]``.

Trains the closure of the hypernyms (82,115 synsets, 743,241 pairs) by ``embed --goal neighbours`` and ranks, for each
node, all others. Two protocols: *published* (Nickel & Kiela 2017) asks each node for its hypernyms, its hyponyms count
as wrong; *both ways* asks for all its ties. Needs a GPU for minutes, and WordNet's ``data.noun``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ultrahyperbolic.datasets import nouns
from ultrahyperbolic.engines.base import Place
from ultrahyperbolic.geometry import Geometry, Manifold
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective.chords import half_chord_table, value_and_slope
from ultrahyperbolic.pairs.kinds import kernel_space
from ultrahyperbolic.training.plan import Execution, Plan, Wishes

Ints = NDArray[np.int64]

# Published, for reconstruction of the closure: mean rank and mAP.
PUBLISHED = {
    "Poincaré, 5 dimensions (Nickel & Kiela 2017)": (4.9, 0.823),
    "Poincaré, 10 dimensions (Nickel & Kiela 2017)": (4.02, 0.851),
    "Poincaré, 10 dimensions (gensim)": (62.8, 0.63),
}
# Distances that are evaluated at once.
_AT_ONCE = 1 << 26


class Ranked(NamedTuple):
    """How the nodes that were asked for stand among all others."""

    map: float
    mean_rank: float


def ranked(
    points: torch.Tensor, manifold: Manifold, asking: Ints, asked: Ints, popularity: torch.Tensor | None = None
) -> Ranked:
    """Of pairs (asking, asked): mean average precision over the asking nodes, and the mean rank of an asked one.

    A rank counts the nodes that are nearer and were not asked for. Computed where the points [n, d] are.
    """
    n, device, space = len(points), points.device, kernel_space(manifold, "geodesic")
    order = np.lexsort((asked, asking))
    asking, asked = asking[order], asked[order]
    nodes, first = np.unique(asking, return_index=True)
    bounds = np.append(first, len(asking))
    points = points - points.mean(0)
    precision = ranks = 0.0
    size = max(1, _AT_ONCE // n)
    for start in range(0, len(nodes), size):
        some, last = nodes[start : start + size], min(start + size, len(nodes))
        mine = slice(bounds[start], bounds[last])
        own = torch.from_numpy(some).to(device)
        far, _ = value_and_slope(half_chord_table(points[own], points, space), space, 0.0)
        if popularity is not None:
            far = far - popularity
        rows = torch.arange(len(some), device=device)
        far[rows, own] = torch.inf
        place = torch.empty_like(far, dtype=torch.int64)
        place.scatter_(1, far.argsort(1), torch.arange(n, device=device).expand_as(far).contiguous())
        degrees = torch.from_numpy(np.diff(bounds[start : last + 1])).to(device)
        row = torch.repeat_interleave(rows, degrees)
        # The asked ones of a row in the order of their places: the k-th has place - k others before it.
        row, found = _by_row(row, place[row, torch.from_numpy(asked[mine]).to(device)], n)
        before = torch.arange(len(row), device=device) - torch.searchsorted(row, rows)[row]
        precision += float(((before + 1.0) / (found + 1.0) / degrees[row]).sum())
        ranks += float((found - before + 1.0).sum())
    return Ranked(precision / len(nodes), ranks / len(asking))


def _by_row(row: torch.Tensor, place: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    key = (row * n + place).sort().values
    return key // n, key % n


def closure(path: Path | None) -> tuple[Graph, Ints, Ints]:
    """All pairs of a synset and a hypernym as ties, and as directed pairs."""
    keys, _, below, above = nouns._read(nouns._find(path))
    below, above = nouns._closure(below, above, len(keys))
    n = len(keys)
    ties = np.unique(np.minimum(below, above) * n + np.maximum(below, above))
    return Graph.from_arrays(ties // n, ties % n, ids=n, name="nouns"), below, above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signatures", nargs="+", default=["3,2", "5,5"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--iterations", type=int, help="as many as embed takes, unless given")
    parser.add_argument("--path", type=Path, help="of data.noun")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    graph, below, above = closure(options.path)
    print(f"{graph.n_nodes:,} nodes, {graph.n_edges:,} ties", flush=True)
    figures: dict[str, float] = {"nodes": graph.n_nodes, "ties": graph.n_edges}
    for signature in options.signatures:
        p, q = map(int, signature.split(","))
        for seed in range(options.seeds):
            began = time.perf_counter()
            wishes, place = Wishes(iterations=options.iterations), Place(options.device)
            plan = Plan(Geometry(p, q), wishes, seed, place=place, goal="neighbours")
            found = Execution(plan, graph).train(measures=False)
            seconds = time.perf_counter() - began
            points = torch.from_numpy(found.points.copy()).to(options.device)
            offsets = None if found.popularity is None else torch.from_numpy(found.popularity.copy()).to(points.device)
            published = ranked(points, found.manifold, below, above, offsets)
            ends = np.concatenate((below, above)), np.concatenate((above, below))
            both = ranked(points, found.manifold, *ends, offsets)
            stem = f"q{p}_{q}_seed{seed}"
            figures |= {
                f"{stem}_published_map": published.map, f"{stem}_published_mean_rank": published.mean_rank,
                f"{stem}_map": both.map, f"{stem}_mean_rank": both.mean_rank, f"{stem}_seconds": seconds,
            }  # fmt: skip
            print(
                f"Q^{{{p},{q}}}, seed {seed}: published protocol mAP {published.map:.3f}, mean rank "
                f"{published.mean_rank:.1f}; both ways mAP {both.map:.3f}, mean rank {both.mean_rank:.1f}; "
                f"{seconds:.0f} s", flush=True,
            )  # fmt: skip
            if options.json:
                options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, (rank, precision) in PUBLISHED.items():
        print(f"{name}: mAP {precision}, mean rank {rank}")


if __name__ == "__main__":
    main()
