"""The graphs of ``defaults.py``: known ones, generated ones, and ones made to break things. Needs networkx."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from ultrahyperbolic import datasets
from ultrahyperbolic.graph import Graph, as_graph


@dataclass(frozen=True)
class Known:
    """A graph of the table."""

    make: Callable[[], Graph]
    tuned: bool
    """Whether the method was found by looking at it."""
    cycles: bool
    """Whether it is rich in cycles."""
    printed: bool = False
    """Whether an earlier method's results on it were printed before the last search, which was not made on it."""

    @property
    def unseen(self) -> bool:
        """Whether no result on it was printed before the last search."""
        return not (self.tuned or self.printed)


def weighted(graph: Any, seed: int, low: float = -3.0, high: float = 3.0) -> Any:
    """Weights over six orders of magnitude."""
    rng = np.random.default_rng(seed)
    for a, b in graph.edges:
        graph[a][b]["weight"] = float(10.0 ** rng.uniform(low, high))
    return graph


def tree_with_cycles(n: int, extra: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    graph = nx.random_labeled_tree(n, seed=seed)
    while extra:
        a, b = (int(node) for node in rng.integers(0, n, 2))
        if a != b and not graph.has_edge(a, b):
            graph.add_edge(a, b)
            extra -= 1
    return graph


def blocks(size: int, count: int, inside: float, outside: float, seed: int) -> Any:
    rates = [[inside if i == j else outside for j in range(count)] for i in range(count)]
    return nx.stochastic_block_model([size] * count, rates, seed=seed)


def hyperbolic_random(n: int, degree: float, seed: int) -> Any:
    """Points uniform in a hyperbolic disc, tied where they are nearer than its radius."""
    rng = np.random.default_rng(seed)
    radius = 2.0 * np.log(8.0 * n / (np.pi * degree))
    r = np.arccosh(1.0 + (np.cosh(radius) - 1.0) * rng.random(n))
    angle = 2.0 * np.pi * rng.random(n)
    cosh = np.cosh(r)[:, None] * np.cosh(r) - np.sinh(r)[:, None] * np.sinh(r) * np.cos(angle[:, None] - angle)
    i, j = np.nonzero(np.triu(cosh < np.cosh(radius), 1))
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(i.tolist(), j.tolist(), strict=True))
    return graph


GRAPHS: dict[str, Known] = {
    "karate": Known(datasets.karate, True, True),
    "karate, unweighted": Known(lambda: datasets.karate().unweighted(), True, True),
    "les Misérables": Known(datasets.lesmis, True, True),
    "Davis": Known(datasets.davis, True, True),
    "tree 3^4": Known(lambda: as_graph(nx.balanced_tree(3, 4)), True, False),
    "star 60": Known(lambda: as_graph(nx.star_graph(60)), True, False),
    "blocks 4x40": Known(lambda: as_graph(blocks(40, 4, 0.3, 0.02, 0)), True, True),
    "tree with cycles 200": Known(lambda: as_graph(tree_with_cycles(200, 40, 0)), True, True),
    "weighted tree 120": Known(lambda: as_graph(weighted(nx.random_labeled_tree(120, seed=1), 0)), True, False),
    "cycle 150": Known(lambda: as_graph(nx.cycle_graph(150)), False, True, printed=True),
    "torus 12x12": Known(lambda: as_graph(nx.grid_2d_graph(12, 12, periodic=True)), False, True, printed=True),
    "weighted grid 12x12": Known(lambda: as_graph(weighted(nx.grid_2d_graph(12, 12), 3)), False, True, printed=True),
    "random tree 250": Known(lambda: as_graph(nx.random_labeled_tree(250, seed=5)), False, False, printed=True),
    "tree with cycles 300": Known(lambda: as_graph(tree_with_cycles(300, 150, 7)), True, True),
    "blocks 3x60, weighted": Known(lambda: as_graph(weighted(blocks(60, 3, 0.2, 0.01, 4), 4)), True, True),
    "power law 200": Known(lambda: as_graph(nx.powerlaw_cluster_graph(200, 3, 0.3, seed=2)), False, True, printed=True),
    "small world 200": Known(lambda: as_graph(nx.watts_strogatz_graph(200, 6, 0.1, seed=3)), False, True, printed=True),
    "hyperbolic random 300": Known(lambda: as_graph(hyperbolic_random(300, 6.0, 1)), False, True, printed=True),
    "tree 2^7": Known(lambda: as_graph(nx.balanced_tree(2, 7)), False, False),
    "cave-men 20x6": Known(lambda: as_graph(nx.connected_caveman_graph(20, 6)), False, True),
    "blocks 5x30": Known(lambda: as_graph(blocks(30, 5, 0.25, 0.02, 11)), False, True),
    "preferential 250, weighted": Known(
        lambda: as_graph(weighted(nx.barabasi_albert_graph(250, 2, seed=6), 6)), False, True
    ),
    "mammals": Known(lambda: datasets.load("wordnet-mammals"), True, True),
    "NIPS": Known(lambda: datasets.load("nips"), True, True),
}


def _arrays(edges: list[tuple[int, int]], weights: list[float] | None = None, n: int | None = None) -> Graph:
    i, j = np.array(edges).T
    return Graph.from_arrays(
        i, j, None if weights is None else np.array(weights), ids=n or int(max(i.max(), j.max())) + 1
    )


def _path_weights(exponents: list[float]) -> Graph:
    return _arrays([(k, k + 1) for k in range(len(exponents))], [10.0**e for e in exponents])


ADVERSARIAL: dict[str, Callable[[], Graph]] = {
    "one tie and an isolated node": lambda: _arrays([(0, 1)], n=3),
    "two ties of one node": lambda: _arrays([(0, 1), (1, 2)], [1.0, 2.0]),
    "two components": lambda: as_graph(nx.disjoint_union(nx.complete_graph(20), nx.path_graph(20))),
    "fifty components": lambda: as_graph(nx.disjoint_union_all([nx.path_graph(3)] * 50)),
    "weights 1e-9 and 1e9": lambda: _path_weights([-9.0, 9.0] * 20),
    "weights over eighteen orders": lambda: _path_weights(np.linspace(-9.0, 9.0, 60).tolist()),
    "all weights alike": lambda: _path_weights([0.0] * 30),
    "star of 5,000 leaves": lambda: as_graph(nx.star_graph(5000)),
    "complete bipartite 30, 30": lambda: as_graph(nx.complete_bipartite_graph(30, 30)),
    "complete bipartite 1, 40": lambda: as_graph(nx.complete_bipartite_graph(1, 40)),
    "complete but for one tie": lambda: as_graph(
        nx.complete_graph(40).edge_subgraph(list(nx.complete_graph(40).edges)[1:])
    ),
    "complete 40, all weights apart": lambda: as_graph(weighted(nx.complete_graph(40), 1)),
    "path of 3,000": lambda: as_graph(nx.path_graph(3000)),
    "cycle of 1,000": lambda: as_graph(nx.cycle_graph(1000)),
    "barbell": lambda: as_graph(nx.barbell_graph(30, 20)),
    "lollipop": lambda: as_graph(nx.lollipop_graph(40, 60)),
    "wheel 200": lambda: as_graph(nx.wheel_graph(200)),
    "hypercube 8": lambda: as_graph(nx.hypercube_graph(8)),
    "many isolated nodes": lambda: _arrays([(0, 1), (1, 2), (2, 0)], n=300),
    "dense random 300": lambda: as_graph(nx.gnp_random_graph(300, 0.5, seed=0)),
}
