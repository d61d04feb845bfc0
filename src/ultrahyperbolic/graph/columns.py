"""Which columns of a table are the two ends of an edge, and which its weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Literal

from .errors import GraphError

Column = str | int

# Names of the two ends that hardly occur as ids side by side, so that they also betray a header.
ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "tgt"),
    ("from", "to"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("fromnodeid", "tonodeid"),
)
WEIGHTS = ("weight", "weights", "strength", "capacity")


def fold_name(name: object) -> str:
    """A column name without case and outer spaces."""
    return str(name).strip().casefold()


def choose_columns(
    names: Sequence[object] | None,
    width: int,
    is_numeric: Callable[[int], bool],
    *,
    source: Column | None,
    target: Column | None,
    weight: Column | Literal[False] | None,
    where: str,
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight: as told, else by a known name, else the first, second and third.

    The third column is the weight where it holds numbers. ``names`` is ``None`` for a table without a header.
    """
    if width < 2:
        raise GraphError(f"{where}: one column; an edge needs two, the ids of its ends (is the delimiter right?)")
    known = [fold_name(name) for name in names or ()]
    ends = next((pair for pair in ENDS if pair[0] in known and pair[1] in known), None)
    first = second = 0
    if source is not None:
        first = _find(source, names, width, where)
    elif ends is not None:
        first = _only(ends[0], known, where)
    if target is not None:
        second = _find(target, names, width, where)
    else:
        second = 1 if ends is None else _only(ends[1], known, where)
    if first == second:
        raise GraphError(f"{where}: source and target are the same column: name two")
    if weight is False:
        return first, second, None
    if weight is not None:
        third = _find(weight, names, width, where)
        if third in (first, second) and is_numeric(third):
            raise GraphError(f"{where}: the weight is in the column of an end, {weight!r}: name another, or other ends")
        return first, second, third
    third = next((_only(name, known, where) for name in WEIGHTS if name in known), 2)
    usable = third < width and third not in (first, second) and is_numeric(third)
    return first, second, third if usable else None


def _find(column: Column, names: Sequence[object] | None, width: int, where: str) -> int:
    if isinstance(column, Integral) and not isinstance(column, bool):
        if 0 <= column < width:
            return int(column)
        raise GraphError(f"{where}: no column {column}; its {width} columns count from 0")
    if names is None:
        raise GraphError(f"{where}: no column {column!r}, for there is no header: give positions, counted from 0")
    if column in names:
        return _only(column, list(names), where)
    raise GraphError(f"{where}: no column {column!r}; it has {', '.join(repr(name) for name in names)}")


def _only(name: object, names: list[Any], where: str) -> int:
    """The position of a name that must occur once."""
    if names.count(name) > 1:
        raise GraphError(f"{where}: {names.count(name)} columns are named {name!r}: give positions, counted from 0")
    return names.index(name)
