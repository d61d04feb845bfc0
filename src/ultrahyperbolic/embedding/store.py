"""The folder of an embedding: ``embedding.parquet`` holds all of it, with its ties and its record;
``run.json`` is a copy of the record for people.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import files
from ..arrays import Floats, Ints
from ..files import Data
from ..graph import Graph
from ..graph.attributes import free_names
from ..graph.flow import Centrality
from ..graph.ids import NodeIds
from ..spaces import Geometry, described
from . import earlier
from .answers import label_texts
from .columns import column, from_numbers, from_texts, list_column
from .record import GraphRecord, RunRecord

if TYPE_CHECKING:
    import pyarrow.parquet

    from .embedding import Embedding

TABLE = "embedding.parquet"
RECORD = "run.json"
REPORT = "report.html"

_ABOUT = b"ultrahyperbolic"  # the key of the description in the metadata of the table
_SEAL = b"ultrahyperbolic sha256"  # that of its digest; pages of values have checksums of Parquet
_CENTRALITY = ("centrality", "centrality_error")
_OWN = {"node", "label", "popularity", "delta", "rank", *_CENTRALITY, "ties", "tie_weights"}
_OWN |= {"rank_low", "rank_high"}  # which version 0.2 wrote
_SMALLEST_LIMIT = 16 << 20  # bytes that any file may unpack to
_EXPANSION = 64  # times its size that a larger file may unpack to
_BATCH_ROWS = 8192  # that are unpacked before they are counted
# What reading a table that others wrote may raise.
_DAMAGE = (
    *(OSError, LookupError, TypeError, ValueError, AttributeError),
    *(ArithmeticError, RuntimeError, MemoryError),
)


def save(folder: Path, table: pyarrow.Table, record: RunRecord) -> None:
    """Write both files: at any moment the folder holds the old embedding or the new one."""
    from pyarrow import parquet

    files.replace_file(
        folder / TABLE, lambda file: parquet.write_table(table, file, write_page_checksum=True)
    )
    write_record(folder, record)


def write_record(folder: Path, record: RunRecord) -> None:
    """Write ``run.json`` alone: all that there is of a training before its first iteration."""
    files.replace_file(folder / RECORD, files.json_for_people(record.to_json()))


def read_record(folder: Path) -> RunRecord:
    """The record of a folder's embedding, else that of a training that began there; else an empty
    one.
    """
    if not (folder / TABLE).exists():
        return RunRecord.from_json(earlier.without_seals(_copy_for_people(folder)))
    from pyarrow import parquet

    with naming_damage(folder):
        metadata = parquet.read_metadata(folder / TABLE).metadata
        return RunRecord.from_json(_description(metadata or {}, folder)["record"])


@contextmanager
def naming_damage(folder: Path) -> Iterator[None]:
    """Say in one ``ValueError`` that the table of a folder is not what `save` wrote."""
    path = folder / TABLE
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no embedding: there is no {TABLE} in it")
    try:
        yield
    except PermissionError:
        raise
    except _DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is not an embedding of this package: {reason}") from None


def prepare_folder(folder: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Make the folder, or say why not: what is there is kept unless ``overwrite``."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; name a folder for the embedding")
    what = None
    if (path / TABLE).exists():
        what = "an embedding already"
    elif (path / RECORD).exists() and not _is_begun(path):
        what = f"a {RECORD} that no training began with"
    if what is not None and not overwrite:
        raise FileExistsError(
            f"{path} holds {what}: name another folder, or overwrite it (--overwrite)"
        )
    path.mkdir(parents=True, exist_ok=True)
    return path


def _is_begun(folder: Path) -> bool:
    """Whether a record is what a training wrote before its first iteration."""
    try:
        record = read_record(folder)
    except (OSError, ValueError):
        return False
    return record.training is not None and record.stopped is None


def _copy_for_people(folder: Path) -> Data:
    path = folder / RECORD
    return files.read_json(path) if path.exists() else {}


def as_table(embedding: Embedding) -> pyarrow.Table:
    """One row per node, with its ties; the metadata describe the table and hold the record."""
    import pyarrow as pa

    geometry, graph = described(embedding.space), embedding.graph
    if geometry is None:
        raise TypeError(
            "only pseudo-hyperboloids, flat space and products of them can be saved, not "
            f"{embedding.manifold}"
        )
    texts: Sequence[object] = embedding.ids
    is_text = all(isinstance(node, str) for node in texts)
    if not is_text:
        texts = [json.dumps(files.id_as_json(node)) for node in texts]
    columns = {"node": from_texts(texts, "strict")}
    if embedding.labels:
        columns["label"] = from_texts(label_texts(embedding.ids, embedding.labels))
    columns |= {f"x{k}": from_numbers(values) for k, values in enumerate(embedding.points.T)}
    if embedding.popularity is not None:
        columns["popularity"] = from_numbers(embedding.popularity)
    columns |= {"delta": from_numbers(embedding.delta), "rank": from_numbers(embedding.rank)}
    if embedding.centrality is not None:
        columns |= dict(zip(_CENTRALITY, map(from_numbers, embedding.centrality), strict=True))
    names = free_names(list(embedding.attributes), _OWN | set(columns))
    for name, values in embedding.attributes.items():
        as_column = from_texts if values.dtype == object else from_numbers
        columns[names[name]] = as_column(values)
    if graph is not None:
        columns |= _tie_columns(graph)
    about = {
        "format": 2,
        "manifold": geometry.to_json(),
        "ids": "text" if is_text else "json",
        "nodes": len(embedding),
        "columns": list(columns),
        "attributes": {column: name for name, column in names.items()},
        "attributes_of_graph": [] if graph is None else list(graph.attributes),
        "directed": None if graph is None else graph.is_directed,
        "record": embedding.record.to_json(),
    }
    text = json.dumps(files.as_json_data(about)).encode()
    return pa.table(columns, metadata={_ABOUT: text, _SEAL: hashlib.sha256(text).hexdigest()})


def _tie_columns(graph: Graph) -> dict[str, pyarrow.Array]:
    """Each tie once, in the row of its earlier node; in a directed graph in the row of the node it
    leads from.
    """
    import pyarrow as pa

    ends, weights = graph.edges, graph.weights
    if graph.is_directed:
        ends, weights = graph.arcs
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        ends, weights = ends[order], weights[order]
    counts = np.bincount(ends[:, 0], minlength=graph.n_nodes)
    begins = from_numbers(np.concatenate(([0], np.cumsum(counts))).astype(np.int32))
    rows = from_numbers(ends[:, 1].astype(np.int32))
    return {
        "ties": pa.ListArray.from_arrays(begins, rows),
        "tie_weights": pa.ListArray.from_arrays(begins, from_numbers(weights)),
    }


def read(folder: Path) -> tuple[Data, Data]:
    """The arguments of the embedding that `save` wrote, or an earlier version, and what had been
    computed of it; to be called within `naming_damage`.
    """
    from pyarrow import parquet

    with open(folder / TABLE, "rb") as handle:
        schema = parquet.ParquetFile(handle).schema_arrow
        about = _description(schema.metadata or {}, folder)
        # A text that many rows repeat is unpacked once.
        texts = [field.name for field in schema if str(field.type) == "string"]
        table = _bounded(
            parquet.ParquetFile(handle, read_dictionary=texts, page_checksum_verification=True),
            os.fstat(handle.fileno()).st_size,
        )
    return _read(about, table)


def _bounded(file: pyarrow.parquet.ParquetFile, size: int) -> pyarrow.Table:
    """All of a file of ``size`` bytes, unless it unpacks to far more than such a file should.

    Only what was read is counted: of a damaged file, pyarrow's view of the sizes of its columns
    ends the process.
    """
    import pyarrow as pa

    limit = max(_SMALLEST_LIMIT, _EXPANSION * size)
    batches, unpacked = [], 8 * file.metadata.num_rows
    for batch in file.iter_batches(_BATCH_ROWS) if unpacked <= limit else ():
        batch.validate(full=True)
        batches.append(batch)
        unpacked += batch.nbytes
        if unpacked > limit:
            break
    if unpacked > limit:
        raise ValueError(f"its {size} bytes unpack to more than {limit >> 20} MiB")
    return pa.Table.from_batches(batches, None if batches else file.schema_arrow)


def _description(metadata: Mapping[bytes, bytes], folder: Path) -> Data:
    """What the table says of itself, as `as_table` writes it."""
    text = metadata[_ABOUT]
    about: Data = json.loads(text)
    if "format" not in about and _SEAL not in metadata:
        return earlier.description(about, _copy_for_people(folder))
    if metadata.get(_SEAL, b"").decode() != hashlib.sha256(text).hexdigest():
        raise ValueError("its record is not what was written: its sha256 differs")
    return about


def _read(about: Data, table: pyarrow.Table) -> tuple[Data, Data]:
    attributes = about["attributes"]
    if lost := set(about.get("columns", ())) - set(table.column_names):
        raise ValueError(f"the column {min(lost)} is missing")
    own = set(table.column_names) - set(attributes)  # all names were free once
    geometry = Geometry.from_json(about["manifold"])
    if geometry.ambient_dim >= table.num_columns:
        raise ValueError(
            f"its manifold has {geometry.ambient_dim} coordinates, and it has "
            f"{table.num_columns} columns"
        )
    ids: list[Hashable] = column(table, "node", "string").tolist()
    if about["ids"] == "json":
        ids = [files.id_from_json(json.loads(str(text))) for text in ids]
    if len(ids) != about.get("nodes", len(ids)):
        raise ValueError(f"it has {len(ids)} rows, and was written with {about['nodes']}")
    if len(set(ids)) < len(ids):
        raise ValueError("two nodes have one id")
    delta = column(table, "delta", "double")
    popularity = column(table, "popularity", "double") if "popularity" in own else None
    if not np.isfinite(delta).all() or (popularity is None and (delta < 0).any()):
        raise ValueError(
            "delta, a sum of distances, must be finite and, without popularity, not negative"
        )
    labels = None
    if "label" in own:
        named = zip(ids, column(table, "label", "string"), strict=True)
        labels = {node: label for node, label in named if label}
    arguments: Data = {
        "ids": ids,
        "points": np.stack(
            [column(table, f"x{k}", "double") for k in range(geometry.ambient_dim)], axis=1
        ),
        "manifold": geometry,
        "record": RunRecord.from_json(about["record"]),
        "popularity": popularity,
        "labels": labels,
        "attributes": {
            str(name): column(table, kept_as, "string", "double", "int64")
            for kept_as, name in attributes.items()
        },
    }
    if about["directed"] is not None:
        arguments["graph"] = _graph(about, table, arguments)
    computed: Data = {"delta": delta}
    if own.issuperset(_CENTRALITY):
        values, errors = (column(table, name, "double") for name in _CENTRALITY)
        computed["centrality"] = Centrality(values, errors)
    return arguments, computed


def _graph(about: Data, table: pyarrow.Table, arguments: Data) -> Graph:
    ids, record = NodeIds(arguments["ids"]), arguments["record"].graph or GraphRecord()
    ends, weights = _ties_of(table) if "format" in about else earlier.ties_of(table)
    directions = None
    if about["directed"]:
        arcs = Graph.from_arrays(ends[:, 0], ends[:, 1], weights, ids=len(ids), directed=True)
        ends, weights, directions = arcs.edges, arcs.weights, arcs.directions
    attributes = {name: arguments["attributes"][name] for name in about["attributes_of_graph"]}
    return Graph(
        ids,
        ends,
        weights,
        arguments["labels"],
        record.policies,
        record.source,
        attributes=attributes,
        directions=directions,
    )


def _ties_of(table: pyarrow.Table) -> tuple[Ints, Floats]:
    """What `_tie_columns` wrote: ties [m, 2] and their weights [m]."""
    counts, rows = list_column(table, "ties", "int32")
    weighed, weights = list_column(table, "tie_weights", "double")
    if not np.array_equal(counts, weighed):
        raise ValueError("ties and tie_weights are of other lengths")
    return np.column_stack((np.repeat(np.arange(len(counts)), counts), rows)), weights
