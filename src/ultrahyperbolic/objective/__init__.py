"""What is minimised: the ranking loss over the pairs of a graph."""

from .ranking import SCOPES, PairFunction, RankedPairs, RankingLoss, Scope

__all__ = ["SCOPES", "PairFunction", "RankedPairs", "RankingLoss", "Scope"]
