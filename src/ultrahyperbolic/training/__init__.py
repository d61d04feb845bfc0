"""From a graph to its embedding: configurations, starts, choices of a geometry, and the calls that
train.
"""

from .config import TrainingConfig
from .embed import embed
from .select import select
from .selection import Selection
from .train import embed_many

__all__ = [
    "Selection",
    "TrainingConfig",
    "embed",
    "embed_many",
    "select",
]
