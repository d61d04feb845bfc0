"""All measures of an embedding, and the baselines."""

import math
from typing import NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor

from ..arrays import Floats, Ints
from ..geometry import Manifold
from ..geometry.words import Dissimilarity, former_measure
from ..graph import Graph
from ..graph.centrality import pagerank
from ..pairs import Backend, Nearest, PassOptions, pair_distances, row_statistics
from ..progress import bar
from .baselines import closeness, sampled_closeness
from .closure import sampled_closure, triadic_closure
from .clusters import width_of
from .hierarchy import component_delta, correlations, norm_proxy
from .inputs import check_points, edge_tensor
from .order import orders_of
from .retrieval import precision_of, reconstruction_of

_NEAREST = 5
# With more nodes than this closeness is estimated: a search from each of them takes longer than all else.
_CLOSENESS_NODES = 50_000
_EXACTLY, _ROUGHLY = 1e-12, 1e-8  # what is left of a change of PageRank; of many nodes, far below what ranks show


class OverPairs(NamedTuple):
    """What one pass over all pairs gives."""

    measures: dict[str, float]
    """Those of the pairs, by name."""
    delta: Floats
    """[n] δ of the graph, as of `ultrahyperbolic.evaluation.delta`."""
    nearest: Nearest
    """The nearest of each node, by which communities are found: `width_of` of them."""


def evaluate(
    graph: Graph,
    points: Tensor | Floats,
    manifold: Manifold,
    *,
    dissimilarity: Dissimilarity = "geodesic",
    epsilon: float | None = None,
    backend: Backend = "auto",
    progress: bool = False,
    popularity: Tensor | Floats | None = None,
    measure: str | None = None,
) -> dict[str, float]:
    """All measures of points [n, d] that embed a graph, by name; ``docs/measures.md`` says what each name means.

    ``dissimilarity`` and ``epsilon`` say which distance, ``backend`` what computes it
    (`ultrahyperbolic.pairs.PassOptions`), ``progress`` shows a bar on a terminal. With ``popularity`` [n], the
    distance of a pair is d_ij - a_i - a_j. What is not defined for the graph is left out: no value is NaN.
    ``measure`` is a former name of ``dissimilarity``.
    """
    dissimilarity = dissimilarity if measure is None else former_measure(measure)
    options = PassOptions(dissimilarity=dissimilarity, epsilon=epsilon, backend=backend, popularity=popularity)
    points = points if isinstance(points, Tensor) else torch.from_numpy(np.array(points))
    found = over_pairs(graph, points, manifold, progress=progress, **options).measures
    return found | over_nodes(graph, points, progress=progress)


def over_pairs(
    graph: Graph, points: Tensor, manifold: Manifold, *, progress: bool = False, **options: Unpack[PassOptions]
) -> OverPairs:
    """The measures over all pairs of the points [n, d], with δ and the nearest nodes, in one pass.

    A graph of several components takes another over the pairs within each, for δ.
    """
    check_points(graph, points)
    k = width_of(graph.n_nodes, graph.n_edges)
    if k < 1:
        none = torch.empty(graph.n_nodes, 0)
        return OverPairs({}, np.zeros(graph.n_nodes), Nearest(none.long(), none))
    with bar("measuring", show=progress):
        edges = edge_tensor(graph.edges)
        distances = pair_distances(points, manifold, edges, **options)
        statistics = row_statistics(points, manifold, edges, k, distances, **options)
        orders = orders_of(graph, distances, statistics.nonedges)
        ranks = reconstruction_of(statistics.counts)
        indices = statistics.nearest.indices.cpu().numpy()
        delta = component_delta(graph, points, manifold, **options)
        delta = statistics.sums.cpu().numpy() if delta is None else delta
        found = {
            "map": ranks.mean_average_precision,
            "recall_at_1": precision_of(graph, indices[:, :1]),
            "strongest_tie": strongest_tie(graph, indices[:, 0]),
            "violated_orders": orders.edges_vs_nonedges,
            "tie_order": 1.0 - orders.ties,
            "violated_orders_all": orders.all_classes,
            f"precision_at_{_NEAREST}": precision_of(graph, indices[:, :_NEAREST]) if k >= _NEAREST else math.nan,
            "mean_rank": ranks.mean_rank,
        }
        near = Nearest(*(part.cpu() for part in statistics.nearest))
        return OverPairs(_defined(found | correlations(graph, delta)), delta, near)


def strongest_tie(graph: Graph, nearest: Ints) -> float:
    """The share of the nodes with a tie whose nearest node [n] is one of those they are tied to most strongly."""
    strongest, found = np.zeros(graph.n_nodes), np.zeros(graph.n_nodes)
    for own, other in (graph.edges.T, graph.edges.T[::-1]):
        np.maximum.at(strongest, own, graph.weights)
        here = nearest[own] == other
        found[own[here]] = graph.weights[here]
    tied = graph.degree > 0
    return float((found[tied] == strongest[tied]).mean()) if tied.any() else math.nan


def over_nodes(graph: Graph, points: Tensor, *, progress: bool = False, sample: bool = False) -> dict[str, float]:
    """The measures to compare with, which need no distances: from the norms of the points and from the graph.

    With ``sample``, triadic closure is estimated from some wedges. Closeness is beyond 50,000 nodes, from some of them.
    """
    check_points(graph, points)
    with bar("comparing", 4, show=progress) as update:
        update(0, "norm")
        found = correlations(graph, norm_proxy(points), "_norm")
        update(1, "PageRank")
        found |= correlations(graph, -pagerank(graph, tolerance=_ROUGHLY if sample else _EXACTLY), "_pagerank")
        update(2, "closeness")
        near = sampled_closeness(graph) if graph.n_nodes > _CLOSENESS_NODES else closeness(graph)
        found |= correlations(graph, -near, "_closeness")
        update(3, "triangles")
        found |= sampled_closure(graph) if sample else triadic_closure(graph)._asdict()
    return _defined(found)


def _defined(measures: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in measures.items() if not math.isnan(value)}
