"""Ctrl-C, and what was reached before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedding import Embedding
    from .optim import MinimizeResult


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a training or a minimisation, with the best that had been reached by then.

    It ends loops and programs as any ``KeyboardInterrupt`` does. Ctrl-C while a training is still
    being prepared is a plain ``KeyboardInterrupt``: there is nothing to keep.

    >>> def train(seeds):
    ...     try:
    ...         return [uh.embed(graph, seed=seed) for seed in seeds]
    ...     except uh.Interrupted as interrupted:
    ...         interrupted.embedding.save("so_far")
    ...         raise
    """

    embedding: Embedding | None
    """Of `embed`."""
    embeddings: list[Embedding]
    """Of `embed_many`, one for each configuration."""
    result: MinimizeResult | None
    """Of `minimize`."""

    def __init__(
        self,
        message: str = "",
        *,
        embedding: Embedding | None = None,
        embeddings: Sequence[Embedding] = (),
        result: MinimizeResult | None = None,
    ) -> None:
        super().__init__(message)
        self.embedding, self.embeddings, self.result = embedding, list(embeddings), result
