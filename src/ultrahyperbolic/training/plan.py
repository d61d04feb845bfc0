"""What a user asks, as typed data: the one thing that ``embed``, the command and scikit-learn all
carry out.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Unpack, cast

import numpy as np

from ..checks import as_flag, check_choice, check_count, check_positive
from ..embedding import Embedding
from ..engines.base import Machine, Problem, check_directed
from ..engines.registry import ends_exactly, others_met, resolve
from ..graph import Graph
from ..objective import RankedPairs
from ..options import OPTIONS, Options, complete
from ..spaces import Geometry
from .config import Settings, TrainingConfig, as_arguments, in_python, located_in
from .continued import earlier_geometry, fewer, gently
from .inputs import Choice, geometry_of
from .method import has_popularity, in_units_of_radius, recipe, usual_iterations
from .presets import PRESETS
from .selection import BY

# A finish that converges takes most of the time of a short training. So much of it tells geometries
# apart.
_BRIEF_FINISH = 0.05
# The options that name a geometry.
_LOCATING = ("p", "q", "dim", "flat", "signature", "beta", "by")


@dataclass(frozen=True)
class Plan:
    """An embedding that was asked for."""

    where: Geometry | Choice
    asked: Options
    """All options. Those that name a geometry have become ``where``."""
    old: Embedding | None = None
    """What the training continues from, whose geometry is ``where``."""

    @classmethod
    def of(cls, old: Embedding | None = None, **options: Unpack[Options]) -> Plan:
        """The plan of the options of `embed`; ``ValueError`` or ``TypeError`` where they contradict
        each other.
        """
        asked = with_flags(complete(options))
        named: Settings = {
            name: value for name, value in asked.items() if name in _LOCATING and name != "by"
        }
        return cls(
            geometry_of(**named, old=None if old is None else earlier_geometry(old)), asked, old
        )

    def __post_init__(self) -> None:
        preset, time_limit = self.asked["preset"], self.asked["time_limit"]
        if preset not in (None, *PRESETS):
            raise ValueError(
                f"preset must be {', '.join(map(repr, PRESETS))} or None, got {preset!r}"
            )
        seeds = check_count("seeds", self.asked["seeds"], 1)
        object.__setattr__(self, "asked", self.asked | {"seeds": seeds})
        check_choice("by", self.asked["by"], BY)
        if self.old is not None and (preset is not None or seeds > 1):
            what = "preset" if preset is not None else "seeds"
            raise ValueError(
                f"continuing from an earlier embedding fixes the start, and {what} asks for "
                f"others: leave {what} out, or embed anew"
            )
        if time_limit is not None:
            check_positive("time_limit", time_limit)
        TrainingConfig(**self.settings)  # which checks them, before a graph is read

    def but(self, where: Geometry | Choice | None = None, **options: Unpack[Options]) -> Plan:
        """The same with another geometry, or with other options."""
        return replace(self, where=where or self.where, asked=self.asked | options)

    @property
    def machine(self) -> Machine:
        """Where to compute, as asked."""
        asked = self.asked
        return Machine(asked["device"], asked["backend"], asked["threads"], asked["precision"])

    @property
    def settings(self) -> Settings:
        """The options that are settings of a training, where they were given: they win over what
        the method sets.
        """
        fields = {field.name for field in dataclasses.fields(TrainingConfig)}
        named = {
            name: value
            for name, value in self.asked.items()
            if name in fields and value is not None
        }
        found = {name: value for name, value in named.items() if name not in _LOCATING}
        for name in ("temperature", "epsilon", "max_step"):
            if isinstance(value := found.get(name), float | int):
                found[name] = float(value), float(value)
        return found | {"moves": "absolute"} if "max_step" in found else found

    def call(self, graph: Graph, config: TrainingConfig) -> str:
        """The call in Python that trains this again."""
        if self.old is not None:
            again = f"uh.embed(graph, continue_from='earlier', seed={config.seed})"
            return in_python(graph, f"{again}  # the folder it was saved in")
        where: Settings = located_in(config.geometry)
        if config.flat is not None:
            where = {"dim": config.flat, "flat": True}
        usual: Settings = {**complete({}), "beta": -1.0}
        given: Settings = {
            name: value for name, value in self.asked.items() if name not in _LOCATING
        }
        del given["time_limit"]
        said = where | given | {"seed": self.asked["seed"]}
        kept = {
            name: value
            for name, value in said.items()
            if name == "seed" or value not in (usual[name], None)
        }
        return in_python(graph, f"uh.embed(graph, {as_arguments(kept)})")


def with_flags(options: Options) -> Options:
    """The options with yes and no as ``bool``; ``TypeError`` where one is anything else."""
    flags = {
        name: as_flag(name, value, "; dim gives the dimension" if name == "flat" else "")
        for name, value in options.items()
        if bool in OPTIONS[name].members and value is not None
    }
    return cast("Options", options | flags)


def configure(plan: Plan, graph: Graph) -> list[TrainingConfig]:
    """The trainings of a plan: one for each seed, or one with a short finish for each geometry that
    can be chosen.

    What is wrong with all that are curved is raised.
    """
    if not isinstance(plan.where, Choice):
        config = _configure(plan, plan.where, graph)
        return [replace(config, seed=config.seed + k) for k in range(plan.asked["seeds"])]
    made, wrong = list[TrainingConfig](), list[ValueError]()
    for geometry in plan.where.geometries:
        try:
            config = _configure(plan, geometry, graph, everywhere=True)
            made.append(replace(config, finish=min(config.finish, _BRIEF_FINISH)))
        except ValueError as error:
            wrong.append(error)
    if wrong and all(config.flat for config in made):
        raise wrong[-1]
    return made


def _configure(
    plan: Plan, where: Geometry, graph: Graph, *, everywhere: bool = False
) -> TrainingConfig:
    """The training of the first seed in a geometry; with ``everywhere`` all geometries are sampled
    alike.
    """
    problem = outlined(plan, where, graph)
    machine = resolve(plan.machine, graph.n_nodes, problem)
    if (preset := plan.asked["preset"]) is not None:
        usual = PRESETS[preset](weighted=len(graph.capacities) > 1, q=where.q)
    else:
        iterations = usual_iterations(graph, machine)
        usual = {
            "iterations": iterations if plan.old is None else fewer(iterations),
            "stop": "converged",
        }
    config = TrainingConfig(**{**usual, **plan.settings, **located_in(where)})
    config.spec()  # the signature and what is measured on it are checked here, before any work
    if preset is not None:
        return replace(in_units_of_radius(config), **plan.settings)
    popularity = plan.asked["popularity"]
    if popularity is None and plan.old is not None:
        popularity = plan.old.popularity is not None
    whole, meets = ends_exactly(graph.n_nodes, machine), others_met(machine, graph.n_nodes)
    everywhere = everywhere or not whole
    made = recipe(config, graph, meets=meets, everywhere=everywhere, popularity=popularity)
    # Losses of different parts of the pairs are not comparable.
    made = made if made.parts == 1 else replace(made, keep="last")
    made = made if whole else replace(made, iterations=made.descents, finish=0.0)
    made = made if plan.old is None else gently(made)
    return replace(made, **plan.settings)


def outlined(plan: Plan, where: Geometry, graph: Graph) -> Problem:
    """What engines must know for a plan, without the edges."""
    config = TrainingConfig(**{**plan.settings, **located_in(where)})
    heights = np.zeros(graph.n_nodes) if graph.is_directed else None
    pairs = RankedPairs(
        graph.n_nodes, np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64), heights
    )
    popular = plan.asked["preset"] is None and has_popularity(where, plan.asked["popularity"])
    check_directed(pairs, [replace(config, popularity=popular).spec()])
    return Problem(pairs, [config.spec()], stop_when_ordered=config.stop == "ordered")
