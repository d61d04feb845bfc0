"""How a training is done again."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from ..training.config import TrainingConfig
from ..training.embed import embed


def again(run: Mapping[str, Any]) -> str | None:
    """The command that was given, else the call in Python that does the same; None where the record says neither.

    >>> print(again({"command": "ultrahyperbolic embed karate"}))
    ultrahyperbolic embed karate
    >>> print(again({"config": {"p": 2, "q": 2, "seed": 7}, "graph": {"source": "karate"}}))
    import ultrahyperbolic as uh
    <BLANKLINE>
    graph = uh.datasets.load('karate')
    uh.embed(graph, p=2, q=2, seed=7)
    """
    if isinstance(run.get("command"), str):
        return str(run["command"])
    if not isinstance(run.get("config"), dict):
        return None
    try:
        config = TrainingConfig.from_json(run["config"])
    except (TypeError, ValueError):
        return None
    return f"import ultrahyperbolic as uh\n\n{_graph(run)}{_call(config)}"


def _graph(run: Mapping[str, Any]) -> str:
    from ..datasets import names

    about = run.get("graph")
    source = about.get("source") if isinstance(about, dict) else None
    return f"graph = uh.datasets.load({source!r})\n" if source in names() else ""


def _call(config: TrainingConfig) -> str:
    """``embed`` where its arguments say everything, else ``embed_many``."""
    chosen = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != field.default
    }
    if chosen.keys() <= set(inspect.signature(embed).parameters) and config.preset is None:
        where: dict[str, Any] = {"p": config.p, "q": config.q}
        if config.flat is not None:
            where = {"dim": chosen.pop("flat"), "flat": True}
        others = {name: value for name, value in chosen.items() if name not in ("p", "q")}
        return f"uh.embed(graph, {_arguments(where | {'seed': config.seed} | others)})"
    return f"config = uh.TrainingConfig({_arguments(chosen)})\n(embedding,) = uh.embedding.embed_many(graph, [config])"


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
