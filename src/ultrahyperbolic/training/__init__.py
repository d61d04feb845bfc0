"""From a graph to its embedding: configurations, starts, choices of a geometry, and the calls that train."""

from .config import TrainingConfig
from .embed import configure, embed, embed_best, embed_many
from .select import Selection, select_signature

__all__ = [
    "Selection",
    "TrainingConfig",
    "configure",
    "embed",
    "embed_best",
    "embed_many",
    "select_signature",
]
