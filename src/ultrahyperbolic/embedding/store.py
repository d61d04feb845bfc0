"""The folder of an embedding: ``embedding.parquet`` and ``run.json``, both or none, each with its
sha256.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import files
from ..arrays import Floats, Ints
from ..graph import Graph
from ..graph.attributes import Attributes, free_names
from ..graph.flow import Centrality
from ..spaces import Geometry
from .answers import Labels, TiesOf, label_texts
from .record import Json, RunRecord

if TYPE_CHECKING:
    import pyarrow

T = TypeVar("T")
TABLE, RECORD, REPORT = "embedding.parquet", "run.json", "report.html"
_RANK_ENDS = ("rank_low", "rank_high")  # which versions up to 0.2 wrote
_POPULARITY, _LABEL, _TIES, _TIE_WEIGHTS = "popularity", "label", "ties", "tie_weights"
_CENTRALITY = ("centrality", "centrality_error")
_OWN = {
    "node",
    "delta",
    "rank",
    *_RANK_ENDS,
    _POPULARITY,
    _LABEL,
    _TIES,
    _TIE_WEIGHTS,
    *_CENTRALITY,
}
_ABOUT = "ultrahyperbolic"  # the key of the table's metadata
_NO_EMBEDDING = (
    OSError,
    KeyError,
    TypeError,
    ValueError,
    RecursionError,
)  # what a damaged table may raise
_MOST_TIES = (
    5_000_000  # ties are kept up to here: beyond, their text would take longer than the points
)
_OF = "table"  # the key under which a record keeps the sha256 of the table that it was saved with


class TieTexts(NamedTuple):
    """Which nodes are tied, as text that whatever reads Parquet can take apart."""

    rows: Sequence[str]  # [n] the rows of the nodes that each node is tied to, ascending
    weights: Sequence[str] | None
    """[n] the weights of those ties, in the same order; None in a folder that does not hold
    them.
    """

    def of(self, row: int) -> TiesOf:
        """The ties of the node in a row, of weight 1 where weights were not kept."""
        nodes = np.array(self.rows[row].split(), dtype=np.int64)
        weights = (
            np.ones(len(nodes))
            if self.weights is None
            else np.array(self.weights[row].split(), dtype=np.float64)
        )
        return TiesOf(nodes, weights)


@dataclass(frozen=True)
class Table:
    """What ``embedding.parquet`` holds."""

    ids: Sequence[Hashable]
    points: Floats  # [n, d]
    delta: Floats  # [n]
    manifold: Mapping[str, Json]  # as Geometry.to_json writes it
    popularity: Floats | None = None  # [n], where it was trained
    labels: Labels | None = None
    attributes: Attributes = field(default_factory=dict)  # further columns of the table of nodes
    tie_texts: TieTexts | None = None  # where the ties are known
    centrality: Centrality | None = None  # where the graph is known


def save(folder: Path, table: Table, rank: Ints, record: RunRecord) -> None:
    """Write both files; a ``report.html`` that is there goes, as it shows other points."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts, about = _about(table)
    known: dict[str, Sequence[str] | NDArray[np.generic]] = {"node": texts}
    known |= {f"x{k}": column for k, column in enumerate(table.points.T)} | {
        "delta": table.delta,
        "rank": rank,
    }
    if table.popularity is not None:
        known[_POPULARITY] = table.popularity
    known |= _extras(table)
    columns = {
        name: as_numbers(of) if isinstance(of, np.ndarray) else _texts(of)
        for name, of in known.items()
    }
    content = pa.table(columns, metadata={_ABOUT: json.dumps(about)})
    sealed = files.sealed_json(record.to_json() | {_OF: about[files.SEAL]})
    files.replace_files(
        folder,
        {
            TABLE: lambda file: pq.write_table(content, file),
            RECORD: lambda file: file.write(sealed),
        },
    )
    (folder / REPORT).unlink(missing_ok=True)


# Columns are made of what lies in memory: from arrays and lists pyarrow would import pandas, to ask
# if they are series.


def _extras(table: Table) -> dict[str, Sequence[str] | NDArray[np.generic]]:
    """The columns that earlier versions did not know: labels, attributes and ties, by the name of
    their column.
    """
    found: dict[str, Sequence[str] | NDArray[np.generic]] = {}
    if table.labels:
        found[_LABEL] = [_clean(text) for text in label_texts(table.ids, table.labels)]
    columns = attribute_columns(table)
    for name, values in table.attributes.items():
        found[columns[name]] = (
            [_clean(text) for text in values] if values.dtype == object else values
        )
    if table.tie_texts is not None:
        found[_TIES] = table.tie_texts.rows
        if table.tie_texts.weights is not None:
            found[_TIE_WEIGHTS] = table.tie_texts.weights
    if table.centrality is not None:
        found |= dict(zip(_CENTRALITY, table.centrality, strict=True))
    return found


def attribute_columns(table: Table) -> dict[str, str]:
    """The column of the table in which each attribute is kept: its own name, unless the table has
    that already.
    """
    return free_names(
        list(table.attributes), _OWN | {f"x{k}" for k in range(table.points.shape[1])}
    )


def _clean(text: object) -> str:
    """Text that UTF-8 has: half a character becomes a question mark."""
    return str(text).encode("utf-8", "replace").decode()


def _texts(values: Sequence[str]) -> pyarrow.Array:
    import pyarrow as pa

    encoded = [text.encode() for text in values]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] > np.iinfo(np.int32).max:
        return pa.array(values, type=pa.string())  # in several pieces
    return pa.StringArray.from_buffers(
        len(values), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))
    )


def write_record(folder: Path, record: RunRecord, table: Table | None = None) -> None:
    """Write ``run.json`` alone: of the points that the folder holds, or of a training that has none
    yet.
    """
    of = {} if table is None else {_OF: _about(table)[1][files.SEAL]}
    files.replace_file(folder / RECORD, files.sealed_json(record.to_json() | of))


def load(folder: Path, make: Callable[[Table], T]) -> tuple[T, Table, RunRecord]:
    """What ``make`` makes of what `save` wrote, and that; ``ValueError`` where a file is not what
    was written.
    """
    if not (folder / TABLE).exists():
        raise FileNotFoundError(f"{folder} holds no embedding: there is no {TABLE} in it")
    while True:
        seen = _stamps(folder)
        try:
            table, seal = _read_table(folder / TABLE)
            made = make(table)
        except _NO_EMBEDDING as error:
            if seen != _stamps(folder):  # another was saved while it was read
                continue
            reason = str(error).removeprefix(f"{folder / TABLE}: ")
            raise ValueError(
                f"{folder / TABLE} is not an embedding of this package: {reason}"
            ) from None
        found = _record_of(folder, seal)
        if found is not None:
            return made, table, RunRecord.from_json(found[1])
        if seen == _stamps(folder):
            raise ValueError(
                f"{folder / RECORD} belongs to other points than {TABLE}: save them again, or "
                "remove it"
            )


def prepare_folder(folder: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Make the folder, or say why not: what is there is kept unless ``overwrite``."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; name a folder for the embedding")
    if path.is_dir() and not overwrite:
        what = (
            "an embedding already"
            if (path / TABLE).exists()
            else f"a {RECORD} that no training began with"
        )
        if (path / TABLE).exists() or ((path / RECORD).exists() and not _is_begun(path)):
            raise FileExistsError(
                f"{path} holds {what}: name another folder, or overwrite it (--overwrite)"
            )
    path.mkdir(parents=True, exist_ok=True)
    return path


def _is_begun(folder: Path) -> bool:
    """Whether a record is what a training wrote before its first iteration."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what has no seal
            record = RunRecord.from_json(files.read_sealed_json(folder / RECORD))
    except (OSError, ValueError):
        return False
    return record.training is not None and record.stopped is None


def finish_save(folder: Path) -> None:
    """Complete a save that was killed between its two renames, where there is one; nobody may be
    saving there.
    """
    with suppress(*_NO_EMBEDDING), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loading it will say so
        found = _record_of(folder, _read_table(folder / TABLE)[-1])
        if found is not None and found[0] != folder / RECORD:
            found[0].replace(folder / RECORD)
            (folder / REPORT).unlink(missing_ok=True)


def _about(table: Table) -> tuple[list[str], dict[str, Json]]:
    """The ids as text, and what the metadata of the table says, with its seal."""
    is_text = all(isinstance(node, str) for node in table.ids)
    texts = [str(node) if is_text else json.dumps(files.id_as_json(node)) for node in table.ids]
    about: dict[str, Json] = {
        "manifold": dict(table.manifold),
        "ids": "text" if is_text else "json",
    }
    if table.attributes:
        about["attributes"] = {column: name for name, column in attribute_columns(table).items()}
    if extras := _extras(table):
        # Versions that do not know these columns still find the seal of the others as it should be.
        about["columns"] = {column: _digest_of_column(values) for column, values in extras.items()}
    about[files.SEAL] = _digest(about, texts, table.points, table.delta, table.popularity)
    return texts, about


def _digest_of_column(values: Sequence[str] | NDArray[np.generic]) -> str:
    is_numeric = isinstance(values, np.ndarray) and values.dtype != object
    arrays = (
        [np.asarray(values)]
        if is_numeric
        else files.texts_as_arrays([str(value) for value in values])
    )
    return files.digest_of({}, arrays)


def _digest(about: Mapping[str, Json], texts: Sequence[str], *arrays: Floats | Ints | None) -> str:
    return files.digest_of(
        about, [*files.texts_as_arrays(texts), *(array for array in arrays if array is not None)]
    )


def _record_of(folder: Path, seal: str | None) -> tuple[Path, dict[str, Json]] | None:
    """The record that was saved with a table, and its file; None where there is one of another
    table alone.

    A process that is killed between the two renames of a save leaves it under its temporary name.
    """
    path = folder / RECORD
    record = files.read_sealed_json(path) if path.exists() else {}
    of = record.pop(_OF, None)
    if seal is None or of == seal:
        return path, record
    for left in folder.glob(f".{RECORD}.*"):
        with suppress(OSError, ValueError):
            other = files.read_sealed_json(left)
            if other.pop(_OF, None) == seal:
                return left, other
    return (path, record) if of is None else None  # earlier versions did not write it


def _stamps(folder: Path) -> list[tuple[int, int] | None]:
    """Which files an embedding has now: another save has others."""
    found = [path.stat() if (path := folder / name).exists() else None for name in (TABLE, RECORD)]
    return [None if status is None else (status.st_ino, status.st_mtime_ns) for status in found]


def _read_table(path: Path) -> tuple[Table, str | None]:
    """An ``embedding.parquet`` that holds what was written, and its seal."""
    about: dict[str, Json] = {}

    def choose(schema: pyarrow.Schema) -> list[str]:
        about.update(json.loads((schema.metadata or {})[_ABOUT.encode()]))
        width = Geometry.from_json(about["manifold"]).ambient_dim
        if width > len(schema.names):
            raise ValueError(
                f"its manifold has {width} coordinates, and it has {len(schema.names)} columns"
            )
        numbers = [*(f"x{k}" for k in range(width)), "delta"]
        numbers += [name for name in (_POPULARITY,) if name in schema.names]
        ends = [name for name in _RANK_ENDS if name in schema.names]
        kinds: dict[str, tuple[str, ...]] = dict.fromkeys(
            _mapping(about, "columns"), ("string", "double", "int64")
        )
        kinds |= (
            {"node": ("string",)}
            | dict.fromkeys(numbers, ("double",))
            | dict.fromkeys(ends, ("int64",))
        )
        for name, wanted in kinds.items():
            if str(schema.field(name).type) not in wanted:
                raise ValueError(
                    f"the column {name} holds {schema.field(name).type}, not {' or '.join(wanted)}"
                )
        return list(kinds)

    from ..graph.parquet import read_parquet

    table = read_parquet(str(path), choose)
    if any(column.null_count for column in table.columns):
        raise ValueError("there are gaps in it")
    texts: list[str] = table.column("node").to_pylist()
    width = Geometry.from_json(about["manifold"]).ambient_dim
    points: Floats = np.stack([_values(table, f"x{k}") for k in range(width)], axis=1)
    delta: Floats = _values(table, "delta")
    ends = [_values(table, name) for name in _RANK_ENDS if name in table.column_names]
    rank_ends = np.stack(ends) if len(ends) == len(_RANK_ENDS) else None
    popularity = _values(table, _POPULARITY) if _POPULARITY in table.column_names else None
    seal = about.pop(files.SEAL, None)
    if seal is None:
        files.warn_unsealed(path)
    elif seal != _digest(about, texts, points, delta, rank_ends, popularity):
        raise ValueError("its content is not what was written: its sha256 differs")
    if not np.isfinite(delta).all() or (popularity is None and (delta < 0).any()):
        raise ValueError(
            "delta, a sum of distances, must be finite and, without popularity, not negative"
        )
    ids: list[Hashable] = [
        files.id_from_json(json.loads(text)) if about["ids"] == "json" else text for text in texts
    ]
    if len(set(ids)) < len(ids):
        raise ValueError("two nodes have one id")
    manifold = _mapping(about, "manifold")
    found = Table(ids, points, delta, manifold, popularity, *_read_extras(table, about, ids))
    return found, seal if isinstance(seal, str) else None


def _read_extras(
    table: pyarrow.Table, about: Mapping[str, Json], ids: Sequence[Hashable]
) -> tuple[Labels | None, Attributes, TieTexts | None, Centrality | None]:
    """What `_extras` wrote, as far as it is there; ``ValueError`` where a column is not what was
    written.
    """
    names = _mapping(about, "attributes")
    labels: Labels | None = None
    ties: dict[str, list[str]] = {}
    scores: dict[str, Floats] = {}
    attributes: dict[str, NDArray[np.generic]] = {}
    for column, seal in _mapping(about, "columns").items():
        values = _values(table, column)
        if _digest_of_column(values) != seal:
            raise ValueError(f"the column {column} is not what was written: its sha256 differs")
        if column == _LABEL:
            labels = {node: str(label) for node, label in zip(ids, values, strict=True) if label}
        elif column in (_TIES, _TIE_WEIGHTS):
            ties[column] = [str(text) for text in values]
        elif column in _CENTRALITY and column not in names:
            scores[column] = values
        else:
            attributes[str(names.get(column, column))] = values
    centrality = (
        Centrality(*(scores[name] for name in _CENTRALITY))
        if len(scores) == len(_CENTRALITY)
        else None
    )
    return (
        labels,
        attributes,
        TieTexts(ties[_TIES], ties.get(_TIE_WEIGHTS)) if _TIES in ties else None,
        centrality,
    )


def _values(table: pyarrow.Table, name: str) -> NDArray[Any]:
    """A column without gaps, copied: numbers, or text as objects. Pyarrow's own ``to_numpy`` would
    import pandas.
    """
    column = table.column(name)
    if str(column.type) == "string":
        texts = np.empty(len(column), dtype=object)
        texts[:] = column.to_pylist()
        return texts
    dtype = np.dtype(np.float64 if str(column.type) == "double" else np.int64)
    whole = column.combine_chunks()
    return np.frombuffer(
        whole.buffers()[1], dtype, len(whole), whole.offset * dtype.itemsize
    ).copy()


def _mapping(about: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = about.get(name, {})
    if not isinstance(value, Mapping):
        raise ValueError(f"its description has no {name}")
    return value


def ties_of(graph: Graph) -> TieTexts | None:
    """The ties of each node as text; None of a graph that has too many.

    >>> ties_of(Graph.from_edges([("ann", "bob", 2), ("ann", "cid", 0.5)]))
    TieTexts(rows=['1 2', '0', '0'], weights=['2 0.5', '2', '0.5'])
    """
    if graph.n_edges > _MOST_TIES:
        return None
    offsets, rows = graph.neighbor_lists
    return TieTexts(_joined(offsets, rows), _joined(offsets, graph.neighbor_weights))


def _joined(offsets: Ints, values: NDArray[np.generic]) -> list[str]:
    """Numbers as text with blanks between, part by part; reading them gives the same numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # In Arrow's memory: as objects, the numbers of millions of ties would take gigabytes.
    texts = as_numbers(values).cast(pa.string())
    begins = pa.Array.from_buffers(
        pa.int32(), len(offsets), [None, pa.py_buffer(offsets.astype(np.int32))]
    )
    # From a text of Python's pyarrow would import pandas, to ask if it is missing.
    blank = pa.StringArray.from_buffers(
        1, pa.py_buffer(np.array([0, 1], dtype=np.int32)), pa.py_buffer(b" ")
    )[0]
    found: list[str] = pc.binary_join(pa.ListArray.from_arrays(begins, texts), blank).to_pylist()
    return found


def graph_of(ids: Sequence[Hashable], ties: TieTexts) -> Graph:
    """The graph with these ties; where their weights were not kept, all are 1."""
    first = np.repeat(np.arange(len(ids)), [len(text.split()) for text in ties.rows])
    second = np.array(" ".join(ties.rows).split(), dtype=np.int64)
    once = first < second
    weights = (
        None
        if ties.weights is None
        else np.array(" ".join(ties.weights).split(), dtype=np.float64)[once]
    )
    return Graph.from_arrays(first[once], second[once], weights, ids=ids)


def as_numbers(values: NDArray[np.generic]) -> pyarrow.Array:
    """An Arrow array in numpy's memory."""
    import pyarrow as pa

    kind = pa.float64() if values.dtype.kind == "f" else pa.int64()
    return pa.Array.from_buffers(
        kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))]
    )
