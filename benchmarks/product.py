"""Does a product of geometries fit a tree times a cycle better than one geometry of the same dimension?

    python benchmarks/product.py --json out/product.json

The graph is the Cartesian product of a binary tree and a cycle. Every geometry has dimension 3 and is trained alike:
the ranking loss of smoothed dissimilarities by the reference engine, from near the pole, with a temperature and a
longest move that fall. Each runs from several pairs of first and last temperatures, and the best pair, by the mean
over the seeds, counts. Printed are the mean and the spread of mAP.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

import networkx as nx
import numpy as np
import torch

import ultrahyperbolic as uh
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.objective import RankedPairs


def geometries() -> dict[str, uh.Manifold]:
    Q = uh.PseudoHyperboloid
    return {
        "R^3": uh.Euclidean(3),
        "Q^(3,0)": Q(3, 0),
        "Q^(2,1)": Q(2, 1),
        "Q^(1,2)": Q(1, 2),
        "Q^(0,3)": Q(0, 3),
        "Q^(2,0) x Q^(0,1)": uh.Product(Q(2, 0), Q(0, 1)),
        "Q^(2,0) x Q^(0,1), wide": uh.Product(Q(2, 0), Q(0, 1, -4.0)),
        "Q^(2,0) x R^1": uh.Product(Q(2, 0), uh.Euclidean(1)),
        "Q^(1,1) x Q^(0,1)": uh.Product(Q(1, 1), Q(0, 1)),
    }


TEMPERATURES = [(1.0, 0.1), (0.3, 0.03), (0.1, 0.01)]


def trained(graph: uh.Graph, manifold: uh.Manifold, seed: int, iterations: int, hot: float, cold: float) -> float:
    fall = np.linspace(0.0, 1.0, iterations)
    schedule = Schedule(
        temperature=hot * (cold / hot) ** fall,
        epsilon=0.1 * 0.01**fall,
        step=np.full(iterations, 0.1),
        max_step=0.1 * 0.03**fall,
    )
    state = BatchState.start([manifold.random_near_pole(graph.n_nodes, epsilon=0.1, generator=seed).numpy()])
    spec = RunSpec(manifold, schedule, "smoothed", keep="last")
    ReferenceEngine(RankedPairs.of(graph), [spec]).advance(state, iterations)
    points = torch.from_numpy(np.array(state.points[0]))
    return float(evaluate(graph, points, manifold, dissimilarity="geodesic")["map"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=4, help="of the tree")
    parser.add_argument("--cycle", type=int, default=6, help="nodes of the cycle")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    tree, cycle = nx.balanced_tree(2, arguments.depth), nx.cycle_graph(arguments.cycle)
    graph = uh.as_graph(nx.convert_node_labels_to_integers(nx.cartesian_product(tree, cycle)))
    print(f"{graph.n_nodes} nodes, {len(graph.edges)} edges")
    rows = []
    for name, manifold in geometries().items():
        tried = [
            [trained(graph, manifold, seed, arguments.iterations, *pair) for seed in range(arguments.seeds)]
            for pair in TEMPERATURES
        ]
        scores = max(tried, key=statistics.mean)
        spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
        rows.append({"geometry": name, "map": statistics.mean(scores), "spread": spread, "seeds": scores})
        print(f"{name:25} mAP {rows[-1]['map']:.3f} ± {spread:.3f}", flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({**vars(arguments), "json": str(arguments.json), "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
