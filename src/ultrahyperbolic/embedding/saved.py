"""An embedding as its folder holds it, for the questions that need neither torch nor pandas."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from ..arrays import Floats, Ints, positions_in
from ..graph import Graph
from ..graph.flow import other_ranks
from ..spaces import Geometry
from . import store
from .answers import NodeFinder, TiesOf, less_popularity
from .record import RunRecord


@dataclass(frozen=True)
class Saved(store.Table):
    """What `Embedding.load` reads, without the class that can train further."""

    record: RunRecord = field(default_factory=RunRecord)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a folder; ``ValueError`` where a file is not what was written."""

        def check(table: store.Table) -> None:
            if not Geometry.from_json(table.manifold).holds(table.points):
                from .embedding import Embedding

                Embedding.load(folder)  # which says what is wrong with them

        _, table, record = store.load(folder, check)
        found = cls(**vars(table), record=record)
        return found if record.ranks is not None else replace(found, rank_ends=None)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def rank_columns(self) -> Mapping[str, Ints]:
        """[n] the rank, and its interval where it is known."""
        rank, ends = positions_in(np.argsort(self.delta, kind="stable")) + 1, self.rank_ends
        return {"rank": rank} | ({} if ends is None else {"rank_low": ends[0], "rank_high": ends[1]})

    @cached_property
    def other_ranks(self) -> Mapping[str, Ints]:
        """[n] the ranks by degree, strength and PageRank; none where the folder has no ties."""
        return {} if self.ties is None else other_ranks(self.ties)

    @cached_property
    def ties(self) -> Graph | None:
        """The ties as a graph, without their directions; None where the folder has none."""
        return None if self.tie_texts is None else store.graph_of(self.ids, self.tie_texts)

    @cached_property
    def rows(self) -> NodeFinder:
        """Finds nodes by id or label."""
        return NodeFinder(self.ids, self.labels)

    def distances_from(self, row: int) -> Floats:
        """[n] of the node in a row to all."""
        found = Geometry.from_json(self.manifold).distances(self.points[row], self.points)
        return less_popularity(found, self.popularity, row)

    def ties_of(self, row: int) -> TiesOf | None:
        """The ties of the node in a row, of weight 1 where weights were not kept; None where the folder has none."""
        if self.tie_texts is None:
            return None
        nodes, texts = np.array(self.tie_texts.rows[row].split(), dtype=np.int64), self.tie_texts.weights
        weights = np.ones(len(nodes)) if texts is None else np.array(texts[row].split(), dtype=np.float64)
        return TiesOf(nodes, weights)
