"""The ranking loss (Eq. 17): stronger ties shorter than weaker ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from ..arrays import Floats, Ints
from ..checks import check_positive
from ..graph import Graph
from ..graph.heights import heights as heights_of
from ..lazy import Tensor, torch

PairFunction = Callable[["Tensor", "Tensor"], "Tensor"]

# Beyond this many nodes no array of all pairs is made.
MAX_NODES = 10_000
# The logarithm of nothing, as a number that slopes can be taken of.
NOTHING = -1e30


@dataclass(frozen=True)
class RankedPairs:
    """A graph as the loss sees it: edges from the weakest capacity class to the strongest, and who
    is connected.
    """

    n_nodes: int
    edges: Ints
    """[m, 2], sorted by capacity class."""
    weaker: Ints
    """[m]: how many edges have a strictly smaller capacity, which is also where the class of the
    edge begins.
    """
    heights: Floats | None = None
    """Of a directed graph [n]: its edges are ordered pairs, cheapest from a node to one that is
    lower by 1.
    """
    silent: int = 0
    """How many of the first edges are no ties but their reverses: weaker than all ties, and without
    a term.
    """

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """Sort the edges of a graph by capacity; a directed graph has its ties and the missing
        reverses.

        If each tie has a reverse of the same weight, directions say nothing, and there are none
        here.
        """
        if (
            graph.directions is not None
            and (graph.directions[:, 0] != graph.directions[:, 1]).any()
        ):
            return cls._of_directed(graph)
        sizes = np.bincount(graph.classes)
        few = len(sizes) <= 1 << 16  # numpy sorts short numbers by their digits, in linear time
        order = np.argsort(graph.classes.astype(np.uint16) if few else graph.classes, kind="stable")
        return cls(graph.n_nodes, graph.edges[order], np.repeat(np.cumsum(sizes) - sizes, sizes))

    @classmethod
    def _of_directed(cls, graph: Graph) -> Self:
        ends, weights = graph.arcs
        keys, turned = (pairs @ np.array([graph.n_nodes, 1]) for pairs in (ends, ends[:, ::-1]))
        back = ends[~np.isin(turned, keys)][:, ::-1]
        _, classes, sizes = np.unique(weights, return_inverse=True, return_counts=True)
        order = np.argsort(classes, kind="stable")
        weaker = len(back) + np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cls(
            graph.n_nodes,
            np.concatenate((back, ends[order])),
            np.concatenate((np.zeros(len(back), np.int64), weaker)),
            heights_of(graph.n_nodes, ends, weights),
            len(back),
        )

    @property
    def n_edges(self) -> int:
        """m."""
        return len(self.edges)

    @property
    def n_nonedges(self) -> int:
        """Unordered pairs of different nodes that no edge joins."""
        tied = self.n_edges if self.heights is None else self.n_edges // 2
        return self.n_nodes * (self.n_nodes - 1) // 2 - tied

    @property
    def joined(self) -> Ints:
        """[k, 2] the edges, each pair of nodes once: in a directed graph the reverse of each is an
        edge, too.
        """
        return (
            self.edges if self.heights is None else self.edges[self.edges[:, 0] < self.edges[:, 1]]
        )

    @cached_property
    def neighbors(self) -> tuple[Ints, Ints]:
        """For each node i its neighbours j > i, ascending: offsets [n + 1] and nodes [m]."""
        edges = self.joined
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        offsets = np.searchsorted(edges[order, 0], np.arange(self.n_nodes + 1))
        return offsets.astype(np.int64), np.ascontiguousarray(edges[order, 1])

    @cached_property
    def nonedges(self) -> Ints:
        """[non-edges, 2], for graphs small enough to list them."""
        if self.n_nodes > MAX_NODES:
            raise MemoryError(
                f"{self.n_nodes} nodes have too many pairs to list: at most {MAX_NODES} here"
            )
        free = np.triu(np.ones((self.n_nodes, self.n_nodes), dtype=bool), 1)
        free[self.edges.min(1), self.edges.max(1)] = False
        return np.stack(np.nonzero(free), axis=1)


class Tables(NamedTuple):
    """The pairs of a graph as index tensors on a device: what the loss of distances looks up."""

    silent: int
    """How many of the first edges have no term; with every pair tied, the weakest class has
    none.
    """
    edges: Tensor
    """[m, 2], weakest class first."""
    weaker: Tensor
    """[m] how many edges are weaker."""
    nonedges: Tensor
    """[pairs - m, 2]"""
    heights: Tensor | None
    """[n] of a directed graph."""

    @classmethod
    def of(cls, pairs: RankedPairs, device: torch.device | None = None) -> Self:
        """The tables of a graph small enough to list all pairs."""
        edges, weaker, nonedges = (
            torch.from_numpy(np.ascontiguousarray(array)).to(device)
            for array in (pairs.edges, pairs.weaker, pairs.nonedges)
        )
        silent = pairs.silent if pairs.n_nonedges else np.count_nonzero(pairs.weaker == 0)
        heights = None if pairs.heights is None else torch.from_numpy(pairs.heights).to(device)
        return cls(int(silent), edges, weaker, nonedges, heights)


class ExactLoss:
    """Eq. 17 for a graph, a dissimilarity and a temperature: the definition that every backend is
    tested against.

    For an edge e_k of capacity c_k the loss is -log softmax(-d/τ) of e_k among itself, all edges of
    smaller capacity and all pairs without an edge. Denominators depend on an edge through its
    capacity class alone, so one cumulative log-sum-exp over the edges, weakest first and starting
    from the non-edges, gives them all: O(pairs + edges), with no loop over classes.

    Parameters
    ----------
    graph : Graph or RankedPairs
        What to embed.
    dissimilarity : callable
        Points [..., d] and points [..., d] to [...], as ``manifold.dissimilarity``.
    temperature : float
        τ > 0.
    """

    def __init__(
        self,
        graph: Graph | RankedPairs,
        dissimilarity: PairFunction,
        temperature: float,
    ) -> None:
        check_positive("temperature", temperature)
        self.pairs = graph if isinstance(graph, RankedPairs) else RankedPairs.of(graph)
        self.dissimilarity, self.temperature = dissimilarity, temperature
        self._on: dict[torch.device, Tables] = {}

    def __call__(
        self, points: Tensor, offsets: Tensor | None = None, spring: float = 0.0
    ) -> Tensor:
        """The loss, a scalar that autograd can differentiate, of points [n, d] and the offsets [n]
        of nodes.
        """
        edges, nonedges = self.distances(points, offsets, spring)
        return self.of_distances(edges, nonedges)

    def distances(
        self, points: Tensor, offsets: Tensor | None = None, spring: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        """Dissimilarities of the edges [m], weakest class first, and of all other pairs [pairs -
        m].

        With offsets a [n], those of nodes i and j are less by a_i + a_j. In a directed graph, whose
        ``spring`` is κ, they are more by κ (h_i - h_j - 1)²; a pair of which neither direction is a
        tie stands for both: what it adds to sums of exponentials is what both add.
        """
        check_points(points, self.pairs.n_nodes)
        tables = self.tables(points.device)
        return distances_of(
            tables, points, self.dissimilarity, self.temperature, offsets=offsets, spring=spring
        )

    def of_distances(self, edges: Tensor, nonedges: Tensor) -> Tensor:
        """The loss from the distances of `distances`, or of some of the non-edges."""
        return loss_of_distances(self.tables(edges.device), edges, nonedges, self.temperature)

    def tables(self, device: torch.device) -> Tables:
        """The pairs on a device, listed once."""
        if device not in self._on:
            self._on[device] = Tables.of(self.pairs, device)
        return self._on[device]


def check_points(points: Tensor, n_nodes: int) -> None:
    """Raise ``ValueError`` unless there is a point [d] for each node."""
    if points.dim() != 2 or points.shape[0] != n_nodes:
        raise ValueError(f"points must be [{n_nodes}, d], got shape {tuple(points.shape)}")


def distances_of(
    tables: Tables,
    points: Tensor,
    dissimilarity: PairFunction,
    temperature: float,
    *,
    offsets: Tensor | None = None,
    spring: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """`ExactLoss.distances` of points [n, d]."""
    ends = tables.edges.unbind(1), tables.nonedges.unbind(1)
    edges, nonedges = (dissimilarity(points[i], points[j]) for i, j in ends)
    if offsets is not None:
        edges, nonedges = (
            d - (offsets[i] + offsets[j]) for d, (i, j) in zip((edges, nonedges), ends, strict=True)
        )
    if tables.heights is not None:
        heights = tables.heights.to(points)
        steps, gaps = (heights[i] - heights[j] for i, j in ends)
        edges = edges + stretched(steps, spring)
        nonedges = nonedges + both_stretched(gaps, spring, temperature)
    return edges, nonedges


def stretched(steps: Tensor, spring: float) -> Tensor:
    """What springs add to the dissimilarities of ordered pairs whose first nodes are higher by
    ``steps`` [...].
    """
    return spring * (steps - 1.0).square()


def both_stretched(steps: Tensor, spring: float, temperature: float) -> Tensor:
    """The same for pairs that stand for both directions: in sums of exponentials they add what both
    would.
    """
    steps = steps.abs()
    other = torch.log1p(torch.exp(-4.0 * spring / temperature * steps))
    return stretched(steps, spring) - temperature * other


def loss_of_distances(
    tables: Tables, edges: Tensor, nonedges: Tensor, temperature: float
) -> Tensor:
    """Eq. 17 from the distances of the edges [m] and of the other pairs."""
    scores, rest = -edges / temperature, -nonedges / temperature
    start = torch.logsumexp(rest, 0, keepdim=True) if len(rest) else rest.new_full((1,), NOTHING)
    cumulative = torch.logcumsumexp(torch.cat((start, scores)), dim=0)
    return _softplus(cumulative[tables.weaker] - scores)[tables.silent :].sum()


def _softplus(excess: Tensor) -> Tensor:
    """log(1 + eˣ), whose slope keeps its digits where an order is well satisfied and the loss
    almost 0.
    """
    return torch.logaddexp(torch.zeros_like(excess), excess)
