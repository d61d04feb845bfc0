"""What a training gives: points with the ids they belong to, and the questions they answer."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..checks import check_count
from ..evaluation.components import component_delta
from ..evaluation.hierarchy import ranks_of
from ..evaluation.ranks import RankIntervals
from ..geometry import Geometry, Manifold
from ..pairs import Nearest, nearest, row_sums
from . import store
from .record import RankRecord, RunRecord

if TYPE_CHECKING:
    import networkx
    import pandas

    from ..graph import Graph

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Embedding:
    """Nodes as points of a manifold. Ids in are ids out, in the order of the graph.

    Distances are D_γ (Eq. 9) on curved spaces; on flat space the squared Euclidean distance, as in the paper.
    """

    ids: Sequence[Hashable]
    points: Floats
    """[n, d], time coordinates first."""
    manifold: Manifold
    record: RunRecord = field(default_factory=RunRecord)
    """How it was made: settings, seed, versions, graph, loss, measures, timing. Plain data is taken, too."""
    graph: Graph | None = None
    """The graph it was trained on, when at hand."""
    rank_intervals: RankIntervals | None = None
    """How far each rank varies with the seed, where several seeds were trained; ``record.ranks`` says which."""
    popularity: Floats | None = None
    """[n] what was learnt of each node beside its point, where that was asked for: the nearest nodes of a node are
    those of the least distance less their popularity. δ and distances are without it."""
    _nearest: ClassVar[Nearest | None] = None
    """As many of every node as were sought before, where they were."""

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=np.float64)
        if points.shape != (len(self.ids), self.manifold.ambient_dim):
            raise ValueError(f"points must be [{len(self.ids)}, {self.manifold.ambient_dim}], got {points.shape}")
        self.manifold.assert_point(torch.from_numpy(points), name="points", tolerance=1e-8)
        points.setflags(write=False)
        object.__setattr__(self, "points", points)
        if self.popularity is not None:
            popularity = np.array(self.popularity, dtype=np.float64)
            if popularity.shape != (len(self.ids),) or not np.isfinite(popularity).all():
                raise ValueError(f"popularity must be [{len(self.ids)}] finite numbers, got shape {popularity.shape}")
            popularity.setflags(write=False)
            object.__setattr__(self, "popularity", popularity)
        if isinstance(self.record, Mapping):
            object.__setattr__(self, "record", RunRecord.from_json(self.record))

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Embedding({len(self)} nodes on {self.manifold})"

    @property
    def run(self) -> dict[str, Any]:
        """How it was made, as ``run.json`` has it: a copy of :attr:`record` as plain data."""
        return self.record.to_json()

    @cached_property
    def geometry(self) -> Geometry | None:
        """Q^{p,q}_β or R^d; None on a manifold of another kind."""
        return Geometry.of_manifold(self.manifold)

    def with_record(self, record: RunRecord) -> Embedding:
        """The same points with another record; what a pass over all pairs found of them stays known."""
        return self._keeping(replace(self, record=record))

    def with_ranks(self, intervals: RankIntervals, *, seeds: int, first_seed: int) -> Embedding:
        """The same points with the intervals of their ranks over so many seeds, from ``first_seed`` on."""
        n, ends = len(self), np.array(intervals[:2], dtype=np.int64)
        if ends.shape != (2, n) or (ends[0] < 1).any() or (ends[0] > ends[1]).any() or (ends[1] > n).any():
            raise ValueError(f"intervals must have 1 <= low <= high <= {n} for each of the {n} nodes")
        kept = RankIntervals(ends[0], ends[1], intervals.coverage)
        record = replace(self.record, ranks=RankRecord(seeds, first_seed, kept.coverage))
        return self._keeping(replace(self, record=record, rank_intervals=kept))

    def _keeping(self, other: Embedding) -> Embedding:
        """The other, which has these points, with what a pass over all pairs found of them."""
        known = vars(self)
        vars(other).update({name: known[name] for name in ("delta", "_nearest", "rank") if name in known})
        return other

    # --- questions ----------------------------------------------------------------------------------------------

    @cached_property
    def delta(self) -> Floats:
        """δ_i = Σ_j d(x_i, x_j) [n]: small for nodes high in the hierarchy. Blockwise, exact for any n.

        On a graph of several components, as :func:`~ultrahyperbolic.evaluation.delta` says, where the graph is at hand.
        """
        found = None if self.graph is None else component_delta(self.graph, self._tensor, self.manifold)
        if found is not None:
            return found
        result: Floats = row_sums(self._tensor, self.manifold).numpy()
        return result

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each node by δ [n], 1 for the smallest; equal values rank in node order."""
        return ranks_of(self.delta)

    def hierarchy(self) -> pandas.DataFrame:
        """Columns node, delta and rank, the smallest delta first; rank_low and rank_high where they are known."""
        import pandas as pd

        table = pd.DataFrame({"node": self._id_column(), "delta": self.delta, **self.rank_columns})
        return table.sort_values("rank", ignore_index=True)

    @property
    def rank_columns(self) -> dict[str, NDArray[np.int64]]:
        """rank [n], and rank_low and rank_high [n] where they are known."""
        found = {"rank": self.rank}
        if self.rank_intervals is not None:
            found |= {"rank_low": self.rank_intervals.low, "rank_high": self.rank_intervals.high}
        return found

    def distance(self, a: Hashable, b: Hashable) -> float:
        """Dissimilarity of two nodes, by id."""
        return float(self.manifold.dissimilarity(self._tensor[self.index(a)], self._tensor[self.index(b)]))

    def distances(self, node: Hashable | None = None) -> Floats:
        """Dissimilarities [n] of one node to all, or [n, n] of all to all."""
        if node is None:
            if len(self) > 10_000:
                raise MemoryError(f"{len(self)} nodes make too large a matrix; ask for one node, or for neighbors")
            table: Floats = self.manifold.cdist(self._tensor, dissimilarity="geodesic").numpy()
            return table
        row: Floats = self.manifold.dissimilarity(self._tensor[self.index(node)], self._tensor).numpy()
        return row

    def neighbors(self, node: Hashable, k: int = 10) -> pandas.DataFrame:
        """The k nodes nearest to a node: columns node, distance and connected (where the graph is at hand).

        Where nodes have a popularity, it is a column too, and the nearest are those of the least distance less theirs.
        """
        import pandas as pd

        position = self.index(node)
        k = check_count("k", k, 1)
        distances = self.distances(node)
        order = np.argsort(distances if self.popularity is None else distances - self.popularity, kind="stable")
        order = order[order != position][:k]
        table = {"node": self._id_column(order), "distance": distances[order]}
        if self.popularity is not None:
            table["popularity"] = self.popularity[order]
        if self.graph is not None:
            offsets, nodes = self.graph.neighbor_lists
            table["connected"] = np.isin(order, nodes[offsets[position] : offsets[position + 1]])
        return pd.DataFrame(table)

    def closer_than(self, node: Hashable, distance: float) -> list[Hashable]:
        """The ids of the nodes within a distance of a node, nearest first, itself excluded: popularity is left out."""
        position, distances = self.index(node), self.distances(node)
        order = np.argsort(distances, kind="stable")
        return [self.ids[int(i)] for i in order if distances[i] < distance and i != position]

    def nearest(self, k: int = 1) -> tuple[NDArray[np.int64], Floats]:
        """The k nearest nodes of every node: positions [n, k] and distances [n, k], blockwise.

        Where nodes have a popularity, nearest are those of the least distance less theirs.
        """
        found = self._nearest
        if found is None or not 1 <= k <= found.indices.shape[1]:
            found = nearest(self._tensor, self.manifold, k, popularity=self.popularity)
        return found.indices[:, :k].numpy(), found.distances[:, :k].numpy()

    def remember(self, delta: Floats, nearest: Nearest | None) -> None:
        """Keep what was found of these points, δ and maybe the nearest nodes: they are not sought again."""
        vars(self).update(delta=delta, _nearest=nearest)  # where cached_property keeps δ

    def index(self, node: Hashable) -> int:
        """The row of a node, by id."""
        try:
            return self._index[node]
        except (KeyError, TypeError):
            hint = ""
            if not isinstance(node, str) and str(node) in self._index:
                hint = f"; ids read from text are text: try {str(node)!r}"
            raise KeyError(f"no node {node!r} in this embedding{hint}") from None

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {node: row for row, node in enumerate(self.ids)}

    @cached_property
    def _tensor(self) -> Tensor:
        return torch.from_numpy(np.array(self.points))

    def _id_column(self, order: NDArray[np.int64] | None = None) -> Sequence[Hashable]:
        ids = list(self.ids) if order is None else [self.ids[int(i)] for i in order]
        if all(isinstance(node, str) for node in ids) or all(type(node) in (int, float) for node in ids):
            return ids
        column = np.empty(len(ids), dtype=object)
        column[:] = ids
        return column  # type: ignore[return-value]  # pandas takes it for a column, and lists of tuples for a table

    # --- other forms --------------------------------------------------------------------------------------------

    def to_pandas(self) -> pandas.DataFrame:
        """Columns node, x0 …, delta and rank, as :meth:`hierarchy` has them, in the order of the graph.

        Where nodes have a popularity, that too.
        """
        import pandas as pd

        coordinates = {f"x{k}": self.points[:, k] for k in range(self.points.shape[1])}
        popularity = {} if self.popularity is None else {"popularity": self.popularity}
        return pd.DataFrame(
            {"node": self._id_column(), **coordinates, "delta": self.delta, **self.rank_columns, **popularity}
        )

    def to_networkx(self) -> networkx.Graph:
        """The graph with ``point``, ``delta`` and ``rank`` on its nodes, and ``popularity`` where they have one.

        Nodes alone where the graph is not at hand.
        """
        import networkx as nx

        result = nx.Graph() if self.graph is None else self.graph.to_networkx()
        for row, node in enumerate(self.ids):
            result.add_node(
                node, point=self.points[row].tolist(), delta=float(self.delta[row]), rank=int(self.rank[row])
            )
            if self.popularity is not None:
                result.nodes[node]["popularity"] = float(self.popularity[row])
        return result

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from .notebook import summary

        return summary(self)

    # --- files --------------------------------------------------------------------------------------------------

    def export(
        self, path: str | os.PathLike[str], format: Literal["atlas", "projector", "graphml", "gexf"], **options: Any
    ) -> tuple[list[Path], list[str]]:
        """Write it for another viewer; options are those of ``export``. The files, and what is to be said of them."""
        from ..export.viewers import export

        return export(self, path, format, **options)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the folder: ``embedding.parquet`` (read by anything that reads Parquet) and ``run.json``.

        Both or none: where that fails, what was there is as it was. Of several that are saved there at once, the last
        one stays. Each file carries the sha256 of its content, and ``run.json`` that of the table it belongs to. A
        ``report.html`` that is there goes, as it shows other points; ``report.write_report`` writes one.
        """
        path = store.prepare_folder(folder, overwrite=overwrite)
        store.save(path, self._table, self.rank, self.record)
        return path

    def save_record(self, folder: Path) -> None:
        """Write ``run.json`` alone, to the folder in which these points are saved."""
        store.save_record(folder, self._table, self.record)

    @property
    def _table(self) -> store.Table:
        if self.geometry is None:
            raise TypeError(f"only pseudo-hyperboloids and flat space can be saved, and this is on {self.manifold}")
        ends = None if self.rank_intervals is None else np.array(self.rank_intervals[:2])
        return store.Table(self.ids, self.points, self.delta, self.geometry, ends, self.popularity)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Embedding:
        """Read what :meth:`save` wrote; a graph that was embedded from a file or data set is not read again.

        Raises ``ValueError`` where a file is not what was written.
        """
        found: list[Embedding] = []

        def check(table: store.Table) -> None:
            found[:] = [cls(table.ids, table.points, table.geometry.manifold, popularity=table.popularity)]

        table, record = store.load(Path(folder), check)
        embedding = found[0].with_record(record)
        if table.rank_ends is not None and record.ranks is not None:
            ranks, (low, high) = record.ranks, table.rank_ends
            intervals = RankIntervals(low, high, ranks.coverage)
            embedding = embedding.with_ranks(intervals, seeds=ranks.seeds, first_seed=ranks.first_seed)
        vars(embedding)["delta"] = table.delta  # where cached_property keeps it: the sums are not taken again
        return embedding
