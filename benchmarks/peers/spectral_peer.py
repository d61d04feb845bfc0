"""Spectral embedding by scikit-learn: eigenvectors of the Laplacian of the tie weights."""

from __future__ import annotations

import warnings

import numpy as np
from peer import Given, Placed, main
from scipy.sparse import coo_matrix
from sklearn.manifold import SpectralEmbedding


def train(given: Given) -> Placed:
    """Scikit-learn's defaults but for the dimension; it warns where a graph has several components."""
    pairs, weights = given.both_ways
    ties = coo_matrix((weights, pairs.T), shape=(given.n, given.n)).tocsr()
    model = SpectralEmbedding(n_components=given.dim, affinity="precomputed", random_state=given.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coordinates = model.fit_transform(ties)
    return Placed(np.asarray(coordinates, dtype=np.float64), "euclidean")


if __name__ == "__main__":
    main(train)
