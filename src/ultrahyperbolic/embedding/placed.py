"""What viewers need of an embedding, as a type that does not import the class."""

from typing import Protocol

from ..arrays import Floats, Ints
from ..evaluation.ranks import RankIntervals
from ..geometry import Geometry, Manifold
from ..graph import Graph
from .answers import Asked
from .record import RunRecord


class Placed(Asked, Protocol):
    """Nodes as points of a manifold: the part of `Embedding` that viewers use."""

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
    def rank(self) -> Ints:
        """[n] from 1 for the smallest δ."""

    @property
    def rank_intervals(self) -> RankIntervals | None:
        """How far each rank varies with the seed, where several seeds were trained."""

    def __len__(self) -> int: ...
