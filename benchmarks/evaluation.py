"""Every measure of an embedding: seconds of ``evaluate`` with the compiled passes over the pairs, beside torch's.

    python benchmarks/evaluation.py --json out/evaluation.json

Points are random on Q^{3,1}, in five coordinates, and the graph is random too, five edges a node with whole weights: no
pair is left out because the embedding is good. Both backends evaluate a smaller graph in turn on as many threads, the
fastest of the repetitions counts, and ``speedup`` is their ratio. A first graph is evaluated before, which loads the
compiled passes, or compiles them where that has never been done: ``load_seconds``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.pairs import Backend, usable_threads

_SPACE = PseudoHyperboloid(3, 1)
_DEGREE = 5


def random_graph(nodes: int, seed: int = 0) -> tuple[Graph, Tensor]:
    rng = np.random.default_rng(seed)
    # Codes of pairs i < j, some to spare for those that are drawn twice.
    ends = np.sort(rng.integers(nodes, size=(2 * _DEGREE * nodes, 2)), axis=1)
    pairs = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    i, j = rng.permutation(pairs)[: _DEGREE * nodes].T
    graph = Graph.from_arrays(i, j, rng.integers(1, 50, len(i)).astype(float), ids=nodes)
    return graph, _SPACE.random(nodes, generator=torch.Generator().manual_seed(seed))


def seconds(graph: Graph, points: Tensor, backend: Backend) -> float:
    start = time.perf_counter()
    evaluate(graph, points, _SPACE, backend=backend)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=12_000, help="of the graph that the compiled passes evaluate")
    parser.add_argument("--both", type=int, default=3_000, help="nodes of the graph that both backends evaluate")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    torch.set_num_threads(usable_threads())  # as many as the compiled passes take
    load = seconds(*random_graph(50), "numba")
    smaller, larger = random_graph(arguments.both), random_graph(arguments.nodes)
    backends: tuple[Backend, ...] = ("numba", "reference")
    best = dict.fromkeys(backends, float("inf"))
    for _ in range(arguments.repeats):
        for backend in backends:
            best[backend] = min(best[backend], seconds(*smaller, backend))
    figures = {
        "threads": usable_threads(),
        "reference_threads": torch.get_num_threads(),
        "load_seconds": round(load, 3),
        "both_nodes": arguments.both,
        "both_edges": smaller[0].n_edges,
        "reference_seconds": round(best["reference"], 3),
        "compiled_seconds": round(best["numba"], 3),
        "speedup": round(best["reference"] / best["numba"], 2),
        "nodes": arguments.nodes,
        "edges": larger[0].n_edges,
        "seconds": round(min(seconds(*larger, "numba") for _ in range(arguments.repeats)), 3),
    }
    for key, value in figures.items():
        print(f"{key:20} {value}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
