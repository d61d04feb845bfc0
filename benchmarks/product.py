"""Does a product of geometries fit a tree times a cycle better than one geometry of the same dimension?

    python benchmarks/product.py --json out/product.json

The graph is the Cartesian product of a binary tree and a cycle. Every geometry has dimension 3 and is trained alike:
the ranking loss of smoothed dissimilarities by the reference engine, from near the pole, with a temperature and a
longest move that fall. Each runs from several pairs of first and last temperatures, and the best pair, by the mean
over the seeds, counts. Printed are the mean and the spread of mAP.
"""

from __future__ import annotations

import statistics

import networkx as nx
import numpy as np
import torch
from bench import Figures, finish, parser

import ultrahyperbolic as uh
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.objective import RankedPairs

Q = uh.PseudoHyperboloid
SINGLE: list[uh.Manifold] = [uh.Euclidean(3), Q(3, 0), Q(2, 1), Q(1, 2), Q(0, 3)]
GEOMETRIES: dict[str, uh.Manifold] = dict(
    zip(("R^3", "Q^(3,0)", "Q^(2,1)", "Q^(1,2)", "Q^(0,3)"), SINGLE, strict=True)
) | {
    "Q^(2,0) x Q^(0,1)": uh.Product(Q(2, 0), Q(0, 1)),
    "Q^(2,0) x Q^(0,1), wide": uh.Product(Q(2, 0), Q(0, 1, -4.0)),
    "Q^(2,0) x R^1": uh.Product(Q(2, 0), uh.Euclidean(1)),
    "Q^(1,1) x Q^(0,1)": uh.Product(Q(1, 1), Q(0, 1)),
}
TEMPERATURES = [(1.0, 0.1), (0.3, 0.03), (0.1, 0.01)]


def trained(graph: uh.Graph, manifold: uh.Manifold, seed: int, iterations: int, hot: float, cold: float) -> float:
    fall = np.linspace(0.0, 1.0, iterations)
    temperature, move = hot * (cold / hot) ** fall, 0.1 * 0.03**fall
    schedule = Schedule(temperature, 0.1 * 0.01**fall, np.full(iterations, 0.1), move)
    state = BatchState.start([manifold.random_near_pole(graph.n_nodes, epsilon=0.1, generator=seed).numpy()])
    spec = RunSpec(manifold, schedule, "smoothed", keep="last")
    ReferenceEngine(RankedPairs.of(graph), [spec]).advance(state, iterations)
    points = torch.from_numpy(np.array(state.points[0]))
    return float(evaluate(graph, points, manifold, dissimilarity="geodesic")["map"])


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--depth", type=int, default=4, help="of the tree")
    made.add_argument("--cycle", type=int, default=6, help="nodes of the cycle")
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--iterations", type=int, default=150)
    options = made.parse_args()
    tree, cycle = nx.balanced_tree(2, options.depth), nx.cycle_graph(options.cycle)
    graph = uh.as_graph(nx.convert_node_labels_to_integers(nx.cartesian_product(tree, cycle)))
    figures: Figures = {"nodes": graph.n_nodes, "edges": graph.n_edges, "iterations": options.iterations}
    for name, manifold in GEOMETRIES.items():
        tried = [
            [trained(graph, manifold, seed, options.iterations, *pair) for seed in range(options.seeds)]
            for pair in TEMPERATURES
        ]
        scores = max(tried, key=statistics.mean)
        figures |= {f"{name}: map": statistics.mean(scores), f"{name}: spread": statistics.pstdev(scores)}
    finish(figures, options.json)


if __name__ == "__main__":
    main()
