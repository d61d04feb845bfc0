"""The result of a training: points with the ids they belong to, and the questions they answer."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints
from ..checks import check_choice, check_count
from ..evaluation import evaluate
from ..evaluation.clusters import clusters, communities, width_of
from ..evaluation.hierarchy import delta
from ..evaluation.summary import Near
from ..graph import Graph, GraphError, as_graph
from ..graph.attributes import Attributes, as_attributes
from ..graph.centrality import other_ranks
from ..graph.flow import Centrality, centrality_of
from ..pairs import check_k, distances_from, popularity_array, rows_of, tensor_of
from ..spaces import MANIFOLD, Geometry, ManifoldField, Space
from . import answers, forms, store
from .answers import Labels, NodeFinder, TiesOf, less_popularity
from .record import RunRecord

if TYPE_CHECKING:
    import networkx
    import pandas

    from ..export.viewers import Format


@dataclass(frozen=True, eq=False)
class Embedding:
    """A point for each node of a graph, with the ids you gave it, in the order of the graph.

    Wherever a method takes a node, give its id, or its label where only one node has it.
    ``embedding["34"]`` is the point of a node [d], ``embedding[["34", "1"]]`` the points of several
    [k, d]; ``in``, ``len`` and iteration are about ids, as in a dict. Distances are D_γ (Eq. 9) on
    curved spaces, and squared Euclidean distances on flat ones.
    """

    ids: Sequence[Hashable]
    points: Floats
    """[n, d], time coordinates first."""
    manifold: ManifoldField = MANIFOLD
    """Where the points live. Give a `Geometry` if you like; ``space`` is what was given."""
    record: RunRecord = field(default_factory=RunRecord)
    """How it was made: settings, seed, versions, graph, loss, measures, timing. You may pass plain
    data.
    """
    graph: Graph | None = None
    """The graph it was trained on; None where it is not known, as of folders of version 0.2."""
    popularity: Floats | None = None
    """[n] an offset learnt for each node beside its point: the distance of two nodes is D_γ less
    that of both.
    """
    labels: Labels | None = None
    """A label for some or all ids; those of the graph unless given."""
    attributes: Attributes = field(default_factory=dict)
    """Further columns of the table of nodes, by name: [n] of text or numbers; those of the graph
    unless given.
    """
    if TYPE_CHECKING:
        space: Space = field(init=False)
    _nearest: ClassVar[Near | None] = None
    """The nearest nodes of every node, where they were computed before."""

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=np.float64)
        if points.shape != (len(self.ids), self.space.ambient_dim):
            raise ValueError(
                f"points must be [{len(self.ids)}, {self.space.ambient_dim}], got {points.shape}"
            )
        if not isinstance(self.space, Geometry) or not self.space.holds(points):
            self.manifold.assert_point(tensor_of(points), name="points", tolerance=1e-8)
        points.setflags(write=False)
        object.__setattr__(self, "points", points)
        if (
            popularity := popularity_array({"popularity": self.popularity}, len(self.ids))
        ) is not None:
            popularity.setflags(write=False)
            object.__setattr__(self, "popularity", popularity)
        if self.labels is None and self.graph is not None:
            object.__setattr__(self, "labels", self.graph.labels)
        given = self.attributes or (self.graph.attributes if self.graph is not None else {})
        object.__setattr__(self, "attributes", as_attributes(given, len(self.ids)))
        if isinstance(self.record, Mapping):
            object.__setattr__(self, "record", RunRecord.from_json(self.record))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.ids)

    def __contains__(self, node: object) -> bool:
        return self.rows.knows(node)

    def __getitem__(self, node: Hashable | Iterable[Hashable]) -> Floats:
        rows = (
            self.index(node) if isinstance(node, Hashable) else [self.index(each) for each in node]
        )
        return np.asarray(self.points[rows])

    def __repr__(self) -> str:
        return f"Embedding({len(self)} nodes on {self.manifold})"

    @property
    def run(self) -> dict[str, Any]:
        """How it was made: `record` as plain data, the way ``run.json`` has it."""
        return self.record.to_json()

    @cached_property
    def geometry(self) -> Geometry | None:
        """Q^{p,q}_β or R^d; None on any other manifold."""
        return Geometry.of_manifold(self.space)

    def with_record(self, record: RunRecord) -> Self:
        """The same points with another record; what was computed of them stays known."""
        return self._with(record=record)

    def _with(self, **changes: object) -> Self:
        """The same points with other fields, and with what was found of them."""
        other = copy(self)
        vars(other).update(changes)
        return other

    def with_graph(self, graph: Graph) -> Self:
        """The same points with their graph, of the same nodes in the same order."""
        if list(graph.ids) != list(self.ids):
            raise GraphError(
                "the graph has other nodes than the embedding, or has them in another order"
            )
        return replace(
            self, manifold=self.space, graph=graph
        )  # without what was found of the points alone

    def with_attributes(self, **columns: ArrayLike) -> Self:
        """The same points with further columns, or others of the same name: one value per node,
        text or numbers.
        """
        return self._with(attributes=as_attributes({**self.attributes, **columns}, len(self)))

    @cached_property
    def delta(self) -> Floats:
        """δ_i = Σ_j d(x_i, x_j) [n]: small for central nodes; see
        `ultrahyperbolic.evaluation.delta`.
        """
        return delta(self.points, self.space, self.graph, popularity=self.popularity)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each node [n], 1 for the most central, or in a directed graph the highest; equal
        nodes share it.
        """
        return answers.ranks_by(self, answers.ranked_by(self))["rank"]

    @cached_property
    def centrality(self) -> Centrality | None:
        """Current-flow closeness of the nodes in the graph, with standard errors; None where the
        graph is not known.
        """
        return None if self.graph is None else centrality_of(self.graph)

    @cached_property
    def other_ranks(self) -> dict[str, NDArray[np.int64]]:
        """The ranks [n] by strength, eigenvector centrality and PageRank; none where the graph is
        not known.
        """
        return {} if self.graph is None else other_ranks(self.graph)

    def hierarchy(self, by: answers.RankedBy | None = None) -> pandas.DataFrame:
        """The ranking, best first: node, label, rank, centrality, delta, ranks by other scores, and
        the attributes.

        Nodes rank ``by`` their ``"centrality"`` in the graph, in a directed graph by their
        ``"height"``, or by ``"delta"``, as the paper does. Ranks have an interval, rank_low and
        rank_high, where they are estimates.
        """
        return forms.frame(answers.ranking(self, by=by))

    def distance(self, a: Hashable, b: Hashable) -> float:
        """The distance between two nodes: D_γ less the popularity of both, where they have one; it
        can be negative.
        """
        return float(self.distances(a)[self.index(b)])

    def distances(self, node: Hashable | None = None) -> Floats:
        """Distances [n] of one node to all, or [n, n] of all to all, as of `distance`; 0 of a node
        to itself.
        """
        if node is None:
            if len(self) > 10_000:
                raise MemoryError(
                    f"{len(self)} nodes make too large a matrix; ask for one node, or for neighbors"
                )
            return np.stack([self.distances_from(row) for row in range(len(self))])
        return self.distances_from(self.index(node))

    def distances_from(self, row: int) -> Floats:
        """Distances [n] of the node in a row to all."""
        found = distances_from(self.space, self.points[row], self.points)
        return less_popularity(found, self.popularity, row)

    @property
    def is_directed(self) -> bool:
        """Whether it was trained with the directions of ties."""
        return answers.springs_of(self) is not None

    @property
    def heights(self) -> Floats:
        """[n] of a directed graph: ties point from higher nodes to lower ones; ``ValueError`` of an
        undirected one.
        """
        return answers.directed(self).heights

    def scores(self, rows: Ints) -> Floats:
        """[k, n] of a directed graph: how far the nodes in these rows are from having a tie to each
        node.
        """
        return np.stack(
            [
                answers.directed(self).add(self.distances_from(int(row)), int(row), "out")
                for row in rows
            ]
        )

    def scores_in(self, rows: Ints) -> Floats:
        """[k, n] how far each node is from having a tie to the nodes in these rows."""
        return np.stack(
            [
                answers.directed(self).add(self.distances_from(int(row)), int(row), "in")
                for row in rows
            ]
        )

    def neighbors(
        self, node: Hashable | Iterable[Hashable], k: int = 10, *, way: answers.Way | None = None
    ) -> pandas.DataFrame:
        """The k nodes nearest to a node: node, label, distance, weight, connected, and the
        attributes.

        In a directed graph, ``way="out"`` asks for the likeliest ends of its ties, and ``"in"`` for
        the likeliest origins of ties to it.

        ``weight`` is that of the tie, 0 where there is none, and ``connected`` says whether there
        is one, where the graph is known or was saved; with a ``way``, in that direction. Give a
        list for several nodes at once: a first column, ``of``, then says whose neighbours each row
        shows.
        """
        k = check_count("k", k, 1)
        if isinstance(node, Hashable):
            return forms.frame(answers.nearest(self, self.index(node), k, way))
        rows = [self.index(each) for each in node]
        if not rows:
            raise ValueError("node must name at least one node, got none")
        import pandas as pd

        tables = [answers.nearest(self, row, k, way) for row in rows]
        named = [
            {"of": [self.ids[row]] * len(table["node"])} | table
            for row, table in zip(rows, tables, strict=True)
        ]
        return pd.concat(list(map(forms.frame, named)), ignore_index=True)

    def ties_of(self, row: int, way: answers.Way | None = None) -> TiesOf | None:
        """The ties of the node in a row; None where the graph is not known. With a ``way``, those
        from it, or to it, alone.
        """
        if self.graph is None:
            return None
        if way is not None:
            arcs, weights = self.graph.arcs
            near, far = arcs.T if way == "out" else arcs.T[::-1]
            return TiesOf(far[near == row], weights[near == row])
        offsets, nodes = self.graph.neighbor_lists
        ties = slice(offsets[row], offsets[row + 1])
        return TiesOf(nodes[ties], self.graph.neighbor_weights[ties])

    @property
    def ties(self) -> Graph | None:
        """The same as `graph`."""
        return self.graph

    def closer_than(self, node: Hashable, distance: float) -> list[Hashable]:
        """The ids of the nodes within a distance of a node, nearest first, without the node."""
        position, distances = self.index(node), self.distances(node)
        return [
            self.ids[i]
            for i in np.argsort(distances, kind="stable")
            if distances[i] < distance and i != position
        ]

    def nearest(self, k: int = 1) -> tuple[NDArray[np.int64], Floats]:
        """The k nearest nodes of every node: rows [n, k] and distances [n, k], computed in
        blocks.
        """
        found = self._nearest
        if found is None or not 1 <= k <= found.indices.shape[1]:
            found = Near(
                *rows_of(
                    self.points, self.space, k=check_k(k, len(self)), popularity=self.popularity
                )[1:3]
            )
        return found.indices[:, :k], found.distances[:, :k]

    def remember(self, delta: Floats, nearest: Near | None) -> None:
        """Keep what was found of these points, δ and maybe the nearest nodes: they are not sought
        again.
        """
        vars(self).update(delta=delta, _nearest=nearest)  # where cached_property keeps δ

    def cluster(self, by: Literal["graph", "map"] = "graph") -> NDArray[np.int64]:
        """The community of each node [n], 0 for the largest: by the weighted ties of the graph, or
        by distances.
        """
        check_choice("by", by, ("graph", "map"))
        if by == "graph":
            if self.graph is None:
                raise ValueError(
                    "the ties of this embedding are not known: find communities by='map'"
                )
            return communities(self.graph)
        recorded = self.record.graph
        ties = None if recorded is None else recorded.edges
        if self.graph is not None:
            ties = self.graph.n_edges
        near = None if ties is None or len(self) < 2 else self.nearest(width_of(len(self), ties))
        return clusters(self.points, self.space, pairs=ties, near=near, popularity=self.popularity)

    def features(self, k: int = 256, *, of: Embedding | None = None) -> Floats:
        """[n, k + 1] roots of distances to k landmarks, and popularity, for other models; ``of``
        others if given.

        Landmarks are far from each other; of fewer than k nodes each is one. Popularity has no part
        in these distances; where there is none the last column is left out.
        """
        of, rows = (
            self if of is None else of,
            forms.landmarks(self.space, self.points, check_count("k", k, 1)),
        )
        columns = [forms.roots(self.space, self.points[row], of.points) for row in rows]
        return np.column_stack(columns if of.popularity is None else [*columns, of.popularity])

    def suggest(
        self, k: int = 20, node: Hashable | None = None, *, graph: object = None, quiet: bool = True
    ) -> pandas.DataFrame:
        """The k likeliest missing ties, each with its chance and a reason:
        `training.suggest.suggest`.
        """
        from ..training.suggest import suggest

        return suggest(self, k, node, graph=graph, quiet=quiet)

    def transform(self, ties: object, *, seed: int = 0, quiet: bool = True) -> Embedding:
        """An embedding of new nodes alone, by their ties to these, which stay: see
        `training.place.place`.
        """
        from ..training.place import place

        return place(self, ties, seed=seed, quiet=quiet)

    def index(self, node: Hashable) -> int:
        """The row of a node, by its id, or by its label where only one node has it; ``KeyError``
        otherwise.
        """
        return self.rows(node)

    @cached_property
    def rows(self) -> NodeFinder:
        """Finds the rows of nodes by id or label."""
        return NodeFinder(self.ids, self.labels)

    def to_pandas(self) -> pandas.DataFrame:
        """One row per node, in the order of the graph: node, x0 …, delta, rank, and what else is
        known of the nodes.
        """
        return forms.to_pandas(self)

    def to_networkx(self) -> networkx.Graph:
        """The graph, or its nodes where it is not known, with ``point``, ``delta``, ``rank`` and
        what else is known.
        """
        return forms.to_networkx(self)

    def evaluate(self, graph: object | None = None, *, progress: bool = False) -> dict[str, float]:
        """All measures of these points (``docs/measures.md``), by their graph, or by anything that
        `as_graph` takes.
        """
        data = self.graph if graph is None else as_graph(graph)
        if data is None:
            raise ValueError("measuring needs the graph: pass graph=")
        if strangers := [node for node in data.ids if not self.rows.has_id(node)]:
            raise GraphError(
                f"{len(strangers)} nodes of the graph are not in the embedding, such as "
                f"{strangers[0]!r}"
            )
        whole = data.with_nodes(self.ids)
        found = evaluate(
            whole, self.points, self.space, progress=progress, popularity=self.popularity
        )
        return found | forms.measures_of_directions(self, whole)

    def plot(self, **options: Any) -> Any:
        """The map of the report as a figure of matplotlib, with the options of
        `ultrahyperbolic.plot.plot_map`.
        """
        from ..plot import plot_map

        return plot_map(self, **options)

    def report(self, file: str | os.PathLike[str], **options: Any) -> Path:
        """Write the HTML report to a file or into a folder: `ultrahyperbolic.report.write_report`
        has the options.
        """
        from ..report import write_report

        return write_report(self, file, **options)

    _repr_html_ = forms.to_html  # what a notebook shows

    def export(
        self, path: str | os.PathLike[str], format: Format, **options: Any
    ) -> tuple[list[Path], list[str]]:
        """Write files for another viewer; returns the files and remarks. ``options`` are those of
        ``export``.
        """
        from ..export.viewers import export

        return export(self, path, format, **options)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a folder with ``embedding.parquet``, which anything that reads Parquet can read,
        and ``run.json``, a copy of the record for people.

        The table is written whole or not at all; of several processes, the last one wins. A
        ``report.html`` in the folder is removed, because it shows other points; `report` writes a
        new one.
        """
        table = store.as_table(self)  # what is refused makes no folder
        path = store.prepare_folder(folder, overwrite=overwrite)
        store.save(path, table, self.record)
        (path / store.REPORT).unlink(missing_ok=True)
        return path

    def save_record(self, folder: Path) -> None:
        """Write the record into the folder in which these points are saved: all else there stays.

        ``FileExistsError`` where other points were saved there since.
        """
        saved = type(self).load(folder)
        if not np.array_equal(saved.points, self.points):
            raise FileExistsError(f"{folder} holds other points by now")
        store.save(folder, store.as_table(saved.with_record(self.record)), self.record)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; ``ValueError`` where the table is not what was written."""
        with store.naming_damage(Path(folder)):
            arguments, computed = store.read(Path(folder))
            embedding = cls(**arguments)
        vars(embedding).update(computed)  # where cached_property keeps it
        return embedding
