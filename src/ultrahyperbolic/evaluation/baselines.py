"""Cheap centralities, computed from the graph alone, to compare a hierarchy with."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from ..arrays import Floats, Ints
from ..graph import Graph
from ..graph.flow import pagerank
from ..graph.hops import WORD, levels_from
from ..pairs import usable_threads

_BITS_SET = np.array([bin(word).count("1") for word in range(1 << 16)], dtype=np.int64)


def baselines(graph: Graph) -> dict[str, Floats]:
    """Scores [n] of the nodes by name, ``strength``, ``pagerank`` and ``closeness``: the higher, the more central."""
    return {"strength": graph.strength.copy(), "pagerank": pagerank(graph), "closeness": closeness(graph)}


def closeness(graph: Graph) -> Floats:
    """Closeness centrality by hops, ignoring weights: float64 [n].

    (r - 1)/(n - 1) · (r - 1)/Σ_j hops(i, j), over the r nodes of the component of i, which is Wasserman and Faust's
    form for graphs of several components; 0 for a node without edges.
    """
    return _closeness(graph, np.flatnonzero(graph.degree))


def sampled_closeness(graph: Graph, *, sources: int = 256, seed: int = 0) -> Floats:
    """Closeness estimated from the hops to some nodes, drawn among those with an edge: float64 [n]."""
    joined = np.flatnonzero(graph.degree)
    drawn = np.random.default_rng(seed).choice(joined, min(sources, len(joined)), replace=False)
    return _closeness(graph, np.sort(drawn)) * (len(joined) / max(len(drawn), 1))


def _closeness(graph: Graph, sources: Ints) -> Floats:
    """r/(n - 1) · r/Σ_j hops(i, j) [n], over the r sources that are reached from i."""
    n = graph.n_nodes
    _ = graph.neighbor_lists  # made once, before threads ask for it
    hops, reached = np.zeros(n), np.zeros(n)
    with ThreadPoolExecutor(usable_threads()) as pool:
        words = [sources[start : start + WORD] for start in range(0, len(sources), WORD)]
        for some_hops, some_reached in pool.map(partial(_sums, graph), words):
            hops += some_hops
            reached += some_reached
    near = np.divide(reached, hops, out=np.zeros(n), where=hops > 0)
    return near * reached / max(n - 1, 1)


def _sums(graph: Graph, sources: Ints) -> tuple[Ints, Ints]:
    """Σ hops to at most 64 sources and how many of them are reached, [n] each."""
    hops, reached = np.zeros(graph.n_nodes, dtype=np.int64), np.zeros(graph.n_nodes, dtype=np.int64)
    for level, nodes, words in levels_from(graph, sources):
        count = _BITS_SET[words.view(np.uint16)].reshape(len(nodes), 4).sum(1)
        hops[nodes] += level * count
        reached[nodes] += count
    return hops, reached
