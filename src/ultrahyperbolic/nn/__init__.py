"""Layers, losses and decoders as modules, for models of your own."""

from ..objective import SampleSizes
from .decoders import ClassDecoder, LinkDecoder
from .embedding import ManifoldEmbedding
from .loss import RankingLoss

__all__ = ["ClassDecoder", "LinkDecoder", "ManifoldEmbedding", "RankingLoss", "SampleSizes"]
