"""Which geometry a graph wants: flat space and every signature of a dimension trained and compared.

All geometries are trained for a twelfth of the iterations, the better half again for a sixth
(successive halving). Of a large graph that is done for the ties among some of its nodes.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from typing import Literal, Unpack

import numpy as np

from ..checks import check_count, is_number
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
from ..graph.ids import NodeIds
from ..interrupted import Interrupted
from ..options import By, Compared, complete, without_goal
from ..progress import bar
from ..spaces import Geometry
from .config import Settings
from .execution import Execution
from .inputs import Choice, Weight, find_graph
from .method import score, usual_iterations
from .plan import Plan
from .selection import Row, Selection
from .start import SpectralStart
from .train import with_pair_measures

log = logging.getLogger(__name__)

# Of a larger graph geometries are compared on this many of its nodes, found by a walk that starts
# anew at this rate.
_NODES, _ANEW = 5_000, 0.15
# Below this many edges none can be spared.
_FEWEST_EDGES = 20
# Each round takes the iterations of a training divided by this.
_ROUNDS = (12, 6)
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
        Of the training to choose for, by default those of `embed`. The first comparisons take a
        twelfth of them, the last a sixth.
    held_out : float
        Share of the edges held out for ``"links"``, others for each seed.
    quiet, weight, directed
        As for `embed`.
    options
        ``by``, ``seed``, ``beta``, ``popularity``, ``device``, ``backend``, ``threads``,
        ``precision`` and ``time_limit``, as for `embed`. With a limit trainings are shorter, and
        further seeds and the second round may be left out.

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
    asked = complete({**given, "iterations": iterations})
    plan, limit = Plan(Choice.of(dim, -1.0 if beta is None else beta), asked), asked["time_limit"]
    return _Comparison(Execution(plan, data, quiet=quiet), limit, seeds, held_out).run()


def choose(execution: Execution) -> None:
    """Choose the geometry of an execution where that was left open; of a time limit, half is for
    this.
    """
    if isinstance(execution.plan.where, Choice):
        limit = execution.plan.asked["time_limit"]
        execution.choose(_Comparison(execution, None if limit is None else limit / 2).run())


class _Comparison:
    """Trainings of several geometries, short ones first, of which the weaker half is dropped again
    and again.
    """

    def __init__(
        self,
        execution: Execution,
        time_limit: float | None,
        seeds: int | None = None,
        held_out: float = 0.1,
    ) -> None:
        plan, graph = execution.asked, walked(execution.graph)
        if graph is not execution.graph and not execution.quiet:
            log.warning(
                f"geometries are compared on {graph.n_nodes:,} of {execution.graph.n_nodes:,} nodes"
            )
        count = _SEEDS[plan.asked["by"]] if seeds is None else check_count("seeds", seeds, 1)
        if not (is_number(held_out) and 0.0 < held_out < 1.0):
            raise ValueError(f"held_out must be a share between 0 and 1, got {held_out!r}")
        self.plan, self.whole, self.graph = plan, execution.graph, graph
        self.quiet, self.time_limit = execution.quiet, time_limit
        length = plan.asked["iterations"] or usual_iterations(graph, execution.machine)
        self.lengths = [max(1, length // part) for part in _ROUNDS]
        self.starts = [(execution.configs[0].seed + k) % 2**63 for k in range(count)]
        self.geometries = [config.geometry for config in execution.configs]
        self.began, self.measuring = time.monotonic(), math.inf
        self.splits = self._splits(held_out)

    def _splits(self, held_out: float) -> list[HeldOut | None]:
        """What is held out for each start; ``ValueError`` where nothing can be."""
        if self.plan.asked["by"] == "graph":
            return [None] * len(self.starts)
        if self.graph.n_edges < _FEWEST_EDGES:
            raise ValueError(
                f"by = 'links' holds out ties, and a graph of {self.graph.n_edges} can spare none: "
                f"it takes {_FEWEST_EDGES} or more; compare by 'graph'"
            )
        if self.graph.n_edges == math.comb(self.graph.n_nodes, 2):
            raise ValueError(
                "by = 'links' compares held-out ties with pairs that have none, and here every "
                "pair has one: "
                "compare by 'graph'"
            )
        return [hold_out_edges(self.graph, held_out, start) for start in self.starts]

    @property
    def _left(self) -> float:
        """Seconds."""
        return (
            math.inf
            if self.time_limit is None
            else self.time_limit - (time.monotonic() - self.began)
        )

    def run(self) -> Selection:
        """Compare them; beyond the first start of the first round, what there is no time for is
        left out.
        """
        hints = prior(self.whole)
        rounds: list[dict[Geometry, Row]] = []
        alive, dropped = list(self.geometries), list[Geometry]()
        steps = len(self.lengths) * len(self.starts)
        with bar("select", steps, show=not self.quiet) as update:
            for length in self.lengths:
                if rounds and self._left <= 0.0:
                    break
                if rounds:
                    stays = max(2, (len(alive) + 1) // 2)
                    alive, dropped = alive[:stays], alive[stays:] + dropped
                found = {geometry: Row(geometry, length) for geometry in alive}
                for start, split in zip(self.starts, self.splits, strict=True):
                    if self._left <= 0.0 and found[alive[0]].scores:
                        break
                    self._train(found, length, start, split, self._left / steps)
                    steps -= 1
                    done = len(self.lengths) * len(self.starts) - steps
                    update(done, f"{len(alive)} geometries, {length} iterations")
                rounds.append(found)
                alive.sort(key=lambda geometry: rounds[-1][geometry].worst_last)
        rows = _ranked(alive + dropped, rounds)
        near = [row.geometry.name for row in rows[1:] if row.is_near]
        return Selection(rows, near, hints, time.monotonic() - self.began, self.plan.asked["by"])

    def _train(
        self,
        rows: dict[Geometry, Row],
        length: int,
        start: int,
        split: HeldOut | None,
        seconds: float,
    ) -> None:
        """Train and measure each geometry within some seconds, and write down how it did."""
        graph = self.graph if split is None else split.graph
        # How long it takes to measure is not known the first time: half of the time is kept for it,
        # and never more.
        limit = (
            None
            if self.time_limit is None
            else max(seconds - min(self.measuring * len(rows), seconds / 2), 1e-3)
        )
        kept: Settings = {
            name: value
            for name, value in self.plan.asked.items()
            if name in Compared.__annotations__
        }
        asked = complete({**kept, "iterations": length, "seed": start, "time_limit": limit})
        execution = Execution(Plan(Choice(tuple(rows)), asked), graph)
        try:
            embeddings = execution.train_all()
        except Interrupted:
            raise KeyboardInterrupt from None  # half a comparison is none
        device, began = execution.machine.device, time.monotonic()
        for row, config, embedding in zip(
            rows.values(), execution.configs, embeddings, strict=True
        ):
            result = embedding.record.result
            performed = (
                result.iterations
                if embedding.record.unfinished and result is not None
                else config.iterations
            )
            row.iterations = min(row.iterations, performed)
            measures = dict(
                with_pair_measures(graph, embedding, quiet=True, device=device).record.measures
            )
            row.measures.append(measures)
            if split is None:
                row.scores.append(score(measures))
            else:
                negatives: int | Literal["all"] = (
                    _NEGATIVES if graph.n_nodes > SAMPLED_NODES else "all"
                )
                auc = link_prediction(
                    self.graph,
                    embedding.points,
                    embedding.space,
                    split.edges,
                    negatives=negatives,
                    popularity=embedding.popularity,
                ).auc
                row.scores.append(0.0 if math.isnan(auc) else auc)
                row.held_out.append(1.0 - row.scores[-1])
        self.measuring = (time.monotonic() - began) / len(rows)


def walked(graph: Graph, count: int = _NODES) -> Graph:
    """The ties among ``count`` nodes that a random walk meets; the graph itself where it has no
    more.
    """
    if graph.n_nodes <= count or (tied := int((graph.degree > 0).sum())) <= count:
        return graph
    ordered, rng = graph.reordered(graph.node_order), np.random.default_rng(0)
    offsets, heads = ordered.neighbor_lists
    starts, node, met = np.flatnonzero(ordered.degree), -1, np.zeros(graph.n_nodes, dtype=bool)
    while count:
        chance, where = rng.random(2)
        if node < 0 or chance < _ANEW:
            node = int(starts[int(where * tied)])
        else:
            node = int(heads[offsets[node] + int(where * (offsets[node + 1] - offsets[node]))])
        count -= not met[node]
        met[node] = True
    kept, row = met[ordered.edges].all(1), np.cumsum(met) - 1
    ways = None if ordered.directions is None else ordered.directions[kept]
    return type(graph)(
        NodeIds(range(row[-1] + 1)),
        row[ordered.edges[kept]],
        ordered.weights[kept],
        directions=ways,
    )


def _ranked(ranking: Sequence[Geometry], rounds: Sequence[dict[Geometry, Row]]) -> list[Row]:
    """The last row of each geometry, compared with the winner's of the same round."""
    rows = []
    for geometry in ranking:
        last = [found for found in rounds if geometry in found][-1]
        row, best = last[geometry], last[ranking[0]]
        row.kept = last is rounds[-1]
        row.differences = [own - other for own, other in zip(row.scores, best.scores, strict=True)]
        rows.append(row)
    return rows


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
    among = hops[rows].astype(np.float64)
    a, b, c, d = rng.integers(0, len(rows), (4, samples))
    sums = np.sort(
        [among[a, b] + among[c, d], among[a, c] + among[b, d], among[a, d] + among[b, c]], axis=0
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
