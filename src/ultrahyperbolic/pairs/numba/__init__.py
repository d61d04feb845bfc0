"""The pass over all pairs, compiled for the CPU: every core, any dimension, signature and dissimilarity."""

from .functions import (
    BROKEN,
    CONE_RULE,
    EXTRINSIC,
    FLAT_DISTANCE,
    FLAT_SMOOTHED,
    FLAT_SQUARED,
    GEODESIC,
    SMOOTHED,
)
from .streaming import Workspace, combine, evaluate, kind_of_table, prepare, slab, workspace

__all__ = [
    "BROKEN",
    "CONE_RULE",
    "EXTRINSIC",
    "FLAT_DISTANCE",
    "FLAT_SMOOTHED",
    "FLAT_SQUARED",
    "GEODESIC",
    "SMOOTHED",
    "Workspace",
    "combine",
    "evaluate",
    "kind_of_table",
    "prepare",
    "slab",
    "workspace",
]
