"""Which ties are missing: the nearest pairs that have none, each with the chance that it should have one.

The chance is learnt from ties that are held out. A tenth of them is taken away and the rest embedded as before; then it
is known how often a pair of the rank r among all pairs without a tie was one of those taken away. A rank, and not a
distance, is what two embeddings have in common.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..checks import check_count
from ..embedding import Embedding
from ..embedding.record import Json
from ..evaluation import hold_out_edges
from ..evaluation.inputs import edge_tensor
from ..graph import Graph, as_graph
from ..interrupted import Interrupted
from ..pairs import nonedge_counts, pair_distances
from ..progress import bar
from .config import TrainingConfig
from .method import default_iterations, recipe
from .train import embed_many

if TYPE_CHECKING:
    import pandas


# The share of the ties that is held out, and that is taken to be missing from the graph.
MISSING = 0.1
# Below this many ties none can be spared.
FEWEST_TIES = 20
# A tenth is held out again and again, until there are _ENOUGH ties, or _ROUNDS times.
_ENOUGH, _ROUNDS = 500, 10
# Ranks are counted in steps, each twice as wide as the one before; the first has this many pairs, of all rounds.
_FIRST = 50
# Under which name an embedding remembers what was learnt.
_REMEMBERED = "_calibration"
# Pairs that are looked at together: it bounds the memory.
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Calibration:
    """How often the pairs of a rank were ties that had been held out."""

    ranks: tuple[float, ...]
    """[b] the middle of each step of ranks, as shares of all pairs without a tie, ascending."""
    lift: tuple[float, ...]
    """[b] how many times as often as by chance a pair there was a tie, never ascending."""
    held_out: int
    """How many ties this is learnt from."""
    fingerprint: str
    """Of the graph."""

    def chance(self, shares: Floats, base: float) -> Floats:
        """The chance that pairs are missing ties, from the shares of all such pairs that are nearer; ``base`` is that
        of a pair of which nothing is known.
        """
        where = np.log(np.maximum(shares, 1e-300))
        lift = np.exp(np.interp(where, np.log(self.ranks), np.log(self.lift)))
        return np.minimum(base * lift, 1.0)

    def to_json(self) -> dict[str, Json]:
        """Plain data."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, data: Json) -> Calibration | None:
        """The reverse; None where it is not that."""
        if not isinstance(data, Mapping):
            return None
        ranks, lift, held, mark = (data.get(name) for name in ("ranks", "lift", "held_out", "fingerprint"))
        if not (isinstance(ranks, Sequence) and isinstance(lift, Sequence) and isinstance(held, int)):
            return None
        numbers = [value for value in (*ranks, *lift) if isinstance(value, int | float) and value > 0]
        if not ranks or len(numbers) != 2 * len(ranks) or len(ranks) != len(lift) or not isinstance(mark, str):
            return None
        return cls(tuple(numbers[: len(ranks)]), tuple(numbers[len(ranks) :]), held, mark)


def suggest(
    embedding: Embedding,
    k: int = 20,
    node: Hashable | None = None,
    *,
    graph: object = None,
    calibration: Calibration | None = None,
    quiet: bool = True,
) -> pandas.DataFrame:
    """The nearest pairs without a tie: columns node, neighbor, dissimilarity and score, the nearest first.

    Where the graph has labels, ``label`` and ``neighbor_label`` are columns, too. Where nodes have a popularity, the
    nearest pairs are those of the least D_γ less that of both ends.

    The score is a probability learnt by hiding ties: the share of the pairs at such a rank that proved to be ties when
    one tie in ten was hidden. Ties that are really missing count as wrong there, so scores are rather too low than
    too high. It is NaN for a graph of fewer than 20 ties.

    Parameters
    ----------
    embedding
        Where nodes are near.
    k
        How many pairs.
    node
        Pairs of this node alone.
    graph
        Its graph, where it is not at hand, as after loading: anything `as_graph` takes.
    calibration
        That of `calibrate`; made anew where it is not given, which takes up to ten trainings.
    quiet
        No progress bar.
    """
    import pandas as pd

    if graph is not None:
        embedding = replace(embedding, graph=as_graph(graph).with_nodes(embedding.ids))
    data = graph_of(embedding)
    k = check_count("k", k, 1)
    row = None if node is None else embedding.index(node)
    pairs, apart = nearest_untied(embedding, k, row)
    if calibration is None:
        calibration = calibrate(embedding, quiet=quiet)
    scores = np.full(len(pairs), math.nan)
    if calibration is not None and len(pairs):
        scores = calibration.chance(_shares(embedding, data, apart), base_rate(data))
    columns: dict[str, object] = {}
    for name, label, side in (("node", "label", 0), ("neighbor", "neighbor_label", 1)):
        ids = [embedding.ids[int(i)] for i in pairs[:, side]]
        columns[name] = _column(ids)
        if data.labels is not None:
            columns[label] = _column([data.labels.get(each) for each in ids])
    return pd.DataFrame({**columns, "distance": apart, "score": scores})


def graph_of(embedding: Embedding) -> Graph:
    """The graph of an embedding; ``ValueError`` where it is not at hand."""
    if embedding.graph is None:
        raise ValueError(
            "suggest needs the graph, to know which pairs have no tie, and a saved embedding does not hold it: "
            "give it with graph="
        )
    return embedding.graph


def base_rate(graph: Graph) -> float:
    """The chance that a pair without a tie is a missing tie, if one tie in ten is missing."""
    missing = MISSING / (1.0 - MISSING) * graph.n_edges
    return min(1.0, missing / max(1, _untied(graph)))


def _untied(graph: Graph) -> int:
    return graph.n_nodes * (graph.n_nodes - 1) // 2 - graph.n_edges


def _column(values: Sequence[object]) -> NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def nearest_untied(embedding: Embedding, k: int, node: int | None = None) -> tuple[Ints, Floats]:
    """The k nearest pairs [k, 2] without a tie, of all nodes or of one, and how far apart they are, less popularity."""
    graph, n = graph_of(embedding), len(embedding)
    points = torch.from_numpy(embedding.points.copy())
    popularity = torch.zeros(n, dtype=torch.float64)
    if embedding.popularity is not None:
        popularity = torch.from_numpy(embedding.popularity.copy())
    offsets, neighbors = graph.neighbor_lists
    found, kept = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
    rows, step = (range(n), max(1, _AT_ONCE // max(1, n))) if node is None else (range(node, node + 1), 1)
    for start in range(rows.start, rows.stop, step):
        some = np.arange(start, min(start + step, rows.stop))
        far = embedding.manifold.cdist(points[some[0] : some[-1] + 1], points, dissimilarity="geodesic")
        apart: Floats = (far - popularity[some, None] - popularity).numpy()
        for at, i in enumerate(some):
            apart[at, neighbors[offsets[i] : offsets[i + 1]]] = math.inf
            apart[at, : i + 1 if node is None else 0] = math.inf
            apart[at, i] = math.inf
        nearest = np.argsort(apart, axis=None, kind="stable")[:k] if apart.size <= 4 * k else _smallest(apart, k)
        nearest = nearest[np.isfinite(apart.ravel()[nearest])]
        found.append(np.column_stack((some[nearest // n], nearest % n)))
        kept.append(apart.ravel()[nearest])
        pairs, distances = np.concatenate(found), np.concatenate(kept)
        order = np.argsort(distances, kind="stable")[:k]
        found, kept = [pairs[order]], [distances[order]]
    return found[0], kept[0]


def _smallest(values: Floats, k: int) -> Ints:
    """Where the k smallest are, the first of equal ones."""
    cut = np.partition(values, k - 1, axis=None)[k - 1]
    where = np.flatnonzero(values.ravel() <= cut)
    return where[np.argsort(values.ravel()[where], kind="stable")[:k]]


def _shares(embedding: Embedding, graph: Graph, thresholds: Floats) -> Floats:
    """The share of the pairs without a tie that are at most so far apart: in (0, 1]."""
    points, bounds = torch.from_numpy(embedding.points.copy()), torch.from_numpy(thresholds.copy())
    edges, popularity = edge_tensor(graph.edges), embedding.popularity
    counts = nonedge_counts(points, embedding.manifold, edges, bounds, popularity=popularity)
    return np.asarray(np.maximum(counts.numpy(), 1) / max(1, _untied(graph)))


def calibrate(embedding: Embedding, *, quiet: bool = True) -> Calibration | None:
    """Learn from held-out ties what a rank means, unless ``run.json`` says it; None for a graph that can spare none."""
    graph = graph_of(embedding)
    known: Calibration | None = vars(embedding).get(_REMEMBERED) or Calibration.from_json(embedding.record.suggest)
    if known is not None and known.fingerprint == graph.fingerprint:
        return known
    if graph.n_edges < FEWEST_TIES or _untied(graph) == 0:
        return None
    rounds = min(_ROUNDS, math.ceil(_ENOUGH / (MISSING * graph.n_edges)))
    config, shares = _config(embedding, graph), []
    with bar("calibrating", rounds, show=not quiet) as update:
        for number in range(rounds):
            update(number, f"training without a tenth of the ties, {number + 1} of {rounds}")
            shares.append(_held_out_shares(graph, config, number))
    pairs = _untied(graph) + round(MISSING * graph.n_edges)
    found = _fitted(np.concatenate(shares), math.ceil(_FIRST / rounds), pairs)
    found = replace(found, fingerprint=graph.fingerprint)
    vars(embedding)[_REMEMBERED] = found
    return found


def _config(embedding: Embedding, graph: Graph) -> TrainingConfig:
    """The settings of its training; the usual ones where they are not known."""
    if embedding.record.config is not None:
        return TrainingConfig.from_json(embedding.record.config)
    geometry = embedding.geometry
    if geometry is None:
        raise TypeError(f"only pseudo-hyperboloids and flat space can be trained on, not {embedding.manifold}")
    where = geometry.p, geometry.q, geometry.beta, geometry.flat
    usual = TrainingConfig(*where, iterations=default_iterations(graph), stop="converged")
    return recipe(usual, graph, popularity=embedding.popularity is not None)


def _held_out_shares(graph: Graph, config: TrainingConfig, seed: int) -> Floats:
    """Of each held-out tie, the share of the pairs without a tie that are at most as far apart."""
    split = hold_out_edges(graph, MISSING, seed)
    if config.start == "given":
        config = replace(config, start="spectral")
    try:
        (trained,) = embed_many(split.graph, [config], measures=False)
    except Interrupted:
        raise KeyboardInterrupt from None  # half a calibration is none
    points, pairs = torch.from_numpy(trained.points.copy()), edge_tensor(split.edges)
    distances = pair_distances(points, trained.manifold, pairs, popularity=trained.popularity)
    return _shares(trained, split.graph, distances.numpy())


def _fitted(shares: Floats, first: int, pairs: int) -> Calibration:
    """The lift of ties whose ranks are these shares of ``pairs`` pairs, in steps of which the first has ``first``."""
    ends = [0.0]
    while ends[-1] < 1.0:
        ends.append(min(1.0, ends[-1] + first * 2.0 ** (len(ends) - 1) / pairs))
    if len(ends) > 2 and ends[-1] - ends[-2] < 0.5 * (ends[-2] - ends[-3]):
        del ends[-2]
    widths = np.diff(ends)
    # One tie more than was found, spread as chance would have it: nothing is impossible.
    ties = np.histogram(shares, ends)[0] + widths
    lift = _descending(ties / ((len(shares) + 1) * widths), widths)
    middles = np.sqrt(np.maximum(ends[:-1], 0.5 / pairs) * np.array(ends[1:]))
    return Calibration(tuple(middles.tolist()), tuple(lift.tolist()), len(shares), "")


def _descending(values: Floats, widths: Floats) -> Floats:
    """The nearest values that never ascend, by weighted squares: neighbours that do are pooled."""
    pools: list[tuple[float, float, int]] = []
    for value, width in zip(values.tolist(), widths.tolist(), strict=True):
        pools.append((value, width, 1))
        while len(pools) > 1 and pools[-2][0] < pools[-1][0]:
            (a, m, i), (b, n, j) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n, i + j)]
    return np.concatenate([np.full(count, value) for value, _, count in pools])
