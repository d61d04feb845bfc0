"""How many ties apart nodes are: one breadth-first search, from 64 nodes at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ..arrays import AT_ONCE, Ints, Words, in_blocks
from .graph import Graph

WORD = 64
"""From how many nodes one search goes, a bit of a word for each."""
SEARCH_BYTES = 64 << 20
"""What a search takes at most, beside 32 bytes per edge and per node."""
# Where the nodes of a level have fewer than one in this many edges, only these are followed.
_FEW = 8
# Nodes of a block.
_NODES = 1 << 14

Table = NDArray[np.int32]


def hops_from(graph: Graph, sources: Ints) -> Table:
    """The length of the shortest path from each source to every node: [k, n], -1 where there is
    none.
    """
    hops = np.empty((len(sources), graph.n_nodes), dtype=np.int32)
    _ = graph.neighbor_lists, graph.degree  # made once, before threads ask for them

    def search(start: int) -> None:
        some = sources[start : start + WORD]
        table = np.full(
            (graph.n_nodes, len(some)), -1, dtype=np.int32
        )  # a node's hops lie together
        table[some, np.arange(len(some))] = 0
        for level, nodes, words in levels_from(graph, some):

            def write(
                here: slice, level: int = level, nodes: Ints = nodes, words: Words = words
            ) -> None:
                raw = words[here].astype("<u8").view(np.uint8).reshape(-1, 8)
                bits = np.unpackbits(raw, axis=1, count=len(some), bitorder="little")
                table[nodes[here]] += np.int32(level + 1) * bits

            in_blocks(write, len(nodes), _NODES)

        def turn(here: slice) -> None:
            hops[start : start + WORD, here] = table[here].T

        in_blocks(turn, graph.n_nodes, _NODES)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(search, range(0, len(sources), WORD)))
    return hops


def levels_from(graph: Graph, sources: Ints) -> Iterator[tuple[int, Ints, Words]]:
    """Search from at most 64 nodes: for each level its number, the nodes [k], and words [k].

    Bit k of a word is set where source k is at this level's distance from the node. A level is O(n
    + m), or with few edges the number of these: long paths are no slower than a search from each
    source.
    """
    offsets, heads = graph.neighbor_lists
    degree = graph.degree
    joined = np.flatnonzero(degree)

    def gather(here: slice) -> Words:
        """The words of all that nodes are joined with; their lists lie one after the other."""
        nodes = joined[here]
        first = offsets[nodes[0]]
        return np.bitwise_or.reduceat(
            spread[heads[first : offsets[nodes[-1] + 1]]], offsets[nodes] - first
        )

    seen = np.zeros(graph.n_nodes, dtype=np.uint64)
    np.bitwise_or.at(seen, sources, np.uint64(1) << np.arange(len(sources), dtype=np.uint64))
    nodes = np.flatnonzero(seen)
    words, level = seen[nodes], 0
    while (count := degree[nodes]).any():
        level += 1
        if _FEW * count.sum() < len(heads):
            # The places of their neighbours in the lists: for each its offset, and 0, 1, …, count -
            # 1 beyond it.
            place = np.repeat(offsets[nodes] - np.cumsum(count) + count, count)
            place += np.arange(len(place))
            found = heads[place]
            order = np.argsort(found, kind="stable")
            found = found[order]
            starts = np.flatnonzero(np.diff(found, prepend=-1))
            nodes, arriving = (
                found[starts],
                np.bitwise_or.reduceat(np.repeat(words, count)[order], starts),
            )
        else:
            spread = np.zeros_like(seen)
            spread[nodes] = words
            nodes, arriving = joined, np.concatenate(in_blocks(gather, len(joined), _NODES))
        words = arriving & ~seen[nodes]
        fresh = words > 0
        nodes, words = nodes[fresh], words[fresh]
        seen[nodes] |= words
        if len(nodes):
            yield level, nodes, words


def components(graph: Graph) -> Ints:
    """The component of each node [n], numbered from 0 in the order of their first nodes.

    >>> from ultrahyperbolic.graph import Graph
    >>> components(Graph.from_edges([("a", "b"), ("c", "d"), ("d", "e")], nodes="abcdef")).tolist()
    [0, 0, 1, 1, 1, 2]
    """
    return graph.component
