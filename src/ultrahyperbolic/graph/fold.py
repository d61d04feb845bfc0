"""From rows to edges: what repeated rows, reversed rows, self-loops and asymmetric matrices
become.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np

from ..arrays import Bools, Floats, Ints
from .errors import GraphError
from .rows import EdgeRows, Kind, Policies, Repeated, without_rounding

_BUCKET_BITS = (
    13  # the rows of a bucket, about 2 to this, stay in the cache while they are sorted and merged
)


@dataclass(frozen=True)
class Merged:
    """Edges [m, 2] with i < j, sorted, and what was found on the way; a weight is that of both
    directions together.
    """

    edges: Ints
    weights: Floats
    self_loops: int
    repeated: int  # rows that give an edge again in the same direction
    both: int  # pairs given both ways
    both_equal: int  # pairs given both ways with one weight
    ways: Floats | None = (
        None  # [m, 2] the weights from i to j and back, 0 for no tie, where that was looked at
    )

    @property
    def once(self) -> bool:
        """Whether every pair is given both ways with one weight: a list of both, or a symmetric
        matrix.
        """
        return self.both_equal == len(self.edges)


def merge_rows(
    first: Ints, second: Ints, weights: Floats, n_nodes: int, rule: str
) -> Merged | None:
    """Merge many rows on all cores by ``rule``, which is ``"sum"``, ``"max"`` or (anything else)
    the first of them.

    They are dealt out to buckets by the first bits of their pair of nodes, and each bucket is
    sorted and merged apart.
    Returns ``None`` where 64 bits cannot hold a row.
    """
    from . import compiled

    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    weights = np.ascontiguousarray(weights).view()
    weights.flags.writeable = (
        False  # as columns of a table are: what is compiled for one layout serves all
    )
    threads = os.cpu_count() or 1
    node_bits = max(n_nodes - 1, 1).bit_length()
    top_bits = min(max(len(first).bit_length() - _BUCKET_BITS, 1), 2 * node_bits)
    shift, buckets = 2 * node_bits - top_bits, 1 << top_bits
    code = {"sum": compiled.SUM, "max": compiled.MAX}.get(rule, compiled.FIRST)
    with ThreadPoolExecutor(threads) as pool:
        parts = [
            slice(len(first) * k // threads, len(first) * (k + 1) // threads)
            for k in range(threads)
        ]
        sizes = np.zeros((threads, buckets), dtype=np.int64)

        def count(k: int) -> int:
            return int(
                compiled.count_rows(first[parts[k]], second[parts[k]], node_bits, shift, sizes[k])
            )

        self_loops = sum(pool.map(count, range(threads)))
        cuts = np.concatenate(([0], np.cumsum(sizes.sum(axis=0))))
        place_bits = int(np.diff(cuts).max()).bit_length()
        if shift + 1 + place_bits > 63:
            return None
        places = cuts[:-1] + np.cumsum(sizes, axis=0) - sizes
        packed, dealt = np.empty(cuts[-1], dtype=np.int64), np.empty(cuts[-1])

        def deal(k: int) -> None:
            rows = first[parts[k]], second[parts[k]], weights[parts[k]]
            compiled.deal_rows(*rows, node_bits, shift, place_bits, cuts, places[k], packed, dealt)

        list(pool.map(deal, range(threads)))
        # Groups of neighbouring buckets with similar numbers of rows, several groups a thread.
        inner = np.searchsorted(cuts, np.arange(1, 4 * threads) * cuts[-1] // (4 * threads))
        bounds = np.concatenate(([0], inner, [buckets])).tolist()
        groups = range(len(bounds) - 1)
        pairs = np.empty(buckets, dtype=np.int64)

        def sort(k: int) -> None:
            a, b = bounds[k : k + 2]
            spare = np.empty(np.diff(cuts[a : b + 1]).max(initial=0), dtype=np.int64)
            compiled.sort_buckets(packed, spare, cuts[a : b + 1], place_bits, shift + 1, pairs[a:b])

        list(pool.map(sort, groups))
        starts = np.concatenate(([0], np.cumsum(pairs)))
        edges, merged = np.empty((starts[-1], 2), dtype=np.int64), np.empty(starts[-1])

        def merge(k: int) -> tuple[int, int]:
            a, b = bounds[k : k + 2]
            out = slice(starts[a], starts[b])
            rows, layout = (packed, dealt, cuts[a : b + 1]), (a, shift, node_bits, place_bits, code)
            facts: tuple[int, int] = compiled.merge_buckets(*rows, *layout, edges[out], merged[out])
            return facts

        both, equal = np.sum(list(pool.map(merge, groups)), axis=0).tolist()
    return Merged(edges, merged, self_loops, len(packed) - len(edges) - both, both, equal)


_MANY = 500_000  # rows from which loading the compiled loops pays
_PAST = {"sum": "summed", "max": "max_taken", "first": "first_taken"}
# What the name of a policy alone does not say.
_WORDS = {
    "asymmetric_pairs_summed": "directions dropped, asymmetric pairs summed",
    "distances_inverted": "distances turned into strengths 1/d",
}


def policy_words(policy: str) -> str:
    """The name of a policy, for people.

    >>> policy_words("self_loops_dropped")
    'self loops dropped'
    """
    return _WORDS.get(policy, policy.replace("_", " "))


def said_of_directions(graph: str | None, policies: Mapping[str, int]) -> str | None:
    """The note on a graph whose directions were dropped, or ``None``.

    >>> said_of_directions("mails.graphml", {"asymmetric_pairs_summed": 3})
    'mails.graphml: directions dropped, asymmetric pairs summed: 3; directed=True (--directed) keeps
    them'
    """
    policy = "asymmetric_pairs_summed"
    kept = "directed=True (--directed) keeps them"
    return (
        f"{graph or 'the graph'}: {policy_words(policy)}: {policies[policy]}; {kept}"
        if policy in policies
        else None
    )


def fold(
    rows: EdgeRows, kind: Kind, rules: Policies
) -> tuple[Ints, Floats, Floats | None, dict[str, int]]:
    """The edges [m, 2] with i < j, sorted, and their weights [m]; and how often each policy was
    applied.

    With ``directed`` rules also the weights [m, 2] from i to j and back, 0 for no tie.
    """
    _check_weights(rows)
    if rules.directed:
        if kind == "undirected":
            raise GraphError(
                "the graph is undirected, and directed=True (--directed) reads directions: leave "
                "it out"
            )
        kind, rules = "matrix", replace(rules, asymmetric="sum")
    merged = (
        _merge_many(rows, kind, rules) if len(rows.first) >= _MANY and not rules.directed else None
    )
    if merged is None:
        merged = _merge_few(rows, kind, rules.repeated)
        _check_merged(rows, kind, rules, merged)
    done = _PAST.get(rules.repeated, "")
    found = {"self_loops_dropped": merged.self_loops, f"repeated_rows_{done}": merged.repeated}
    if kind == "matrix" and not merged.once and not rules.directed:
        found["asymmetric_pairs_summed"] = len(merged.edges) - merged.both_equal
    elif kind == "list" and merged.once:
        found["reversed_rows_merged"] = len(merged.edges)
    elif kind == "list":
        found[f"reversed_rows_{done}"] = merged.both
    counts = rows.counts | {policy: count for policy, count in found.items() if count}
    if rules.directed and merged.ways is not None:
        return merged.edges, merged.ways.sum(1), merged.ways, counts
    return merged.edges, merged.weights, None, counts


def invert_distances(rows: EdgeRows, name: str) -> EdgeRows:
    """Rows whose weights are distances d, with the strengths 1/d in their place."""
    if rows.weights is None:
        raise GraphError(
            f"{name}: there are no weights to be distances (weights_are_distances=True, "
            "--weights-are-distances): "
            "name their column or attribute as weight"
        )
    with np.errstate(divide="ignore", over="ignore"):
        strengths = 1.0 / rows.weights
        wrong = ~((rows.weights > 0) & (rows.weights < np.inf) & (strengths < np.inf))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise GraphError(
            f"{_name(rows, row)}: the distance is {rows.weights[row]:g}; a distance must be a "
            "finite number above 0, "
            "for its tie gets the strength 1/d: correct the row or leave it out"
        )
    return replace(
        rows, weights=strengths, counts=rows.counts | {"distances_inverted": len(strengths)}
    )


def _check_weights(rows: EdgeRows) -> None:
    weights = rows.weights
    if weights is None or len(weights) == 0:
        return
    with np.errstate(invalid="ignore"):
        # NaN makes the minimum NaN, and NaN > 0 is false.
        if weights.min() > 0 and weights.max() < np.inf:
            return
        row = int(np.flatnonzero(~((weights > 0) & (weights < np.inf)))[0])
    advice = (
        "leave the row out where there is no tie"
        if weights[row] == 0
        else "correct the row or leave it out"
    )
    raise GraphError(
        f"{_name(rows, row)}: the weight is {weights[row]:g}; a weight is the strength of a tie, "
        "a finite number "
        f"above 0: {advice}"
    )


def _name(rows: EdgeRows, row: int) -> str:
    ends = rows.ids[int(rows.first[row])], rows.ids[int(rows.second[row])]
    return f"{rows.place(row)} ({ends[0]!r} - {ends[1]!r})"


def _adds_inexactly(weights: Floats) -> bool:
    """Whether sums of these weights may depend on the order of adding; of whole numbers they do
    not.
    """
    return bool((weights != np.floor(weights)).any())


def _merge_many(rows: EdgeRows, kind: Kind, rules: Policies) -> Merged | None:
    """Many rows merged by compiled loops; ``None`` without them, and where something must be
    refused.
    """
    repeated = rules.repeated
    if find_spec("numba") is None or (kind == "matrix" and repeated != "sum"):
        return None
    first, second = rows.first, rows.second
    if kind == "undirected":
        first, second = np.minimum(first, second), np.maximum(first, second)
    weights = np.ones(len(first)) if rows.weights is None else rows.weights
    merged = merge_rows(first, second, weights, len(rows.ids), repeated)
    if merged is not None and merged.repeated and repeated == "sum" and _adds_inexactly(weights):
        order = np.argsort(weights, kind="stable")
        merged = merge_rows(first[order], second[order], weights[order], len(rows.ids), repeated)
    if merged is None or not np.isfinite(merged.weights).all() or _refused(merged, kind, rules):
        return None
    if merged.once and repeated == "sum":
        merged.weights[:] /= 2  # each direction holds all of it
    return merged


def _merge_few(rows: EdgeRows, kind: Kind, repeated: Repeated) -> Merged:
    """The same in numpy."""
    given = np.flatnonzero(rows.first != rows.second)
    keys = _keys(rows, is_directed=kind != "undirected")[given]
    weights = np.ones(len(given)) if rows.weights is None else rows.weights[given]
    order = np.argsort(keys, kind="stable")
    if repeated == "sum" and _adds_inexactly(
        weights
    ):  # in the order of the weights, whatever that of the rows
        order = np.lexsort((weights, keys))
    keys, weights = keys[order], weights[order]
    fresh = np.diff(keys, prepend=-1) > 0
    extra = np.flatnonzero(~fresh)
    pairs, way, one_way = (
        keys[fresh] >> 1,
        keys[fresh] & 1,
        weights[fresh],
    )  # of each pair one direction or both
    head = extra - np.arange(1, len(extra) + 1)  # which of the fresh rows each extra one belongs to
    begins = np.diff(pairs, prepend=-1) > 0
    edge = np.cumsum(begins) - 1
    ways, row = np.zeros((int(begins.sum()), 2)), np.full((int(begins.sum()), 2), len(keys))
    with np.errstate(over="ignore"):
        if repeated in ("sum", "max"):
            (np.add if repeated == "sum" else np.maximum).at(one_way, head, weights[extra])
        ways[edge, way], row[edge, way] = one_way, order[fresh]
        ways = without_rounding(ways)
        there, back = ways.T
        even = there == back
        if repeated == "sum" or kind == "matrix":
            merged = there if even.all() else there + back
        else:
            is_taken = back > there if repeated == "max" else row[:, 1] < row[:, 0]
            merged = np.where(is_taken, back, there)
    edges = np.column_stack(np.divmod(pairs[begins], max(len(rows.ids), 1)))
    loops, both = len(rows.first) - len(given), len(pairs) - len(edges)
    return Merged(edges, merged, loops, len(extra), both, int(even.sum()), ways)


def _keys(rows: EdgeRows, *, is_directed: bool) -> Ints:
    """[rows] twice the number of each row's pair of nodes, and one more where it is reversed and
    that matters.
    """
    keys = np.minimum(rows.first, rows.second) * len(rows.ids)
    keys += np.maximum(rows.first, rows.second)
    keys *= 2
    if is_directed:
        keys += rows.first > rows.second
    return keys


def _refused(merged: Merged, kind: Kind, rules: Policies) -> bool:
    is_again = bool(merged.repeated or (kind == "list" and merged.both and not merged.once))
    is_uneven = kind == "matrix" and not merged.once
    return (rules.repeated == "error" and is_again) or (rules.asymmetric == "error" and is_uneven)


def _check_merged(rows: EdgeRows, kind: Kind, rules: Policies, merged: Merged) -> None:
    """Refuse edges given again, directions that differ, and sums that overflow."""
    if (
        _refused(merged, kind, rules)
        and rules.repeated == "error"
        and (merged.repeated or kind == "list")
    ):
        keys = _keys(rows, is_directed=kind != "undirected" and merged.repeated > 0)
        given = np.flatnonzero(rows.first != rows.second)
        order = given[np.argsort(keys[given], kind="stable")]
        row = int(order[1:][keys[order[1:]] == keys[order[:-1]]].min())
        earlier = int(np.flatnonzero(keys == keys[row])[0])
        raise GraphError(
            f"{_name(rows, row)}: this tie was given before ({rows.place(earlier)}) and "
            "repeated='error' allows it "
            "once: remove one, or choose 'sum', 'max' or 'first'"
        )
    wrong: Bools = ~np.isfinite(merged.weights)
    reason = "the weights of this tie add up to infinity: divide all weights first"
    if _refused(merged, kind, rules) and merged.ways is not None:
        wrong = merged.ways[:, 0] != merged.ways[:, 1]
        reason = (
            "the weight differs in the other direction and asymmetric='error' refuses that: make "
            "the matrix symmetric, "
            "or choose 'sum'"
        )
    if wrong.any():
        named = 2 * (merged.edges[wrong] @ np.array([len(rows.ids), 1]))
        row = int(np.isin(_keys(rows, is_directed=False), named).argmax())
        raise GraphError(f"{_name(rows, row)}: {reason}")
