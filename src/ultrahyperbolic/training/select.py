"""Which geometry a graph wants: flat space and every signature of a dimension trained and compared.

``embed(dim=)`` and `select` make the choice by the same procedure. All geometries are trained for a twelfth of
the iterations, the better half again for a sixth (successive halving). What decides is how well the goal is met on
the graph itself, or on request how often a held-out edge is closer than a pair without one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np
import torch

from ..checks import check_choice, check_count, is_number
from ..embedding import Embedding
from ..engines.base import Backend, Place, Precision
from ..engines.registry import others_met, settle
from ..evaluation import HeldOut, hold_out_edges, link_prediction, over_pairs, triadic_closure
from ..geometry import Geometry
from ..graph import Graph
from ..interrupted import Interrupted
from ..objective import RankedPairs
from ..progress import bar
from .config import TrainingConfig
from .goals import score
from .inputs import Weight, find_graph
from .method import GOALS, GivenGoal, Goal, as_goal, default_iterations, recipe
from .selection import BY, By, Row, Selection
from .start import SpectralStart
from .train import embed_many

# Below this many edges none can be spared.
_FEWEST_EDGES = 20
# Of the iterations of a training, each round takes one part in so many.
_ROUNDS = (12, 6)
# A finish that converges takes most of the time of a short training. So much of it tells geometries apart.
_FINISH = 0.05
_SEEDS: dict[By, int] = {"graph": 1, "links": 5}


@dataclass(frozen=True)
class Judge:
    """By what geometries are compared."""

    goal: Goal = "balanced"
    by: By = "graph"
    """The goal's score on the graph itself, or edges that are held out."""
    seeds: int | None = None
    """How many starts; where it is not said one for ``"graph"``, and five for ``"links"``, which varies more."""
    held_out: float = 0.1
    """Share of the edges held out for ``"links"``, others for each seed."""
    popularity: bool | None = None
    """Whether nodes have a popularity; None for what the goal has."""

    def __post_init__(self) -> None:
        check_choice("goal", self.goal, GOALS)
        check_choice("by", self.by, BY)
        if self.seeds is not None:
            object.__setattr__(self, "seeds", check_count("seeds", self.seeds, 1))
        if not (is_number(self.held_out) and 0.0 < self.held_out < 1.0):
            raise ValueError(f"held_out must be a share between 0 and 1, got {self.held_out!r}")

    @property
    def count(self) -> int:
        """How many starts."""
        return _SEEDS[self.by] if self.seeds is None else self.seeds

    def splits(self, graph: Graph, starts: Sequence[int]) -> list[HeldOut | None]:
        """What is held out for each start; ``ValueError`` where nothing can be."""
        if self.by == "graph":
            return [None] * len(starts)
        if graph.n_edges < _FEWEST_EDGES:
            raise ValueError(
                f"by = 'links' holds out edges, and a graph of {graph.n_edges} can spare none: "
                f"it takes {_FEWEST_EDGES} or more; compare by 'graph'"
            )
        if RankedPairs.of(graph).n_nonedges == 0:
            raise ValueError(
                "by = 'links' compares held-out edges with pairs that have none, and here every pair has one: "
                "compare by 'graph'"
            )
        return [hold_out_edges(graph, self.held_out, start) for start in starts]


_JUDGE = Judge()


class EmbedOptions(TypedDict, total=False):
    """The options of `embed` that a comparison takes, too."""

    beta: float
    quiet: bool
    weight: Weight | None
    device: str | torch.device | None
    backend: Backend
    threads: int | None
    precision: Precision | None


def select(
    graph: object,
    *,
    dim: int | Sequence[int] = 4,
    goal: GivenGoal = "balanced",
    by: By = "graph",
    seeds: int | None = None,
    iterations: int | None = None,
    held_out: float = 0.1,
    popularity: bool | None = None,
    seed: int = 0,
    **options: Unpack[EmbedOptions],
) -> Selection:
    """Compare flat space and every signature from hyperbolic to spherical on a graph.

    With one dimension, one seed and ``by="graph"`` this names the geometry that ``embed(graph, dim=)`` takes.

    Parameters
    ----------
    graph
        Anything `embed` takes.
    dim : int or several
        Dimension of the manifolds. On the graph itself more dimensions nearly always do better: to compare dimensions,
        hold out edges.
    goal : "balanced", "hierarchy", "neighbours" or "ties"
        What the embedding is for: see `ultrahyperbolic.training.goals.score`.
    by : "graph" or "links"
        Judge by how well the goal is met on the graph itself, or by how often an edge that was held out is closer than
        a pair without one.
    seeds : int, optional
        How many starts, of seeds ``seed``, ``seed + 1``, …: by default 1, or 5 for ``"links"``. With 2 or more,
        differences to the winner have a standard error.
    iterations : int, optional
        Of the training to choose for, by default those of `embed`. The first comparisons take a twelfth of them,
        the last a sixth.
    held_out : float
        Share of the edges held out for ``"links"``, others for each seed.
    popularity : bool, optional
        Whether nodes have a popularity, as for `embed`.
    seed : int
        The first seed.
    options
        ``weight``, ``beta``, ``quiet``, ``device``, ``backend``, ``threads`` and ``precision``, as for `embed`.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from ultrahyperbolic import datasets
    >>> found = select(datasets.karate(), dim=2, seeds=2, iterations=40, quiet=True)
    >>> len(found.rows), sorted(found.prior)
    (4, ['diameter', 'gromov_delta', 'open_wedges', 'relative_delta', 'time_inertia', 'transitivity'])
    """
    judge = Judge(as_goal(goal), by, seeds, held_out, popularity)
    beta, quiet = options.pop("beta", -1.0), options.pop("quiet", False)
    data = find_graph(graph, options.pop("weight", None), quiet=quiet)
    place = Place(**options)  # type: ignore[misc]  # those three are taken out
    data.require_trainable()
    length = default_iterations(data) if iterations is None else iterations
    return choose_geometry(data, dim, length, judge=judge, beta=beta, seed=seed, place=place, quiet=quiet)


select_signature = select


def choose_geometry(
    graph: Graph,
    dim: int | Sequence[int],
    iterations: int,
    *,
    beta: float,
    seed: int,
    place: Place,
    judge: Judge = _JUDGE,
    time_limit: float | None = None,
    flat: bool = True,
    quiet: bool = True,
) -> Selection:
    """The geometry for a training of so many iterations, which ``embed(dim=)`` and `select` both ask for here.

    With one seed and dimension 4 it takes the iterations of one training. Of a limit on the time, half is
    for this. Without ``flat`` the curved geometries alone are compared.
    """
    length = check_count("iterations", iterations, 1)
    lengths = [max(1, length // part) for part in _ROUNDS]
    geometries = [geometry for geometry in _geometries(dim, beta) if flat or not geometry.is_flat]
    return _Comparison(graph, geometries, lengths, judge, seed, place, time_limit).run(quiet)


def _geometries(dim: int | Sequence[int], beta: float) -> list[Geometry]:
    found: list[Geometry] = []
    for given in dim if isinstance(dim, Iterable) else (dim,):
        d = check_count("dim", given, 1)
        found += [Geometry(flat=d), *(Geometry(p, d - p, None, beta) for p in range(d, -1, -1))]
    if not found:
        raise ValueError(f"dim must be one dimension or several, got {dim!r}")
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class _Comparison:
    """Trainings of several geometries, short ones first, of which the weaker half is dropped again and again."""

    graph: Graph
    geometries: list[Geometry]
    lengths: list[int]
    judge: Judge
    seed: int
    place: Place
    time_limit: float | None = None
    """Of which half is for the comparison."""

    def run(self, quiet: bool) -> Selection:
        started = time.monotonic()
        # What is wrong with any of the trainings is said before the first.
        configs = [_config(geometry, self.lengths[-1], self.seed) for geometry in self.geometries]
        for config in configs:
            config.spec()
        settle(self.place, self.graph.n_nodes)
        starts = [(configs[0].seed + k) % 2**63 for k in range(self.judge.count)]
        splits = self.judge.splits(self.graph, starts)
        rounds: list[dict[Geometry, Row]] = []
        alive, dropped = list(self.geometries), list[Geometry]()
        with bar("select", len(self.lengths) * len(starts), show=not quiet) as update:
            for number, length in enumerate(self.lengths):
                if rounds:
                    stays = max(2, (len(alive) + 1) // 2)
                    alive, dropped = alive[:stays], alive[stays:] + dropped
                found = {geometry: Row(geometry, length) for geometry in alive}
                for k, (start, split) in enumerate(zip(starts, splits, strict=True)):
                    self._train(found, length, start, split)
                    update(number * len(starts) + k + 1, f"{len(alive)} geometries, {length} iterations")
                rounds.append(found)
                alive.sort(key=lambda geometry: _worst_last(rounds[-1][geometry]))
        rows = _ranked(alive + dropped, rounds)
        return Selection(
            rows, _near(rows), prior(self.graph), time.monotonic() - started, self.judge.goal, self.judge.by
        )

    def _train(self, rows: dict[Geometry, Row], length: int, seed: int, split: HeldOut | None) -> None:
        """Train each geometry, all as one batch, and write down how it did."""
        graph = self.graph if split is None else split.graph
        # All are compared by the sample that the quickest of them has.
        meets = others_met(settle(self.place, graph.n_nodes), graph.n_nodes)
        goal, popularity = self.judge.goal, self.judge.popularity
        made = [
            recipe(_config(g, length, seed), graph, goal, meets=meets, everywhere=True, popularity=popularity)
            for g in rows
        ]
        batch = [replace(config, finish=_FINISH) for config in made]
        limit = self.time_limit
        if limit is not None:
            limit /= 2 * len(self.lengths) * self.judge.count
        try:
            embeddings = embed_many(graph, batch, self.place, measures=False, time_limit=limit)
        except Interrupted:
            raise KeyboardInterrupt from None  # half a comparison is none
        for row, embedding in zip(rows.values(), embeddings, strict=True):
            points, result = torch.from_numpy(embedding.points.copy()), embedding.record.result
            if embedding.record.unfinished and result is not None:
                row.iterations = min(row.iterations, result.iterations)
            measures = _measures(graph, points, embedding)
            row.measures.append(measures)
            if split is None:
                row.scores.append(score(self.judge.goal, measures))
            else:
                auc = link_prediction(
                    self.graph, points, embedding.manifold, split.edges, popularity=embedding.popularity
                ).auc
                row.scores.append(0.0 if math.isnan(auc) else auc)
                row.held_out.append(1.0 - row.scores[-1])


def _config(geometry: Geometry, length: int, seed: int) -> TrainingConfig:
    where = geometry.p, geometry.q, geometry.beta, geometry.flat
    return TrainingConfig(*where, seed=seed, iterations=length, stop="converged")


def _measures(graph: Graph, points: torch.Tensor, embedding: Embedding) -> dict[str, float]:
    """The measures that decide, and those shown beside."""
    found = over_pairs(graph, points, embedding.manifold, popularity=embedding.popularity).measures
    if np.ptp(graph.strength) > 0.0:
        found.setdefault("spearman_all", 0.0)  # strengths differ, and no node is more central than another
    return found


def _worst_last(row: Row) -> tuple[float, float]:
    """Of equal scores the one that violates fewer orders is better."""
    return -row.score, row.mean("violated_orders_all") or 0.0


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


def _near(rows: Sequence[Row]) -> list[str]:
    """Those that went as far as the winner and cannot be told from it."""
    return [
        row.geometry.name
        for row in rows[1:]
        if row.kept and row.difference_error is not None and row.difference >= -2.0 * row.difference_error
    ]


def prior(graph: Graph, samples: int = 2000, seed: int = 0) -> dict[str, float]:
    """What the graph alone hints at.

    ``gromov_delta`` is the largest of the four-point δ of sampled quadruples of nodes, in hops; ``relative_delta`` is
    2δ over the diameter, 0 for a tree and at most 1; ``time_inertia`` the share of the spectrum of the spectral start,
    beyond its first eigenvalue, that asks for further time dimensions. ``transitivity`` and ``open_wedges`` are those
    of `triadic_closure`, and 0 in a graph without a wedge.
    """
    spectral = SpectralStart(graph)
    hops, rows = spectral.hops
    rng = np.random.default_rng(seed)
    among = hops[rows].astype(np.float64)
    a, b, c, d = rng.integers(0, len(rows), (4, samples))
    sums = np.sort([among[a, b] + among[c, d], among[a, c] + among[b, d], among[a, d] + among[b, c]], axis=0)
    delta = float((sums[2] - sums[1]).max(initial=0.0)) / 2.0
    diameter = float(hops.max(initial=0))
    values = spectral.spectrum
    beyond = np.abs(values).sum() - np.abs(values).max(initial=0.0)
    negative = -values[values < 0.0].sum() - np.abs(values).max(initial=0.0)
    return {
        "diameter": diameter,
        "gromov_delta": delta,
        "relative_delta": 2.0 * delta / diameter if diameter else 0.0,
        "time_inertia": float(max(negative, 0.0) / beyond) if beyond > 0.0 else 0.0,
        **{name: 0.0 if math.isnan(share) else share for name, share in triadic_closure(graph)._asdict().items()},
    }
