"""Every measure of an embedding: seconds of ``evaluate`` with the compiled passes over the pairs, beside torch's.

    python benchmarks/evaluation.py --json out/evaluation.json

Points are random on Q^{3,1}, in five coordinates, and the graph is random too, five edges a node with whole weights: no
pair is left out because the embedding is good. Both backends evaluate a smaller graph in turn on as many threads, the
fastest of the repetitions counts, and ``speedup`` is their ratio. A first graph is evaluated before, which loads the
compiled passes, or compiles them where that has never been done: ``load_seconds``.
"""

from __future__ import annotations

import numpy as np
import torch
from bench import best, finish, parser, random_edges
from torch import Tensor

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.pairs import Backend, usable_threads

_SPACE = PseudoHyperboloid(3, 1)


def random_graph(nodes: int) -> tuple[Graph, Tensor]:
    rng = np.random.default_rng(0)
    i, j = rng.permutation(random_edges(nodes, 10 * nodes))[: 5 * nodes].T
    graph = Graph.from_arrays(i, j, rng.integers(1, 50, len(i)).astype(float), ids=nodes)
    return graph, _SPACE.random(nodes, generator=torch.Generator().manual_seed(0))


def seconds(graph: Graph, points: Tensor, backend: Backend, repeats: int = 1) -> float:
    return best(lambda: evaluate(graph, points, _SPACE, backend=backend), repeats)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--nodes", type=int, default=12_000, help="of the graph that the compiled passes evaluate")
    made.add_argument("--both", type=int, default=3_000, help="nodes of the graph that both backends evaluate")
    made.add_argument("--repeats", type=int, default=3)
    options = made.parse_args()
    torch.set_num_threads(usable_threads())  # as many as the compiled passes take
    load = seconds(*random_graph(50), "numba")
    smaller, larger = random_graph(options.both), random_graph(options.nodes)
    rounds = [(seconds(*smaller, "numba"), seconds(*smaller, "reference")) for _ in range(options.repeats)]
    compiled, reference = map(min, zip(*rounds, strict=True))
    figures = {
        "threads": usable_threads(), "reference_threads": torch.get_num_threads(), "load_seconds": load,
        "both_nodes": options.both, "both_edges": smaller[0].n_edges, "reference_seconds": reference,
        "compiled_seconds": compiled, "speedup": reference / compiled, "nodes": options.nodes,
        "edges": larger[0].n_edges, "seconds": seconds(*larger, "numba", options.repeats),
    }  # fmt: skip
    finish(figures, options.json)


if __name__ == "__main__":
    main()
