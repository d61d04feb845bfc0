"""A graph's fingerprint, the same in every process and on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

import numpy as np

from ..arrays import Floats, Ints
from .ids import NodeIds

_CHUNK = 65536  # ids that are encoded at a time


def fingerprint_of(ids: NodeIds, edges: Ints, weights: Floats) -> str:
    """The sha256 over ids, edges [m, 2] and weights [m], in hexadecimal."""
    digest = hashlib.sha256()
    for start in range(0, len(ids), _CHUNK):
        encoded = list(map(encode, ids[start : start + _CHUNK]))
        digest.update(np.array([len(code) for code in encoded], dtype="<i8").tobytes() + b"".join(encoded))
    digest.update(b"|" + edges.astype("<i8", copy=False).tobytes())
    digest.update(b"|" + weights.astype("<f8", copy=False).tobytes())
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
