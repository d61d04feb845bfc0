"""UMAP on hops: the neighbours of a node are those the fewest steps away."""

from __future__ import annotations

import warnings

import numpy as np
from peer import Given, Placed, main, ring
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path
from umap import UMAP


def train(given: Given) -> Placed:
    """UMAP's defaults but for the dimension."""
    pairs, _ = given.both_ways
    ties = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(given.n, given.n))
    hops = shortest_path(ties, unweighted=True)
    hops[np.isinf(hops)] = 2.0 * hops[np.isfinite(hops)].max()  # other components: UMAP takes no infinity
    neighbours = min(15, given.n - 1)
    model = UMAP(
        n_components=given.dim, metric="precomputed", n_neighbors=neighbours, random_state=given.seed, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # components, and that a seed means one thread
        coordinates = model.fit_transform(hops)
    return Placed(np.asarray(coordinates, dtype=np.float64), "euclidean")


if __name__ == "__main__":
    main(train, warm_up=ring)
