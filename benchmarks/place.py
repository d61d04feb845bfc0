"""Nodes taken out of a graph and placed again by their ties: how much of their Recall@5 they keep.

    python benchmarks/place.py --json out/place.json

A share of the nodes is drawn, of those with a tie to one that stays. *taken out* removes them from
an embedding of the whole graph; *never seen* embeds the graph without them. Both times
``Embedding.transform`` places them among the others. Recall@5 of a node is the share of the five
nearest nodes that are neighbours, of the most that can be.
"""

import time
from dataclasses import replace

import numpy as np
from bench import Figures, Ints, graph_named, parser, save, table

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph


def without(graph: Graph, kept: Ints) -> Graph:
    where = np.full(graph.n_nodes, -1)
    where[kept] = np.arange(len(kept))
    both = (where[graph.edges] >= 0).all(1)
    ids = tuple(graph.ids[int(node)] for node in kept)
    first, second = where[graph.edges[both]].T
    return Graph.from_arrays(first, second, graph.weights[both], ids=ids)


def recall(graph: Graph, embedding: uh.Embedding, nodes: Ints) -> float:
    """The mean Recall@5 of some nodes; points are in the order of the graph."""
    offsets, neighbors = graph.neighbor_lists
    nearest, _ = embedding.nearest(5)
    shares = []
    for node in nodes.tolist():
        mine = neighbors[offsets[node] : offsets[node + 1]]
        shares.append(np.isin(nearest[node], mine).sum() / min(5, len(mine)))
    return float(np.mean(shares))


def placed_again(graph: Graph, old: uh.Embedding, taken: Ints, kept: Ints) -> float:
    """Recall@5 of nodes that are placed in an embedding of the others."""
    theirs = np.isin(graph.edges, taken).any(1)
    ends = zip(graph.edges[theirs].tolist(), graph.weights[theirs].tolist(), strict=True)
    ties = [(graph.ids[i], graph.ids[j], weight) for (i, j), weight in ends]
    new = old.transform(ties)
    rows = [graph.index(node) for node in new.ids]
    points = np.empty((graph.n_nodes, old.points.shape[1]))
    popularity = np.zeros(graph.n_nodes)
    points[kept], points[rows] = old.points, new.points
    if old.popularity is not None and new.popularity is not None:
        popularity[kept], popularity[rows] = old.popularity, new.popularity
    return recall(
        graph, uh.Embedding(graph.ids, points, old.manifold, popularity=popularity), taken
    )


def draw(graph: Graph, share: float, seed: int) -> tuple[Ints, Ints]:
    """Nodes to take out, each with a tie to one that stays, and those that stay."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~graph.isolated))
    taken = order[: max(1, round(share * graph.n_nodes))]
    offsets, neighbors = graph.neighbor_lists
    tied = [
        not np.isin(neighbors[offsets[i] : offsets[i + 1]], taken).all() for i in taken.tolist()
    ]
    taken = np.sort(taken[tied])
    return taken, np.setdiff1d(np.arange(graph.n_nodes), taken)


def measure(graph: Graph, share: float, repeats: int) -> Figures:
    whole = uh.embed(graph, quiet=True)
    rows, nodes, seconds = [], 0, 0.0
    for seed in range(repeats):
        taken, kept = draw(graph, share, seed)
        smaller = without(graph, kept)
        popularity = None if whole.popularity is None else whole.popularity[kept]
        out = uh.Embedding(
            smaller.ids,
            whole.points[kept],
            whole.manifold,
            replace(whole.record),
            smaller,
            popularity=popularity,
        )
        unseen = uh.embed(smaller, quiet=True)
        began = time.perf_counter()
        rows.append([recall(graph, whole, taken), placed_again(graph, out, taken, kept)])
        seconds, nodes = seconds + time.perf_counter() - began, nodes + len(taken)
        rows[-1].append(placed_again(graph, unseen, taken, kept))
    had, again, never = map(float, np.mean(rows, axis=0))
    return {
        "nodes": graph.n_nodes,
        "placed": nodes,
        "had": had,
        "taken_out": again,
        "taken_out_kept": again / had,
        "never_seen": never,
        "never_seen_kept": never / had,
        "seconds": seconds / repeats,
    }


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--graphs", nargs="+", default=["karate", "lesmis", "netscience"])
    made.add_argument("--share", type=float, default=0.1, help="of the nodes that are taken out")
    made.add_argument("--repeats", type=int, default=3)
    options = made.parse_args()
    measured = {
        name: measure(graph_named(name), options.share, options.repeats) for name in options.graphs
    }
    header = ["graph", *next(iter(measured.values()))]
    print(
        table(
            header,
            [
                [name, *(f"{value:.4g}" for value in mine.values())]
                for name, mine in measured.items()
            ],
        )
    )
    save(
        {f"{name}_{key}": value for name, mine in measured.items() for key, value in mine.items()},
        options.json,
    )


if __name__ == "__main__":
    main()
