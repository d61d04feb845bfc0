"""Numbers that other people's models can learn from: the distances to landmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ..arrays import Floats, Ints

if TYPE_CHECKING:
    from .embedding import Embedding


def landmarks(embedding: Embedding, k: int) -> Ints:
    """The rows of at most k nodes that are far from each other, each the farthest from those before it."""
    far = _distances(embedding, 0, embedding)
    chosen = [int(far.argmax())]
    far = _distances(embedding, chosen[0], embedding)
    while len(chosen) < min(k, len(embedding)):
        far[chosen] = -np.inf
        chosen.append(int(far.argmax()))
        far = np.minimum(far, _distances(embedding, chosen[-1], embedding))
    return np.array(chosen)


def features(embedding: Embedding, k: int, of: Embedding) -> Floats:
    """[m, k + 1] √ of the distances of the nodes of another embedding to k landmarks of the first, and their popularity.

    Landmarks are nodes far from each other; of fewer than k nodes each is one. The other embedding, such as that of
    new nodes, has points on the same manifold. Popularity has no part in these distances; without it the last column is
    left out.
    """
    columns = [_distances(embedding, int(row), of) for row in landmarks(embedding, k)]
    return np.column_stack(columns if of.popularity is None else [*columns, of.popularity])


def _distances(embedding: Embedding, row: int, of: Embedding) -> Floats:
    """[m] √ of the distances from the node in a row, which popularity has no part in."""
    here, there = torch.from_numpy(embedding.points[row].copy()), torch.from_numpy(of.points.copy())
    found: Floats = embedding.manifold.cdist(here[None], there, dissimilarity="geodesic")[0].numpy()
    return np.sqrt(np.maximum(found, 0.0))
