"""Layers, losses and decoders as modules, for models of your own."""

from .decoders import ClassDecoder, LinkDecoder
from .embedding import ManifoldEmbedding
from .graph import PseudoGraphConv, normalized_edges
from .linear import PseudoActivation, PseudoLinear, quotient_dist, representative
from .loss import RankingLoss

__all__ = [
    "ClassDecoder",
    "LinkDecoder",
    "ManifoldEmbedding",
    "PseudoActivation",
    "PseudoGraphConv",
    "PseudoLinear",
    "RankingLoss",
    "normalized_edges",
    "quotient_dist",
    "representative",
]
