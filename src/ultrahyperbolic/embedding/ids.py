"""Ids as text, and back: a table keeps text as it is, and other ids as JSON."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Literal

from ..files import id_as_json

Kind = Literal["text", "json"]


def kind_of(ids: Sequence[Hashable]) -> Kind:
    """Whether the ids are text, or have to be written as JSON."""
    return "text" if all(isinstance(node, str) for node in ids) else "json"


def as_texts(ids: Sequence[Hashable]) -> list[str]:
    """Each id as text; ``TypeError`` for one that no file could keep."""
    if kind_of(ids) == "text":
        return [str(node) for node in ids]
    return [json.dumps(id_as_json(node)) for node in ids]


def from_texts(texts: list[str], kind: object) -> list[Hashable]:
    """The reverse."""
    ids: list[Hashable] = [_hashable(json.loads(text)) for text in texts] if kind == "json" else list(texts)
    if len(set(ids)) < len(ids):
        raise ValueError("two nodes have one id")
    return ids


def _hashable(value: object) -> Hashable:
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, Hashable):
        return value
    raise ValueError(f"no id: {value!r}")
