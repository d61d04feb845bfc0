"""Training: configurations, engines, the outer loop, and the embedding that comes of it."""

from .config import TrainingConfig
from .embedding import Embedding
from .engine import BatchState, NumbaEngine, ReferenceEngine, RunSpec, Schedule
from .estimator import configure, embed, embed_best, embed_many
from .run import Progress, run
from .select import Selection, select_signature

__all__ = [
    "BatchState",
    "Embedding",
    "NumbaEngine",
    "Progress",
    "ReferenceEngine",
    "RunSpec",
    "Schedule",
    "Selection",
    "TrainingConfig",
    "configure",
    "embed",
    "embed_best",
    "embed_many",
    "run",
    "select_signature",
]
