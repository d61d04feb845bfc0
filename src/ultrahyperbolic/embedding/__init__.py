"""What a training gives."""

from .embedding import Embedding

__all__ = ["Embedding"]
