"""Centralities of the graph that are shown beside ours."""

import itertools

import numpy as np

from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.centrality import other_ranks


def test_ranks_do_not_depend_on_the_order_of_rows():
    """Three hubs that are far apart have the same first eigenvalue but for rounding."""
    rows = [(f"c{i}", f"c{j}") for i in range(6) for j in range(i)]
    for arm in range(3):
        path = ["c0", *(f"path{arm}_{step}" for step in range(11))]
        rows += list(itertools.pairwise(path))
        rows += [(path[-1], f"leaf{arm}_{leaf}") for leaf in range(66)]
    rng = np.random.default_rng(0)
    seen = []
    for order in (np.arange(len(rows)), rng.permutation(len(rows)), rng.permutation(len(rows))):
        graph = Graph.from_edges([rows[k][:: rng.choice([-1, 1])] for k in order])
        by_id = np.argsort(graph.ids)
        seen.append({name: ranks[by_id] for name, ranks in other_ranks(graph).items()})
        leaves = np.char.startswith(np.array(graph.ids)[by_id], "leaf")
        assert all(len(set(ranks[leaves])) == 1 for ranks in seen[-1].values())
    for name, expected in seen[0].items():
        assert all(np.array_equal(each[name], expected) for each in seen[1:])
