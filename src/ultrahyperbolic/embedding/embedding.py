"""What a training gives: points with the ids they belong to, and the questions they answer."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..checks import check_count
from ..files import (
    SEAL,
    digest_of,
    id_as_json,
    read_sealed_json,
    replace_files,
    sealed_json,
    texts_as_arrays,
    warn_unsealed,
)
from ..geometry import Euclidean, Manifold, PseudoHyperboloid
from ..graph.parquet import read_parquet
from ..pairs import Nearest, nearest, row_sums

if TYPE_CHECKING:
    import networkx
    import pandas

    from ..export.viewers import Exported, Format
    from ..graph import Graph

Floats = NDArray[np.float64]
TABLE, RECORD, REPORT = "embedding.parquet", "run.json", "report.html"
_ABOUT = "ultrahyperbolic"  # the key of the table's metadata
_NO_EMBEDDING = (OSError, KeyError, TypeError, ValueError, RecursionError)  # what a damaged table may raise
_OF = "table"  # the key under which a record keeps the sha256 of the table that it was saved with


@dataclass(frozen=True, eq=False)
class Embedding:
    """Nodes as points of a manifold. Ids in are ids out, in the order of the graph.

    Distances are D_γ (Eq. 9) on curved spaces; on flat space the squared Euclidean distance, as in the paper.
    """

    ids: Sequence[Hashable]
    points: Floats
    """[n, d], time coordinates first."""
    manifold: Manifold
    run: dict[str, Any] = field(default_factory=dict)
    """How it was made: configuration, seed, versions, graph, loss, measures, timing."""
    graph: Graph | None = None
    """The graph it was trained on, when at hand."""
    _nearest: ClassVar[Nearest | None] = None
    """As many of every node as were sought before, where they were."""

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=np.float64)
        if points.shape != (len(self.ids), self.manifold.ambient_dim):
            raise ValueError(f"points must be [{len(self.ids)}, {self.manifold.ambient_dim}], got {points.shape}")
        self.manifold.assert_point(torch.from_numpy(points), name="points", tolerance=1e-8)
        points.setflags(write=False)
        object.__setattr__(self, "points", points)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Embedding({len(self)} nodes on {self.manifold})"

    # --- questions ----------------------------------------------------------------------------------------------

    @cached_property
    def delta(self) -> Floats:
        """δ_i = Σ_j d(x_i, x_j) [n]: small for nodes high in the hierarchy. Blockwise, exact for any n."""
        result: Floats = row_sums(self._tensor, self.manifold).numpy()
        return result

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each node by δ [n], 1 for the smallest; equal values rank in node order."""
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[np.argsort(self.delta, kind="stable")] = np.arange(1, len(self) + 1)
        return ranks

    def hierarchy(self) -> pandas.DataFrame:
        """Columns node, delta and rank, the top of the hierarchy first."""
        import pandas as pd

        table = pd.DataFrame({"node": self._id_column(), "delta": self.delta, "rank": self.rank})
        return table.sort_values("rank", ignore_index=True)

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
        """The k nodes nearest to a node: columns node, distance and connected (where the graph is at hand)."""
        import pandas as pd

        position = self.index(node)
        k = check_count("k", k, 1)
        distances = self.distances(node)
        order = np.argsort(distances, kind="stable")
        order = order[order != position][:k]
        table = {"node": self._id_column(order), "distance": distances[order]}
        if self.graph is not None:
            offsets, nodes = self.graph.neighbor_lists
            table["connected"] = np.isin(order, nodes[offsets[position] : offsets[position + 1]])
        return pd.DataFrame(table)

    def closer_than(self, node: Hashable, distance: float) -> list[Hashable]:
        """The ids of the nodes within a distance of a node, nearest first, itself excluded."""
        position, distances = self.index(node), self.distances(node)
        order = np.argsort(distances, kind="stable")
        return [self.ids[int(i)] for i in order if distances[i] < distance and i != position]

    def nearest(self, k: int = 1) -> tuple[NDArray[np.int64], Floats]:
        """The k nearest nodes of every node: positions [n, k] and distances [n, k], blockwise."""
        found = self._nearest
        if found is None or not 1 <= k <= found.indices.shape[1]:
            found = nearest(self._tensor, self.manifold, k)
        return found.indices[:, :k].numpy(), found.distances[:, :k].numpy()

    def remember(self, delta: Floats, nearest: Nearest) -> None:
        """Keep what a pass over all pairs found of these points, δ and the nearest nodes: they are not sought again."""
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

    def _id_column(self, order: NDArray[np.int64] | None = None) -> Any:
        ids = list(self.ids) if order is None else [self.ids[int(i)] for i in order]
        if all(isinstance(node, str) for node in ids) or all(type(node) in (int, float) for node in ids):
            return ids
        column = np.empty(len(ids), dtype=object)
        column[:] = ids
        return column

    # --- other forms --------------------------------------------------------------------------------------------

    def to_pandas(self) -> pandas.DataFrame:
        """Columns node, x0 …, delta and rank, in the order of the graph."""
        import pandas as pd

        coordinates = {f"x{k}": self.points[:, k] for k in range(self.points.shape[1])}
        return pd.DataFrame({"node": self._id_column(), **coordinates, "delta": self.delta, "rank": self.rank})

    def to_networkx(self) -> networkx.Graph:
        """The graph with ``point``, ``delta`` and ``rank`` on its nodes; nodes alone where the graph is not at hand."""
        import networkx as nx

        result = nx.Graph() if self.graph is None else self.graph.to_networkx()
        for row, node in enumerate(self.ids):
            result.add_node(
                node, point=self.points[row].tolist(), delta=float(self.delta[row]), rank=int(self.rank[row])
            )
        return result

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from .notebook import summary

        return summary(self)

    # --- files --------------------------------------------------------------------------------------------------

    def export(self, path: str | os.PathLike[str], format: Format, **options: Any) -> Exported:
        """Write it for another viewer: "atlas", "projector", "graphml" or "gexf"; options are those of ``export``."""
        from ..export.viewers import export

        return export(self, path, format, **options)

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the folder: ``embedding.parquet`` (read by anything that reads Parquet) and ``run.json``.

        Both or none: where that fails, what was there is as it was. Of several that are saved there at once, the last
        one stays. Each file carries the sha256 of its content, and ``run.json`` that of the table it belongs to. A
        ``report.html`` that is there goes, as it shows other points; ``report.write_report`` writes one.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = prepare_folder(folder, overwrite=overwrite)
        ids, about = self._about()
        columns: dict[str, Any] = {"node": pa.array(ids, type=pa.string())}
        columns |= {f"x{k}": self.points[:, k] for k in range(self.points.shape[1])}
        columns |= {"delta": self.delta, "rank": self.rank}
        table = pa.table(columns).replace_schema_metadata({_ABOUT: json.dumps(about)})
        record = sealed_json(self.run | {_OF: about[SEAL]})
        files = {TABLE: lambda file: pq.write_table(table, file), RECORD: lambda file: file.write(record)}
        replace_files(path, files)
        (path / REPORT).unlink(missing_ok=True)  # a page of other points
        return path

    def save_record(self, folder: Path) -> None:
        """Write ``run.json`` alone, to the folder in which these points are saved."""
        write_record(folder, self.run | {_OF: self._about()[1][SEAL]})

    def _about(self) -> tuple[list[str], dict[str, Any]]:
        """The ids as text, and what the metadata of the table says, with its seal."""
        kind = _id_kind(self.ids)
        ids = [str(node) if kind == "text" else json.dumps(id_as_json(node)) for node in self.ids]
        about = {"manifold": describe_manifold(self.manifold), "ids": kind}
        about[SEAL] = digest_of(about, [*texts_as_arrays(ids), self.points, self.delta])
        return ids, about

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Embedding:
        """Read what :meth:`save` wrote; a graph that was embedded from a file or data set is not read again.

        Raises ``ValueError`` where a file is not what was written.
        """
        path = Path(folder)
        if not (path / TABLE).exists():
            raise FileNotFoundError(f"{path} holds no embedding: there is no {TABLE} in it")
        found = None
        while found is None:
            seen = _stamps(path)
            try:
                ids, points, delta, manifold, seal = _read_table(path / TABLE)
                embedding = cls(ids, points, manifold)
            except _NO_EMBEDDING as error:
                if seen != _stamps(path):  # another was saved while it was read
                    continue
                reason = str(error).removeprefix(f"{path / TABLE}: ")
                raise ValueError(f"{path / TABLE} is not an embedding of this package: {reason}") from None
            found = _record_of(path, seal)
            if found is None and seen == _stamps(path):
                raise ValueError(f"{path / RECORD} is of other points than {TABLE}: save them again, or remove it")
        embedding.run.update(found[1])
        vars(embedding)["delta"] = delta  # where cached_property keeps it: sums over all pairs are not taken again
        return embedding


def prepare_folder(folder: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Make the folder, or say why not: what is there is kept unless ``overwrite``."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; name a folder for the embedding")
    if path.is_dir() and any((path / name).exists() for name in (TABLE, RECORD)) and not overwrite:
        raise FileExistsError(f"{path} holds an embedding already: name another folder, or overwrite it (--overwrite)")
    path.mkdir(parents=True, exist_ok=True)
    return path


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write ``run.json``, whole or not at all."""
    content = sealed_json(record)
    replace_files(folder, {RECORD: lambda file: file.write(content)})


def finish_save(folder: Path) -> None:
    """Complete a save that was killed between its two renames, where there is one; nobody may be saving there."""
    with suppress(*_NO_EMBEDDING), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loading it will say so
        found = _record_of(folder, _read_table(folder / TABLE)[-1])
        if found is not None and found[0] != folder / RECORD:
            found[0].replace(folder / RECORD)
            (folder / REPORT).unlink(missing_ok=True)


def _record_of(folder: Path, seal: str | None) -> tuple[Path, dict[str, Any]] | None:
    """The record that was saved with a table, and its file; None where there is one of another table alone.

    A process that is killed between the two renames of a save leaves it under its temporary name.
    """
    path = folder / RECORD
    record = read_sealed_json(path) if path.exists() else {}
    of = record.pop(_OF, None)
    if seal is None or of == seal:
        return path, record
    for left in folder.glob(f".{RECORD}.*"):
        with suppress(OSError, ValueError):
            other = read_sealed_json(left)
            if other.pop(_OF, None) == seal:
                return left, other
    return (path, record) if of is None else None  # earlier versions did not write it


def _stamps(folder: Path) -> list[tuple[int, int] | None]:
    """Which files an embedding has now: another save has others."""
    found = [path.stat() if (path := folder / name).exists() else None for name in (TABLE, RECORD)]
    return [None if status is None else (status.st_ino, status.st_mtime_ns) for status in found]


def _read_table(path: Path) -> tuple[list[Any], Floats, Floats, Manifold, str | None]:
    """Ids, points [n, d], δ [n], the manifold and the seal of an ``embedding.parquet`` that holds what was written."""
    about: dict[str, Any] = {}
    widths: list[int] = []

    def choose(schema: Any) -> list[str]:
        about.update(json.loads((schema.metadata or {})[_ABOUT.encode()]))
        widths.append(_ambient_dim(about["manifold"]))
        if widths[0] > len(schema.names):
            raise ValueError(f"its manifold has {widths[0]} coordinates, and it has {len(schema.names)} columns")
        numbers = [*(f"x{k}" for k in range(widths[0])), "delta"]
        for name, kind in [("node", "string"), *((name, "double") for name in numbers)]:
            if str(schema.field(name).type) != kind:
                raise ValueError(f"the column {name} holds {schema.field(name).type}, not {kind}")
        return ["node", *numbers]

    table = read_parquet(str(path), choose)
    if any(column.null_count for column in table.columns):
        raise ValueError("there are gaps in it")
    texts = table.column("node").to_pylist()
    points: Floats = np.stack([table.column(f"x{k}").to_numpy() for k in range(widths[0])], axis=1)
    delta: Floats = np.array(table.column("delta").to_numpy(), dtype=np.float64)
    seal = about.pop(SEAL, None)
    if seal is None:
        warn_unsealed(path)
    elif seal != digest_of(about, [*texts_as_arrays(texts), points, delta]):
        raise ValueError("its content is not what was written: its sha256 differs")
    if not (np.isfinite(delta) & (delta >= 0)).all():
        raise ValueError("delta, a sum of distances, must be finite and not negative")
    ids = [_hashable(json.loads(text)) for text in texts] if about["ids"] == "json" else texts
    if len(set(ids)) < len(ids):
        raise ValueError("two nodes have one id")
    return ids, points, delta, manifold_from(about["manifold"]), seal


def _ambient_dim(manifold: dict[str, Any]) -> int:
    """How many coordinates the points of a described manifold have."""
    dim = manifold["dim"] if manifold["kind"] == "flat" else manifold["p"] + manifold["q"] + 1
    if not isinstance(dim, int) or dim < 1:
        raise ValueError(f"no manifold: {manifold}")
    return dim


def describe_manifold(manifold: Manifold) -> dict[str, Any]:
    """A manifold as plain data."""
    if isinstance(manifold, PseudoHyperboloid):
        return {"kind": "pseudo_hyperboloid", "p": manifold.p, "q": manifold.q, "beta": manifold.beta.item()}
    return {"kind": "flat", "dim": manifold.dim}


def manifold_from(data: dict[str, Any]) -> Manifold:
    """The reverse of :func:`describe_manifold`."""
    if data["kind"] == "pseudo_hyperboloid":
        return PseudoHyperboloid(data["p"], data["q"], data["beta"])
    if data["kind"] == "flat":
        return Euclidean(data["dim"])
    raise ValueError(f"unknown manifold {data['kind']!r}")


def _id_kind(ids: Sequence[Hashable]) -> str:
    return "text" if all(isinstance(node, str) for node in ids) else "json"


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value
