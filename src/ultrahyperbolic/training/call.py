"""The call in Python that does a training again: ``run.json`` keeps it as text, and the report shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..datasets import names
from .config import TrainingConfig

# The settings of a training that ``embed`` takes.
EMBED = (
    "p", "q", "flat", "beta", "seed", "preset", "optimizer", "iterations", "temperature", "dissimilarity", "epsilon",
    "step", "max_step", "stop",
)  # fmt: skip


def python_call(config: TrainingConfig, source: str | None) -> str:
    """``embed`` where its arguments say everything, else ``embed_many``; a data set is loaded by its name.

    >>> print(python_call(TrainingConfig(p=2, q=2, seed=7), "karate"))
    import ultrahyperbolic as uh
    <BLANKLINE>
    graph = uh.datasets.load('karate')
    uh.embed(graph, p=2, q=2, seed=7)
    """
    graph = f"graph = uh.datasets.load({source!r})\n" if source in names() else ""
    return f"import ultrahyperbolic as uh\n\n{graph}{_call(config)}"


def _call(config: TrainingConfig) -> str:
    chosen: dict[str, object] = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != field.default
    }
    if chosen.keys() <= set(EMBED) and config.preset is None:
        where: dict[str, object] = {"p": config.p, "q": config.q}
        if config.flat is not None:
            where = {"dim": chosen.pop("flat"), "flat": True}
        others = {name: value for name, value in chosen.items() if name not in ("p", "q")}
        return f"uh.embed(graph, {_arguments(where | {'seed': config.seed} | others)})"
    return f"config = uh.TrainingConfig({_arguments(chosen)})\n(embedding,) = uh.training.embed_many(graph, [config])"


def _arguments(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
