"""Ctrl-C, and what was reached before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a training or a minimisation, with the best that had been reached by then.

    It ends loops and programs as any ``KeyboardInterrupt`` does. Ctrl-C while a training is still being prepared is a
    plain ``KeyboardInterrupt``: there is nothing to keep.

    >>> def train(seeds):
    ...     try:
    ...         return [uh.embed(graph, seed=seed) for seed in seeds]
    ...     except uh.Interrupted as interrupted:
    ...         interrupted.embedding.save("so_far")
    ...         raise
    """

    def __init__(self, message: str = "", *, embedding: Any = None, embeddings: Sequence[Any] = (), result: Any = None):
        super().__init__(message)
        self.embedding = embedding
        """An :class:`Embedding`, of :func:`embed`."""
        self.embeddings = list(embeddings)
        """Of :func:`embed_many`, one for each configuration."""
        self.result = result
        """A :class:`MinimizeResult`, of :func:`minimize`."""
