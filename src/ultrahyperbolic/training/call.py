"""The call in Python that does a training again: ``run.json`` keeps it as text, and the report shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..datasets import names
from ..graph import Graph
from .config import TrainingConfig


def embed_call(graph: Graph, arguments: Mapping[str, object], note: str = "") -> str:
    """``embed`` of a graph; a data set is loaded by its name.

    >>> from ultrahyperbolic.datasets import karate
    >>> print(embed_call(karate(), {"p": 2, "q": 2}))
    import ultrahyperbolic as uh
    <BLANKLINE>
    graph = uh.datasets.load('karate')
    uh.embed(graph, p=2, q=2)
    """
    return f"{_loading(graph)}uh.embed(graph, {_arguments(arguments)}){note}"


def config_call(graph: Graph, config: TrainingConfig) -> str:
    """``embed_many`` of one configuration."""
    chosen = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != field.default
    }
    made = f"config = uh.TrainingConfig({_arguments(chosen)})"
    return f"{_loading(graph)}{made}\n(embedding,) = uh.training.embed_many(graph, [config])"


def _loading(graph: Graph) -> str:
    known = f"graph = uh.datasets.load({graph.source!r})\n" if graph.source in names() else ""
    return f"import ultrahyperbolic as uh\n\n{known}"


def _arguments(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
