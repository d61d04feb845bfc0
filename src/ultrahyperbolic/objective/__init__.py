"""What is minimised: the ranking loss over the pairs of a graph."""

from .ranking import PairFunction, RankedPairs, RankingLoss

__all__ = ["PairFunction", "RankedPairs", "RankingLoss"]
