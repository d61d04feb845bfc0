"""node2vec by PecanPy, with its default walks, on weighted ties; skip-gram by gensim, from which cosines are taken."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from pecanpy import pecanpy
from peer import Given, Placed, main, ring


def train(given: Given) -> Placed:
    """Ten walks of 80 steps from each node, a window of 10, p = q = 1; a node without a tie is unknown to it."""
    graph = pecanpy.SparseOTF(p=1, q=1, workers=1, verbose=False, random_state=given.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.edg")
        rows = zip(given.edges.tolist(), given.weights.tolist(), strict=True)
        path.write_text("".join(f"{a}\t{b}\t{weight!r}\n" for (a, b), weight in rows))
        graph.read_edg(str(path), weighted=True, directed=False)
    found = graph.embed(dim=given.dim, num_walks=10, walk_length=80, window_size=10, epochs=1)
    coordinates = np.full((given.n, given.dim), np.nan)
    coordinates[[int(node) for node in graph.nodes]] = found
    return Placed(coordinates, "cosine")


if __name__ == "__main__":
    main(train, warm_up=ring)
