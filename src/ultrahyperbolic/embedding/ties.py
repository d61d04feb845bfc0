"""The ties of an embedding as its folder holds them: text, node by node."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from ..graph import Graph

if TYPE_CHECKING:
    import pyarrow

_MOST_TIES = 5_000_000  # ties are kept up to here: beyond, their text would take longer than the points


class TieTexts(NamedTuple):
    """Which nodes are tied, as text that whatever reads Parquet can take apart."""

    rows: Sequence[str]  # [n] the rows of the nodes that each node is tied to, ascending
    weights: Sequence[str] | None
    """[n] the weights of those ties, in the same order; None in a folder that does not hold them."""


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
    begins = pa.Array.from_buffers(pa.int32(), len(offsets), [None, pa.py_buffer(offsets.astype(np.int32))])
    # From a text of Python's pyarrow would import pandas, to ask if it is missing.
    blank = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], dtype=np.int32)), pa.py_buffer(b" "))[0]
    found: list[str] = pc.binary_join(pa.ListArray.from_arrays(begins, texts), blank).to_pylist()
    return found


def tied_rows(text: str) -> Ints:
    """The rows that a text of ties holds."""
    return np.array(text.split(), dtype=np.int64)


def graph_of(ids: Sequence[Hashable], ties: TieTexts) -> Graph:
    """The graph with these ties; where their weights were not kept, all are 1."""
    first = np.repeat(np.arange(len(ids)), [len(text.split()) for text in ties.rows])
    second = tied_rows(" ".join(ties.rows))
    once = first < second
    if ties.weights is None:
        return Graph.from_arrays(first[once], second[once], ids=ids)
    weights = np.array(" ".join(ties.weights).split(), dtype=np.float64)
    return Graph.from_arrays(first[once], second[once], weights[once], ids=ids)


def as_numbers(values: NDArray[np.generic]) -> pyarrow.Array:
    """An Arrow array in numpy's memory."""
    import pyarrow as pa

    kind = pa.float64() if values.dtype.kind == "f" else pa.int64()
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
