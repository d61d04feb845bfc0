"""The density of the nodes that a page of a large graph does not show individually."""

from typing import TypedDict

import numpy as np
import torch

from ..arrays import Floats, Ints
from ..embedding import Embedding
from .choice import ShownNodes

_MOST = 6_000  # nodes that are placed, drawn evenly
_CELLS = 72
_BLOCK = 1 << 22  # distances that are held at once


class Density(TypedDict):
    """How many nodes lie in each cell of a grid over the map."""

    x: list[float]
    y: list[float]
    counts: list[list[int]]  # by row, from the lowest y on


def density(embedding: Embedding, shown: ShownNodes, places: Floats) -> Density | None:
    """All nodes, or ``_MOST`` drawn evenly, each beside the shown node nearest to it; None where all are shown."""
    if shown.whole:
        return None
    others = np.setdiff1d(np.arange(shown.total), shown.nodes)
    rng = np.random.default_rng(0)
    if len(others) > _MOST:
        others = np.sort(rng.choice(others, _MOST, replace=False))
    beside = places[_nearest_shown(embedding, shown, others)]
    around = 0.02 * np.ptp(places, axis=0) * rng.normal(size=beside.shape)
    everywhere = np.concatenate((places, beside + around))
    low, high = everywhere.min(0), everywhere.max(0)
    grids = [np.linspace(low[k], high[k], _CELLS + 1) for k in range(2)]
    counts = np.histogram2d(everywhere[:, 1], everywhere[:, 0], bins=[grids[1], grids[0]])[0].astype(np.int64)
    middles = [np.round(0.5 * (grid[1:] + grid[:-1]), 3).tolist() for grid in grids]
    return {"x": middles[0], "y": middles[1], "counts": counts.tolist()}


def _nearest_shown(embedding: Embedding, shown: ShownNodes, others: Ints) -> Ints:
    """The position on the page [o] of the shown node nearest to each of the others."""
    points = torch.from_numpy(np.array(embedding.points))
    known = points[torch.from_numpy(shown.nodes)]
    popular = None if embedding.popularity is None else torch.from_numpy(np.array(embedding.popularity[shown.nodes]))
    found = []
    for rows in np.array_split(others, max(1, len(others) * len(known) // _BLOCK)):
        far = embedding.manifold.cdist(points[torch.from_numpy(rows)], known, dissimilarity="geodesic")
        found.append((far if popular is None else far - popular).argmin(1).numpy())
    return np.concatenate(found)
