"""What is minimised: the ranking loss over the pairs of a graph."""

from .closeness import Closeness, closeness_loss
from .ranking import ExactLoss, PairFunction, RankedPairs

__all__ = [
    "Closeness",
    "ExactLoss",
    "PairFunction",
    "RankedPairs",
    "closeness_loss",
]
