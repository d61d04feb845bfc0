"""What a user asks, as typed data: the one thing that ``embed``, the command and scikit-learn all carry out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..checks import check_choice, check_count, check_positive
from ..embedding import Embedding
from ..embedding.record import RunRecord, Timing, Training
from ..engines.base import BACKENDS, PRECISIONS, BatchState, Place, Problem
from ..engines.registry import check_processes, ends_exactly, exact_place, kind_of, others_met, settle
from ..geometry import Geometry
from ..geometry.named import ProductGeometry
from ..graph import Graph
from ..interrupted import Interrupted
from ..loop import Callback, Checkpoint
from ..objective import SCOPES, RankedPairs
from .config import Settings, TrainingConfig, configured, located_in
from .continued import fewer, gently, start_from
from .method import GOALS, Goal, in_units_of_radius, recipe
from .overrides import Overrides
from .pace import Pace, in_words
from .presets import PRESETS, Preset, preset_settings
from .sampling import sampled_recipe, usual_iterations
from .selection import BY, By, Selection
from .start import Given
from .train import batches, check_memory, embed_best, embed_many, graph_record, has_memory, problem_of, versions
from .where import DEFAULT, Choice

log = logging.getLogger("ultrahyperbolic")
# It is said how long a training will take from so many seconds on, and measured where it has so many pairs to look at.
_LONG, _MANY = 10.0, 1e9
# With time for less than this share of the iterations, samples alone may make more of it: so many times as many.
_FEW, _MORE = 0.25, 2.0
# A finish that converges takes most of the time of a short training. So much of it tells geometries apart.
_BRIEF_FINISH = 0.05


@dataclass(frozen=True)
class Plan:
    """An embedding that was asked for."""

    where: Geometry | Choice = DEFAULT
    overrides: Overrides = field(default_factory=Overrides)
    seed: int = 0
    preset: Preset | None = None
    time_limit: float | None = None
    place: Place = field(default_factory=Place)
    goal: Goal = "balanced"
    by: By = "graph"
    """What decides where the geometry is to be chosen."""
    seeds: int = 1
    """How many trainings, of seeds ``seed``, ``seed + 1``, …; the one of the lowest loss is kept."""
    old: Embedding | None = None
    """What the training continues from, whose geometry is ``where``."""

    def __post_init__(self) -> None:
        if self.preset not in (None, *PRESETS):
            raise ValueError(f"preset must be {', '.join(map(repr, PRESETS))} or None, got {self.preset!r}")
        check_choice("goal", self.goal, GOALS)
        check_choice("by", self.by, BY)
        object.__setattr__(self, "seeds", check_count("seeds", self.seeds, 1))
        if self.preset is not None and self.goal != "balanced":
            raise ValueError(f"goal {self.goal!r} says how to train, and so does preset {self.preset!r}: give one")
        if self.old is not None and (self.preset is not None or self.seeds > 1):
            what = "preset" if self.preset is not None else "seeds"
            raise ValueError(
                f"continuing from an earlier embedding fixes the start, and {what} asks for others: "
                f"leave {what} out, or embed anew"
            )
        if isinstance(self.where, ProductGeometry):
            self._check_product()
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.overrides.scope is not None:
            check_choice("scope", self.overrides.scope, SCOPES)
        temperature = self.overrides.temperature
        if temperature is not None and not isinstance(temperature, tuple):
            check_positive("temperature", temperature)

    def _check_product(self) -> None:
        """The recipes of the paper are of one geometry, and torch alone knows products."""
        if self.preset is not None:
            raise ValueError(f"preset {self.preset!r} is of one geometry: leave it out with a product")
        if self.place.backend not in ("auto", "reference"):
            raise ValueError(f"backend {self.place.backend!r} knows no products of geometries: use 'reference'")
        object.__setattr__(self, "place", replace(self.place, backend="reference"))


def configure(plan: Plan, graph: Graph) -> list[TrainingConfig]:
    """The trainings of a plan: one for each seed, or one with a short finish for each geometry that can be chosen."""
    if not isinstance(plan.where, Choice):
        config = _configure(plan, plan.where, graph)
        return [replace(config, seed=plan.seed + k) for k in range(plan.seeds)]
    made = [_configure(plan, geometry, graph, everywhere=True) for geometry in plan.where.geometries]
    return [replace(config, finish=min(config.finish, _BRIEF_FINISH)) for config in made]


def _configure(plan: Plan, where: Geometry, graph: Graph, *, everywhere: bool = False) -> TrainingConfig:
    """The training of the first seed in a geometry; with ``everywhere`` all geometries are sampled alike."""
    problem = _outlined(plan, where, graph)
    preset, place = Settings(), settle(plan.place, graph.n_nodes, problem)
    by_samples = place.backend == "sampled"
    if plan.preset is not None:
        preset = preset_settings(plan.preset, weighted=len(graph.capacities) > 1, q=where.q)
    else:
        usual = usual_iterations(graph, place)
        preset["iterations"] = usual if plan.old is None else fewer(usual)
    preset.update(plan.overrides.frame)
    preset.update(located_in(where))
    config = configured(preset, seed=plan.seed)
    config.spec()  # the signature and what is measured on it are checked here, before any work
    if plan.preset is None:
        popularity = plan.overrides.popularity
        if popularity is None and plan.old is not None:
            popularity = plan.old.popularity is not None
        if by_samples:
            made = sampled_recipe(config, graph, plan.goal, place, popularity=popularity)
            made = made if exact_place(place, problem) else replace(made, finish=0.0)
        else:
            whole, meets = ends_exactly(graph.n_nodes), others_met(place, graph.n_nodes)
            everywhere = everywhere or not whole
            made = recipe(config, graph, plan.goal, meets=meets, everywhere=everywhere, popularity=popularity)
            made = made if whole else replace(made, finish=0.0)
        made = made if plan.old is None else gently(made)
        config = replace(made, stop=plan.overrides.stop or "converged")
    else:
        config = in_units_of_radius(config)
    return replace(config, **plan.overrides.way_to_train)


def _trainable(plan: Plan, where: Choice, graph: Graph) -> Choice:
    """The geometries that can be trained as a plan asks; what is wrong with all that are curved is raised.

    Flat space has no training through φ, and some geometries have no distance for every pair.
    """
    found, wrong = list[Geometry](), list[ValueError]()
    for geometry in where.geometries:
        try:
            _configure(plan, geometry, graph)
            found.append(geometry)
        except ValueError as error:
            wrong.append(error)
    if all(geometry.is_flat for geometry in found):
        raise wrong[-1]
    return Choice(tuple(found))


def _outlined(plan: Plan, where: Geometry, graph: Graph) -> Problem:
    """What engines must know for a plan, without the edges."""
    asked = plan.overrides.frame
    asked.update(located_in(where))
    spec = configured(asked, **plan.overrides.way_to_train).spec()
    pairs = RankedPairs(graph.n_nodes, np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64))
    return Problem(pairs, [spec], stop_when_ordered=plan.overrides.stop == "ordered")


class Execution:
    """A plan carried out for a graph, step by step: all that is wrong with it is told when it is made.

    `prepare` says what will be trained, and `train` trains; between them a caller may make a folder, or write down what
    is about to happen. Where the geometry was left open, `train_all` trains each that can be chosen, and `choose` goes
    on with one of them.
    """

    def __init__(self, plan: Plan, graph: Graph, *, quiet: bool = True) -> None:
        graph.require_trainable()
        self.graph, self.quiet = graph, quiet
        self.selection: Selection | None = None
        self._fitted = False
        if isinstance(plan.where, Choice):
            plan = replace(plan, where=_trainable(plan, plan.where, graph))
        self.configs, self.asked = configure(plan, graph), plan
        # The engine is ours to choose, by memory and by time, where nobody has named one.
        self._free = plan.place.backend == "auto" and plan.preset is None
        self.plan = plan
        self._settle()
        self.start: Given | None = None
        if plan.old is not None:
            usual = configure(replace(plan, old=None), graph)[0]
            self.start = start_from(plan.old, graph, usual, quiet=quiet)

    def _settle(self) -> None:
        """Find the place of the plan; a choice of a geometry has its own."""
        where, n = self.plan.where, self.graph.n_nodes
        problem = None if isinstance(where, Choice) else _outlined(self.plan, where, self.graph)
        self.plan = replace(self.plan, place=settle(self.asked.place, n, problem))

    @classmethod
    def going_on(cls, record: RunRecord, graph: Graph, *, threads: int | None, quiet: bool) -> Execution:
        """The training of a record, as `prepare` wrote it down, to go on with; ``ValueError`` where it cannot."""
        training = record.training
        if training is None or not training.configs:
            raise ValueError("the record does not say what is trained")
        configs = [TrainingConfig.from_json(config) for config in training.configs]
        backend = next((name for name in BACKENDS if name == training.backend), None)
        precision = next((name for name in PRECISIONS if name == training.precision), None)
        if backend is None or (precision is None and training.precision is not None):
            raise ValueError(f"no engine computes with backend {training.backend!r}, precision {training.precision!r}")
        place = Place(training.device, backend, threads, precision)
        plan = Plan(configs[0].geometry, seed=configs[0].seed, time_limit=training.time_limit, place=place)
        execution = cls(plan, graph, quiet=quiet)
        execution.configs, execution._fitted = configs, True
        return execution

    def choose(self, selection: Selection) -> None:
        """Go on with the geometry that was found best; the time that took is taken from the limit."""
        limit = self.plan.time_limit
        if limit is not None:
            limit = max(limit - selection.seconds, 1e-3)
        self.selection, self.plan = selection, replace(self.plan, where=selection.best, time_limit=limit)
        self._settle()
        self.configs = configure(self.plan, self.graph)

    def prepare(self) -> RunRecord:
        """What is known before the first iteration; ``MemoryError`` where the training would not fit."""
        self._fit()
        problem = problem_of(self.graph, self.configs)
        check_processes(problem, self.plan.place)
        check_memory(problem, self.configs, self.plan.place)
        place = self.plan.place
        return RunRecord(
            config=self.configs[0].to_json(),
            seed=self.configs[0].seed,
            versions=versions(),
            graph=graph_record(self.graph),
            training=Training(
                [config.to_json() for config in self.configs],
                place.backend,
                str(place.torch_device),
                place.precision,
                self.plan.time_limit,
            ),
            timing=Timing(started=time.time()),
            select=None if self.selection is None else self.selection.to_json(),
        )

    def train(
        self,
        callbacks: Sequence[Callback[BatchState]] = (),
        *,
        measures: bool = True,
        checkpoint: Checkpoint[BatchState] | None = None,
        asked: Callable[[], bool] = bool,
    ) -> Embedding:
        """The embedding; `Interrupted` on Ctrl-C, or where ``asked`` says so, with the best so far."""
        if checkpoint is None:
            self._fit()
            self._say_how_long()
        try:
            embedding = embed_best(
                self.graph,
                self.configs,
                self.plan.place,
                quiet=self.quiet,
                measures=measures,
                callbacks=callbacks,
                time_limit=self.plan.time_limit,
                checkpoint=checkpoint,
                start=self.start,
                asked=asked,
            )
        except Interrupted as interrupted:
            if isinstance(interrupted.embedding, Embedding):
                interrupted.embedding = self._with_selection(interrupted.embedding)
            raise
        return self._with_selection(embedding)

    def train_all(self) -> list[Embedding]:
        """The embedding of every training, not measured, in as many batches as memory asks for."""
        self._fit()
        limit, found, rest = self.plan.time_limit, list[Embedding](), self.configs
        while rest:  # each batch is fitted into what is free then
            batch = self._batches(rest)[0]
            share = None if limit is None else limit * len(batch) / len(self.configs)
            found += embed_many(self.graph, batch, self.plan.place, measures=False, time_limit=share)
            rest = rest[len(batch) :]
        return found

    def _batches(self, configs: list[TrainingConfig]) -> list[list[TrainingConfig]]:
        """What is trained at once: all seeds, as checkpoints are of one batch, but as many geometries as fit."""
        return batches(self.graph, configs, self.plan.place) if isinstance(self.plan.where, Choice) else [configs]

    def _fits(self) -> bool:
        place, some = self.plan.place, self._batches(self.configs)
        return all(has_memory(problem_of(self.graph, batch), batch, place) for batch in some)

    def _fit(self) -> None:
        """Take samples where all pairs do not fit into memory, and as many iterations as there is time for.

        The recipes of the paper have theirs. With time for few iterations that end on all pairs, they do not.
        """
        if self._fitted:
            return
        self._fitted, limit = True, self.plan.time_limit
        if self._free and not ends_exactly(self.graph.n_nodes):
            nodes, backend = f"{self.graph.n_nodes:,}", self.plan.place.backend
            self._say(f"{nodes} nodes have too many pairs to look at all: training by samples (backend {backend})")
        if not self._fits():
            self._take_samples("all pairs do not fit into memory")
        if limit is not None and self.plan.preset is None:
            self._fit_time(limit)

    def _fit_time(self, limit: float) -> None:
        whole = self.configs
        self.configs = self._fitted_to(limit, whole)
        fitted, asked = self.configs[0].iterations, whole[0].iterations
        if fitted >= _FEW * asked:
            return
        why = f"there is time for {fitted} of {asked} iterations that look at all pairs"
        if self.plan.place.backend == "reference":
            if self._take_samples(why):
                self.configs = self._fitted_to(limit, [replace(config, finish=0.0) for config in self.configs])
        elif whole[0].parts > 1 and whole[0].finish > 0.0:
            alone = self._fitted_to(limit, [replace(config, finish=0.0) for config in whole])
            if alone[0].iterations >= _MORE * fitted:
                self.configs = alone
                self._say(f"{why} in the end, and for {alone[0].iterations} that do not: training by samples alone")

    def _fitted_to(self, limit: float, configs: list[TrainingConfig]) -> list[TrainingConfig]:
        batch = self._batches(configs)[-1]
        pace, share = Pace.of(self.graph, batch, self.plan.place), limit * len(batch) / len(configs)
        return [pace.fitted(config, share) for config in configs]

    def _say(self, words: str) -> None:
        if not self.quiet:
            log.warning("%s", words)

    def _take_samples(self, why: str) -> bool:
        """Go over to the engine that draws samples, and say why; whether that can be."""
        place = replace(self.plan.place, backend="sampled")
        problem = problem_of(self.graph, self.configs)
        if not self._free or self.plan.place.backend == "sampled" or kind_of("sampled").unfit(problem, place):
            return False
        before = self.plan, self.configs
        self.plan = replace(self.plan, place=place)
        self.configs = configure(self.plan, self.graph)
        if not self._fits():
            self.plan, self.configs = before
            return False
        self._free = False
        self._say(f"{why}: training by samples (backend sampled)")
        return True

    def _say_how_long(self) -> None:
        """Where a training may take long, measure its pace and say so."""
        pairs = self.graph.n_nodes**2 * len(self.configs) * self.configs[0].iterations
        if self.quiet or pairs < _MANY:
            return
        expected = Pace.of(self.graph, self.configs, self.plan.place).expected(self.configs[0])
        if expected >= _LONG:
            log.warning("%d iterations at most, in about %s", self.configs[0].iterations, in_words(expected))

    def _with_selection(self, embedding: Embedding) -> Embedding:
        if self.selection is None:
            return embedding
        return embedding.with_record(replace(embedding.record, select=self.selection.to_json()))
