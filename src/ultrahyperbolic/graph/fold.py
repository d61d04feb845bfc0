"""From rows to edges: what repeated rows, reversed rows, self-loops and asymmetric matrices become."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import GraphError
from .ids import NodeIds

Number = TypeVar("Number", np.int64, np.float64)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Repeated = Literal["sum", "max", "first", "error"]
Asymmetric = Literal["sum", "error"]
# "list": rows of an edge list, where a reversed row is one more row. "matrix": the entries of a matrix or of a directed
# graph, where the two directions are C and its transpose. "undirected": rows whose direction means nothing.
Kind = Literal["list", "matrix", "undirected"]

_MANY = 100_000  # rows from which sorting on all cores pays
_PAST = {"sum": "summed", "max": "max_taken", "first": "first_taken"}


@dataclass(frozen=True)
class Rows:
    """Edges as they were given: the two ends as positions in ``ids``, and the weights, or ``None`` where all are 1."""

    first: Ints
    second: Ints
    weights: Floats | None
    ids: NodeIds
    place: Callable[[int], str]  # where a row stands, for messages
    counts: dict[str, int] = field(default_factory=dict)  # policies applied while reading


@dataclass(frozen=True)
class _Groups:
    """Rows with one key, gathered: the key of each group, its weight and its earliest row."""

    keys: Ints
    weights: Floats
    rows: Ints


def check_option(name: str, value: object, allowed: Any) -> None:
    """Refuse a value of an option that is not one of the ``allowed`` words."""
    words = allowed.__args__
    if value not in words:
        raise GraphError(f"{name} must be one of {', '.join(map(repr, words))}, got {value!r}")


def sorted_distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The distinct values, ascending: ``np.unique`` without its table of hashes, which some keys make very slow."""
    values = np.sort(values)
    fresh = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=fresh[1:])
    return values[fresh]


def fold(
    rows: Rows, *, kind: Kind, repeated: Repeated = "sum", asymmetric: Asymmetric = "sum"
) -> tuple[Ints, Floats, dict[str, int]]:
    """The edges [m, 2] with i < j, sorted, their weights [m], and how often each policy was applied."""
    check_option("repeated", repeated, Repeated)
    check_option("asymmetric", asymmetric, Asymmetric)
    _check_weights(rows)
    counts = dict(rows.counts)
    n = len(rows.ids)
    if same := int((rows.first == rows.second).sum()):
        counts["self_loops_dropped"] = same
        rows = _take(rows, np.flatnonzero(rows.first != rows.second))
    first, second = rows.first, rows.second
    weights = np.ones(len(first)) if rows.weights is None else rows.weights
    keys = np.minimum(first, second)
    keys *= n
    keys += np.maximum(first, second)
    keys *= 2
    if kind != "undirected":
        keys += first > second
    keys, order = _stable_sort(keys)
    with np.errstate(over="ignore"):
        directed = _Groups(keys, weights[order], order)
        pairs = _gather(directed, repeated, counts, "repeated_rows", lambda a, b: _refuse(rows, a, b))
        pairs.keys[:] >>= 1  # the two directions of a pair now have one key
        if kind == "matrix":
            pairs = _symmetrise(pairs, asymmetric, counts, lambda a: _refuse_asymmetric(rows, a))
        elif kind == "list" and len(pairs.keys) and _both_ways_equal(pairs):
            pairs = _Groups(pairs.keys[::2], pairs.weights[::2], pairs.rows[::2])
            counts["reversed_rows_merged"] = len(pairs.keys)
        elif kind == "list":
            pairs = _gather(pairs, repeated, counts, "reversed_rows", lambda a, b: _refuse(rows, a, b))
    if not np.isfinite(pairs.weights).all():
        row = int(pairs.rows[~np.isfinite(pairs.weights)][0])
        raise GraphError(f"{_name(rows, row)}: the weights of this edge add up to infinity: divide all weights first")
    edges = np.empty((len(pairs.keys), 2), dtype=np.int64)
    np.floor_divide(pairs.keys, max(n, 1), out=edges[:, 0])
    np.subtract(pairs.keys, edges[:, 0] * n, out=edges[:, 1])
    return edges, np.ascontiguousarray(pairs.weights), counts


def _check_weights(rows: Rows) -> None:
    weights = rows.weights
    if weights is None or len(weights) == 0:
        return
    with np.errstate(invalid="ignore"):
        # NaN makes the minimum NaN, and NaN > 0 is false.
        if weights.min() > 0 and weights.max() < np.inf:
            return
        row = int(np.flatnonzero(~((weights > 0) & (weights < np.inf)))[0])
    advice = "leave the row out where there is no tie" if weights[row] == 0 else "correct the row or leave it out"
    raise GraphError(
        f"{_name(rows, row)}: the weight is {weights[row]:g}; a weight is the strength of a tie, a finite number "
        f"above 0: {advice}"
    )


def _take(rows: Rows, kept: Ints) -> Rows:
    weights = None if rows.weights is None else rows.weights[kept]
    return Rows(rows.first[kept], rows.second[kept], weights, rows.ids, lambda row: rows.place(int(kept[row])))


def _name(rows: Rows, row: int) -> str:
    ends = rows.ids[int(rows.first[row])], rows.ids[int(rows.second[row])]
    return f"{rows.place(row)} ({ends[0]!r} - {ends[1]!r})"


def _refuse(rows: Rows, row: int, earlier: int) -> NoReturn:
    raise GraphError(
        f"{_name(rows, row)}: this edge was given before ({rows.place(earlier)}) and repeated='error' allows it once: "
        "remove one, or choose 'sum', 'max' or 'first'"
    )


def _refuse_asymmetric(rows: Rows, row: int) -> NoReturn:
    raise GraphError(
        f"{_name(rows, row)}: the weight differs in the other direction and asymmetric='error' refuses that: make the "
        "matrix symmetric, or choose 'sum'"
    )


def _gather(
    groups: _Groups, rule: Repeated, counts: dict[str, int], what: str, refuse: Callable[[int, int], NoReturn]
) -> _Groups:
    """Bring groups of equal key together by ``rule``, and count how many of them were given up."""
    fresh = np.ones(len(groups.keys), dtype=bool)
    np.not_equal(groups.keys[1:], groups.keys[:-1], out=fresh[1:])
    extra = np.flatnonzero(~fresh)
    if len(extra) == 0:
        return groups
    head = extra - np.arange(1, len(extra) + 1)  # which of the fresh groups each extra one belongs to
    keys, weights, rows = groups.keys[fresh], groups.weights[fresh], groups.rows[fresh]
    np.minimum.at(rows, head, groups.rows[extra])
    if rule == "error":
        later = np.where(groups.rows[extra] == rows[head], groups.rows[extra - 1], groups.rows[extra])
        worst = int(np.argmin(later))
        refuse(int(later[worst]), int(rows[head[worst]]))
    if rule == "sum":
        np.add.at(weights, head, groups.weights[extra])
    elif rule == "max":
        np.maximum.at(weights, head, groups.weights[extra])
    else:
        earlier = groups.rows[extra] == rows[head]
        weights[head[earlier]] = groups.weights[extra[earlier]]
    counts[f"{what}_{_PAST[rule]}"] = len(extra)
    return _Groups(keys, weights, rows)


def _both_ways_equal(pairs: _Groups) -> bool:
    """Whether every pair is there in both directions with one weight: a list of both, or a symmetric matrix."""
    if len(pairs.keys) % 2:
        return False
    return np.array_equal(pairs.keys[::2], pairs.keys[1::2]) and np.array_equal(pairs.weights[::2], pairs.weights[1::2])


def _symmetrise(
    pairs: _Groups, asymmetric: Asymmetric, counts: dict[str, int], refuse: Callable[[int], NoReturn]
) -> _Groups:
    """A symmetric matrix as it is; of any other, S = C + Cᵀ."""
    if _both_ways_equal(pairs):
        return _Groups(pairs.keys[::2], pairs.weights[::2], pairs.rows[::2])
    starts = np.flatnonzero(np.concatenate(([True], pairs.keys[1:] != pairs.keys[:-1])))
    sums = np.add.reduceat(pairs.weights, starts)
    both = np.diff(starts, append=len(pairs.keys)) == 2
    uneven = ~both
    uneven[both] = pairs.weights[starts[both]] != pairs.weights[starts[both] + 1]
    if asymmetric == "error":
        refuse(int(np.minimum.reduceat(pairs.rows, starts)[uneven].min()))
    counts["asymmetric_pairs_summed"] = int(uneven.sum())
    return _Groups(pairs.keys[starts], sums, pairs.rows[starts])


def _stable_sort(keys: Ints) -> tuple[Ints, Ints]:
    """The sorted keys and their order, ``argsort(keys, kind="stable")``, on all cores.

    A plain sort is several times faster than an argsort, so the range of keys is cut into parts, and each part sorted
    as integers that hold the key above and the row below; where 64 bits cannot hold both, argsort it is.
    """
    rows = len(keys)
    parts = 4 * (os.cpu_count() or 1)
    row_bits = rows.bit_length()
    if rows < _MANY or max(np.diff(cuts := _cuts(keys, parts)).tolist()).bit_length() + row_bits > 64:
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def sort(part: int) -> tuple[Ints, Ints]:
        chosen = np.flatnonzero((keys >= cuts[part]) & (keys < cuts[part + 1]))
        packed = (keys[chosen] - cuts[part]).view(np.uint64)
        packed <<= np.uint64(row_bits)
        packed |= chosen.view(np.uint64)
        packed.sort()
        order = packed & np.uint64((1 << row_bits) - 1)
        packed >>= np.uint64(row_bits)
        return packed.view(np.int64) + cuts[part], order.view(np.int64)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(sort, range(parts)))
    return np.concatenate([part[0] for part in done]), np.concatenate([part[1] for part in done])


def _cuts(keys: Ints, parts: int) -> Ints:
    """Where to cut the keys into parts of about one size: [parts + 1]."""
    sample = np.sort(keys[:: len(keys) // 5_000 + 1])
    inner = sample[np.arange(1, parts) * len(sample) // parts]
    return np.concatenate(([0], inner, [keys.max() + 1]))
