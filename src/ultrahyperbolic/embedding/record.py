"""How an embedding was made, as ``run.json`` keeps it.

What is read from a disk may hold anything: what does not have the type it should is left out, not believed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from ..loop import Ending

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


@dataclass(frozen=True)
class GraphRecord:
    """Which graph was embedded."""

    source: str | None = None
    """The path as it was given, or the name of a data set."""
    fingerprint: str | None = None
    """The sha256 of its ids, edges and weights."""
    nodes: int | None = None
    edges: int | None = None
    capacities: int | None = None
    """How many different weights there are."""
    policies: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, Json] | None = None
    file: str | None = None
    """Where the file was, from the root; None of a data set."""
    data_set: str | None = None
    reading: Mapping[str, Json] | None = None
    """The options it was read with, paths from the root; None for a graph that the command did not read."""

    def to_json(self) -> dict[str, Json]:
        """Plain data."""
        found: dict[str, Json] = {
            "source": self.source,
            "fingerprint": self.fingerprint,
            "nodes": self.nodes,
            "edges": self.edges,
            "capacities": self.capacities,
            "policies": dict(self.policies),
            "columns": None if self.columns is None else dict(self.columns),
        }
        if self.reading is not None:
            found |= {"file": self.file, "data_set": self.data_set, "reading": dict(self.reading)}
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> GraphRecord:
        """The reverse."""
        policies = _mapping(data.get("policies")) or {}
        return cls(
            _text(data.get("source")),
            _text(data.get("fingerprint")),
            _integer(data.get("nodes")),
            _integer(data.get("edges")),
            _integer(data.get("capacities")),
            {name: count for name, value in policies.items() if (count := _integer(value)) is not None},
            _mapping(data.get("columns")),
            _text(data.get("file")),
            _text(data.get("data_set")),
            _mapping(data.get("reading")),
        )


@dataclass(frozen=True)
class Training:
    """What the command trains, and where: enough to go on with it."""

    configs: Sequence[Mapping[str, Json]]
    backend: str
    device: str
    precision: str | None = None
    time_limit: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Plain data."""
        return {
            "configs": [dict(config) for config in self.configs],
            "backend": self.backend,
            "device": self.device,
            "precision": self.precision,
            "time_limit": self.time_limit,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Training:
        """The reverse."""
        configs = [config for config in _list(data.get("configs")) if isinstance(config, Mapping)]
        return cls(
            configs,
            _text(data.get("backend")) or "auto",
            _text(data.get("device")) or "cpu",
            _text(data.get("precision")),
            _number(data.get("time_limit")),
        )


@dataclass(frozen=True)
class Result:
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


@dataclass(frozen=True)
class Timing:
    """When, how long and with what."""

    started: float | None = None
    """Seconds since 1970."""
    seconds: float | None = None
    runs: int | None = None
    """How many were trained at once."""
    backend: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Plain data, without what is not known yet."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class RankRecord:
    """From which trainings the intervals of the ranks are."""

    seeds: int
    """How many, which differ by their seed alone."""
    first_seed: int
    coverage: float
    """The chance, at least, that a further training ranks a node within its interval."""

    @property
    def text(self) -> str:
        """What an interval means, for people."""
        return (
            f"the interval of ranks found in {self.seeds} trainings that differ by their seed; "
            f"a further training falls into it with a probability of {100 * self.coverage:.0f} %"
        )

    def to_json(self) -> dict[str, Json]:
        """Plain data."""
        return {"seeds": self.seeds, "first_seed": self.first_seed, "coverage": self.coverage}

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> RankRecord | None:
        """The reverse; None where something is missing."""
        seeds, first = _integer(data.get("seeds")), _integer(data.get("first_seed"))
        coverage = _number(data.get("coverage"))
        return None if seeds is None or first is None or coverage is None else cls(seeds, first, coverage)


@dataclass(frozen=True)
class RunRecord:
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
    ranks: RankRecord | None = None
    """From which trainings the intervals of the ranks are, where there are any."""
    select: Mapping[str, Json] | None = None
    """How the geometry was chosen, where it was."""
    suggest: Mapping[str, Json] | None = None
    """What was learnt from held-out ties of the chance that near nodes should be tied, where it was."""
    command: str | None = None
    """What was typed."""
    call: str | None = None
    """The call in Python that does the training again."""
    reading: Mapping[str, Json] | None = None
    """The options of reading the graph, as they were given."""
    other: Mapping[str, Json] = field(default_factory=dict)
    """What a later version may have written."""

    @property
    def unfinished(self) -> bool:
        """Whether the training ended before it was done, and could go on."""
        return self.stopped is not None and self.stopped.why.unfinished

    def to_json(self) -> dict[str, Json]:
        """Plain data; nothing for an embedding of which nothing is known."""
        found: dict[str, Json] = dict(self.other)
        if self.config is not None:
            found["config"] = dict(self.config)
        if self.seed is not None:
            found["seed"] = self.seed
        if self.versions:
            found["versions"] = dict(self.versions)
        if self.graph is not None:
            found["graph"] = self.graph.to_json()
        if self.training is not None:
            found["training"] = self.training.to_json()
        if self.config is not None or self.loss:
            found |= {"loss": list(self.loss), "loss_every": self.loss_every}
        if self.config is not None or self.stopped is not None:
            found["stopped"] = None if self.stopped is None else self.stopped.text
        if self.result is not None:
            found |= {f.name: getattr(self.result, f.name) for f in fields(self.result)}
        if self.config is not None or self.measures:
            found["measures"] = dict(self.measures)
        if timing := self.timing.to_json():
            found["timing"] = timing
        if self.tries:
            found["tries"] = [dict(each) for each in self.tries]
        if self.ranks is not None:
            found["ranks"] = self.ranks.to_json()
        for name in ("select", "suggest", "reading"):
            value: Mapping[str, Json] | None = getattr(self, name)
            if value is not None:
                found[name] = dict(value)
        for name in ("command", "call"):
            text: str | None = getattr(self, name)
            if text is not None:
                found[name] = text
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> RunRecord:
        """The reverse; what has another type than it should is left out."""
        graph, training, timing, ranks = (_mapping(data.get(name)) for name in ("graph", "training", "timing", "ranks"))
        versions, measures = (_mapping(data.get(name)) or {} for name in ("versions", "measures"))
        stopped = _text(data.get("stopped"))
        iterations = _integer(data.get("iterations"))
        timed = timing or {}
        return cls(
            config=_mapping(data.get("config")),
            seed=_integer(data.get("seed")),
            versions={name: version for name, version in versions.items() if isinstance(version, str)},
            graph=None if graph is None else GraphRecord.from_json(graph),
            training=None if training is None else Training.from_json(training),
            loss=tuple(_number(loss) for loss in _list(data.get("loss"))),
            loss_every=_integer(data.get("loss_every")) or 1,
            stopped=None if stopped is None else Ending.of_text(stopped),
            result=None if iterations is None else _result(data, iterations),
            measures={name: number for name, value in measures.items() if (number := _number(value)) is not None},
            timing=Timing(
                _number(timed.get("started")),
                _number(timed.get("seconds")),
                _integer(timed.get("runs")),
                _text(timed.get("backend")),
            ),
            tries=tuple(each for each in _list(data.get("tries")) if isinstance(each, Mapping)),
            ranks=None if ranks is None else RankRecord.from_json(ranks),
            select=_mapping(data.get("select")),
            suggest=_mapping(data.get("suggest")),
            command=_text(data.get("command")),
            call=_text(data.get("call")),
            reading=_mapping(data.get("reading")),
            other={name: value for name, value in data.items() if name not in _KNOWN},
        )


_KNOWN = {f.name for kind in (RunRecord, Result) for f in fields(kind)} - {"result", "other"}


def _result(data: Mapping[str, Json], iterations: int) -> Result:
    best, ordered = _integer(data.get("best_iteration")), _integer(data.get("ordered_at"))
    return Result(
        iterations,
        _number(data.get("best_loss")),
        -1 if best is None else best,
        ordered,
        _integer(data.get("steps_back")) or 0,
        _integer(data.get("nonfinite")) or 0,
        _number(data.get("start_loss")),
        _number(data.get("final_loss")),
    )


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _mapping(value: Json) -> Mapping[str, Json] | None:
    return value if isinstance(value, Mapping) else None


def _number(value: Json) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known and isinstance(value, int | float) else None


def _integer(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
