"""Link prediction: how well distances separate held-out ties from pairs without one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal, NamedTuple, Unpack

import numpy as np

from ..arrays import Ints
from ..checks import as_integer
from ..graph import Graph
from ..pairs import PassOptions, Points, lengths_of, rows_of
from ..spaces import Space
from .inputs import are_edges, check_points


class HeldOut(NamedTuple):
    """What `hold_out_edges` returns."""

    graph: Graph
    """The graph to train on: the same nodes in the same order, without the held-out ties."""
    edges: Ints
    """[h, 2] the ties held out."""


class LinkPrediction(NamedTuple):
    """What `link_prediction` returns."""

    auc: float
    """The chance that a held-out tie is closer than an untied pair; 1/2 is no better than
    guessing.
    """
    average_precision: float
    """The mean over the held-out ties of the share of held-out ties among all that are at most as
    far.
    """
    negatives: int
    """How many untied pairs the ties were ranked against."""


def hold_out_edges(graph: Graph, share: float, seed: int = 0) -> HeldOut:
    """Take a share of the ties, drawn uniformly with a seed, out of a graph; all nodes stay where
    they are.
    """
    chosen = _drawn(graph.n_edges, share, seed)
    kept = np.delete(np.arange(graph.n_edges), chosen)
    ways = None if graph.directions is None else graph.directions[kept]
    training = replace(graph, edges=graph.edges[kept], weights=graph.weights[kept], directions=ways)
    counts = {"held_out_edges": len(chosen), "isolated_nodes": int(training.isolated.sum())}
    policies = {policy: count for policy, count in {**graph.policies, **counts}.items() if count}
    return HeldOut(replace(training, policies=policies), graph.edges[chosen])


def hold_out_ties(graph: Graph, share: float, seed: int = 0) -> HeldOut:
    """The same for ties that have directions: of a directed graph [h, 2] ties from one node to the
    other are taken.
    """
    if graph.directions is None:
        return hold_out_edges(graph, share, seed)
    ties, _ = graph.arcs
    chosen = _drawn(len(ties), share, seed)
    there, back = (np.flatnonzero(way > 0.0) for way in graph.directions.T)
    directions = graph.directions.copy()
    directions.flat[np.concatenate((2 * there, 2 * back + 1))[chosen]] = 0.0
    kept = directions.any(1)
    training = replace(
        graph,
        edges=graph.edges[kept],
        weights=directions[kept].sum(1),
        directions=directions[kept],
        policies={},
    )
    return HeldOut(training, ties[chosen])


def _drawn(ties: int, share: float, seed: int) -> Ints:
    """[h] which ties are held out, ascending."""
    held = round(share * ties)
    if not 0 < held < ties:
        raise ValueError(f"share must leave ties on both sides: {share} of {ties} ties is {held}")
    return np.sort(np.random.default_rng(seed).choice(ties, held, replace=False))


def link_prediction(
    graph: Graph,
    points: Points,
    manifold: Space,
    held_out: Ints,
    *,
    negatives: int | Literal["all"] = "all",
    seed: int = 0,
    **options: Unpack[PassOptions],
) -> LinkPrediction:
    """Rank held-out ties against untied pairs by distance, the closest first.

    ``graph`` is whole, held-out ties included; the points [n, d] were trained without them.
    ``held_out`` are [h, 2] ties of it, as from `hold_out_edges`. ``negatives`` are ``"all"`` untied
    pairs, in one pass over the pairs, or a number of them, drawn uniformly with replacement, and
    with a ``seed``.

    Equal distances count one half in the AUC, and are retrieved together in the average precision.
    Both are NaN for a complete graph. ``options`` are those of `ultrahyperbolic.pairs.PassOptions`.
    """
    check_points(graph, points)
    held_out = np.asarray(held_out)
    if (
        held_out.ndim != 2
        or held_out.shape[1] != 2
        or not len(held_out)
        or not are_edges(graph, *held_out.T).all()
    ):
        raise ValueError(
            f"held_out must be ties of the graph, [h, 2] with h >= 1, got shape {held_out.shape}"
        )
    nonedges = graph.n_nodes * (graph.n_nodes - 1) // 2 - graph.n_edges
    if nonedges == 0:
        return LinkPrediction(math.nan, math.nan, 0)
    edges = np.sort(lengths_of(points, manifold, held_out, **options))
    if negatives == "all":
        # The largest number below a distance, in the precision of the points, turns "at most" into
        # "less than".
        own = edges.astype(str(points.dtype).removeprefix("torch."))
        thresholds = np.concatenate((np.nextafter(own, np.full_like(own, -math.inf)), own))
        found = rows_of(points, manifold, graph.edges, 0, thresholds, **options)
        closer, closer_or_tied = np.split(found.nonedges, 2)
    else:
        nonedges = as_integer("negatives", negatives)
        others = np.sort(
            lengths_of(points, manifold, _draw_nonedges(graph, nonedges, seed), **options)
        )
        closer, closer_or_tied = (
            np.searchsorted(others, edges),
            np.searchsorted(others, edges, side="right"),
        )
    auc = 1.0 - float((closer + closer_or_tied).mean()) / (2.0 * nonedges)
    retrieved = np.searchsorted(edges, edges, side="right")
    precision = retrieved / (retrieved + closer_or_tied)
    return LinkPrediction(auc, float(precision.mean()), nonedges)


def _draw_nonedges(graph: Graph, count: int, seed: int) -> Ints:
    """[count, 2] pairs i < j without an edge, uniform, with replacement; the graph must have
    some.
    """
    if count < 1:
        raise ValueError(f"negatives must be 'all' or at least 1, got {count}")
    n, m = graph.n_nodes, graph.n_edges
    # Pairs i < j are numbered row by row; row i starts at number starts[i].
    starts = np.concatenate(([0], np.cumsum(np.arange(n - 1, 0, -1))))
    i, j = graph.edges.T
    taken = starts[i] + (j - i - 1)
    drawn = np.random.default_rng(seed).integers(n * (n - 1) // 2 - m, size=count)
    # The r-th number that is not taken lies as far beyond r as there are taken ones before it.
    drawn += np.searchsorted(taken - np.arange(m), drawn, side="right")
    rows = np.searchsorted(starts, drawn, side="right") - 1
    return np.stack((rows, drawn - starts[rows] + rows + 1), axis=1)
