"""One measuring code for all: the package's own measures, of any points with any dissimilarity."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from bench import Floats, Ints
from torch import Tensor

from ultrahyperbolic.evaluation import link_prediction, over_pairs, pagerank
from ultrahyperbolic.evaluation.hierarchy import _spearman as spearman
from ultrahyperbolic.evaluation.links import HeldOut
from ultrahyperbolic.geometry import Euclidean, Geometry, Manifold
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.flow import centrality_of

MEASURES = ("map", "recall_at_1", "violated_orders", "tie_order", "spearman_all", "mean_rank")
Function = Callable[[Tensor, Tensor], Tensor]


def euclidean(x: Tensor, y: Tensor) -> Tensor:
    return (x - y).square().sum(-1).sqrt()


def poincare(x: Tensor, y: Tensor) -> Tensor:
    """Of the unit ball."""
    to_rim = (1.0 - x.square().sum(-1)) * (1.0 - y.square().sum(-1))
    return 2.0 * torch.asinh(euclidean(x, y) / to_rim.clamp(min=1e-300).sqrt())


def cosine(x: Tensor, y: Tensor) -> Tensor:
    return 1.0 - torch.cosine_similarity(x, y, dim=-1)


def wembed(x: Tensor, y: Tensor) -> Tensor:
    """WEmbed's: the distance over (w_x w_y)^(1/d), the weight of a node being its last number."""
    weights = x[..., -1] * y[..., -1]
    return euclidean(x[..., :-1], y[..., :-1]) / weights ** (1.0 / (x.shape[-1] - 1))


def table(values: Floats) -> Function:
    """Of a matrix [n, n]; a point is the position of its node."""
    known = torch.from_numpy(values)
    return lambda x, y: known[x[..., 0].long(), y[..., 0].long()]


FUNCTIONS: dict[str, Function] = {f.__name__: f for f in (euclidean, poincare, cosine, wembed)}


class PeerSpace(Euclidean):
    """Coordinates with a dissimilarity of their own; the last coordinate is 1 of a node that has no
    place, else 0.
    """

    def __init__(self, function: Function, d: int) -> None:
        super().__init__(d + 1)
        self.function = function

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """[...]: ∞ where one of the nodes has no place."""
        placeless = (x[..., -1] + y[..., -1]) > 0.0
        return self.function(x[..., :-1], y[..., :-1]).masked_fill(placeless, torch.inf)


def placed(coordinates: Floats, function: Function) -> tuple[Tensor, Manifold]:
    """Points and their manifold; NaN coordinates are of a node without a place."""
    missing = ~np.isfinite(coordinates).all(1, keepdims=True)
    points = np.column_stack((np.where(missing, 0.0, coordinates), missing))
    return torch.from_numpy(points), PeerSpace(function, coordinates.shape[1])


def space_of(coordinates: Floats, dissimilarity: str, **numbers: float) -> tuple[Tensor, Manifold]:
    """What a peer wrote: its points, and the manifold by which they are measured. ``geometry`` is
    one of ours.
    """
    if dissimilarity != "geometry":
        return placed(coordinates, FUNCTIONS[dissimilarity])
    flat, p, q = (int(numbers[name]) for name in ("flat", "p", "q"))
    geometry = Geometry(flat=flat) if flat else Geometry(p, q, None, numbers["beta"])
    return torch.from_numpy(coordinates), geometry.manifold


def measured(
    graph: Graph,
    points: Tensor,
    manifold: Manifold,
    depth: Ints | None = None,
    *,
    popularity: Floats | None = None,
) -> dict[str, float]:
    """The measures of points, those that the graph defines; ``depth`` is ρ of -δ with minus the
    depth.
    """
    found = over_pairs(graph, points, manifold, popularity=popularity)
    kept = {name: found.measures[name] for name in MEASURES if name in found.measures}
    if depth is not None:
        kept["depth"] = depth_agreement(-found.delta, depth)
    return {name: value for name, value in kept.items() if not math.isnan(value)}


def depth_agreement(score: Floats, depth: Ints) -> float:
    """Spearman's ρ of a score that is high for central nodes with minus the depth, where that is
    known.
    """
    return spearman(score[depth >= 0], -depth[depth >= 0].astype(np.float64))


def centralities(graph: Graph, depth: Ints) -> dict[str, float]:
    """Depth agreement of what needs no embedding."""
    scores = {
        "degree": graph.degree.astype(np.float64),
        "pagerank": pagerank(graph),
        "centrality": centrality_of(graph).values,
    }
    return {name: depth_agreement(score, depth) for name, score in scores.items()}


def auc(
    graph: Graph,
    points: Tensor,
    manifold: Manifold,
    held: HeldOut,
    *,
    popularity: Floats | None = None,
) -> float:
    """The chance that a held-out tie is shorter than a pair without a tie."""
    return link_prediction(graph, points, manifold, held.edges, popularity=popularity).auc


def link_scores(graph: Graph) -> dict[str, Floats]:
    """Adamic–Adar and preferential attachment of all pairs [n, n], the larger the likelier a
    tie.
    """
    from scipy.sparse import (
        csr_array,
    )  # nothing else here needs it, and not every machine with a GPU has it

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
        name: auc(graph, *placed(positions, table(-score)), held)
        for name, score in link_scores(held.graph).items()
    }


class Ranked(NamedTuple):
    """How the nodes that were asked for stand among all others."""

    mean_rank: float
    map: float
    median_rank: float
    lost: float
    """Share of those that have more than `LOST` others before them."""


LOST = 1000
# Nodes whose distances to all others are computed together.
_AT_ONCE = 64


def ranked(
    points: Tensor,
    manifold: Manifold,
    asking: Ints,
    asked: Ints,
    *,
    popularity: Floats | None = None,
) -> Ranked:
    """Of pairs (asking, asked) [k]: the ranks of asked nodes, and mAP over the asking ones.

    A rank counts the nodes that are no farther and were not asked for, hyponyms included: the
    published protocol.
    """
    order = np.lexsort((asked, asking))
    asking, asked = asking[order], asked[order]
    nodes, first = np.unique(asking, return_index=True)
    offsets = 0.0 if popularity is None else torch.from_numpy(popularity.copy()).to(points.device)
    ranks, precisions, places = [], [], torch.from_numpy(asked).to(points.device)
    every = list(zip(nodes.tolist(), places.tensor_split(first[1:].tolist()), strict=True))
    for start in range(0, len(every), _AT_ONCE):
        some = every[start : start + _AT_ONCE]
        rows = manifold.cdist(
            points[[node for node, _ in some]], points, dissimilarity="geodesic"
        ).double()
        for far, (node, mine) in zip(
            torch.where(rows.isnan(), torch.inf, rows) - offsets, some, strict=True
        ):
            own = far[mine].unsqueeze(1)
            together, within = (
                (own >= own.T).sum(1),
                (own >= far).sum(1) - (own >= far[node]).sum(1),
            )
            ranks.append(1 + within - together)
            precisions.append((together.double() / within).mean())
    found = torch.cat(ranks).double()
    lost = float((found > LOST).double().mean())
    return Ranked(
        float(found.mean()), float(torch.stack(precisions).mean()), float(found.median()), lost
    )
