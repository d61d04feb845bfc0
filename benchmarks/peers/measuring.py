"""One measuring code for all: what the package's own ``evaluate`` has, of any points with any dissimilarity."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from graphs import Ints, spearman
from peer import Floats
from scipy.sparse import csr_array
from spaces import placed, table
from torch import Tensor

from ultrahyperbolic.evaluation import link_prediction, over_pairs
from ultrahyperbolic.evaluation.baselines import closeness, pagerank
from ultrahyperbolic.evaluation.links import HeldOut
from ultrahyperbolic.geometry import Manifold
from ultrahyperbolic.graph import Graph

MEASURES = ("map", "recall_at_1", "violated_orders", "tie_order", "spearman_all", "mean_rank")


def measured(
    graph: Graph, points: Tensor, manifold: Manifold, depth: Ints | None = None, *, popularity: Floats | None = None
) -> dict[str, float]:
    """The measures of points, those that the graph defines; ``depth`` is ρ of -δ with minus the depth."""
    found = over_pairs(graph, points, manifold, popularity=popularity)
    kept = {name: found.measures[name] for name in MEASURES if name in found.measures}
    if depth is not None:
        kept["depth"] = depth_agreement(-found.delta, depth)
    return {name: value for name, value in kept.items() if not math.isnan(value)}


def depth_agreement(score: Floats, depth: Ints) -> float:
    """Spearman's ρ of a score that is high for central nodes with minus the depth, where that is known."""
    known = depth >= 0
    return spearman(score[known], -depth[known])


def centralities(graph: Graph, depth: Ints) -> dict[str, float]:
    """Depth agreement of what needs no embedding."""
    scores = {"degree": graph.degree.astype(np.float64), "pagerank": pagerank(graph), "closeness": closeness(graph)}
    return {name: depth_agreement(score, depth) for name, score in scores.items()}


def auc(graph: Graph, points: Tensor, manifold: Manifold, held: HeldOut, *, popularity: Floats | None = None) -> float:
    """The chance that a held-out tie is shorter than a pair without a tie."""
    return link_prediction(graph, points, manifold, held.edges, popularity=popularity).auc


def link_scores(graph: Graph) -> dict[str, Floats]:
    """Adamic–Adar and preferential attachment of all pairs [n, n], the larger the likelier a tie."""
    n, degree = graph.n_nodes, graph.degree.astype(np.float64)
    pairs = np.concatenate((graph.edges, graph.edges[:, ::-1]))
    ties = csr_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    # A common neighbour of two nodes has a degree of 2 at least.
    weights = np.where(degree > 1, 1.0 / np.log(np.maximum(degree, 2.0)), 0.0)
    adamic: Floats = ((ties * weights[None, :]) @ ties).toarray()
    return {"adamic_adar": adamic, "preferential": np.outer(degree, degree)}


def link_aucs(graph: Graph, held: HeldOut) -> dict[str, float]:
    """AUC of the scores of the graph that was left."""
    positions = np.arange(graph.n_nodes, dtype=np.float64)[:, None]
    return {
        name: auc(graph, *placed(positions, table(-score)), held) for name, score in link_scores(held.graph).items()
    }


class Directed(NamedTuple):
    """What the published protocol gives."""

    mean_rank: float
    map: float


def hypernyms(
    points: Tensor, manifold: Manifold, below: Ints, above: Ints, *, popularity: Floats | None = None
) -> Directed:
    """Mean rank and mAP as published: each node's hypernyms among all nodes that are none, its hyponyms included.

    ``below`` and ``above`` [k] are the pairs of the closure. Nodes without a hypernym ask nothing.
    """
    order = np.lexsort((above, below))
    below, above = below[order], above[order]
    nodes, first = np.unique(below, return_index=True)
    ranks, precisions = [], []
    for node, mine in zip(nodes.tolist(), np.split(above, first[1:]), strict=True):
        row = manifold.cdist(points[node : node + 1], points, dissimilarity="geodesic")[0].double()
        far = torch.where(row.isnan(), torch.inf, row).numpy()
        if popularity is not None:
            far = far - popularity
        true = np.zeros(len(far), dtype=bool)
        true[mine] = True
        others = ~true
        others[node] = False
        own = np.sort(far[true])
        nearer = np.searchsorted(np.sort(far[others]), own, side="right")
        together = np.searchsorted(own, own, side="right")
        ranks.append(1.0 + nearer)
        precisions.append(float((together / (together + nearer)).mean()))
    return Directed(float(np.concatenate(ranks).mean()), float(np.mean(precisions)))
