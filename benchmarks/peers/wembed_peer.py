"""WEmbed: coordinates and a weight per node, which divides distances. Tie weights are unknown to it."""

from __future__ import annotations

import numpy as np
import wembed
from peer import Given, Placed, main


def train(given: Given) -> Placed:
    """[n, dim + 1]: the weight of a node is its last number. All options but the index are WEmbed's own."""
    wembed.setSeed(given.seed)
    graph = wembed.graphFromEdges([wembed.Edge(a, b) for a, b in given.edges.tolist()], given.n)
    options = wembed.Options()
    options.embeddingDimension = given.dim
    options.indexType = wembed.IndexKdTree
    embedder = wembed.createEmbedder(graph, options)
    embedder.calculateEmbedding()
    coordinates = np.asarray(embedder.getCoordinates(), dtype=np.float64).reshape(given.n, given.dim)
    return Placed(np.column_stack((coordinates, embedder.getWeights())), "wembed")


if __name__ == "__main__":
    main(train)
