"""The measures of a large graph, estimated from some nodes, each against all, with standard errors, in linear time.

Neighbours and orders are means over the drawn nodes; δ of a node is n - 1 times its mean distance to these.
"""

import math
import time
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..arrays import Floats, Ints
from ..geometry import Manifold
from ..geometry.words import Dissimilarity
from ..graph import Graph
from ..graph.hops import components
from ..objective.tables import half_chord_table, scale_of, signs_of, value_and_slope
from ..pairs.kinds import KernelSpace, kernel_space
from ..progress import bar
from .hierarchy import correlations
from .inputs import check_points
from .order import violated_share

SAMPLED_NODES = 20_000
"""With more nodes than this, a training measures by samples."""

# Distances that are evaluated in all, which decides how many nodes are drawn, within these bounds; and at once.
_DISTANCES, _FEWEST, _MOST, _AT_ONCE = 1 << 28, 64, 2000, 1 << 21
# Ties that are compared with pairs without one, and with each other; and those pairs, of each drawn node.
_TIES, _TIES_AMONG, _OTHERS = 4096, 1_000_000, 8192
_NEAREST = 5


class FromSamples(NamedTuple):
    """What `from_samples` returns."""

    measures: dict[str, float]
    """By name; ``NAME_error`` is the standard error of NAME, and ``measured_nodes`` how many nodes were drawn."""
    delta: Floats
    """[n] δ, estimated."""


def drawn_nodes(n: int) -> int:
    """How many of n nodes are drawn."""
    return min(n, max(_FEWEST, min(_MOST, _DISTANCES // max(n, 1))))


def from_samples(
    graph: Graph,
    points: Tensor,
    manifold: Manifold,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    dissimilarity: Dissimilarity = "geodesic",
    popularity: Floats | None = None,
    seed: int = 0,
    progress: bool = False,
) -> FromSamples:
    """Estimates of the measures of `ultrahyperbolic.evaluation.over_pairs` for points [n, d] on any device.

    ``nodes`` is how many are drawn (default: `drawn_nodes`); after some ``seconds`` no more are looked at. The manifold
    is one of the package's.
    """
    check_points(graph, points)
    rng = np.random.default_rng(seed)
    count = drawn_nodes(graph.n_nodes) if nodes is None else min(nodes, graph.n_nodes)
    drawn, began = rng.choice(graph.n_nodes, count, replace=False), time.monotonic()
    table = _Table(points.detach().double(), kernel_space(manifold, dissimilarity), popularity)
    ties = graph.edges[np.sort(rng.choice(graph.n_edges, min(graph.n_edges, _TIES), replace=False))]
    lengths = torch.from_numpy(np.sort(table.pairs(ties))).to(points.device)
    found = _Totals(graph, components(graph), rng)
    size = max(1, _AT_ONCE // max(graph.n_nodes, 1))
    with bar("measuring", count, show=progress) as update:
        for start in range(0, count, size):
            if start >= _FEWEST and seconds is not None and time.monotonic() - began > seconds:
                count = start
                break
            some = np.sort(drawn[start : start + size])
            distances = table.rows(some)
            found.add_delta(some, distances)
            for row, node in enumerate(some.tolist()):
                found.add_node(node, distances[row], lengths)
            update(start + len(some), "")
    among = np.sort(rng.choice(graph.n_edges, min(graph.n_edges, _TIES_AMONG), replace=False))
    violated = violated_share(graph.classes[among], table.pairs(graph.edges[among]))
    delta = found.delta()
    measures = found.measures() | {"tie_order": 1.0 - violated} | correlations(graph, delta)
    measures["measured_nodes"] = float(count)
    return FromSamples({name: value for name, value in measures.items() if not math.isnan(value)}, delta)


def delta_from_samples(graph: Graph, points: Tensor, manifold: Manifold, popularity: Floats | None = None) -> Floats:
    """[n] a quick estimate of δ for points [n, d], from ``_FEWEST`` nodes."""
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.choice(graph.n_nodes, min(_FEWEST, graph.n_nodes), replace=False))
    table = _Table(points, kernel_space(manifold, "geodesic"), popularity)
    found = _Totals(graph, components(graph), rng)
    for some in np.array_split(drawn, math.ceil(len(drawn) * graph.n_nodes / _AT_ONCE)):
        found.add_delta(some, table.rows(some))
    return found.delta()


class _Table:
    """Distances, less the popularity of both nodes."""

    def __init__(self, points: Tensor, space: KernelSpace, popularity: Floats | None) -> None:
        self.points, self.space = points - points.mean(0), space
        self.popularity = None if popularity is None else torch.tensor(popularity).to(points)

    def rows(self, nodes: Ints) -> Tensor:
        """[k, n] from each of some nodes; 0 to itself."""
        w = half_chord_table(self.points[nodes], self.points, self.space)
        distances, _ = value_and_slope(w, self.space, 1.0)
        if self.popularity is not None:
            distances = distances - (self.popularity[nodes][:, None] + self.popularity)
        distances[torch.arange(len(nodes)), torch.from_numpy(nodes)] = 0.0
        return distances

    def pairs(self, pairs: Ints) -> Floats:
        """[k] of pairs [k, 2]."""
        i, j = pairs.T
        difference = (self.points[i] - self.points[j]).square()
        w = (difference @ signs_of(self.space, self.points)) * scale_of(self.space)
        if self.space.time in (0, 1):
            w = w.clamp_min(0.0)
        distances, _ = value_and_slope(w, self.space, 1.0)
        if self.popularity is not None:
            distances = distances - (self.popularity[i] + self.popularity[j])
        return distances.cpu().numpy()


class _Totals:
    """The sums over the drawn nodes so far."""

    def __init__(self, graph: Graph, component: Ints, rng: np.random.Generator) -> None:
        self.graph, self.component, self.rng = graph, component, rng
        self.sizes = np.bincount(component)
        self.sums, self.met, self.farthest = np.zeros(graph.n_nodes), np.zeros(graph.n_nodes), -math.inf
        self.nodes: list[tuple[float, float, float, float, float, float]] = []
        self.violated: list[tuple[float, float]] = []

    def add_delta(self, nodes: Ints, distances: Tensor) -> None:
        """Distances [k, n] from drawn nodes, which count within their components."""
        values = distances.cpu().numpy()
        for row, node in enumerate(nodes):
            mine = self.component == self.component[node] if len(self.sizes) > 1 else np.ones(len(self.sums), bool)
            self.sums[mine] += values[row][mine]
            self.met[mine] += 1.0
            self.met[node] -= 1.0  # itself, at distance 0
            mine[node] = False
            self.farthest = max(self.farthest, float(values[row].max(initial=-math.inf, where=mine)))

    def add_node(self, node: int, distances: Tensor, lengths: Tensor) -> None:
        """How the neighbours of a drawn node stand among all, and its other pairs among ties; ``distances`` change."""
        offsets, heads = self.graph.neighbor_lists
        mine = slice(offsets[node], offsets[node + 1])
        neighbors = torch.from_numpy(heads[mine].copy()).to(distances.device)
        distances[node] = math.inf
        near = distances[neighbors].sort().values
        k = min(_NEAREST, len(distances) - 1)
        nearest = distances.topk(k, largest=False).indices
        distances[neighbors] = math.inf
        others = distances
        if len(distances) > _OTHERS:
            others = distances[torch.from_numpy(self.rng.integers(len(distances), size=_OTHERS))]
        others = others[others < math.inf]
        farther = len(lengths) - torch.searchsorted(lengths, others)
        self.violated.append((float(farther.sum()), float(len(others) * len(lengths))))
        if not len(neighbors):
            return
        of_neighbors = torch.searchsorted(near, near, right=True).double()
        # How many others lie before the first neighbour, between that and the second, and so on.
        between = torch.bincount(torch.searchsorted(near, distances), minlength=len(near) + 1)
        of_others = between[:-1].cumsum(0).double()
        are_tied = torch.isin(nearest, neighbors).double()
        precision = (of_neighbors / (of_neighbors + of_others)).mean()
        enough = float(are_tied.mean()) if k == _NEAREST else math.nan
        ranks = float((1.0 + of_others).sum()), float(len(neighbors))
        weights = self.graph.neighbor_weights[mine]
        strongest = float((weights[heads[mine] == int(nearest[0])] == weights.max()).any())
        self.nodes.append((float(precision), float(are_tied[0]), strongest, enough, *ranks))

    def delta(self) -> Floats:
        """[n] δ; as of `ultrahyperbolic.evaluation.delta` where there are several components."""
        farthest = self.farthest if self.farthest > -math.inf else 0.0
        mean = np.divide(self.sums, self.met, out=np.full(len(self.sums), math.nan), where=self.met > 0)
        # Where none of a component was drawn it is small, and its nodes count as its farthest.
        mean = np.where(np.isnan(mean), farthest, mean)
        own = self.sizes[self.component]
        return mean * (own - 1) + (len(self.sums) - own) * farthest

    def measures(self) -> dict[str, float]:
        """Means and their standard errors."""
        found: dict[str, float] = {}
        if self.nodes:
            precision, first, strongest, five, ranks, degrees = np.array(self.nodes).T
            means = {"map": precision, "recall_at_1": first, "strongest_tie": strongest}
            for name, values in (means | {f"precision_at_{_NEAREST}": five}).items():
                found[name] = float(values.mean())
                found[f"{name}_error"] = _error(values)
            found["mean_rank"], found["mean_rank_error"] = _ratio(ranks, degrees)
        pairs = np.array(self.violated).T
        found["violated_orders"], found["violated_orders_error"] = _ratio(*pairs)
        return found


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _ratio(parts: Floats, wholes: Floats) -> tuple[float, float]:
    """Σ parts / Σ wholes of drawn nodes, and its standard error."""
    if not wholes.sum():
        return math.nan, math.nan
    share = float(parts.sum() / wholes.sum())
    return share, _error((parts - share * wholes) / wholes.mean())
