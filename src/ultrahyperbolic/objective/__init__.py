"""What is minimised: the ranking loss over the pairs of a graph."""

from .ranking import Dissimilarity, RankedPairs, RankingLoss

__all__ = ["Dissimilarity", "RankedPairs", "RankingLoss"]
