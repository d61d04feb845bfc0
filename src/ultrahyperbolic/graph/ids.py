"""The ids of a graph's nodes, in order; its fingerprint, and an order of nodes: the same in any
order of its ties.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from sys import maxsize
from typing import Self, SupportsIndex
from unicodedata import normalize

import numpy as np

from ..arrays import Floats, Ints, Words, positions_in
from .errors import ID, TOO_LONG, GraphError

Nodes = Iterable[Hashable] | Mapping[Hashable, object]
"""Ids, or a mapping from id to label."""
_MANY = 200_000  # names that are compared with each other at most
_SHOWN = 6  # ids


def said_of_names(names: Sequence[Hashable]) -> str | None:
    """What to say if names differ in case, spaces or forms of letters alone; None where none do, or
    they are many.

    >>> said_of_names(["Bob", "bob ", "Ann"])
    "1 name differs from another in case or spaces alone, such as 'bob ' from 'Bob': they stay
    different nodes"
    """
    first: dict[str, Hashable] = {}
    found = []
    for name in names if len(names) <= _MANY else ():
        if isinstance(name, str):
            known = first.setdefault(" ".join(normalize("NFKC", name).casefold().split()), name)
            if known != name:
                found.append(f"{name!r} from {known!r}")
    if not found:
        return None
    some = "1 name differs" if len(found) == 1 else f"{len(found):,} names differ"
    return (
        f"{some} from another in case or spaces alone, such as {found[0]}: they stay different "
        "nodes"
    )


class NodeIds(tuple[Hashable, ...]):
    """Node ids in the graph's order: what went in, as plain Python objects, equal to the originals.

    The table that ``index`` and ``in`` look ids up in is built when one of them is first used.

    >>> ids = NodeIds(("b", "a", 7))
    >>> ids[0], ids.index(7), "a" in ids, ids == ["b", "a", 7]
    ('b', 2, True, True)
    """

    def __new__(cls, values: Iterable[Hashable]) -> Self:
        """Numbers of numpy and pandas become plain ones."""
        return super().__new__(cls, values.tolist() if hasattr(values, "tolist") else values)

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {node: k for k, node in enumerate(self)}

    def index(self, value: object, start: SupportsIndex = 0, stop: SupportsIndex = maxsize) -> int:
        """The position of ``value``; ``ValueError`` where it is not a node."""
        if value not in self or (at := self._positions[value]) not in range(len(self))[start:stop]:
            raise ValueError(f"no node {value!r}")
        return at

    def __contains__(self, value: object) -> bool:
        try:
            return value in self._positions
        except TypeError:  # what has no hash is no id
            return False

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list | range) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:_SHOWN]))
        return f"NodeIds([{shown}{', ...' if len(self) > _SHOWN else ''}])"

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[Hashable, ...]]]:
        return type(self), (tuple(self),)  # without the table


def distinct_ids(
    ids: Sequence[Hashable], name: str | None, *, once: bool = False
) -> dict[Hashable, int]:
    """The distinct ids with their positions, in order of appearance; ``once`` refuses a second
    appearance.
    """
    try:
        order = dict.fromkeys(ids)
    except TypeError:
        raise GraphError(f"{name or 'the ties'}: ids must be hashable") from None
    if any(node is None or node != node for node in order):
        raise GraphError(f"{name or 'the ties'}: an id is missing (None or NaN)")
    if once and len(order) < len(ids):
        seen: set[Hashable] = set()
        again = next(node for node in ids if node in seen or seen.add(node))  # type: ignore[func-returns-value]
        raise GraphError(
            f"{name or 'the ids'}: id {again!r} is given more than once: keep one of them"
        )
    return {node: k for k, node in enumerate(order)}


def check_texts(values: Iterable[object], what: str, name: str) -> None:
    """Refuse text with half a character, as JSON may hold it: UTF-8 has none, and so no file could
    keep it.
    """
    texts = [value for value in values if isinstance(value, str)]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        wrong = next(
            text for text in texts if any("\ud800" <= character <= "\udfff" for character in text)
        )
        raise GraphError(
            f"{name}: the {what} {wrong!r} holds half a character (a lone surrogate), "
            "which no file can keep: correct it"
        ) from None


def check_lengths(ids: Iterable[Hashable], name: str) -> None:
    """Refuse ids that are longer than one may be."""
    if any(isinstance(node, str) and len(node) > ID for node in ids):
        raise GraphError(f"{name}: an id is {TOO_LONG}")


_CHUNK = 65536  # ids that are encoded at a time
_ROUNDS = 32  # of refinement at most: how far nodes see that nothing else tells apart


def fingerprint_of(
    ids: NodeIds, edges: Ints, weights: Floats, directions: Floats | None = None
) -> str:
    """The sha256 over ids, edges [m, 2], weights [m] and those of both directions [m, 2], in
    hexadecimal.
    """
    digest = hashlib.sha256()
    for start in range(0, len(ids), _CHUNK):
        encoded = [
            b"n%d" % node if type(node) is int else encode(node)
            for node in ids[start : start + _CHUNK]
        ]
        digest.update(
            np.array([len(code) for code in encoded], dtype="<i8").tobytes() + b"".join(encoded)
        )
    digest.update(b"|" + edges.astype("<i8", copy=False).tobytes())
    digest.update(b"|" + weights.astype("<f8", copy=False).tobytes())
    if directions is not None:
        digest.update(b"|" + directions.astype("<f8", copy=False).tobytes())
    return digest.hexdigest()


def encode(node: Hashable) -> bytes:
    """An id as bytes, the same on every machine and different for different ids of the common
    types.
    """
    if isinstance(node, str):
        return b"s" + node.encode("utf-8", "surrogatepass")
    if isinstance(node, bytes):
        return b"b" + node
    if isinstance(node, (int, np.integer)):
        return b"n" + str(int(node)).encode()
    if isinstance(node, (float, np.floating)):
        return b"n" + (str(int(node)) if float(node).is_integer() else repr(float(node))).encode()
    if isinstance(node, (tuple, frozenset)):
        parts = list(map(encode, node)) if isinstance(node, tuple) else sorted(map(encode, node))
        return b"t" + b"".join(str(len(part)).encode() + b":" + part for part in parts)
    kind = type(node)
    return (
        b"o"
        + f"{kind.__module__}.{kind.__qualname__} "
        f"{'' if kind.__repr__ is object.__repr__ else node!r}".encode()
    )


def node_order(ids: NodeIds, edges: Ints, classes: Ints) -> Ints:
    """[n] the nodes by what is around them: degrees and weights, then those of the neighbours, and
    so on.

    Each round mixes the words of a node and of its neighbours into a new one (the refinement of
    Weisfeiler and Leman) until no more nodes are told apart. Nodes that are still alike stand in
    the order of their ids. ``edges`` are [m, 2] positions, and ``classes`` [m] tell equal weights.
    """
    words: Words = np.zeros(len(ids), dtype=np.uint64)
    kinds = 0
    (first, second), tie = edges.T, mixed(classes.astype(np.uint64))
    for _ in range(_ROUNDS):
        # The sum, in whole numbers, of what each node sees along its ties.
        around: Words = np.zeros_like(words)
        np.add.at(around, first, mixed(words[second] ^ tie))
        np.add.at(around, second, mixed(words[first] ^ tie))
        words = mixed(words + around)
        before, kinds = kinds, 1 + int(np.count_nonzero(np.diff(np.sort(words))))
        if kinds in (before, len(ids)):
            break
    if kinds == len(ids):
        return np.argsort(words, kind="stable")
    return np.lexsort((_places(ids), words))


def mixed(words: Words) -> Words:
    """Words whose every bit depends on all bits of the given ones: a finaliser of splitmix64."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _places(ids: NodeIds) -> Ints:
    """[n] where each id stands among all ids in order: numbers by size, all else by their bytes."""
    numbers = [node for node in ids if type(node) is int]
    if len(numbers) == len(ids):
        order = sorted(range(len(ids)), key=numbers.__getitem__)
    else:
        order = sorted(range(len(ids)), key=list(map(encode, ids)).__getitem__)
    return positions_in(np.array(order, dtype=np.int64))
