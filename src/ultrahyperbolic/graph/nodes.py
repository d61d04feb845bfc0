"""Lists of nodes: ids, a label for each, and whatever else a table says of them."""

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import pyarrow.compute as pc
from numpy.typing import ArrayLike

from .attributes import from_texts
from .columns import fold_name
from .dialect import LABEL_NAMES, sniff
from .errors import GraphError
from .parquet import read_parquet
from .text import read_columns

if TYPE_CHECKING:
    import pandas
    import pyarrow

Path = str | os.PathLike[str]
Nodes = Path | Iterable[Hashable] | Mapping[Hashable, object]


# What ``Graph.with_nodes`` takes: ids, or a mapping from id to label; and further columns, where there is a table.
NodeList = tuple[Iterable[Hashable] | Mapping[Hashable, object], Mapping[str, ArrayLike] | None]


def read_nodes(nodes: Nodes, comments: str, encoding: str | None, check: Callable[[str], None]) -> NodeList:
    """Nodes from whatever a list of them may be given as; ``check`` is asked before a file is opened."""
    if isinstance(nodes, (str, os.PathLike)):
        path = os.fspath(nodes)
        check(path)
        with open(path, "rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        if is_parquet:
            table = read_parquet(path, lambda schema: schema.names)
            return _of_columns(table.column_names, [column.to_pylist() for column in table.columns])
        dialect = sniff(path, delimiter=None, header=None, comments=comments, encoding=encoding, nodes=True)
        table, _ = read_columns(dialect, range(dialect.width))
        trimmed = [pc.utf8_trim_whitespace(column).to_pylist() for column in table.columns]
        at = _label_column(dialect.header, dialect.width)
        return _of_columns(
            dialect.header, [text if k in (0, at) else from_texts(text) for k, text in enumerate(trimmed)]
        )
    if hasattr(nodes, "to_pandas"):
        table = cast("pyarrow.Table", nodes)
        return _of_columns(table.column_names, [column.to_pylist() for column in table.columns])
    if hasattr(nodes, "iloc"):
        frame = cast("pandas.DataFrame", nodes)
        columns = [frame.iloc[:, k].astype(object).where(frame.iloc[:, k].notna(), None) for k in range(frame.shape[1])]
        return _of_columns([str(name) for name in frame.columns], [column.tolist() for column in columns])
    return nodes, None


def _label_column(names: Sequence[str] | None, width: int) -> int | None:
    """Where the labels are: in the first column of such a name after the ids, else in the second column."""
    known = [fold_name(name) for name in names or ()]
    named = next((k for word in LABEL_NAMES for k, name in enumerate(known) if k and name == word), None)
    return named if named is not None else 1 if width > 1 else None


def _of_columns(names: Sequence[str] | None, columns: Sequence[Sequence[object] | ArrayLike]) -> NodeList:
    """The nodes of a table: ids first, then labels, and the rest as attributes."""
    if not columns:
        return [], None
    ids = cast("Sequence[Hashable]", columns[0])
    at = _label_column(names, len(columns))
    titles = [f"column {k + 1}" for k in range(len(columns))] if names is None else list(names)
    attributes = {titles[k]: cast("ArrayLike", columns[k]) for k in range(1, len(columns)) if k != at}
    try:
        is_repeated = len(set(ids)) < len(ids)
    except TypeError:
        raise GraphError("the node list: ids must be hashable") from None
    if at is None or is_repeated:  # a repeated id is refused by with_nodes, which names it
        return ids, attributes
    return dict(zip(ids, cast("Sequence[object]", columns[at]), strict=True)), attributes
