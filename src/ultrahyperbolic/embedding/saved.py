"""An embedding as its folder holds it, for the questions that need neither torch nor pandas."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..arrays import Floats, Ints
from ..graph.attributes import Attributes
from ..graph.centrality import other_ranks
from . import store
from .answers import Labels, Rows, TiesOf, less_popularity
from .distances import space_of
from .record import RunRecord
from .ties import graph_of, tied_rows


@dataclass(frozen=True)
class Saved:
    """What `Embedding.load` reads, without the class that can train further."""

    table: store.Table
    record: RunRecord

    @classmethod
    def load(cls, folder: Path, *, ties: bool = False) -> Saved:
        """Read a folder; ``ValueError`` where a file is not what was written. ``ties`` are read if asked for."""

        def check(table: store.Table) -> None:
            if not space_of(table.manifold).holds(table.points):
                from .embedding import Embedding

                Embedding.load(folder)  # which says what is wrong with them

        table, record = store.load(folder, check, ties=ties)
        if record.ranks is None:
            table = table._replace(rank_ends=None)
        return cls(table, record)

    def __len__(self) -> int:
        return len(self.table.ids)

    @property
    def ids(self) -> Sequence[Hashable]:
        """In the order of the graph."""
        return self.table.ids

    @property
    def labels(self) -> Labels | None:
        """For some or all ids."""
        return self.table.labels

    @property
    def attributes(self) -> Attributes:
        """Further columns, one value per node."""
        return self.table.attributes

    @property
    def delta(self) -> Floats:
        """[n] the sums of distances to all others."""
        return self.table.delta

    @property
    def popularity(self) -> Floats | None:
        """[n], where it was learnt."""
        return self.table.popularity

    @cached_property
    def rank_columns(self) -> Mapping[str, Ints]:
        """[n] the rank, and its interval where it is known."""
        rank = np.empty(len(self), dtype=np.int64)
        rank[np.argsort(self.delta, kind="stable")] = np.arange(1, len(self) + 1)
        ends = self.table.rank_ends
        return {"rank": rank} | ({} if ends is None else {"rank_low": ends[0], "rank_high": ends[1]})

    @cached_property
    def other_ranks(self) -> Mapping[str, Ints]:
        """[n] the ranks by degree, strength and PageRank; none where the folder has no ties."""
        return {} if self.table.ties is None else other_ranks(graph_of(self.ids, self.table.ties))

    @cached_property
    def rows(self) -> Rows:
        """Finds nodes by id or label."""
        return Rows(self.ids, self.labels)

    def distances_from(self, row: int) -> Floats:
        """[n] of the node in a row to all."""
        points = self.table.points
        return less_popularity(space_of(self.table.manifold).distances(points[row], points), self.popularity, row)

    def ties_of(self, row: int) -> TiesOf | None:
        """The ties of the node in a row, of weight 1 where weights were not kept; None where the folder has none."""
        ties = self.table.ties
        if ties is None:
            return None
        nodes = tied_rows(ties.rows[row])
        weights = np.ones(len(nodes)) if ties.weights is None else np.array(ties.weights[row].split(), dtype=np.float64)
        return TiesOf(nodes, weights)
