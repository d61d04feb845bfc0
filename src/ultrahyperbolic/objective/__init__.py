"""What is minimised: the ranking loss over the pairs of a graph."""

from importlib import import_module
from typing import TYPE_CHECKING

from .closeness import Closeness, closeness_bytes, closeness_loss
from .ranking import SCOPES, ExactLoss, PairFunction, RankedPairs, Scope

if TYPE_CHECKING:
    from .sampled import SampledLoss, SampleSizes

__all__ = [
    "SCOPES",
    "Closeness",
    "ExactLoss",
    "PairFunction",
    "RankedPairs",
    "SampleSizes",
    "SampledLoss",
    "Scope",
    "closeness_bytes",
    "closeness_loss",
]


def __getattr__(name: str) -> object:
    """What computes with torch alone, when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".sampled", __name__), name)
