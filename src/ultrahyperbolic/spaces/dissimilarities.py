"""What the dissimilarities are called."""

from typing import cast, get_args

from ..checks import check_choice
from ..options import Dissimilarity as Dissimilarity

DISSIMILARITIES: tuple[Dissimilarity, ...] = get_args(Dissimilarity)
# The methods of manifolds that compute them, by whose names version 0.2 called them in its files.
METHODS: dict[Dissimilarity, str] = {
    "geodesic": "dissimilarity",
    "smoothed": "smoothed_dissimilarity",
    "broken": "broken_dissimilarity",
    "cone-rule": "cone_rule",
    "extrinsic": "extrinsic_dist",
    "distance": "dist",
}
SMOOTHING = 0.1
"""ε of the smoothed dissimilarity where none is given: a training has its own."""


def check_dissimilarity(name: str) -> Dissimilarity:
    """The dissimilarity of a name; ``ValueError`` unless there is one.

    >>> check_dissimilarity("broken")
    'broken'
    """
    check_choice("dissimilarity", name, DISSIMILARITIES)
    return cast("Dissimilarity", name)
