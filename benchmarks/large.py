"""A graph of millions of nodes, made up, trained and ranked: ``python benchmarks/large.py [--json FILE]``.

The nodes lie on a ring. The first end of a tie is drawn by a power law, the second at a distance whose logarithm is
uniform, the most popular of four there: degrees follow a power law, and there is something to learn at every scale.
Of the ties one in a hundred is held out. Every iteration looks at all other ties, and each node meets ``--others``
others; ``ties_per_second`` are ties times iterations over the seconds of the training.

Ten million nodes on a GPU: ``--nodes 10000000 --ties 100000000 --iterations 300``.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ultrahyperbolic.engines.base import Place
from ultrahyperbolic.evaluation.sampled import from_samples
from ultrahyperbolic.geometry import Geometry, Manifold
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training.plan import Execution, Plan, Wishes

Ints = NDArray[np.int64]

# The exponent of the ranks by which first ends are drawn, the second ends that are looked at, and classes of strength.
_EXPONENT, _LOOKED_AT, _CLASSES = 0.6, 4, 5
_HELD_OUT, _MEASURED = 0.01, 100_000


class Ties(NamedTuple):
    """Ties of which none is there twice: ends [m, 2], the first the lower, and their strength [m]."""

    ends: Ints
    weights: NDArray[np.float64]


def power_law(n: int, m: int, device: torch.device, seed: int = 0) -> Ties:
    """About m ties between n nodes, drawn on a device."""
    generator = torch.Generator(device).manual_seed(seed)
    rank = torch.randperm(n, generator=generator, device=device)
    chances = (rank + 1.0).double() ** -_EXPONENT
    first = torch.searchsorted(chances.cumsum(0) / chances.sum(), _uniform(m, generator)).clamp_max_(n - 1)
    nearness = _uniform(m, generator)  # 1 for next to each other, 0 for half the ring apart
    steps = (n / 2.0) ** (1.0 - nearness)
    steps = steps.long() * torch.where(_uniform(m, generator) < 0.5, -1, 1)
    second = (first + steps) % n
    for k in range(1, _LOOKED_AT):
        other = (first + steps + k * steps.sign()) % n
        second = torch.where(rank[other] < rank[second], other, second)
    keys = torch.minimum(first, second) * n + torch.maximum(first, second)
    # The strength goes along in the last digit, so that one sort serves both.
    keys = torch.unique(keys * _CLASSES + (nearness * _CLASSES).long().clamp_max(_CLASSES - 1))
    strength, keys = keys % _CLASSES, keys // _CLASSES
    kept = keys // n != keys % n
    kept[1:] &= keys[1:] != keys[:-1]
    keys, strength = keys[kept], strength[kept]
    ends = torch.stack((keys // n, keys % n), 1)
    return Ties(ends.cpu().numpy(), (1.0 + strength.double()).cpu().numpy())


def _uniform(count: int, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(count, generator=generator, device=generator.device, dtype=torch.float64)


def area(ties: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The chance that the score of a tie is above that of another pair."""
    ranks = np.concatenate((ties, others)).argsort(kind="stable").argsort(kind="stable")
    return float((ranks[: len(ties)].mean() - (len(ties) - 1) / 2) / len(others))


def _among(pairs: Ints, ties: Ints, n: int) -> NDArray[np.bool_]:
    """Whether pairs [k, 2] are among ties [m, 2], which are in ascending order."""
    keys, wanted = ties @ np.array([n, 1]), pairs @ np.array([n, 1])
    found: NDArray[np.bool_] = keys[np.searchsorted(keys, wanted).clip(max=len(keys) - 1)] == wanted
    return found


def areas(graph: Graph, held: Ints, points: torch.Tensor, manifold: Manifold, seed: int = 0) -> dict[str, float]:
    """AUC of held-out ties against pairs without a tie, by distance and by preferential attachment."""
    rng, n = np.random.default_rng(seed), graph.n_nodes
    pairs = np.sort(rng.integers(0, n, (2 * len(held), 2)), 1)
    pairs = pairs[(pairs[:, 0] < pairs[:, 1]) & ~_among(pairs, graph.edges, n) & ~_among(pairs, held, n)]
    pairs, degree = pairs[: len(held)], graph.degree.astype(np.float64)

    def near(some: Ints) -> NDArray[np.float64]:
        i, j = torch.from_numpy(some).unbind(1)
        found: NDArray[np.float64] = -manifold.dissimilarity(points[i], points[j]).numpy()
        return found

    return {
        "auc": area(near(held), near(pairs)),
        "auc_preferential_attachment": area(*(degree[some].prod(1) for some in (held, pairs))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--ties", type=int, default=10_000_000)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--others", type=int, default=1000, help="that each node meets in an iteration")
    parser.add_argument("--signature", type=int, nargs=2, default=[3, 3])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    device, figures = torch.device(options.device), {}

    def clock(name: str, since: float) -> float:
        figures[f"seconds_{name}"] = time.perf_counter() - since
        print(f"{name}: {figures[f'seconds_{name}']:.1f} s", flush=True)
        return time.perf_counter()

    at = time.perf_counter()
    ties = power_law(options.nodes, options.ties, device)
    at = clock("generate", at)
    out = np.random.default_rng(1).random(len(ties.ends)) < _HELD_OUT
    left = ties.ends[~out]
    graph = Graph.from_arrays(left[:, 0], left[:, 1], ties.weights[~out], ids=options.nodes, name="power law")
    held = ties.ends[out][:_MEASURED]
    figures |= {"nodes": graph.n_nodes, "ties": graph.n_edges, "largest_degree": int(graph.degree.max())}
    del ties, left
    at = clock("graph", at)
    plan = Plan(Geometry(*options.signature), Wishes(iterations=options.iterations), place=Place(options.device))
    execution = Execution(plan, graph)
    parts = max(1, graph.n_nodes // options.others)
    execution.configs = [replace(config, parts=parts) for config in execution.configs]
    at = clock("plan", at)
    embedding = execution.train(measures=False)
    at = clock("train_in_all", at)
    timing = embedding.record.timing
    assert timing is not None
    assert timing.seconds is not None
    figures |= {
        "passes": options.iterations, "others": options.others, "seconds_train": timing.seconds,
        "ties_per_second": graph.n_edges * options.iterations / timing.seconds,
        "pairs_per_second": graph.n_nodes * options.others * options.iterations / timing.seconds,
    }  # fmt: skip
    points = torch.from_numpy(embedding.points.copy())
    figures |= areas(graph, held, points, embedding.manifold)
    at = clock("auc", at)
    estimated = from_samples(graph, points.to(device), embedding.manifold)
    figures |= {
        name: value for name, value in estimated.measures.items() if name[:8] in ("spearman", "recall_a", "measured")
    }
    at = clock("rank", at)
    figures["peak_host_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if device.type == "cuda":
        figures["peak_device_gib"] = torch.cuda.max_memory_allocated() / 2**30
    for name, value in figures.items():
        print(f"{name}: {value:,.4g}" if isinstance(value, float) else f"{name}: {value:,}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
