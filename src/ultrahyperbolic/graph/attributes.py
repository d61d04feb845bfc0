"""Columns of a table of nodes beside the label: one value per node, text or numbers."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import positions_in
from .columns import is_number
from .errors import GraphError

_PLAIN = (str, int, float, np.number, type(None))
Attributes = Mapping[str, NDArray[np.generic]]
"""By name: [n] of float64, int64, or objects that are text."""


def as_attributes(columns: Mapping[str, ArrayLike], n_nodes: int) -> dict[str, NDArray[np.generic]]:
    """The columns as arrays that cannot be changed; `GraphError` unless each has one value per
    node.

    >>> found = as_attributes({"age": [31, None], "city": ["Rome", None]}, 2)
    >>> found["age"].tolist(), found["city"].tolist()
    ([31.0, nan], ['Rome', ''])
    """
    return {str(name): _column(str(name), values, n_nodes) for name, values in columns.items()}


def _column(name: str, values: ArrayLike, n_nodes: int) -> NDArray[np.generic]:
    array: NDArray[np.generic] = np.asarray(values)
    if array.shape != (n_nodes,):
        raise GraphError(
            f"attribute {name!r} must hold one value per node, [{n_nodes}], got shape {array.shape}"
        )
    if array.dtype.kind in "iub":
        found: NDArray[np.generic] = array.astype(np.int64)
    elif array.dtype.kind == "f":
        found = array.astype(np.float64)
    else:
        listed = array.tolist()
        present = [value for value in listed if value is not None and value == value]
        if present and all(isinstance(v, int | float | np.number) for v in present):
            found = np.array([np.nan if v is None else v for v in listed], dtype=np.float64)
        else:
            found = np.array(["" if v is None or v != v else str(v) for v in listed], dtype=object)
    found.flags.writeable = False
    return found


def from_texts(texts: Sequence[str]) -> NDArray[np.generic]:
    """A column of a text file without outer blanks: whole numbers, numbers (NaN where a cell is
    empty), or text.

    >>> from_texts(["1", "2"]).tolist(), from_texts(["1.5", ""]).tolist()
    ([1, 2], [1.5, nan])
    >>> from_texts(["a", ""]).tolist()
    ['a', '']
    """
    present = [text for text in texts if text]
    is_code = any(
        len(text) > 1 and text[0] == "0" and text.isdecimal() for text in texts
    )  # such as 007
    if is_code or not present or not all(map(is_number, present)):
        return np.array(texts, dtype=object)
    if all(text.lstrip("+-").isdecimal() and len(text) < 18 for text in texts):
        return np.array(list(map(int, texts)), dtype=np.int64)
    return np.array([float(text) if text else np.nan for text in texts], dtype=np.float64)


def plain_columns(
    rows: Sequence[Mapping[object, object]], without: str | None
) -> dict[str, NDArray[np.object_]]:
    """What the nodes of another library's graph say of themselves, as columns: text and numbers,
    None where missing.

    >>> found = plain_columns([{"age": 3, "point": [0, 1]}, {"city": "Rome"}], without=None)
    >>> {name: values.tolist() for name, values in found.items()}
    {'age': [3, None], 'city': [None, 'Rome']}
    """
    names = dict.fromkeys(
        name for row in rows for name in row if isinstance(name, str) and name != without
    )
    columns = {name: [row.get(name) for row in rows] for name in names}
    plain = {
        name: values
        for name, values in columns.items()
        if all(isinstance(v, _PLAIN) for v in values)
    }
    return {name: np.array(values, dtype=object) for name, values in plain.items()}


def taken(
    attributes: Attributes, places: NDArray[np.int64], n_nodes: int
) -> dict[str, NDArray[np.generic]]:
    """The columns of nodes that go to other places, among ``n_nodes``; of new nodes nothing is
    known: NaN, or "".
    """
    rows = positions_in(places, n_nodes)
    missing = rows < 0
    found = {}
    for name, values in attributes.items():
        column = values[np.where(missing, 0, rows)] if len(values) else np.full(len(rows), np.nan)
        if missing.any():
            column = column.astype(object if column.dtype == object else np.float64)
            column[missing] = "" if column.dtype == object else np.nan
        column.flags.writeable = False
        found[name] = column
    return found


def free_names(names: Collection[str], used: Collection[str]) -> dict[str, str]:
    """A name for each column of a table that has others: the same, with underscores behind it where
    that is taken.

    >>> free_names(["age", "rank"], ["node", "rank"])
    {'age': 'age', 'rank': 'rank_'}
    """
    found: dict[str, str] = {}
    for name in names:
        free = name
        while free in used or free in found.values() or (free != name and free in names):
            free += "_"
        found[name] = free
    return found
