"""Which geometry a graph wants: flat space and every signature of a dimension, compared.

Each is trained for a sixth of the iterations, of a large graph on the ties among some of its nodes.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from typing import Literal, Unpack

import numpy as np

from ..checks import check_count, is_number
from ..embedding import Embedding
from ..evaluation import (
    SAMPLED_NODES,
    HeldOut,
    TriadicClosure,
    hold_out_edges,
    link_prediction,
    triadic_closure,
)
from ..evaluation.closure import sampled_closure
from ..graph import Graph
from ..interrupted import Interrupted
from ..options import By, Compared, complete, without_goal
from ..progress import bar
from .config import Settings
from .execution import Execution
from .inputs import Choice, Weight, among, find_graph
from .method import score, usual_iterations
from .plan import Plan, with_flags
from .selection import Row, Selection
from .start import SpectralStart
from .train import embed_many, with_pair_measures

log = logging.getLogger(__name__)

# Geometries are compared on at most this many nodes, which a random walk meets.
_MAX_NODES = 5_000
# The walk starts anew with this chance at each step.
_RESTART = 0.15
# Below this many edges none can be spared.
_MIN_EDGES = 20
# A comparison takes this share of the iterations of a training.
_SHARE = 1 / 6
# How many starts where it is not said: what is held out varies more.
_SEEDS: dict[By, int] = {"graph": 1, "links": 5}
# Pairs without an edge that held-out edges are compared with where there are too many to look at
# all.
_NEGATIVES = 1_000_000


def select(
    graph: object,
    *,
    dim: int | Sequence[int] = 4,
    seeds: int | None = None,
    iterations: int | None = None,
    held_out: float = 0.1,
    quiet: bool = False,
    weight: Weight | None = None,
    directed: bool = False,
    **options: Unpack[Compared],
) -> Selection:
    """Compare flat space and every signature from hyperbolic to spherical on a graph.

    With one dimension, one seed and ``by="graph"`` this names the geometry that ``embed(graph,
    dim=)`` takes.

    Parameters
    ----------
    graph
        Anything `embed` takes.
    dim : int or several
        Dimension of the manifolds. On the graph itself more dimensions nearly always do better: to
        compare dimensions, hold out edges.
    seeds : int, optional
        How many starts, of seeds ``seed``, ``seed + 1``, …: by default 1, or 5 for ``"links"``.
        With 2 or more, differences to the winner have a standard error.
    iterations : int, optional
        Of the training to choose for, by default those of `embed`; the comparison takes a sixth.
    held_out : float
        Share of the edges held out for ``"links"``, others for each seed.
    quiet, weight, directed
        As for `embed`.
    options
        ``by``, ``seed``, ``beta``, ``popularity``, ``device``, ``backend``, ``threads``,
        ``precision`` and ``time_limit``, as for `embed`. With a limit trainings are shorter, and
        further seeds may be left out.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from ultrahyperbolic import datasets
    >>> found = select(datasets.karate(), dim=2, seeds=2, iterations=40, quiet=True)
    >>> len(found.rows), sorted(found.prior)
    (4, ['diameter', 'gromov_delta', 'open_wedges', 'relative_delta', 'time_inertia',
    'transitivity'])
    """
    given = without_goal(options)
    if other := sorted(set(given) - set(Compared.__annotations__)):
        raise TypeError(
            f"select has no option {other[0]!r}; beside its own it takes "
            f"{', '.join(Compared.__annotations__)}"
        )
    data = find_graph(graph, weight, directed=directed, quiet=quiet)
    beta = given.get("beta")
    asked = with_flags(complete({**given, "iterations": iterations}))
    plan = Plan(Choice.of(dim, -1.0 if beta is None else beta), asked)
    return compare(Execution(plan, data, quiet=quiet), asked["time_limit"], seeds, held_out)


def choose(execution: Execution) -> None:
    """Choose the geometry of an execution where that was left open; of a time limit, half is for
    this.
    """
    if isinstance(execution.plan.where, Choice):
        limit = execution.plan.asked["time_limit"]
        execution.choose(compare(execution, None if limit is None else limit / 2))


def compare(
    execution: Execution,
    time_limit: float | None,
    seeds: int | None = None,
    held_out: float = 0.1,
) -> Selection:
    """Train the geometries of an execution for a while; a seed, beyond the first, for which there
    is no time is left out.
    """
    began, plan, graph = time.monotonic(), execution.asked, walked(execution.graph)
    by: By = plan.asked["by"]
    seeds = _SEEDS[by] if seeds is None else check_count("seeds", seeds, 1)
    starts = [(execution.configs[0].seed + k) % 2**63 for k in range(seeds)]
    splits = _held_out(graph, held_out, starts, by)
    length = plan.asked["iterations"] or usual_iterations(graph, execution.machine)
    length = max(1, round(length * _SHARE))
    if graph is not execution.graph and not execution.quiet:
        log.warning(
            f"geometries are compared on {graph.n_nodes:,} of {execution.graph.n_nodes:,} nodes"
        )
    rows = [Row(config.geometry, length) for config in execution.configs]
    where = Choice(tuple(row.geometry for row in rows))
    kept: Settings = {name: plan.asked[name] for name in Compared.__annotations__}  # type: ignore[literal-required]  # each is the name of an option
    with bar("select", seeds, show=not execution.quiet) as update:
        for number, (start, split) in enumerate(zip(starts, splits, strict=True)):
            limit = None
            if time_limit is not None:
                left = time_limit - (time.monotonic() - began)
                if number and left <= 0.0:
                    break
                limit = max(0.5 * left / (seeds - number), 1e-3)  # the other half is for measures
            asked = complete({**kept, "iterations": length, "seed": start})
            trained_on = graph if split is None else split.graph
            trial = Execution(Plan(where, asked), trained_on)
            try:
                embeddings = embed_many(
                    trained_on, trial.configs, trial.machine, measures=False, time_limit=limit
                )
            except Interrupted:
                raise KeyboardInterrupt from None  # half a comparison is none
            for row, embedding in zip(rows, embeddings, strict=True):
                measured = with_pair_measures(
                    trained_on, embedding, quiet=True, device=trial.machine.device
                )
                _write_down(row, measured, None if split is None else (graph, split))
            update(number + 1, f"{len(rows)} geometries, {length} iterations")
    rows.sort(key=lambda row: row.worst_last)
    for row in rows:
        pairs = zip(row.scores, rows[0].scores, strict=True)
        row.differences = [own - best for own, best in pairs]
    return Selection(rows, prior(execution.graph), time.monotonic() - began, by)


def _held_out(
    graph: Graph, held_out: float, starts: Sequence[int], by: By
) -> list[HeldOut] | list[None]:
    """What is held out for each start; ``ValueError`` where nothing can be."""
    if not (is_number(held_out) and 0.0 < held_out < 1.0):
        raise ValueError(f"held_out must be a share between 0 and 1, got {held_out!r}")
    if by == "graph":
        return [None] * len(starts)
    if graph.n_edges < _MIN_EDGES:
        raise ValueError(
            f"by = 'links' holds out ties, and a graph of {graph.n_edges} can spare none: "
            f"it takes {_MIN_EDGES} or more; compare by 'graph'"
        )
    if graph.n_edges == math.comb(graph.n_nodes, 2):
        raise ValueError(
            "by = 'links' compares held-out ties with pairs that have none, and here every "
            "pair has one: compare by 'graph'"
        )
    return [hold_out_edges(graph, held_out, start) for start in starts]


def _write_down(row: Row, embedding: Embedding, split: tuple[Graph, HeldOut] | None) -> None:
    """How a geometry did; with the graph of a split, on the ties that were held out."""
    record = embedding.record
    if record.unfinished and record.result is not None:
        row.iterations = min(row.iterations, record.result.iterations)
    row.measures.append(dict(record.measures))
    if split is None:
        row.scores.append(score(record.measures))
        return
    graph, held = split
    negatives: int | Literal["all"] = _NEGATIVES if graph.n_nodes > SAMPLED_NODES else "all"
    auc = link_prediction(
        graph,
        embedding.points,
        embedding.space,
        held.edges,
        negatives=negatives,
        popularity=embedding.popularity,
    ).auc
    row.scores.append(0.0 if math.isnan(auc) else auc)
    row.held_out.append(1.0 - row.scores[-1])


def walked(graph: Graph, count: int = _MAX_NODES) -> Graph:
    """The ties among ``count`` nodes that a random walk meets; the graph itself where it has no
    more.
    """
    if graph.n_nodes <= count or (tied := int((graph.degree > 0).sum())) <= count:
        return graph
    order = graph.node_order
    ordered, rng = graph.reordered(order), np.random.default_rng(0)
    offsets, heads = ordered.neighbor_lists
    starts, node, met = np.flatnonzero(ordered.degree), -1, np.zeros(graph.n_nodes, dtype=bool)
    while count:
        chance, where = rng.random(2)
        if node < 0 or chance < _RESTART:
            node = int(starts[int(where * tied)])
        else:
            node = int(heads[offsets[node] + int(where * (offsets[node + 1] - offsets[node]))])
        count -= not met[node]
        met[node] = True
    return among(graph, order[met])


def prior(graph: Graph, samples: int = 2000, seed: int = 0) -> dict[str, float]:
    """What the graph alone hints at.

    ``gromov_delta`` is the largest of the four-point δ of sampled quadruples of nodes, in hops;
    ``relative_delta`` is 2δ over the diameter, 0 for a tree and at most 1; ``time_inertia`` the
    share of the spectrum of the spectral start, beyond its first eigenvalue, that asks for further
    time dimensions. ``transitivity`` and ``open_wedges`` are those of `triadic_closure`, and 0 in a
    graph without a wedge.
    """
    closure = (
        sampled_closure(graph)
        if graph.n_nodes > SAMPLED_NODES
        else triadic_closure(graph)._asdict()
    )
    spectral = SpectralStart(graph)
    hops, rows = spectral.hops
    rng = np.random.default_rng(seed)
    apart = hops[rows].astype(np.float64)
    a, b, c, d = rng.integers(0, len(rows), (4, samples))
    sums = np.sort(
        [apart[a, b] + apart[c, d], apart[a, c] + apart[b, d], apart[a, d] + apart[b, c]], axis=0
    )
    delta = float((sums[2] - sums[1]).max(initial=0.0)) / 2.0
    diameter = float(hops.max(initial=0))
    values = spectral.hyperbolic.values
    beyond = np.abs(values).sum() - np.abs(values).max(initial=0.0)
    negative = -values[values < 0.0].sum() - np.abs(values).max(initial=0.0)
    return {
        "diameter": diameter,
        "gromov_delta": delta,
        "relative_delta": 2.0 * delta / diameter if diameter else 0.0,
        "time_inertia": float(max(negative, 0.0) / beyond) if beyond > 0.0 else 0.0,
        **{
            name: 0.0 if math.isnan(share := closure.get(name, 0.0)) else share
            for name in TriadicClosure._fields
        },
    }
