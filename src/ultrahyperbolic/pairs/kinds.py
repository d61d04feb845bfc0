"""A manifold and its dissimilarity as compiled loops know them: the one place where the one becomes
the other.
"""

from enum import IntEnum
from typing import NamedTuple

from ..options import Dissimilarity
from ..spaces import Space


class Kind(IntEnum):
    """What becomes of the squared half chord w of two points (in flat space, of their squared
    distance).
    """

    GEODESIC = 0
    BROKEN = 1
    SMOOTHED = 2
    FLAT_SQUARED = 3
    FLAT_SMOOTHED = 4
    CONE_RULE = 5
    EXTRINSIC = 6
    FLAT_DISTANCE = 7


# Where ``CONE_RULE`` replaces the distance near the cone by 4|w|, as the authors' scripts do: |1 +
# ⟨x, y⟩| < 1e-5.
CONE = 5e-6


class KernelSpace(NamedTuple):
    """What compiled loops and kernels are told of a space."""

    time: int
    """How many coordinates, the first ones, are time; 0 in flat space."""
    radius: float
    """√|β|; 1 in flat space."""
    kind: int


_FLAT: dict[Dissimilarity, Kind] = {
    "geodesic": Kind.FLAT_SQUARED,
    "cone-rule": Kind.FLAT_SQUARED,
    "smoothed": Kind.FLAT_SMOOTHED,
    "broken": Kind.FLAT_DISTANCE,
    "extrinsic": Kind.FLAT_DISTANCE,
    "distance": Kind.FLAT_DISTANCE,
}
_CURVED: dict[Dissimilarity, Kind] = {
    "geodesic": Kind.GEODESIC,
    "cone-rule": Kind.CONE_RULE,
    "smoothed": Kind.SMOOTHED,
    "broken": Kind.BROKEN,
    "extrinsic": Kind.EXTRINSIC,
}


def kernel_space(manifold: Space, dissimilarity: Dissimilarity) -> KernelSpace:
    """The space for the loops; ``ValueError``, with the reason, where they do not know it."""
    quadric = manifold.quadric
    if quadric is None:
        raise ValueError(f"no compiled loop knows {type(manifold).__name__}")
    if quadric.time == 0:
        return KernelSpace(0, quadric.radius, int(_FLAT[dissimilarity]))
    if dissimilarity == "distance":
        if not manifold.joins_all_pairs:
            raise ValueError(
                "no compiled loop knows where geodesics end, as dissimilarity='distance' needs"
            )
        return KernelSpace(
            quadric.time, quadric.radius, int(Kind.GEODESIC if quadric.time == 1 else Kind.BROKEN)
        )
    return KernelSpace(quadric.time, quadric.radius, int(_CURVED[dissimilarity]))
