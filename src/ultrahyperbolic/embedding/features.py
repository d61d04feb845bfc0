"""Numbers that other people's models can learn from: the distances to landmarks."""

import numpy as np
import torch

from ..arrays import Floats, Ints
from ..geometry import Manifold


def landmarks(manifold: Manifold, points: Floats, k: int) -> Ints:
    """The rows of at most k points that are far from each other, each the farthest from those before it."""
    chosen = [int(_roots(manifold, points[0], points).argmax())]
    far = _roots(manifold, points[chosen[0]], points)
    while len(chosen) < min(k, len(points)):
        far[chosen] = -np.inf
        chosen.append(int(far.argmax()))
        far = np.minimum(far, _roots(manifold, points[chosen[-1]], points))
    return np.array(chosen)


def features(manifold: Manifold, points: Floats, k: int, of: Floats, popularity: Floats | None) -> Floats:
    """[m, k + 1] roots of the distances of points ``of`` [m, d] to k landmarks among ``points``, and popularity [m].

    Landmarks are far from each other; of fewer than k points each is one. Popularity has no part in these distances;
    where there is none the last column is left out.
    """
    columns = [_roots(manifold, points[row], of) for row in landmarks(manifold, points, k)]
    return np.column_stack(columns if popularity is None else [*columns, popularity])


def _roots(manifold: Manifold, here: Floats, there: Floats) -> Floats:
    apart = manifold.cdist(
        torch.from_numpy(here.copy())[None], torch.from_numpy(there.copy()), dissimilarity="geodesic"
    )
    return np.asarray(apart[0].clamp(min=0.0).sqrt())
