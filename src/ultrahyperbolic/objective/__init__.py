"""What is minimised: the ranking loss over the pairs of a graph."""

from .closeness import Closeness, closeness_bytes, closeness_loss
from .ranking import SCOPES, ExactLoss, PairFunction, RankedPairs, Scope
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
