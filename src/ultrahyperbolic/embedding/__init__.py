"""What a training gives."""

from .embedding import Embedding as Embedding
