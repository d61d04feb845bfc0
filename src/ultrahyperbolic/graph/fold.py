"""From rows to edges: what repeated rows, reversed rows, self-loops and asymmetric matrices become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import NoReturn

import numpy as np

from ..arrays import Floats, Ints
from .errors import GraphError
from .rows import Asymmetric, EdgeRows, Kind, Policies, Repeated, check_option

_MANY = 500_000  # rows from which loading the compiled loops pays
_PAST = {"sum": "summed", "max": "max_taken", "first": "first_taken"}
# What the name of a policy alone does not say.
_WORDS = {
    "asymmetric_pairs_summed": "directions dropped, asymmetric pairs summed",
    "distances_inverted": "distances turned into strengths 1/d",
}


@dataclass(frozen=True)
class _Groups:
    """EdgeRows with one key, gathered: the key of each group, its weight and its earliest row."""

    keys: Ints
    weights: Floats
    rows: Ints


def policy_words(policy: str) -> str:
    """What is said of a policy that was applied.

    >>> policy_words("self_loops_dropped")
    'self loops dropped'
    """
    return _WORDS.get(policy, policy.replace("_", " "))


def said_of_directions(graph: str | None, policies: Mapping[str, int]) -> str | None:
    """The line that is said of a graph whose directions were dropped.

    >>> said_of_directions("mails.graphml", {"asymmetric_pairs_summed": 3})
    'mails.graphml: directions dropped, asymmetric pairs summed: 3'
    """
    policy = "asymmetric_pairs_summed"
    return f"{graph or 'the graph'}: {policy_words(policy)}: {policies[policy]}" if policy in policies else None


def fold(rows: EdgeRows, kind: Kind, rules: Policies) -> tuple[Ints, Floats, dict[str, int]]:
    """The edges [m, 2] with i < j, sorted, their weights [m], and how often each policy was applied.

    ``rules.weights_are_distances`` is not looked at: `invert_distances` comes before.
    """
    repeated, asymmetric, _ = rules
    check_option("repeated", repeated, Repeated)
    check_option("asymmetric", asymmetric, Asymmetric)
    _check_weights(rows)
    if len(rows.first) >= _MANY and (folded := _fold_many(rows, kind, repeated, asymmetric)) is not None:
        return folded
    counts = dict(rows.counts)
    n = len(rows.ids)
    if same := int((rows.first == rows.second).sum()):
        counts["self_loops_dropped"] = same
        rows = _chosen_rows(rows, np.flatnonzero(rows.first != rows.second))
    first, second = rows.first, rows.second
    weights = np.ones(len(first)) if rows.weights is None else rows.weights
    keys = np.minimum(first, second)
    keys *= n
    keys += np.maximum(first, second)
    keys *= 2
    if kind != "undirected":
        keys += first > second
    order = np.argsort(keys, kind="stable")
    if repeated == "sum" and _adds_inexactly(weights):  # in the order of the weights, whatever that of the rows
        order = np.lexsort((weights, keys))
    with np.errstate(over="ignore"):
        directed = _Groups(keys[order], weights[order], order)
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


def invert_distances(rows: EdgeRows, name: str) -> EdgeRows:
    """EdgeRows whose weights are distances d, with the strengths 1/d in their place."""
    if rows.weights is None:
        raise GraphError(
            f"{name}: there are no weights to be distances (weights_are_distances=True, --weights-are-distances): "
            "name their column or attribute as weight"
        )
    with np.errstate(divide="ignore", over="ignore"):
        strengths = 1.0 / rows.weights
        wrong = ~((rows.weights > 0) & (rows.weights < np.inf) & (strengths < np.inf))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise GraphError(
            f"{_name(rows, row)}: the distance is {rows.weights[row]:g}; a distance must be a finite number above 0, "
            "for its tie gets the strength 1/d: correct the row or leave it out"
        )
    return replace(rows, weights=strengths, counts=rows.counts | {"distances_inverted": len(strengths)})


def _check_weights(rows: EdgeRows) -> None:
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


def _chosen_rows(rows: EdgeRows, kept: Ints) -> EdgeRows:
    weights = None if rows.weights is None else rows.weights[kept]
    return EdgeRows(rows.first[kept], rows.second[kept], weights, rows.ids, lambda row: rows.place(int(kept[row])))


def _name(rows: EdgeRows, row: int) -> str:
    ends = rows.ids[int(rows.first[row])], rows.ids[int(rows.second[row])]
    return f"{rows.place(row)} ({ends[0]!r} - {ends[1]!r})"


def _refuse(rows: EdgeRows, row: int, earlier: int) -> NoReturn:
    raise GraphError(
        f"{_name(rows, row)}: this edge was given before ({rows.place(earlier)}) and repeated='error' allows it once: "
        "remove one, or choose 'sum', 'max' or 'first'"
    )


def _refuse_asymmetric(rows: EdgeRows, row: int) -> NoReturn:
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


def _adds_inexactly(weights: Floats) -> bool:
    """Whether sums of these weights may depend on the order of adding; of whole numbers they do not."""
    return bool((weights != np.floor(weights)).any())


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


def _fold_many(
    rows: EdgeRows, kind: Kind, repeated: Repeated, asymmetric: Asymmetric
) -> tuple[Ints, Floats, dict[str, int]] | None:
    """`fold` of many rows by compiled loops; ``None`` without them, and where something must be refused."""
    if find_spec("numba") is None or (kind == "matrix" and repeated != "sum"):
        return None
    from .merge import merge_rows

    first, second = rows.first, rows.second
    if kind == "undirected":
        first, second = np.minimum(first, second), np.maximum(first, second)
    weights = np.ones(len(first)) if rows.weights is None else rows.weights
    merged = merge_rows(first, second, weights, len(rows.ids), repeated)
    if merged is not None and merged.repeated and repeated == "sum" and _adds_inexactly(weights):
        order = np.argsort(weights, kind="stable")
        merged = merge_rows(first[order], second[order], weights[order], len(rows.ids), repeated)
    if merged is None or not np.isfinite(merged.weights).all():
        return None
    once = merged.both_equal == len(merged.edges)
    is_merged = bool(merged.repeated or (kind == "list" and merged.both and not once))
    if (repeated == "error" and is_merged) or (kind == "matrix" and asymmetric == "error" and not once):
        return None
    found = {"self_loops_dropped": merged.self_loops}
    found |= {f"repeated_rows_{_PAST[repeated]}": merged.repeated} if merged.repeated else {}
    if kind == "matrix" and not once:
        found["asymmetric_pairs_summed"] = len(merged.edges) - merged.both_equal
    elif kind == "list" and once:
        found["reversed_rows_merged"] = len(merged.edges)
    elif kind == "list" and merged.both:
        found[f"reversed_rows_{_PAST[repeated]}"] = merged.both
    if once and repeated == "sum":
        merged.weights[:] /= 2  # each direction holds all of it
    return merged.edges, merged.weights, rows.counts | {policy: count for policy, count in found.items() if count}
