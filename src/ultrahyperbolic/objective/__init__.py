"""What is minimised: the ranking loss over the pairs of a graph."""

from .closeness import Closeness, closeness_bytes, closeness_loss
from .ranking import SCOPES, PairFunction, RankedPairs, RankingLoss, Scope
from .sampled import SampledLoss, SampleSizes

__all__ = [
    "SCOPES",
    "Closeness",
    "PairFunction",
    "RankedPairs",
    "RankingLoss",
    "SampleSizes",
    "SampledLoss",
    "Scope",
    "closeness_bytes",
    "closeness_loss",
]
