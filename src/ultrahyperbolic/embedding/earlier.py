"""Folders that earlier versions wrote: version 0.2, and those between it and the present format.

Their record is in ``run.json`` alone, and ties, if there are any, are texts: in the row of each
node the rows of all nodes that it is tied to, and the weights. Directions were not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from ..files import Data
from .columns import column

if TYPE_CHECKING:
    import pyarrow

_SEAL = "sha256"
_OF = "table"  # the key under which a record kept the sha256 of the table it was saved with
_OWN = ("label", "ties", "tie_weights", "centrality", "centrality_error")


def without_seals(record: Data) -> Data:
    """A record as it is now."""
    return {name: value for name, value in record.items() if name not in (_SEAL, _OF)}


def description(about: Data, record: Data) -> Data:
    """What a table says of itself, with its record, as today's says it."""
    if record.get(_OF, about.get(_SEAL)) != about.get(_SEAL):
        raise ValueError("run.json belongs to other points: save them again, or remove it")
    names = about.get("attributes", {})
    extras = [name for name in about.get("columns", {}) if name in names or name not in _OWN]
    was_directed = record.get("spring") is not None
    has_ties = "ties" in about.get("columns", {}) and "ties" not in extras
    return {
        "manifold": about["manifold"],
        "ids": about["ids"],
        "attributes": {name: names.get(name, name) for name in extras},
        "attributes_of_graph": [],
        "directed": False if has_ties and not was_directed else None,
        "record": without_seals(record),
    }


def ties_of(table: pyarrow.Table) -> tuple[Ints, Floats]:
    """The ties [m, 2] and their weights [m]; where these were not kept, all are 1."""
    rows = [text.split() for text in column(table, "ties", "string")]
    ends = np.column_stack(
        (
            np.repeat(np.arange(len(rows)), list(map(len, rows))),
            np.array([row for words in rows for row in words], dtype=np.int64),
        )
    )
    weights = np.ones(len(ends))
    if "tie_weights" in table.column_names:
        texts = " ".join(column(table, "tie_weights", "string"))
        weights = np.array(texts.split(), dtype=np.float64)
    once = ends[:, 0] < ends[:, 1]
    return ends[once], weights[once]
