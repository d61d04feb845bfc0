"""How an embedding was made, as ``run.json`` keeps it; what does not have the type it should is
left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, TypeVar

from ..checks import is_number
from ..loop import Ending

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
T = TypeVar("T")


@dataclass(frozen=True)
class _Record:
    """Fields that become plain data, and back by their types."""

    _rare: ClassVar[tuple[str, ...]] = ()
    """The fields that plain data has only where the first of them is known."""

    def to_json(self) -> dict[str, Json]:
        """Plain data."""
        left_out = self._rare if self._rare and getattr(self, self._rare[0]) is None else ()
        return {
            f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name not in left_out
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Self | None:
        """The reverse; what has another type than it should is left out. None where something is
        missing.
        """
        make: Callable[..., Self] = cls
        found = {
            f.name: _READERS[str(f.type).removesuffix(" | None")](data.get(f.name))
            for f in fields(cls)
        }
        known = {name: value for name, value in found.items() if value is not None}
        needed = {
            f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING
        }
        return make(**known) if needed <= known.keys() else None


@dataclass(frozen=True)
class GraphRecord(_Record):
    """Which graph was embedded."""

    source: str | None = None
    """The path as it was given, or the name of a data set."""
    fingerprint: str | None = None
    """The sha256 of its ids, ties and weights."""
    nodes: int | None = None
    edges: int | None = None
    capacities: int | None = None
    """How many different weights there are."""
    components: int | None = None
    policies: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, Json] | None = None
    file: str | None = None
    """Where the file was, from the root; None of a data set."""
    reading: Mapping[str, Json] | None = None
    """The options it was read with, paths from the root; None for a graph that the command did not
    read.
    """
    _rare = ("reading", "file")


@dataclass(frozen=True)
class Training(_Record):
    """What the command trains, and where: enough to go on with it."""

    configs: Sequence[Mapping[str, Json]] = ()
    backend: str = "auto"
    device: str = "cpu"
    precision: str | None = None
    time_limit: float | None = None


@dataclass(frozen=True)
class Result(_Record):
    """What a training came to."""

    iterations: int
    best_loss: float | None = None
    best_iteration: int = -1
    ordered_at: int | None = None
    """The iteration at which every connected pair was closer than every other."""
    steps_back: int = 0
    nonfinite: int = 0
    start_loss: float | None = None
    """The loss of the starting points as the last iteration would see them."""
    final_loss: float | None = None
    spring: float | None = None
    """Of a directed graph κ: a tie from i to j is longer by κ (h_i - h_j - 1)²."""
    heights: str | None = None
    """The attribute that holds the heights h."""
    _rare = ("spring", "heights")


@dataclass(frozen=True)
class Timing(_Record):
    """When, how long and with what."""

    started: float | None = None  # seconds since 1970
    seconds: float | None = None
    runs: int | None = None  # how many were trained at once
    backend: str | None = None
    evaluation: float | None = None  # seconds of one of the loss

    def to_json(self) -> dict[str, Json]:
        """Plain data, without what is not known yet."""
        return {name: value for name, value in super().to_json().items() if value is not None}


@dataclass(frozen=True)
class RunRecord(_Record):
    """Everything that ``run.json`` says."""

    config: Mapping[str, Json] | None = None
    """The settings of the training, as ``TrainingConfig.to_json`` writes them."""
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    graph: GraphRecord | None = None
    training: Training | None = None
    """What the command needs to go on; None for an embedding made in Python."""
    loss: Sequence[float | None] = ()
    """Entry k is that of iteration k · ``loss_every``; None where it was not finite."""
    loss_every: int = 1
    stopped: Ending | None = None
    """None before a training has ended."""
    result: Result | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    timing: Timing = field(default_factory=Timing)
    tries: Sequence[Mapping[str, Json]] = ()
    """The trainings of which one was kept, where there were several."""
    select: Mapping[str, Json] | None = None
    """How the geometry was chosen, where it was."""
    suggest: Mapping[str, Json] | None = None
    """What was learnt from held-out ties of the chance that near nodes should be tied, where it
    was.
    """
    held_out: Mapping[str, float] = field(default_factory=dict)
    """What the same training says of ties that were hidden from it, where that was asked."""
    reading: Mapping[str, Json] | None = None
    """The options of reading the graph, as they were given."""
    command: str | None = None
    """What was typed."""
    title: str | None = None
    """That of the report, where one was given."""
    call: str | None = None
    """The call in Python that does the training again."""
    other: Mapping[str, Json] = field(default_factory=dict)
    """What a later version may have written."""

    @property
    def unfinished(self) -> bool:
        """Whether the training ended before it was done, and could go on."""
        return self.stopped is not None and self.stopped.why.unfinished

    def to_json(self) -> dict[str, Json]:
        """Plain data; nothing for an embedding of which nothing is known."""
        known = {
            **super().to_json(),
            "loss_every": self.loss_every if self.loss or self.config is not None else None,
        }
        always = () if self.config is None else ("loss", "stopped", "measures")
        found: dict[str, Json] = {**self.other}
        for name, value in known.items():
            if name == "result" and isinstance(value, Mapping):
                found |= value
            elif name != "other" and (name in always or value not in (None, [], {})):
                found[name] = value
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> RunRecord:
        """The reverse; what has another type than it should is left out."""
        other = {name: value for name, value in data.items() if name not in _KNOWN}
        found = super().from_json({**data, "result": data, "other": other}) or cls()
        return replace(found, loss_every=found.loss_every or 1)


_KNOWN = {f.name for kind in (RunRecord, Result) for f in fields(kind)} - {"result", "other"}


def _plain(value: Any) -> Any:
    if isinstance(value, _Record):
        return value.to_json()
    if isinstance(value, Ending):
        return value.text
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value


def _only(kind: type) -> Callable[[Json], Any]:
    """Reads what is of a type, which no boolean is."""
    return lambda value: value if isinstance(value, kind) and not isinstance(value, bool) else None


_text, _integer, _mapping = _only(str), _only(int), _only(Mapping)


def _number(value: Json) -> float | None:
    return float(value) if is_number(value) and math.isfinite(value) else None


def _each(read: Callable[[Json], T | None]) -> Callable[[Json], dict[str, T]]:
    """Reads a mapping, without the values that are of another type."""
    return lambda data: {
        k: found for k, v in (_mapping(data) or {}).items() if (found := read(v)) is not None
    }


def _inner(kind: type[_Record]) -> Callable[[Json], _Record | None]:
    return lambda data: kind.from_json(data) if isinstance(data, Mapping) else None


# By the type of a field, what makes its value of plain data; None where it cannot.
_READERS: dict[str, Callable[[Json], Any]] = {
    "str": _text,
    "int": _integer,
    "float": _number,
    "Mapping[str, Json]": _mapping,
    "Mapping[str, str]": _each(_text),
    "Mapping[str, int]": _each(_integer),
    "Mapping[str, float]": _each(_number),
    "Sequence[float | None]": lambda data: (
        tuple(map(_number, data)) if isinstance(data, list) else None
    ),
    "Sequence[Mapping[str, Json]]": lambda data: (
        [each for each in data if isinstance(each, Mapping)] or None
        if isinstance(data, list)
        else None
    ),
    "Ending": lambda text: Ending.of_text(text) if isinstance(text, str) else None,
    **{kind.__name__: _inner(kind) for kind in (GraphRecord, Training, Result, Timing)},
}
