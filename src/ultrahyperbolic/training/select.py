"""Which geometry a graph wants: flat space and every signature of a dimension trained on the same edges and compared.

Part of the edges is held out, a different part for each seed. Trainings are short at first; the weaker half of the
geometries is dropped, and the others are trained again for twice as long (successive halving). What decides is how
often a held-out edge is farther than a pair without one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import torch

from ..checks import check_count, is_number
from ..embedding.record import Json
from ..engines.base import Backend, Place, Precision
from ..engines.registry import settle
from ..evaluation import hold_out_edges, link_prediction, triadic_closure, violated_orders
from ..geometry import Geometry, Manifold
from ..graph import Graph, as_graph
from ..interrupted import Interrupted
from ..objective import RankedPairs
from ..progress import bar
from .config import TrainingConfig
from .method import recipe
from .start import SpectralStart
from .train import embed_many

if TYPE_CHECKING:
    import pandas

# Below this many edges none can be spared, and violated orders decide.
_FEWEST_EDGES = 20


@dataclass
class Row:
    """A geometry and how it did in the longest training that it came to: one value a seed."""

    geometry: Geometry
    iterations: int = 0
    violated_orders: list[float] = field(default_factory=list)
    """The share over all classes, of the edges it was trained on."""
    held_out: list[float] = field(default_factory=list)
    """The share of (held-out edge, non-edge) in which the edge is not the closer; empty where none was held out."""
    kept: bool = True
    """Whether it was among the last."""

    @property
    def scores(self) -> list[float]:
        """What decides: the held-out share, or where nothing was held out that of violated orders."""
        return self.held_out or self.violated_orders

    def to_json(self) -> dict[str, Json]:
        """Plain data, with means and standard deviations (n - 1)."""
        found: dict[str, Json] = {
            "geometry": self.geometry.name,
            "p": self.geometry.p,
            "q": self.geometry.q,
            "flat": self.geometry.flat,
            "seeds": len(self.violated_orders),
            "iterations": self.iterations,
            "kept": self.kept,
        }
        for name, values in (("violated_orders", self.violated_orders), ("held_out", self.held_out)):
            found[name] = float(np.mean(values)) if values else None
            found[f"{name}_spread"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return found


@dataclass(frozen=True)
class Selection:
    """What :func:`select` returns."""

    rows: list[Row]
    """The best first; those dropped early after those that were not."""
    within_noise: list[str]
    """Geometries within two standard errors of the winner over the seeds; with one seed, all that were kept.

    A description of these seeds, not a test: few seeds give a rough standard error.
    """
    prior: dict[str, float]
    """What the graph alone hints at; it decides nothing."""
    seconds: float

    @property
    def best(self) -> Geometry:
        """The winner."""
        return self.rows[0].geometry

    def to_json(self) -> dict[str, Json]:
        """Plain data."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "winner": self.best.name,
            "within_noise": bool(self.within_noise),
            "within_noise_of": self.within_noise,
            "prior": self.prior,
            "seconds": self.seconds,
        }

    def to_frame(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([row.to_json() for row in self.rows])

    def __repr__(self) -> str:
        near = f"; within two standard errors: {', '.join(self.within_noise)}" if self.within_noise else ""
        return f"Selection({self.best.name} of {len(self.rows)} geometries{near})"


class PlaceOptions(TypedDict, total=False):
    """Where to compute, as :func:`embed` takes it."""

    device: str | torch.device | None
    backend: Backend
    threads: int | None
    precision: Precision | None


def select(
    graph: object,
    *,
    dim: int | Sequence[int] = 4,
    seeds: int = 3,
    iterations: int = 2000,
    held_out: float = 0.1,
    beta: float = -1.0,
    seed: int = 0,
    quiet: bool = False,
    **options: Unpack[PlaceOptions],
) -> Selection:
    """Compare flat space and every signature from hyperbolic to spherical on a graph.

    Parameters
    ----------
    graph
        Anything :func:`as_graph` takes.
    dim : int or several
        Dimension of the manifolds.
    seeds : int
        How many starts, each with other edges held out.
    iterations : int
        Of the longest trainings; the first take a quarter.
    held_out : float
        Share of the edges held out; none below 20 edges or where every pair is tied: violated orders decide there.
    beta, seed, quiet
        As for :func:`embed`.
    options
        ``device``, ``backend``, ``threads`` and ``precision``, as for :func:`embed`.

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
    seeds, iterations = check_count("seeds", seeds, 1), check_count("iterations", iterations, 1)
    if not (is_number(held_out) and 0.0 < held_out < 1.0):
        raise ValueError(f"held_out must be a share between 0 and 1, got {held_out!r}")
    data = as_graph(graph)
    data.require_trainable()
    lengths = [max(1, iterations // 4), max(1, iterations // 2), iterations]
    return _Comparison(data, _geometries(dim, beta), lengths, seeds, held_out, seed, Place(**options)).run(quiet)


select_signature = select


def choose_geometry(
    graph: Graph,
    dim: int,
    iterations: int,
    *,
    beta: float,
    seed: int,
    place: Place,
    time_limit: float | None = None,
    flat: bool = True,
    quiet: bool = True,
) -> Selection:
    """The same for no more than two trainings of so many iterations: two short rounds and one start.

    Of a limit on the time, half is for this. Without ``flat`` the curved geometries alone are compared.
    """
    length = check_count("iterations", iterations, 1)
    lengths = [max(1, length // 8), max(1, length // 4)]
    limit = None if time_limit is None else time_limit / (2 * len(lengths))
    geometries = [geometry for geometry in _geometries(dim, beta) if flat or not geometry.is_flat]
    return _Comparison(graph, geometries, lengths, 1, 0.1, seed, place, limit).run(quiet)


def _geometries(dim: int | Sequence[int], beta: float) -> list[Geometry]:
    found: list[Geometry] = []
    for given in dim if isinstance(dim, Iterable) else (dim,):
        d = check_count("dim", given, 1)
        found += [Geometry(flat=d), *(Geometry(p, d - p, None, beta) for p in range(d, -1, -1))]
    if not found:
        raise ValueError(f"dim must be one dimension or several, got {dim!r}")
    return found


@dataclass(frozen=True)
class _Comparison:
    """Trainings of several geometries, short ones first, of which the weaker half is dropped again and again."""

    graph: Graph
    geometries: list[Geometry]
    lengths: list[int]
    seeds: int
    share: float
    """Of the edges that is held out."""
    seed: int
    place: Place
    time_limit: float | None = None
    """Of each training."""

    def run(self, quiet: bool) -> Selection:
        started = time.monotonic()
        graph, lengths, seeds = self.graph, self.lengths, self.seeds
        # What is wrong with any of the trainings is said before the first.
        configs = [_config(geometry, lengths[-1], self.seed) for geometry in self.geometries]
        for config in configs:
            config.spec()
        settle(self.place, graph.n_nodes)
        seed = configs[0].seed
        # Where every pair is tied, a held-out edge has nothing to be compared with.
        spare = graph.n_edges >= _FEWEST_EDGES and RankedPairs.of(graph).n_nonedges > 0
        first = [(seed + k) % 2**63 for k in range(seeds)]
        splits = [hold_out_edges(graph, self.share, start) if spare else None for start in first]
        rows, alive = [Row(geometry) for geometry in self.geometries], list(range(len(self.geometries)))
        dropped: list[int] = []
        with bar("select", len(lengths) * seeds, show=not quiet) as update:
            for number, length in enumerate(lengths):
                for index in alive:
                    rows[index] = Row(rows[index].geometry, length)
                for k, split in enumerate(splits):
                    training = graph if split is None else split.graph
                    found = self._train(training, [rows[i].geometry for i in alive], length, first[k])
                    for index, (config, points, violated) in zip(alive, found, strict=True):
                        rows[index].violated_orders.append(violated)
                        if split is not None:
                            auc = link_prediction(graph, points, config.manifold(), split.edges).auc
                            rows[index].held_out.append(1.0 if math.isnan(auc) else 1.0 - auc)
                    update(number * seeds + k + 1, f"{len(alive)} geometries, {length} iterations")
                alive.sort(key=lambda index: float(np.mean(rows[index].scores)))
                if number + 1 < len(lengths):
                    stays = max(2, (len(alive) + 1) // 2)
                    dropped = alive[stays:] + dropped
                    alive = alive[:stays]
        for index in dropped:
            rows[index].kept = False
        ranked = [rows[index] for index in alive + dropped]
        return Selection(ranked, _near(ranked), prior(graph), time.monotonic() - started)

    def _train(
        self, graph: Graph, geometries: list[Geometry], length: int, seed: int
    ) -> list[tuple[TrainingConfig, torch.Tensor, float]]:
        """The training of each geometry, all as one batch, and the share of orders it violates."""
        batch = [recipe(_config(geometry, length, seed), graph) for geometry in geometries]
        try:
            embeddings = embed_many(graph, batch, self.place, measures=False, time_limit=self.time_limit)
        except Interrupted:
            raise KeyboardInterrupt from None  # half a comparison is none
        points = [torch.from_numpy(e.points.copy()) for e in embeddings]
        return [(c, x, _share(graph, x, c.manifold())) for c, x in zip(batch, points, strict=True)]


def _config(geometry: Geometry, length: int, seed: int) -> TrainingConfig:
    return TrainingConfig(geometry.p, geometry.q, geometry.beta, geometry.flat, seed=seed, iterations=length)


def _share(graph: Graph, points: torch.Tensor, manifold: Manifold) -> float:
    """Violated orders over all classes; 0 where there is nothing to order."""
    found = violated_orders(graph, points, manifold).all_classes
    return 0.0 if math.isnan(found) else found


def _near(rows: Sequence[Row]) -> list[str]:
    """Those that went as far as the winner and cannot be told from it."""
    best, near = np.array(rows[0].scores), []
    for row in rows[1:]:
        if row.kept:
            difference = np.array(row.scores) - best
            error = float(np.std(difference, ddof=1)) / math.sqrt(len(best)) if len(best) > 1 else math.inf
            if float(np.mean(difference)) <= 2.0 * error:
                near.append(row.geometry.name)
    return near


def prior(graph: Graph, samples: int = 2000, seed: int = 0) -> dict[str, float]:
    """What the graph alone hints at.

    ``gromov_delta`` is the largest of the four-point δ of sampled quadruples of nodes, in hops; ``relative_delta`` is
    2δ over the diameter, 0 for a tree and at most 1; ``time_inertia`` the share of the spectrum of the spectral start,
    beyond its first eigenvalue, that asks for further time dimensions. ``transitivity`` and ``open_wedges`` are those
    of :func:`triadic_closure`, and 0 in a graph without a wedge.
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
