"""Prepared graphs: a folder of arrays that are mapped into memory, and ``graph.json`` with their sizes and sha256."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..files import Write, id_as_json, id_from_json, read_sealed_json, replace_files, sealed_json
from .attributes import Attributes
from .base import BaseGraph
from .columns import Columns
from .errors import GraphError, naming_damage, need
from .ids import NodeIds

if TYPE_CHECKING:
    import pyarrow

HEADER = "graph.json"
_EDGES, _WEIGHTS, _DIRECTIONS, _NODES = "edges.npy", "weights.npy", "directions.npy", "nodes.arrow"
# A graph without directions is written as version 1, which earlier versions read.
_VERSION = 2


def is_prepared(path: str | os.PathLike[str]) -> bool:
    """Whether there is a prepared graph."""
    return os.path.isfile(os.path.join(path, HEADER))


class StoredGraph(BaseGraph):
    """A graph that can be saved to a folder and loaded from it."""

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the graph to a folder, from which `load` and ``read_graph`` have it at once; labels become text.

        ``FileExistsError`` where the folder holds something already, unless ``overwrite`` replaces a prepared graph.
        """
        path = Path(folder)
        if path.is_dir() and any(path.iterdir()) and not (overwrite and is_prepared(path)):
            held = "a prepared graph already: name another, or overwrite it" if is_prepared(path) else "other files"
            raise FileExistsError(f"{path} holds {held}")
        if path.exists() and not path.is_dir():
            raise FileExistsError(f"{path} is a file: name a folder for the graph")
        kind, nodes = _nodes(self.ids, self.labels, self.attributes)
        path.mkdir(parents=True, exist_ok=True)
        header = {
            "ultrahyperbolic": "graph",
            "version": 1 if self.directions is None else _VERSION,
            "n_nodes": len(self.ids),
            "n_edges": len(self.edges),
            "ids": kind,
            "fingerprint": self.fingerprint,
            "source": self.source,
            "columns": None if self.columns is None else list(self.columns),
            "policies": dict(self.policies),
        }

        parts: dict[str, dict[str, object]] = {}

        def write(name: str, content: Ints | Floats | pyarrow.Table, file: IO[bytes]) -> None:
            if isinstance(content, np.ndarray):
                np.save(file, content.astype("<i8" if name == _EDGES else "<f8", order="C", copy=False))
            else:
                _write_table(file, content)
            file.flush()
            parts[name] = _described(file.name)

        contents = {_EDGES: self.edges, _WEIGHTS: self.weights, _DIRECTIONS: self.directions, _NODES: nodes}
        writes: dict[str, Write] = {k: partial(write, k, of) for k, of in contents.items() if of is not None}
        # The header comes last: by then the others are known.
        writes[HEADER] = lambda file: file.write(sealed_json({**header, "files": parts}))
        replace_files(path, writes)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, check: bool = True) -> Self:
        """The graph that `save` wrote, its arrays mapped into memory; ``check`` compares every file with its sha256.

        `GraphError` where something is missing, damaged, or written by a newer version.
        """
        path = Path(folder)
        if not is_prepared(path):
            raise GraphError(f"{path} holds no prepared graph: there is no {HEADER} in it")
        with naming_damage(f"{path}: the prepared graph", (MemoryError,), ": prepare it again"):
            header = read_sealed_json(path / HEADER)
            if header.get("ultrahyperbolic") != "graph" or not isinstance(version := header.get("version"), int):
                raise ValueError(f"{HEADER} describes no graph")
            if version > _VERSION:
                raise GraphError(
                    f"{path} was prepared by a newer version of ultrahyperbolic (format {version}, and this one reads "
                    f"{_VERSION}): update, or prepare it again"
                )
            directed = [_DIRECTIONS] if _DIRECTIONS in header["files"] else []
            for name in (_EDGES, _WEIGHTS, *directed, _NODES):
                part, said = path / name, header["files"][name]
                if not part.is_file():
                    raise ValueError(f"{name} is missing")
                if part.stat().st_size != said["bytes"]:
                    raise ValueError(f"{name} has {part.stat().st_size} bytes and should have {said['bytes']}")
                if check and _described(part) != dict(said):
                    raise ValueError(f"{name} is not what was written: its sha256 differs")
            edges: Ints = np.load(path / _EDGES, mmap_mode="r")
            weights: Floats = np.load(path / _WEIGHTS, mmap_mode="r")
            ways: Floats | None = np.load(path / _DIRECTIONS, mmap_mode="r") if directed else None
            ids, labels, attributes = _read_nodes(path / _NODES, header["ids"])
            if (len(ids), len(edges)) != (header["n_nodes"], header["n_edges"]):
                raise ValueError("its counts differ")
            columns = None if header["columns"] is None else Columns(*header["columns"])
            try:
                found = cls(ids, edges, weights, labels, header["policies"], str(path), columns, attributes, ways)
            except GraphError as error:
                raise ValueError(str(error).removeprefix(f"{path}: ")) from None
            found.__dict__["fingerprint"] = str(header["fingerprint"])  # computing it would take as long as the rest
            return found


def _described(path: str | Path) -> dict[str, object]:
    with open(path, "rb") as file:
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


# Nodes: a table with the columns id and label, and one of each attribute, whose name has a mark before it.


def _nodes(ids: NodeIds, labels: Mapping[Hashable, object] | None, attributes: Attributes) -> tuple[str, pyarrow.Table]:
    """How ids are kept, and the table."""
    pa = need("pyarrow", "saving a graph")
    kind, known = "text", ids.as_arrow()
    listed = [] if known is not None else list(ids)
    if known is not None:
        kind = "text" if pa.types.is_string(known.type) else "integer"
    elif all(type(node) is str for node in listed):
        known = pa.array(listed, pa.string())
    elif all(type(node) is int and -(2**63) <= node < 2**63 for node in listed):
        kind, known = "integer", pa.array(listed, pa.int64())
    else:
        try:
            kind, known = "json", pa.array([json.dumps(id_as_json(node)) for node in listed], pa.string())
        except (TypeError, ValueError) as error:
            raise GraphError(f"the graph cannot be saved: {error}") from None
    columns = {"id": known}
    if labels is not None:
        texts = [None if (label := labels.get(node)) is None else str(label) for node in ids]
        columns["label"] = pa.array(texts, pa.string())
    for name, values in attributes.items():
        columns[f"={name}"] = pa.array(values, pa.string() if values.dtype == object else None)
    return kind, pa.table(columns)


def _write_table(file: IO[bytes], table: pyarrow.Table) -> None:
    with need("pyarrow.ipc", "saving a graph").new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def _read_nodes(path: Path, kind: str) -> tuple[NodeIds, dict[Hashable, object] | None, dict[str, NDArray[np.generic]]]:
    pa, ipc = need("pyarrow", "loading a graph"), need("pyarrow.ipc", "loading a graph")
    with pa.memory_map(str(path)) as file:
        table = ipc.open_file(file).read_all()
    column = table.column("id")
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    ids = NodeIds([id_from_json(json.loads(text)) for text in whole.to_pylist()] if kind == "json" else whole)
    labels: dict[Hashable, object] | None = None
    if "label" in table.column_names:
        pairs = zip(ids, table.column("label").to_pylist(), strict=True)
        labels = {node: label for node, label in pairs if label is not None}
    attributes = {name[1:]: table.column(name).to_numpy() for name in table.column_names if name[0] == "="}
    return ids, labels, attributes
