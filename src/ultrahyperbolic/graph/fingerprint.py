"""A graph's fingerprint and an order of its nodes: the same in every process, and in any order of its ties."""

import hashlib
from collections.abc import Hashable

import numpy as np

from ..arrays import Floats, Ints, Words, positions_in
from .ids import NodeIds

_CHUNK = 65536  # ids that are encoded at a time
_ROUNDS = 32  # of refinement at most: how far nodes see that nothing else tells apart
_EDGES = 1 << 22  # that are followed at once


def fingerprint_of(ids: NodeIds, edges: Ints, weights: Floats, directions: Floats | None = None) -> str:
    """The sha256 over ids, edges [m, 2], weights [m] and those of both directions [m, 2], in hexadecimal."""
    digest = hashlib.sha256()
    for start in range(0, len(ids), _CHUNK):
        encoded = list(map(encode, ids[start : start + _CHUNK]))
        digest.update(np.array([len(code) for code in encoded], dtype="<i8").tobytes() + b"".join(encoded))
    digest.update(b"|" + edges.astype("<i8", copy=False).tobytes())
    digest.update(b"|" + weights.astype("<f8", copy=False).tobytes())
    if directions is not None:
        digest.update(b"|" + directions.astype("<f8", copy=False).tobytes())
    return digest.hexdigest()


def encode(node: Hashable) -> bytes:
    """An id as bytes, the same on every machine and different for different ids of the common types."""
    if isinstance(node, str):
        return b"s" + node.encode("utf-8", "surrogatepass")
    if isinstance(node, bytes):
        return b"b" + node
    if isinstance(node, (int, np.integer)):
        return b"n" + str(int(node)).encode()
    if isinstance(node, (float, np.floating)):
        return b"n" + (str(int(node)) if float(node).is_integer() else repr(float(node))).encode()
    if isinstance(node, (tuple, frozenset)):
        parts = [encode(part) for part in node]
        parts = parts if isinstance(node, tuple) else sorted(parts)
        return b"t" + b"".join(str(len(part)).encode() + b":" + part for part in parts)
    kind = type(node)
    return b"o" + f"{kind.__module__}.{kind.__qualname__} {'' if kind.__repr__ is object.__repr__ else node!r}".encode()


def node_order(ids: NodeIds, edges: Ints, classes: Ints) -> Ints:
    """[n] the nodes by what is around them: degrees and weights, then those of the neighbours, and so on.

    Each round mixes the words of a node and of its neighbours into a new one (the refinement of Weisfeiler and Leman)
    until no more nodes are told apart. Nodes that are still alike stand in the order of their ids. ``edges`` are [m, 2]
    positions, and ``classes`` [m] tell equal weights.
    """
    words: Words = np.zeros(len(ids), dtype=np.uint64)
    kinds = 0
    for _ in range(_ROUNDS):
        words = _mixed(words + _around(edges, classes, words))
        before, kinds = kinds, len(np.unique(words))
        if kinds in (before, len(ids)):
            break
    if kinds == len(ids):
        return np.argsort(words, kind="stable")
    return np.lexsort((_places(ids), words))


def _around(edges: Ints, classes: Ints, words: Words) -> Words:
    """[n] the sum, in whole numbers, of what each node sees along its ties."""
    found: Words = np.zeros_like(words)
    for start in range(0, len(edges), _EDGES):
        first, second = edges[start : start + _EDGES].T
        tie = _mixed(classes[start : start + _EDGES].astype(np.uint64))
        np.add.at(found, first, _mixed(words[second] ^ tie))
        np.add.at(found, second, _mixed(words[first] ^ tie))
    return found


def _mixed(words: Words) -> Words:
    """Words whose every bit depends on all bits of the given ones: a finaliser of splitmix64."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Words = mixed ^ (mixed >> np.uint64(31))
    return found


def _places(ids: NodeIds) -> Ints:
    """[n] where each id stands among all ids in order."""
    arrow = ids.as_arrow()
    if arrow is not None:
        import pyarrow.compute as pc

        order: Ints = pc.sort_indices(arrow).to_numpy().astype(np.int64)
    elif ids.is_listed:
        order = np.array(sorted(range(len(ids)), key=list(map(encode, ids)).__getitem__), dtype=np.int64)
    else:  # a range
        return np.arange(len(ids))
    return positions_in(order)
