"""The call in Python that does a training again: ``run.json`` keeps it as text, and the report shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..datasets import names
from ..engines.base import Backend, Place
from ..engines.registry import ends_exactly, others_met
from ..graph import Graph
from .config import TrainingConfig, configured, located_in
from .method import GOALS, Goal, default_iterations, recipe


def python_call(config: TrainingConfig, graph: Graph) -> str:
    """``embed`` where the training is one of a goal, else ``embed_many``; a data set is loaded by its name.

    >>> from ultrahyperbolic.datasets import karate
    >>> club = karate()
    >>> print(python_call(recipe(TrainingConfig(p=2, q=2, stop="converged"), club), club))
    import ultrahyperbolic as uh
    <BLANKLINE>
    graph = uh.datasets.load('karate')
    uh.embed(graph, p=2, q=2, seed=0, iterations=2000)
    """
    source = graph.source
    loading = f"graph = uh.datasets.load({source!r})\n" if source in names() else ""
    return f"import ultrahyperbolic as uh\n\n{loading}{_call(config, graph)}"


def _call(config: TrainingConfig, graph: Graph) -> str:
    if config.start == "given":
        return f"uh.embed(graph, continue_from=earlier, {_arguments({'seed': config.seed})})  # the earlier embedding"
    located = located_in(config.geometry)
    bare = configured(located, seed=config.seed, stop=config.stop, iterations=config.iterations)
    for goal in GOALS:
        usual = recipe(bare, graph, goal)
        popular = config.popularity
        if dataclasses.replace(config, scope=usual.scope) in _usual_ways(bare, graph, goal, popularity=popular):
            said: dict[str, tuple[object, object]] = {
                "beta": (config.beta, -1.0),
                "goal": (goal, "balanced"),
                "iterations": (config.iterations, default_iterations(graph)),
                "stop": (config.stop, "converged"),
                "scope": (config.scope, usual.scope),
                "popularity": (popular, usual.popularity),
            }
            where: dict[str, object] = {"p": config.p, "q": config.q}
            if config.product is not None:
                where = {"product": config.product}
            elif config.flat is not None:
                where = {"dim": config.flat, "flat": True}
            others = {name: value for name, (value, default) in said.items() if value != default}
            return f"uh.embed(graph, {_arguments(where | {'seed': config.seed} | others)})"
    chosen: dict[str, object] = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != field.default
    }
    return f"config = uh.TrainingConfig({_arguments(chosen)})\n(embedding,) = uh.training.embed_many(graph, [config])"


def _usual_ways(bare: TrainingConfig, graph: Graph, goal: Goal, *, popularity: bool) -> list[TrainingConfig]:
    """What `embed` makes of a goal, on any device."""
    n = graph.n_nodes
    whole = ends_exactly(n)
    backends: tuple[Backend, ...] = ("numba", "triton")
    meets = [n, *(others_met(Place(backend=backend), n) for backend in backends)]
    made = [recipe(bare, graph, goal, meets=m, everywhere=not whole, popularity=popularity) for m in meets]
    return made if whole else [dataclasses.replace(config, finish=0.0) for config in made]


def _arguments(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
