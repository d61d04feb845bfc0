"""What is minimised: the ranking loss over the pairs of a graph."""

from .ranking import SCOPES, PairFunction, RankedPairs, RankingLoss, Scope
from .sampled import SampledLoss, SampleSizes

__all__ = ["SCOPES", "PairFunction", "RankedPairs", "RankingLoss", "SampleSizes", "SampledLoss", "Scope"]
