"""From rows to edges: what repeated rows, reversed rows, self-loops and asymmetric matrices
become.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Bools, Floats, Ints
from .errors import GraphError
from .rows import EdgeRows, Kind, Policies, Repeated, without_rounding


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
    ways: Floats  # [m, 2] the weights from i to j and back, 0 for no tie

    @property
    def once(self) -> bool:
        """Whether every pair is given both ways with one weight: a list of both, or a symmetric
        matrix.
        """
        return self.both_equal == len(self.edges)


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
    merged = _merge(rows, kind, rules.repeated)
    _check_merged(rows, kind, rules, merged)
    done = _PAST.get(rules.repeated, "")
    found = {"self_loops_dropped": merged.self_loops, f"repeated_rows_{done}": merged.repeated}
    if kind == "list" and merged.once:
        found["reversed_rows_merged"] = len(merged.edges)
    elif kind == "list":
        found[f"reversed_rows_{done}"] = merged.both
    elif kind == "matrix" and not merged.once and not rules.directed:
        found["asymmetric_pairs_summed"] = len(merged.edges) - merged.both_equal
    counts = rows.counts | {policy: count for policy, count in found.items() if count}
    if rules.directed:
        return merged.edges, merged.ways.sum(1), merged.ways, counts
    return merged.edges, merged.weights, None, counts


def invert_distances(rows: EdgeRows, name: str) -> EdgeRows:
    """Rows whose weights are distances d, with the strengths 1/d in their place."""
    if rows.weights is None:
        raise GraphError(
            f"{name}: there are no weights to be distances (weights_are_distances=True, "
            "--weights-are-distances): name their column or attribute as weight"
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
    if rows.weights is None:
        return
    wrong = ~((rows.weights > 0) & (rows.weights < np.inf))  # NaN, too
    if wrong.any():
        row = int(wrong.argmax())
        weight = rows.weights[row]
        no_tie = "leave the row out where there is no tie"
        advice = no_tie if weight == 0 else "correct the row or leave it out"
        raise GraphError(
            f"{_name(rows, row)}: the weight is {weight:g}; a weight is the strength of a tie, "
            f"a finite number above 0: {advice}"
        )


def _name(rows: EdgeRows, row: int) -> str:
    ends = rows.ids[int(rows.first[row])], rows.ids[int(rows.second[row])]
    return f"{rows.place(row)} ({ends[0]!r} - {ends[1]!r})"


def _merge(rows: EdgeRows, kind: Kind, repeated: Repeated) -> Merged:
    """Rows of one pair of nodes as one edge."""
    weights = np.ones(len(rows.first)) if rows.weights is None else rows.weights
    keys = _keys(rows, is_directed=kind != "undirected")
    if (is_loop := rows.first == rows.second).any():
        keys, weights = keys[~is_loop], weights[~is_loop]
    order = np.argsort(keys, kind="stable")
    fresh = _begins(keys[order])
    if repeated == "sum" and not fresh.all() and (weights != np.floor(weights)).any():
        # Sums must not depend on the order of the rows, so that they are taken in the order of the
        # weights.
        order = np.lexsort((weights, keys))
    keys, weights, starts = keys[order], weights[order], np.flatnonzero(fresh)
    keys = keys[starts]  # of each pair one direction or both
    pairs, way = keys >> 1, keys & 1
    begins = _begins(pairs)
    edge, ways = np.cumsum(begins) - 1, np.zeros((int(begins.sum()), 2))
    with np.errstate(over="ignore"):
        if repeated == "sum" and len(starts) < len(weights):
            ways[edge, way] = np.bincount(np.cumsum(fresh) - 1, weights)
        elif repeated == "max":
            ways[edge, way] = np.maximum.reduceat(weights, starts)
        else:
            ways[edge, way] = weights[starts]
        ways = without_rounding(ways)
        there, back = ways.T
        even = there == back
        if repeated == "sum" or kind == "matrix":
            merged = there if even.all() else there + back
        elif repeated == "max":
            merged = np.maximum(there, back)
        else:
            row = np.full(ways.shape, len(order))
            row[edge, way] = order[starts]
            merged = np.where(row[:, 1] < row[:, 0], back, there)
    edges = np.column_stack(np.divmod(pairs[begins], max(len(rows.ids), 1)))
    both = len(pairs) - len(edges)
    again = len(weights) - len(starts)
    return Merged(edges, merged, int(is_loop.sum()), again, both, int(even.sum()), ways)


def _begins(keys: Ints) -> Bools:
    """Whether a key, among sorted ones, differs from the one before."""
    return np.concatenate((np.ones(min(len(keys), 1), np.bool_), keys[1:] != keys[:-1]))


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


def _check_merged(rows: EdgeRows, kind: Kind, rules: Policies, merged: Merged) -> None:
    """Refuse edges given again, directions that differ, and sums that overflow."""
    is_again = merged.repeated or (kind == "list" and merged.both and not merged.once)
    if rules.repeated == "error" and is_again:
        keys = _keys(rows, is_directed=kind != "undirected" and merged.repeated > 0)
        given = np.flatnonzero(rows.first != rows.second)
        order = given[np.argsort(keys[given], kind="stable")]
        row = int(order[1:][keys[order[1:]] == keys[order[:-1]]].min())
        earlier = int(np.flatnonzero(keys == keys[row])[0])
        raise GraphError(
            f"{_name(rows, row)}: this tie was given before ({rows.place(earlier)}) and "
            "repeated='error' allows it once: remove one, or choose 'sum', 'max' or 'first'"
        )
    wrong: Bools = ~np.isfinite(merged.weights)
    reason = "the weights of this tie add up to infinity: divide all weights first"
    if rules.asymmetric == "error" and kind == "matrix" and not merged.once:
        wrong = merged.ways[:, 0] != merged.ways[:, 1]
        reason = (
            "the weight differs in the other direction and asymmetric='error' refuses that: make "
            "the matrix symmetric, or choose 'sum'"
        )
    if wrong.any():
        named = 2 * (merged.edges[wrong] @ np.array([len(rows.ids), 1]))
        row = int(np.isin(_keys(rows, is_directed=False), named).argmax())
        raise GraphError(f"{_name(rows, row)}: {reason}")
