"""What a training gives."""

import warnings
from importlib import import_module

from .embedding import Embedding

__all__ = ["Embedding"]

_MOVED = ("Selection", "TrainingConfig", "embed", "embed_best", "embed_many", "select_signature")


def __getattr__(name: str) -> object:
    """What was here up to version 0.2."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = __name__.replace("embedding", "training")
    warnings.warn(f"{__name__}.{name} is now {home}.{name}: the former name will go", DeprecationWarning, stacklevel=2)
    return getattr(import_module(home), name)
