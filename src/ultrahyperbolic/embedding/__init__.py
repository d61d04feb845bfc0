"""What a training gives."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedding import Embedding

__all__ = ["Embedding"]

_MOVED = ("Selection", "TrainingConfig", "embed", "embed_best", "embed_many", "select_signature")


def __getattr__(name: str) -> object:
    """The class, when it is first asked for: reading a folder needs no torch. And what was here up to version 0.2."""
    if name == "Embedding":
        return import_module(".embedding", __name__).Embedding
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = __name__.replace("embedding", "training")
    warnings.warn(f"{__name__}.{name} is now {home}.{name}: the former name will go", DeprecationWarning, stacklevel=2)
    return getattr(import_module(home), name)
