"""Ctrl-C, and what was reached before it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Kept(Protocol):
    """An embedding, as far as it is needed to keep it."""

    def save(self, folder: str | os.PathLike[str]) -> object:
        """Write it to a folder."""


class Minimum(Protocol):
    """What a minimisation has found, as far as it is needed to go on from there."""

    @property
    def point(self) -> Tensor:
        """The best point seen."""

    @property
    def value(self) -> float:
        """The function there."""


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

    embedding: Kept | None
    """Of `embed`."""
    embeddings: list[Kept]
    """Of `embed_many`, one for each configuration."""
    result: Minimum | None
    """Of `minimize`."""

    def __init__(
        self,
        message: str = "",
        *,
        embedding: Kept | None = None,
        embeddings: Sequence[Kept] = (),
        result: Minimum | None = None,
    ) -> None:
        super().__init__(message)
        self.embedding, self.embeddings, self.result = embedding, list(embeddings), result
