"""What viewers need of an embedding, as a type that does not import the class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from ..arrays import Floats, Ints
from ..evaluation.ranks import RankIntervals
from ..geometry import Geometry, Manifold
from ..graph import Graph
from ..graph.attributes import Attributes
from .answers import Labels
from .record import RunRecord


class Placed(Protocol):
    """Nodes as points of a manifold: the part of `Embedding` that viewers use."""

    @property
    def ids(self) -> Sequence[Hashable]:
        """In the order of the graph."""

    @property
    def points(self) -> Floats:
        """[n, d], time coordinates first."""

    @property
    def manifold(self) -> Manifold:
        """Where the points live."""

    @property
    def record(self) -> RunRecord:
        """How it was made."""

    @property
    def geometry(self) -> Geometry | None:
        """Q^{p,q}_β or R^d; None on any other manifold."""

    @property
    def graph(self) -> Graph | None:
        """The graph it was trained on, where it is known."""

    @property
    def delta(self) -> Floats:
        """[n] the sums of distances to all others."""

    @property
    def rank(self) -> Ints:
        """[n] from 1 for the smallest δ."""

    @property
    def rank_intervals(self) -> RankIntervals | None:
        """How far each rank varies with the seed, where several seeds were trained."""

    @property
    def popularity(self) -> Floats | None:
        """[n] an offset learnt for each node beside its point, where that was asked for."""

    @property
    def labels(self) -> Labels | None:
        """A label for some or all ids."""

    @property
    def attributes(self) -> Attributes:
        """Further columns of the table of nodes, by name: [n] of text or numbers."""

    def __len__(self) -> int: ...
    def nearest(self, k: int = 1) -> tuple[Ints, Floats]:
        """The k nearest nodes of every node: positions [n, k] and distances [n, k]."""
