"""Many rows, sorted and merged by compiled loops on all cores."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints

_BUCKET_BITS = 13  # the rows of a bucket, about 2 to this, stay in the cache while they are sorted and merged


@dataclass(frozen=True)
class Merged:
    """Edges [m, 2] with i < j, sorted, and what was found on the way; a weight is that of both directions together."""

    edges: Ints
    weights: Floats
    self_loops: int
    repeated: int  # rows that give an edge again in the same direction
    both: int  # pairs given both ways
    both_equal: int  # pairs given both ways with one weight
    uneven: Bools | None = None  # [m] which edges the two directions give differently, where that was looked at

    @property
    def once(self) -> bool:
        """Whether every pair is given both ways with one weight: a list of both, or a symmetric matrix."""
        return self.both_equal == len(self.edges)


def merge_rows(first: Ints, second: Ints, weights: Floats, n_nodes: int, rule: str) -> Merged | None:
    """Merge rows by ``rule``, which is ``"sum"``, ``"max"`` or (anything else) the first of them.

    They are dealt out to buckets by the first bits of their pair of nodes, and each bucket is sorted and merged apart.
    Returns ``None`` where 64 bits cannot hold a row.
    """
    from . import compiled

    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    weights = np.ascontiguousarray(weights).view()
    weights.flags.writeable = False  # as columns of a table are: what is compiled for one layout serves all
    threads = os.cpu_count() or 1
    node_bits = max(n_nodes - 1, 1).bit_length()
    top_bits = min(max(len(first).bit_length() - _BUCKET_BITS, 1), 2 * node_bits)
    shift, buckets = 2 * node_bits - top_bits, 1 << top_bits
    code = {"sum": compiled.SUM, "max": compiled.MAX}.get(rule, compiled.FIRST)
    with ThreadPoolExecutor(threads) as pool:
        parts = [slice(len(first) * k // threads, len(first) * (k + 1) // threads) for k in range(threads)]
        sizes = np.zeros((threads, buckets), dtype=np.int64)

        def count(k: int) -> int:
            return int(compiled.count_rows(first[parts[k]], second[parts[k]], node_bits, shift, sizes[k]))

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
            layout = a, shift, node_bits, place_bits, code
            facts: tuple[int, int] = compiled.merge_buckets(
                packed, dealt, cuts[a : b + 1], *layout, edges[out], merged[out]
            )
            return facts

        both, equal = np.sum(list(pool.map(merge, groups)), axis=0).tolist()
    repeats = len(packed) - len(edges) - both
    return Merged(edges, merged, self_loops, repeats, both, equal)
