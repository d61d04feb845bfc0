"""Where nodes are drawn: a plane for an embedding of any signature."""

import numpy as np
import torch

from ..arrays import Floats
from ..embedding import Embedding

# Nodes that the plane is computed from; all others are placed by their dissimilarities to them.
LANDMARKS = 500


def plane(embedding: Embedding, *, landmarks: int = LANDMARKS) -> Floats:
    """Positions [n, 2] whose squared distances are like the dissimilarities: classical scaling with landmarks.

    It needs nothing but the dissimilarities, D_γ or on flat space the squared distance, and so suits any signature.
    Above ``landmarks`` nodes, that number are chosen, and the others are placed by their dissimilarities to them.
    """
    n = len(embedding)
    chosen = np.arange(n)
    if n > landmarks:
        chosen = np.sort(np.random.default_rng(0).choice(n, landmarks, replace=False))
    points = torch.from_numpy(embedding.points.copy())
    squares = np.empty((len(chosen), n))
    for row, index in enumerate(chosen):
        squares[row] = embedding.manifold.dissimilarity(points[index], points).numpy()
    among = squares[:, chosen]
    centred = among - among.mean(0) - among.mean(1)[:, None] + among.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    values, vectors = values[:-3:-1], vectors[:, :-3:-1]
    # Of an eigenvector either sign will do: the one whose largest entry is positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])])
    # Nodes on one line, or in one place, leave nothing for an axis.
    usable = values > 1e-9 * max(np.abs(among).max(initial=0.0), 1e-300)
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    placed = np.zeros((n, 2))
    placed[:, : len(values)] = -0.5 * (squares - among.mean(1)[:, None]).T @ (vectors * scale)
    return placed
