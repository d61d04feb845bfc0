"""All measures of an embedding, and the baselines: exact, or of a large graph from some nodes, each
against all.

Estimates have standard errors, and take linear time. Neighbours and orders are means over the drawn
nodes; δ of a node is n - 1 times its mean distance to these.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, Unpack

import numpy as np

from ..arrays import Floats, Ints, positions_in
from ..graph import Graph
from ..graph.centrality import pagerank
from ..graph.flow import centrality_of
from ..pairs import Backend, PassOptions, Points, lengths_of, measured_from, rows_of
from ..progress import bar
from ..spaces import Space
from ..spaces.dissimilarities import Dissimilarity
from .closure import sampled_closure, triadic_closure
from .clusters import width_of
from .hierarchy import component_delta, correlations, norm_proxy, within_components
from .inputs import check_points, in_order
from .retrieval import orders_of, precision_of, reconstruction_of, violated_share

SAMPLED_NODES = 20_000
"""With more nodes than this, a training measures by samples."""

# Distances that are evaluated in all, which decides how many nodes are drawn, within these bounds;
# and at once.
_DISTANCES, _FEWEST, _MOST, _AT_ONCE = 1 << 28, 64, 2000, 1 << 21
# Ties that are compared with pairs without one, and with each other; and those pairs, of each drawn
# node.
_TIES, _TIES_AMONG, _OTHERS = 4096, 1_000_000, 8192
_NEAREST = 5
_EXACTLY, _ROUGHLY = (
    1e-12,
    1e-8,
)  # what is left of a change of PageRank; of many nodes, far below what ranks show


class Near(NamedTuple):
    """The nearest of each node, in arrays."""

    indices: Ints
    """[n, k], the nearest first."""
    distances: Floats
    """[n, k]"""


class OverPairs(NamedTuple):
    """What one pass over all pairs gives."""

    measures: dict[str, float]
    """Those of the pairs, by name."""
    delta: Floats
    """[n] δ of the graph, as of `ultrahyperbolic.evaluation.delta`."""
    nearest: Near
    """The nearest of each node, by which communities are found: `width_of` of them."""


def evaluate(
    graph: Graph,
    points: Points,
    manifold: Space,
    *,
    dissimilarity: Dissimilarity = "geodesic",
    epsilon: float | None = None,
    backend: Backend = "auto",
    progress: bool = False,
    popularity: Points | None = None,
) -> dict[str, float]:
    """All measures of points [n, d] that embed a graph, by name; ``docs/measures.md`` says what
    each name means.

    ``dissimilarity`` and ``epsilon`` say which distance, ``backend`` what computes it
    (`ultrahyperbolic.pairs.PassOptions`), ``progress`` shows a bar on a terminal. What a training
    has smoothed is measured at its last ε, ``embedding.record.config["epsilon"][1]``. With
    ``popularity`` [n], the distance of a pair is d_ij - a_i - a_j. What is not defined for the
    graph is left out: no value is NaN.
    """
    options = PassOptions(
        dissimilarity=dissimilarity, epsilon=epsilon, backend=backend, popularity=popularity
    )
    found = over_pairs(graph, points, manifold, progress=progress, **options).measures
    return found | over_nodes(graph, points, progress=progress)


def over_pairs(
    graph: Graph,
    points: Points,
    manifold: Space,
    *,
    progress: bool = False,
    **options: Unpack[PassOptions],
) -> OverPairs:
    """The measures over all pairs of the points [n, d], with δ and the nearest nodes, in one pass.

    A graph of several components takes another over the pairs within each, for δ.
    """
    check_points(graph, points)
    centrality_of(graph)  # which the graph in order takes along
    order = graph.node_order
    graph, points, options = in_order(graph, points, options)
    found = _over_pairs(graph, points, manifold, options, progress=progress)
    back, (near, apart) = positions_in(order), found.nearest
    return OverPairs(found.measures, found.delta[back], Near(order[near[back]], apart[back]))


def _over_pairs(
    graph: Graph, points: Points, manifold: Space, options: PassOptions, *, progress: bool
) -> OverPairs:
    k = width_of(graph.n_nodes, graph.n_edges)
    if k < 1:
        none = np.empty((graph.n_nodes, 0))
        return OverPairs({}, np.zeros(graph.n_nodes), Near(none.astype(np.int64), none))
    with bar("measuring", show=progress):
        distances = lengths_of(points, manifold, graph.edges, **options)
        rows = rows_of(points, manifold, graph.edges, k, distances, **options)
        orders, ranks, indices = (
            orders_of(graph, distances, rows.nonedges),
            reconstruction_of(rows),
            rows.indices,
        )
        delta = component_delta(graph, points, manifold, **options)
        delta = rows.sums if delta is None else delta
        found = {
            "map": ranks.mean_average_precision,
            "recall_at_1": precision_of(graph, indices[:, :1]),
            "strongest_tie": strongest_tie(graph, indices[:, 0]),
            "violated_orders": orders.edges_vs_nonedges,
            "tie_order": 1.0 - orders.ties,
            "violated_orders_all": orders.all_classes,
            f"precision_at_{_NEAREST}": precision_of(graph, indices[:, :_NEAREST])
            if k >= _NEAREST
            else math.nan,
            "mean_rank": ranks.mean_rank,
        }
        return OverPairs(
            _defined(found | _of_delta(graph, delta)), delta, Near(indices, rows.distances)
        )


def _of_delta(graph: Graph, delta: Floats) -> dict[str, float]:
    """How far δ [n] agrees with the centrality and with strength."""
    agreement = within_components(graph, centrality_of(graph).values, -delta)
    return {"delta_centrality": agreement} | correlations(graph, delta)


def strongest_tie(graph: Graph, nearest: Ints) -> float:
    """The share of the nodes with a tie whose nearest node [n] is one of those they are tied to
    most strongly.
    """
    strongest, found = np.zeros(graph.n_nodes), np.zeros(graph.n_nodes)
    for own, other in (graph.edges.T, graph.edges.T[::-1]):
        np.maximum.at(strongest, own, graph.weights)
        here = nearest[own] == other
        found[own[here]] = graph.weights[here]
    tied = graph.degree > 0
    return float((found[tied] == strongest[tied]).mean()) if tied.any() else math.nan


def over_nodes(
    graph: Graph, points: Points, *, progress: bool = False, sample: bool = False
) -> dict[str, float]:
    """The measures to compare with, which need no distances: from the norms of the points and from
    the graph.

    With ``sample``, triadic closure is estimated from some wedges.
    """
    check_points(graph, points)
    with bar("comparing", 4, show=progress) as update:
        update(0, "norm")
        found = correlations(graph, norm_proxy(points), "_norm")
        update(1, "PageRank")
        found |= correlations(
            graph, -pagerank(graph, tolerance=_ROUGHLY if sample else _EXACTLY), "_pagerank"
        )
        update(2, "centrality")
        found |= correlations(graph, -centrality_of(graph).values, "_centrality")
        update(3, "triangles")
        found |= sampled_closure(graph) if sample else triadic_closure(graph)._asdict()
    return _defined(found)


def _defined(measures: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in measures.items() if not math.isnan(value)}


class FromSamples(NamedTuple):
    """What `from_samples` returns."""

    measures: dict[str, float]
    """By name; ``NAME_error`` is the standard error of NAME, and ``measured_nodes`` how many nodes
    were drawn.
    """
    delta: Floats
    """[n] δ, estimated."""


def drawn_nodes(n: int) -> int:
    """How many of n nodes are drawn."""
    return min(n, max(_FEWEST, min(_MOST, _DISTANCES // max(n, 1))))


def from_samples(
    graph: Graph,
    points: Points,
    manifold: Space,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    popularity: Floats | None = None,
    seed: int = 0,
    progress: bool = False,
) -> FromSamples:
    """Estimates of the measures of `ultrahyperbolic.evaluation.over_pairs` for points [n, d] on any
    device.

    ``nodes`` is how many are drawn (default: `drawn_nodes`); after some ``seconds`` no more are
    looked at. The manifold is one of the package's.
    """
    check_points(graph, points)
    centrality_of(graph)  # which the graph in order takes along
    order = graph.node_order
    graph, points, options = in_order(graph, points, PassOptions(popularity=popularity))
    rng = np.random.default_rng(seed)
    count = drawn_nodes(graph.n_nodes) if nodes is None else min(nodes, graph.n_nodes)
    drawn, began = rng.choice(graph.n_nodes, count, replace=False), time.monotonic()
    ties = graph.edges[np.sort(rng.choice(graph.n_edges, min(graph.n_edges, _TIES), replace=False))]
    lengths = np.sort(lengths_of(points, manifold, ties, **options))
    found = _Totals(graph, points, manifold, options, rng)
    size = max(1, _AT_ONCE // max(graph.n_nodes, 1))
    size = size if seconds is None else min(size, _FEWEST)
    with bar("measuring", count, show=progress) as update:
        for start in range(0, count, size):
            if start >= _FEWEST and seconds is not None and time.monotonic() - began > seconds:
                count = start
                break
            some = np.sort(drawn[start : start + size])
            for node, distances in zip(some.tolist(), found.add_rows(some), strict=True):
                found.add_node(node, distances, lengths)
            update(start + len(some), "")
    among = np.sort(rng.choice(graph.n_edges, min(graph.n_edges, _TIES_AMONG), replace=False))
    far = lengths_of(points, manifold, graph.edges[among], **options)
    violated, delta = violated_share(graph.classes[among], far), found.delta()
    measures = found.measures() | {"tie_order": 1.0 - violated} | _of_delta(graph, delta)
    measures["measured_nodes"] = float(count)
    return FromSamples(_defined(measures), delta[positions_in(order)])


def delta_from_samples(
    graph: Graph, points: Points, manifold: Space, popularity: Floats | None = None
) -> Floats:
    """[n] a quick estimate of δ for points [n, d], from ``_FEWEST`` nodes."""
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.choice(graph.n_nodes, min(_FEWEST, graph.n_nodes), replace=False))
    found = _Totals(graph, points, manifold, PassOptions(popularity=popularity), rng)
    for some in np.array_split(drawn, math.ceil(len(drawn) * graph.n_nodes / _AT_ONCE)):
        found.add_rows(some)
    return found.delta()


class _Totals:
    """The sums over the drawn nodes so far."""

    def __init__(
        self,
        graph: Graph,
        points: Points,
        space: Space,
        options: PassOptions,
        rng: np.random.Generator,
    ) -> None:
        self.graph, self.measured, self.rng = graph, measured_from(points, space, **options), rng
        self.component = graph.component
        self.sizes = np.bincount(self.component)
        self.sums, self.met, self.farthest = (
            np.zeros(graph.n_nodes),
            np.zeros(graph.n_nodes),
            -math.inf,
        )
        self.nodes: list[tuple[float, float, float, float, float, float]] = []
        self.violated: list[tuple[float, float]] = []

    def add_rows(self, nodes: Ints) -> Floats:
        """The distances [k, n] from drawn nodes, less popularity and 0 to themselves; δ counts
        those in a component.
        """
        distances = self.measured(nodes)
        for row, node in zip(distances, nodes, strict=True):
            mine = (
                self.component == self.component[node]
                if len(self.sizes) > 1
                else np.ones(len(self.sums), bool)
            )
            self.sums[mine] += row[mine]
            self.met[mine] += 1.0
            self.met[node] -= 1.0  # itself, at distance 0
            mine[node] = False
            self.farthest = max(self.farthest, float(row.max(initial=-math.inf, where=mine)))
        return distances

    def add_node(self, node: int, distances: Floats, lengths: Floats) -> None:
        """How the neighbours of a drawn node stand among all, and its other pairs among ties;
        ``distances`` change.
        """
        offsets, heads = self.graph.neighbor_lists
        mine = slice(offsets[node], offsets[node + 1])
        neighbors = heads[mine]
        distances[node] = math.inf
        near = np.sort(distances[neighbors])
        k = min(_NEAREST, len(distances) - 1)
        nearest = np.argpartition(distances, k)[:k]
        nearest = nearest[np.argsort(distances[nearest], kind="stable")]
        distances[neighbors] = math.inf
        others = distances
        if len(distances) > _OTHERS:
            others = distances[self.rng.integers(len(distances), size=_OTHERS)]
        others = others[others < math.inf]
        farther = len(lengths) - np.searchsorted(lengths, others)
        self.violated.append((float(farther.sum()), float(len(others) * len(lengths))))
        if not len(neighbors):
            return
        of_neighbors = np.searchsorted(near, near, side="right")
        # How many others lie before the first neighbour, between that and the second, and so on.
        between = np.bincount(np.searchsorted(near, distances), minlength=len(near) + 1)
        of_others = between[:-1].cumsum()
        are_tied = np.isin(nearest, neighbors)
        precision = (of_neighbors / (of_neighbors + of_others)).mean()
        enough = float(are_tied.mean()) if k == _NEAREST else math.nan
        ranks = float((1.0 + of_others).sum()), float(len(neighbors))
        weights = self.graph.neighbor_weights[mine]
        strongest = float((weights[neighbors == nearest[0]] == weights.max()).any())
        self.nodes.append((float(precision), float(are_tied[0]), strongest, enough, *ranks))

    def delta(self) -> Floats:
        """[n] δ; as of `ultrahyperbolic.evaluation.delta` where there are several components."""
        farthest = self.farthest if self.farthest > -math.inf else 0.0
        # Where none of a component was drawn it is small, and its nodes count as its farthest.
        mean: Floats = np.divide(
            self.sums, self.met, out=np.full(len(self.sums), farthest), where=self.met > 0
        )
        own = self.sizes[self.component]
        return mean * (own - 1) + (len(self.sums) - own) * farthest

    def measures(self) -> dict[str, float]:
        """Means and their standard errors."""
        found: dict[str, float] = {}
        if self.nodes:
            *means, ranks, degrees = np.array(self.nodes).T
            names = ("map", "recall_at_1", "strongest_tie", f"precision_at_{_NEAREST}")
            for name, values in zip(names, means, strict=True):
                found[name], found[f"{name}_error"] = float(values.mean()), _error(values)
            found["mean_rank"], found["mean_rank_error"] = _ratio(ranks, degrees)
        found["violated_orders"], found["violated_orders_error"] = _ratio(
            *np.array(self.violated).T
        )
        return found


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _ratio(parts: Floats, wholes: Floats) -> tuple[float, float]:
    """Σ parts / Σ wholes of drawn nodes, and its standard error."""
    if not wholes.sum():
        return math.nan, math.nan
    share = float(parts.sum() / wholes.sum())
    return share, _error((parts - share * wholes) / wholes.mean())
