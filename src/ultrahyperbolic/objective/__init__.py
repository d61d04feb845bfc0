"""What is minimised: the ranking loss over the pairs of a graph."""

from .ranking import SCOPES, ExactLoss, PairFunction, RankedPairs, Scope
from .sampled import SampledLoss, SampleSizes

__all__ = ["SCOPES", "ExactLoss", "PairFunction", "RankedPairs", "SampleSizes", "SampledLoss", "Scope"]
