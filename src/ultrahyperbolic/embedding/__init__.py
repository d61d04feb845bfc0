"""Training: configurations, engines, the outer loop, and the embedding that comes of it."""

from .config import TrainingConfig
from .embedding import Embedding
from .engine import BatchState, NumbaEngine, ReferenceEngine, RunSpec, Schedule
from .estimator import configure, embed, embed_many
from .run import Progress, run

__all__ = [
    "BatchState",
    "Embedding",
    "NumbaEngine",
    "Progress",
    "ReferenceEngine",
    "RunSpec",
    "Schedule",
    "TrainingConfig",
    "configure",
    "embed",
    "embed_many",
    "run",
]
