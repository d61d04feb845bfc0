"""Graphs made by numpy from fixed seeds: those of the board, and planted trees."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from bench import Floats, Ints

from ultrahyperbolic.graph import Graph

Half = Literal["looked", "unseen", "apart"]
Pairs = Iterable[tuple[int, int]]


class Arrays(NamedTuple):
    """A graph as edges [m, 2] of n nodes, weights [m] unless all are alike, and hops [n] below the
    root, if any.
    """

    edges: Ints
    n: int
    weights: Floats | None = None
    depth: Ints | None = None

    def graph(self, name: str | None = None) -> Graph:
        """The graph, of nodes 0 to n - 1."""
        return Graph.from_arrays(
            self.edges[:, 0], self.edges[:, 1], self.weights, ids=self.n, name=name
        )


@dataclass(frozen=True)
class Generated:
    """How to make a graph, and what it is."""

    make: Callable[[], Arrays]
    half: Half = "apart"
    """Whether the method was sought on it, or was not to be looked at, or neither."""
    connected: bool = True


def of_pairs(pairs: Pairs, n: int | None = None) -> Arrays:
    """A graph without weights from pairs of nodes; the same pair twice is one tie, and a node is
    not tied to itself.
    """
    distinct = sorted({(min(a, b), max(a, b)) for a, b in pairs if a != b})
    edges = np.array(distinct, dtype=np.int64).reshape(-1, 2)
    return Arrays(edges, int(edges.max(initial=-1)) + 1 if n is None else n)


def weighted(graph: Arrays, seed: int, low: float = -3.0, high: float = 3.0) -> Arrays:
    return graph._replace(
        weights=10.0 ** np.random.default_rng(seed).uniform(low, high, len(graph.edges))
    )


def tree_with_cycles(n: int, extra: int, seed: int) -> Arrays:
    """Each node below a random earlier one, and further ties between random nodes."""
    rng = np.random.default_rng(seed)
    tree = [(int(rng.integers(node)), node) for node in range(1, n)]
    depth = np.zeros(n, dtype=np.int64)
    for above, below in tree:
        depth[below] = depth[above] + 1
    return of_pairs([*tree, *chords(n, extra, rng)], n)._replace(depth=depth)


def chords(n: int, count: int, rng: np.random.Generator) -> Pairs:
    return [(int(a), int(b)) for a, b in rng.integers(0, n, (count, 2))]


def balanced_tree(
    branching: int, levels: int, extra: int, seed: int, *, weights: bool = False
) -> Arrays:
    """A tree whose inner nodes have ``branching`` children, with chords; a tie weighs twice that of
    the level below.
    """
    parents, depth = [0], [0]
    first = 0
    for level in range(1, levels + 1):
        last = len(parents)
        below = [node for node in range(first, last) for _ in range(branching)]
        parents += below
        depth += [level] * len(below)
        first = last
    n = len(parents)
    pairs = [
        *((parents[node], node) for node in range(1, n)),
        *chords(n, extra, np.random.default_rng(seed)),
    ]
    depths = np.array(depth, dtype=np.int64)
    made = of_pairs(pairs, n)._replace(depth=depths)
    return made._replace(weights=2.0 ** (levels - depths[made.edges].max(1))) if weights else made


def blocks(size: int, count: int, inside: float, outside: float, seed: int) -> Arrays:
    """Groups with more ties inside than between them."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(count), size)
    rates = np.where(group[:, None] == group, inside, outside)
    i, j = np.nonzero(np.triu(rng.random(rates.shape) < rates, 1))
    return Arrays(np.stack((i, j), 1).astype(np.int64), size * count)


def preferential(n: int, ties: int, seed: int) -> Arrays:
    """New nodes tie themselves to ends of random ties: degrees follow a power law."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(ties + 1) for b in range(a)]
    ends = [node for pair in pairs for node in pair]
    for node in range(ties + 1, n):
        chosen: set[int] = set()
        while len(chosen) < ties:
            chosen.add(ends[int(rng.integers(len(ends)))])
        pairs += [(node, other) for other in sorted(chosen)]
        ends += [end for other in sorted(chosen) for end in (node, other)]
    return of_pairs(pairs, n)


def star_with_path(leaves: int, length: int) -> Arrays:
    path = [(leaves + k, leaves + k + 1) for k in range(length)]
    return of_pairs([*((0, leaf) for leaf in range(1, leaves + 1)), *path])


def lattice(side: int, shortcuts: int, seed: int) -> Arrays:
    """A square grid with a few shortcuts; weights are random, and those of shortcuts lower."""
    rng = np.random.default_rng(seed)
    across = [(side * y + x, side * y + x + 1) for y in range(side) for x in range(side - 1)]
    down = [(side * y + x, side * (y + 1) + x) for y in range(side - 1) for x in range(side)]
    made = of_pairs([*across, *down, *chords(side**2, shortcuts, rng)], side**2)
    near = np.isin(made.edges[:, 1] - made.edges[:, 0], (1, side))
    return made._replace(weights=rng.lognormal(0.0, 0.7, len(near)) * np.where(near, 1.0, 0.3))


def forest_fire(n: int, spread: float, seed: int) -> Arrays:
    """Each new node is tied to a random earlier one, from which a fire spreads along ties, and to
    all that burns.
    """
    rng = np.random.default_rng(seed)
    neighbours: list[set[int]] = [set()]
    for node in range(1, n):
        front = [int(rng.integers(node))]
        burnt = set(front)
        while front:
            here = front.pop()
            fresh = sorted(neighbours[here] - burnt)
            caught = rng.permutation(len(fresh))[: int(rng.geometric(1.0 - spread)) - 1]
            front += [fresh[k] for k in caught]
            burnt.update(fresh[k] for k in caught)
        neighbours.append(set(burnt))
        for other in burnt:
            neighbours[other].add(node)
    return of_pairs(((a, b) for a in range(n) for b in neighbours[a]), n)


def hyperbolic_disc(n: int, ties: int, seed: int) -> Arrays:
    """Points of a disc of the hyperbolic plane, tied where they are nearest, ``ties`` in all."""
    rng = np.random.default_rng(seed)
    r, angle = 2.0 * np.log(n) + np.log(rng.random(n)) / 0.75, rng.uniform(0.0, 2.0 * math.pi, n)
    turn = np.cos(angle[:, None] - angle)
    cosh = np.cosh(r)[:, None] * np.cosh(r) - np.sinh(r)[:, None] * np.sinh(r) * turn
    i, j = np.triu_indices(n, 1)
    chosen = np.argsort(cosh[i, j], kind="stable")[:ties]
    return of_pairs(zip(i[chosen].tolist(), j[chosen].tolist(), strict=True), n)


def co_occurrence(nodes: int, events: int, seed: int) -> Arrays:
    """Nodes, some more often than others, meet at events of a few; weights count the meetings."""
    rng = np.random.default_rng(seed)
    rate = 1.0 / np.arange(1.0, nodes + 1.0)
    counts: dict[tuple[int, int], int] = {}
    for _ in range(events):
        here = sorted(
            rng.choice(nodes, int(rng.integers(2, 6)), replace=False, p=rate / rate.sum()).tolist()
        )
        for pair in [(a, b) for b in here for a in here if a < b]:
            counts[pair] = counts.get(pair, 0) + 1
    pairs = sorted(counts)
    return Arrays(
        np.array(pairs, dtype=np.int64), nodes, np.array([float(counts[pair]) for pair in pairs])
    )


def nested_blocks(levels: int, size: int, seed: int) -> Arrays:
    """Groups within groups, in pairs: each level apart makes ties rarer; weights are counts of
    chance.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(size << levels) // size
    apart = np.ceil(np.log2((group[:, None] ^ group) + 1.0))
    counts = rng.poisson(0.9 * 0.22**apart)
    i, j = np.nonzero(np.triu(counts, 1))
    return Arrays(np.stack((i, j), 1).astype(np.int64), len(group), counts[i, j].astype(np.float64))


def core_and_rim(core: int, rim: int, seed: int) -> Arrays:
    """A dense core, and a rim whose nodes have a tie or three with it; weights grow with the core's
    rank.
    """
    rng = np.random.default_rng(seed)
    inside = [(a, b) for b in range(core) for a in range(b) if rng.random() < 0.5]
    outside = [
        (int(rng.integers(core)), node)
        for node in range(core, core + rim)
        for _ in range(rng.integers(1, 4))
    ]
    made = of_pairs([*inside, *outside], core + rim)
    return made._replace(weights=rng.gamma(2.0, 1.0, len(made.edges)) * (core - made.edges[:, 0]))


GENERATED: dict[str, Generated] = {
    "tree_with_cycles": Generated(lambda: tree_with_cycles(300, 150, 7), "looked"),
    "weighted_blocks": Generated(lambda: weighted(blocks(60, 3, 0.2, 0.01, 4), 4), "looked"),
    "power_law": Generated(lambda: preferential(200, 3, 2), "looked"),
    "star_with_path": Generated(lambda: star_with_path(40, 40), "looked"),
    "lattice": Generated(lambda: lattice(18, 12, 1701), "unseen"),
    "forest_fire": Generated(lambda: forest_fire(420, 0.3, 1702), "unseen"),
    "hyperbolic_disc": Generated(
        lambda: hyperbolic_disc(380, 1200, 1703), "unseen", connected=False
    ),
    "co_occurrence": Generated(lambda: co_occurrence(160, 500, 1704), "unseen", connected=False),
    "nested_blocks": Generated(lambda: nested_blocks(4, 12, 1705), "unseen"),
    "core_and_rim": Generated(lambda: core_and_rim(40, 240, 1706), "unseen"),
    "hubs": Generated(lambda: preferential(2000, 4, 1707)),
    "planted_tree": Generated(lambda: balanced_tree(3, 5, 60, 21)),
    "planted_tree_weighted": Generated(lambda: balanced_tree(3, 5, 60, 22, weights=True)),
    "planted_random_tree": Generated(lambda: tree_with_cycles(400, 80, 23)),
}


def depth_below(parents: Pairs, n: int, root: int) -> Ints:
    """[n] the fewest steps from the root to each node, from (child, parent) to child; -1 where
    there is no way.
    """
    children: list[list[int]] = [[] for _ in range(n)]
    for child, parent in parents:
        children[parent].append(child)
    depth = np.full(n, -1, dtype=np.int64)
    depth[root], level, queue = 0, 0, [root]
    while queue:
        level += 1
        queue = sorted({child for node in queue for child in children[node] if depth[child] < 0})
        depth[queue] = level
    return depth
