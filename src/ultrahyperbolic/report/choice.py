"""Which nodes and edges a page shows: all of them, or for a large graph the most central and a sample."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from ..graph import Graph
from ..plot.ties import backbone, edges_among

MOST_NODES = 5_000
TOP, SAMPLE = 1_000, 1_000
# Each shown node is compared with all others. Where that would be more than _PAIRS pairs, fewer nodes are shown, but at
# least _FEWEST of either kind.
_PAIRS, _FEWEST = 1 << 28, 100
MOST_EDGES = 20_000


class ShownNodes(NamedTuple):
    """The nodes of a page, by rank."""

    nodes: Ints  # [s] their positions in the embedding, the smallest δ first
    top: int  # how many of them, the first, have the smallest δ; the others were drawn
    total: int  # how many nodes there are

    @property
    def whole(self) -> bool:
        """Whether every node is shown."""
        return len(self.nodes) == self.total


class ShownEdges(NamedTuple):
    """The edges of a page, the weakest first."""

    ends: Ints  # [e, 2] positions in `ShownNodes.nodes`
    numbers: Ints  # [e] which edges of the graph they are
    between: int  # how many edges the shown nodes have among them
    drawn: NDArray[np.bool_]
    """[e] whether the map draws it, as one of the strongest of a node; the others appear with a selected node."""


def choose_nodes(rank: Ints) -> ShownNodes:
    """All nodes; of more than ``MOST_NODES``, the ``TOP`` most central and ``SAMPLE`` drawn; of very many, fewer."""
    by_rank = np.argsort(rank, kind="stable")
    n = len(by_rank)
    if n <= MOST_NODES:
        return ShownNodes(by_rank, n, n)
    most = max(_FEWEST, _PAIRS // (2 * n))
    top, sample = min(TOP, most), min(SAMPLE, most)
    drawn = np.sort(np.random.default_rng(0).choice(n - top, sample, replace=False)) + top
    return ShownNodes(np.concatenate((by_rank[:top], by_rank[drawn])), top, n)


def choose_edges(graph: Graph, shown: ShownNodes) -> ShownEdges:
    """The edges among the shown nodes; of more than ``MOST_EDGES``, what the map draws and the strongest others."""
    among, ends = edges_among(graph, shown.nodes)
    drawn = backbone(ends, graph.weights[among], len(shown.nodes))
    weaker = np.flatnonzero(~drawn)
    spare = max(0, len(among) - MOST_EDGES)
    kept = np.delete(np.arange(len(among)), weaker[:spare])
    return ShownEdges(ends[kept], among[kept], len(among), drawn[kept])
