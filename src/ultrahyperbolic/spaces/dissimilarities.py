"""What the dissimilarities are called, and what versions up to 0.2 called them."""

import warnings
from typing import cast, get_args

from ..checks import check_choice
from ..options import Dissimilarity as Dissimilarity

DISSIMILARITIES: tuple[Dissimilarity, ...] = get_args(Dissimilarity)
# The methods of manifolds that compute them, by whose names they were called before.
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
_FORMER: dict[str, Dissimilarity] = {method: name for name, method in METHODS.items()}


def current_name(name: str) -> str:
    """The current name of a dissimilarity, from a former name; other names are returned unchanged.

    >>> current_name("smoothed_dissimilarity")
    'smoothed'
    """
    return _FORMER.get(name, name)


def check_dissimilarity(name: str, what: str = "dissimilarity") -> Dissimilarity:
    """The dissimilarity of a name; ``ValueError`` unless there is one. Former names are taken with a warning.

    >>> check_dissimilarity("broken")
    'broken'
    """
    if isinstance(name, str) and name in _FORMER:
        warnings.warn(
            f"{what} {name!r} is now called {_FORMER[name]!r}: the former name will go",
            DeprecationWarning,
            stacklevel=3,
        )
        return _FORMER[name]
    check_choice(what, name, DISSIMILARITIES)
    return cast("Dissimilarity", name)


def former_measure(measure: str) -> Dissimilarity:
    """What the argument ``measure`` named, which is now ``dissimilarity``: taken with a warning."""
    warnings.warn("measure is now called dissimilarity: the former name will go", DeprecationWarning, stacklevel=4)
    return check_dissimilarity(current_name(measure), "measure")
