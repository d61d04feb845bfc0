"""From a graph and configurations to embeddings: one batch of trainings, and the best of
several.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..arrays import Floats, Ints
from ..checks import check_positive
from ..embedding import Embedding
from ..embedding.forms import measures_of_directions
from ..embedding.record import GraphRecord, Result, RunRecord, Timing
from ..engines.base import BatchState, Machine, Problem, check_directed
from ..engines.callbacks import START
from ..engines.communicator import versions
from ..engines.memory import explaining_shortage, require_memory
from ..engines.registry import resolve
from ..evaluation import SAMPLED_NODES, from_samples, over_nodes, over_pairs
from ..graph import Graph
from ..graph.attributes import free_names
from ..graph.flow import centrality_of
from ..interrupted import Interrupted
from ..loop import Callback, Checkpoint, Every, Progress, Stopped
from ..objective import Closeness, RankedPairs
from ..pairs import Points, tensor_of
from ..progress import bar
from ..spaces import Space
from .batch import Computed, train_batch
from .config import TrainingConfig
from .presets import PRESETS, told
from .start import Given, SpectralStart, start_bytes

if TYPE_CHECKING:
    import torch

log = logging.getLogger("ultrahyperbolic")
# The loss is kept at no more points than this.
_LOSS_POINTS = 1000
# Measures of all pairs take as long as this many evaluations of the loss, about.
_MEASURES = 15.0
_HERE = Machine()


Device: TypeAlias = "str | torch.device | None"


def problem_of(graph: Graph, configs: Sequence[TrainingConfig], *, outline: bool = True) -> Problem:
    """What trainings of one length that stop alike minimise; an outline leaves out what takes time
    to find.
    """
    if len({(c.iterations, c.descents, c.stop, c.best_every, c.step_back) for c in configs}) != 1:
        raise ValueError(
            "the trainings of a batch must agree on iterations, finish, stop, best_every and "
            "step_back"
        )
    first = configs[0]
    held = (
        Closeness.of(graph)
        if any(config.centrality for config in configs) and not outline
        else None
    )
    pairs = RankedPairs.of(graph)
    if pairs.heights is not None:
        check_directed(pairs, [config.spec() for config in configs])
        # A pair that is tied both ways has two terms of the ranking loss, and the other term keeps
        # its share.
        share = len(graph.arcs[1]) / graph.n_edges
        configs = [replace(config, centrality=share * config.centrality) for config in configs]
    return Problem(
        pairs,
        [config.spec() for config in configs],
        first.best_every,
        first.stop == "ordered",
        held,
    )


def check_memory(problem: Problem, configs: Sequence[TrainingConfig], machine: Machine) -> None:
    """Raise ``MemoryError``, with what would fit, where the trainings need more memory than is
    free.
    """
    pairs, spectral = problem.pairs, any(config.start == "spectral" for config in configs)
    start = start_bytes(pairs.n_nodes, pairs.n_edges) if spectral else 0
    require_memory(problem, machine, start)


def best_of(embeddings: Sequence[Embedding]) -> Embedding:
    """The training of the lowest loss, whose record tells of the others."""
    if len(embeddings) == 1:
        return embeddings[0]
    losses = [_loss_of(embedding) for embedding in embeddings]
    kept = losses.index(min(losses))
    tries = [
        {"seed": each.record.seed, "final_loss": _finite(loss), "kept": k == kept}
        for k, (each, loss) in enumerate(zip(embeddings, losses, strict=True))
    ]
    return embeddings[kept].with_record(replace(embeddings[kept].record, tries=tries))


def _loss_of(embedding: Embedding) -> float:
    result = embedding.record.result
    losses = () if result is None else (result.final_loss, result.best_loss)
    return next((loss for loss in losses if loss is not None), math.inf)


def embed_many(
    graph: Graph,
    configs: Sequence[TrainingConfig],
    machine: Machine = _HERE,
    *,
    time_limit: float | None = None,
    spent: float = 0.0,
    measures: bool = True,
    quiet: bool = True,
    callbacks: Sequence[Callback[BatchState]] = (),
    checkpoint: Checkpoint[BatchState] | None = None,
    start: Given | None = None,
    asked: Callable[[], bool] = bool,
) -> list[Embedding]:
    """Train several configurations of one length as a batch; each result is that of the training
    alone, bit for bit.

    ``checkpoint`` is what `Progress.checkpoint` gave an earlier call's callback: the training goes
    on from there. ``start`` is where those start that say so. Of the seconds of ``time_limit`` some
    are ``spent`` before and after. ``asked`` says whether someone wants it to stop now. Raises
    `Interrupted` on Ctrl-C, with the best of each so far, not measured, as its ``embeddings``.
    """
    began = time.monotonic()
    graph.require_trainable()
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    # Nodes are trained in an order of their own, so that the order of rows in a file does not
    # change the result.
    order = graph.node_order
    if any(config.centrality or config.start == "spectral" for config in configs):
        centrality_of(
            graph, str(resolve(machine, graph.n_nodes).device)
        )  # which the inner graph takes along
    inner = graph.reordered(order)
    if checkpoint is not None:
        checkpoint = replace(checkpoint, state=checkpoint.state.reordered(order))
    if start is not None:
        start = Given(start.points[order], start.offsets[order])
    problem = problem_of(inner, configs, outline=False)
    check_memory(problem, configs, machine)
    state = _starting_state(inner, configs, checkpoint, start)
    if problem.pairs.heights is not None:
        state.record["spring"] = [START * config.temperature[0] for config in configs]
    for preset in PRESETS:
        if not quiet and configs[0].preset == preset:
            log.warning("%s", told(preset))
    started, back = time.time(), np.argsort(order)
    with bar("training", configs[0].iterations, show=not quiet) as update:
        update(0, "compiling")

        def show(progress: Progress[BatchState]) -> None:
            update(progress.iteration, _text(progress))

        with explaining_shortage():
            computed = train_batch(
                problem,
                configs,
                machine,
                state,
                time_limit=time_limit,
                spent=spent + time.monotonic() - began,
                checkpoint=checkpoint,
                callbacks=[show, *(_outside(callback, back) for callback in callbacks)],
                asked=asked,
            )
    computed = computed._replace(state=computed.state.reordered(back))
    heights = (
        np.zeros(graph.n_nodes) if problem.pairs.heights is None else problem.pairs.heights[back]
    )
    timing = Timing(
        started, computed.outcome.seconds, len(configs), computed.engine, computed.evaluation
    )
    embeddings = [
        _embedding(graph, config, computed, number, heights, timing)
        for number, config in enumerate(configs)
    ]
    if computed.outcome.ending.why is Stopped.INTERRUPTED:
        performed = computed.outcome.losses.shape[1]
        raise Interrupted(
            f"after {performed} iterations; the best points so far: .embeddings",
            embeddings=embeddings,
        )
    device = resolve(machine, graph.n_nodes).device
    return (
        [measured(graph, each, quiet=quiet, device=device) for each in embeddings]
        if measures
        else embeddings
    )


def _outside(callback: Callback[BatchState], back: Ints) -> Callback[BatchState]:
    """A callback that sees nodes in the order of the graph it was given for."""
    if isinstance(callback, Every):
        return Every(callback.iterations, _outside(callback.callback, back))
    return lambda progress: callback(replace(progress, shown=lambda state: state.reordered(back)))


def _starting_state(
    graph: Graph,
    configs: Sequence[TrainingConfig],
    checkpoint: Checkpoint[BatchState] | None,
    given: Given | None,
) -> BatchState:
    """Where a batch starts. Trainings from given points that were stopped start from their
    checkpoint.
    """
    spectral = SpectralStart(graph)  # whose tables are large, and not kept
    starts, offsets = [], np.zeros((len(configs), graph.n_nodes))
    for number, config in enumerate(configs):
        if config.start != "given":
            starts.append(config.starting_points(graph, spectral))
        elif given is not None:
            starts.append(given.points)
            offsets[number] = given.offsets if config.popularity else 0.0
        elif checkpoint is not None:
            starts.append(checkpoint.state.points[number, :, : config.geometry.ambient_dim])
            offsets[number] = checkpoint.state.offsets[number]
        else:
            raise ValueError(
                "the points that this training starts from are not kept: continue from them again"
            )
    state = BatchState.start(starts)
    state.offsets[:] = state.best_offsets[:] = offsets
    return state


def _embedding(
    graph: Graph,
    config: TrainingConfig,
    found: Computed,
    number: int,
    heights: Floats,
    timing: Timing,
) -> Embedding:
    """A training of a batch that has ended, and what is said of it; ``heights`` [n] are those of a
    directed graph.
    """
    state, ending, losses = found.state, found.outcome.ending, found.outcome.losses[number]
    row, rested, geometry = state.record[number], int(state.rested[number]), config.geometry
    ordered_at = int(row["done_at"]) if row["done_at"] >= 0 else None
    if ordered_at is not None:
        losses = losses[: ordered_at + 1]
    elif rested >= 0:
        losses = losses[:rested]
    every = max(1, math.ceil(len(losses) / _LOSS_POINTS))
    finite = losses[np.isfinite(losses)]
    best = _finite(row["best_loss"])
    if best is None and len(finite):  # a settled schedule has none
        best = float(finite[-1])
    attributes, column = dict(graph.attributes), None
    if graph.is_directed:
        column = free_names(["height"], list(attributes))["height"]
        attributes[column] = heights
    record = RunRecord(
        config=config.to_json(),
        seed=config.seed,
        versions=versions(),
        graph=graph_record(graph),
        loss=tuple(_finite(loss) for loss in losses[::every]),
        loss_every=every,
        stopped=found.rest if rested >= 0 and not ending.why.unfinished else ending,
        result=Result(
            iterations=len(losses),
            best_loss=best,
            best_iteration=int(row["best_iteration"]),
            ordered_at=ordered_at,
            steps_back=int(state.steps_back[number]),
            nonfinite=int(state.nonfinite[number]),
            start_loss=_finite(found.before[number]),
            final_loss=_finite(found.after[number]),
            spring=None if column is None else float(row["spring"]),
            heights=column,
        ),
        timing=timing,
        call=config.call(graph),
    )
    points = state.best[number, :, : geometry.ambient_dim]
    popularity = state.best_offsets[number] if config.popularity else None
    return Embedding(
        graph.ids, points, geometry, record, graph, popularity=popularity, attributes=attributes
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def measured(
    graph: Graph,
    embedding: Embedding,
    *,
    quiet: bool,
    device: Device = None,
    seconds: float | None = None,
) -> Embedding:
    """The embedding with all measures in its record; it keeps what that found of all pairs."""
    embedding = with_pair_measures(graph, embedding, quiet=quiet, device=device, seconds=seconds)
    return with_node_measures(graph, embedding, quiet=quiet, seconds=seconds)


def _is_sampled(graph: Graph, embedding: Embedding, seconds: float | None) -> bool:
    """Whether measures come from some of the nodes: all pairs are too many, or would take longer
    than ``seconds``.
    """
    expected = _MEASURES * (embedding.record.timing.evaluation or 0.0)
    late = seconds is not None and expected > seconds and embedding.space.quadric is not None
    return graph.n_nodes > SAMPLED_NODES or late


def with_pair_measures(
    graph: Graph,
    embedding: Embedding,
    *,
    quiet: bool,
    device: Device = None,
    seconds: float | None = None,
) -> Embedding:
    """With the measures, δ among them, of one pass over all pairs on a device, or of a large graph
    from samples.

    Where it would take longer than ``seconds``, they come from the nodes that there is time for.
    """
    points: Points = embedding.points
    space: Space = embedding.space
    if str(device or "cpu") != "cpu":
        points, space = tensor_of(points).to(device), deepcopy(embedding.manifold).to(device)
    if _is_sampled(graph, embedding, seconds):
        estimated = from_samples(
            graph,
            points,
            space,
            seconds=seconds,
            popularity=embedding.popularity,
            progress=not quiet,
        )
        embedding.remember(estimated.delta, None)
        if not quiet and (some := int(estimated.measures["measured_nodes"])) < graph.n_nodes:
            log.warning(
                f"measures and delta are estimated from {some} of {graph.n_nodes} nodes; run.json "
                "has standard errors"
            )
        return _with_measures(embedding, estimated.measures)
    found = over_pairs(graph, points, space, progress=not quiet, popularity=embedding.popularity)
    embedding.remember(found.delta, found.nearest)
    return _with_measures(embedding, found.measures)


def with_node_measures(
    graph: Graph, embedding: Embedding, *, quiet: bool, seconds: float | None = None
) -> Embedding:
    """Beside those it has, the measures that need no distances; of a large graph, or with few
    ``seconds``, sampled.
    """
    sample = _is_sampled(graph, embedding, seconds)
    found = over_nodes(graph, embedding.points, progress=not quiet, sample=sample)
    return _with_measures(embedding, found | measures_of_directions(embedding, graph))


def _with_measures(embedding: Embedding, found: dict[str, float]) -> Embedding:
    """With further measures in its record."""
    return embedding.with_record(
        replace(embedding.record, measures={**embedding.record.measures, **found})
    )


def graph_record(graph: Graph) -> GraphRecord:
    """What ``run.json`` says of a graph."""
    counts = (
        graph.n_nodes,
        graph.n_edges,
        len(graph.capacities),
        int(graph.component.max(initial=-1)) + 1,
    )
    columns = None if graph.columns is None else graph.columns._asdict()
    policies = {str(name): count for name, count in graph.policies.items()}
    return GraphRecord(graph.source, graph.fingerprint, *counts, policies, columns)


def _text(progress: Progress[BatchState]) -> str:
    """What the bar shows beside itself: only what costs nothing."""
    known = progress.loss[np.isfinite(progress.loss)]
    loss = f"loss {known.mean():.6g}" if len(known) else "loss not finite"
    left = progress.seconds * (progress.total - progress.iteration) / progress.iteration
    return f"{loss}, {timedelta(seconds=round(left))} left"
