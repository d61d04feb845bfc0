"""Ids as text, and back: a table keeps text as it is, and other ids as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

Kind = Literal["text", "json"]


def kind_of(ids: Sequence[Hashable]) -> Kind:
    """Whether the ids are text, or have to be written as JSON."""
    return "text" if all(isinstance(node, str) for node in ids) else "json"


def as_texts(ids: Sequence[Hashable]) -> list[str]:
    """Each id as text; ``TypeError`` for one that no file could keep."""
    if kind_of(ids) == "text":
        return [str(node) for node in ids]
    return [json.dumps(plain(node)) for node in ids]


def from_texts(texts: list[str], kind: object) -> list[Hashable]:
    """The reverse."""
    ids: list[Hashable] = [_hashable(json.loads(text)) for text in texts] if kind == "json" else list(texts)
    if len(set(ids)) < len(ids):
        raise ValueError("two nodes have one id")
    return ids


def plain(value: object) -> object:
    """Numbers of NumPy and tuples as JSON has them, with Infinity as Python's JSON writes and reads it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("an id is NaN, which is equal to no id, itself included: give the node another")
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    raise TypeError(f"ids must be text, numbers or tuples of them to be saved, got {type(value).__name__}: {value!r}")


def _hashable(value: object) -> Hashable:
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, Hashable):
        return value
    raise ValueError(f"no id: {value!r}")
