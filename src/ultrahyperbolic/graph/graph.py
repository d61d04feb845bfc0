"""A weighted graph: ids, edges, and the capacities of the edges sorted into classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from numbers import Integral
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Bools, Floats, Ints, positions_in
from .adapters import Adapters
from .base import BaseGraph, components_of, summary
from .errors import GraphError, need
from .fold import policy_words
from .ids import NodeIds, Nodes, distinct_ids, node_order
from .rows import EdgeRows, Policies, Repeated, as_floats, as_positions, frozen

if TYPE_CHECKING:
    import networkx
    import scipy


class Graph(Adapters, BaseGraph):
    """A weighted graph, immutable. Ids of every hashable type go in, and the same ids come out.

    A weight is the strength of a tie: the larger, the closer the two nodes belong. It is a finite
    number above 0, and 1 where none is given. Graphs come from `read_graph`, from `from_edges` and
    the other ``from_*`` constructors, or from `as_graph`, which takes whatever it is given.

    Parameters
    ----------
    ids, labels, attributes
        The node ids, in order; a label for some or all of them; further columns of the table of
        nodes, [n] by name.
    edges, weights
        [m, 2] positions in ``ids`` with i < j, sorted by i and then j, each tie once, and the
        weight [m] of each.
    directions
        Of a directed graph [m, 2] the weight from i to j and that from j to i, which add up to the
        weight of the tie; 0 for no tie. ``None``: ties have no direction.
    policies
        How often each policy was applied on the way here; what never happened is not listed.
    source, columns
        The file or the name that the graph came from, and of a table the columns of the two ends
        and of the weight.

    >>> graph = Graph.from_edges([("ann", "bob", 2), ("bob", "cid", 1), ("bob", "ann", 3)])
    >>> graph
    Graph(n_nodes=3, n_edges=2)
    >>> graph.ids[1], graph.index("cid"), graph.strength.tolist()
    ('bob', 2, [5.0, 6.0, 1.0])
    >>> print(graph.describe())
    graph: 3 nodes, 2 ties, weights from 1 to 5; reversed rows summed: 1
    """

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Sequence[Hashable]],
        weights: Iterable[float] | None = None,
        *,
        nodes: Nodes | None = None,
        repeated: Repeated = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """A graph from pairs of ids, or from (id, id, weight), in the order in which the ids first
        appear.

        ``weights`` has one number per tie, where ``edges`` are pairs. ``nodes`` are all nodes in
        the order wanted, or a mapping from id to label: see `with_nodes`. ``repeated``,
        ``weights_are_distances`` and ``directed`` are those of `read_graph`, and ``name`` is what
        messages call the graph.
        """
        edges = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
        sizes = {len(edge) if isinstance(edge, (tuple, list)) else 0 for edge in edges}
        if not sizes <= {2} and (weights is not None or not sizes <= {3}):
            wanted = (
                "a pair (id, id)"
                if weights is not None
                else "a pair (id, id), or each a triple (id, id, weight)"
            )
            raise GraphError(f"{name or 'the ties'}: each tie must be {wanted}")
        if sizes == {3}:
            weights = list(map(itemgetter(2), edges))
        ends = list(chain.from_iterable(map(itemgetter(0, 1), edges)))
        ids = distinct_ids(ends, name)
        codes = np.fromiter(map(ids.__getitem__, ends), dtype=np.int64, count=len(ends))
        graph = cls.from_arrays(
            codes[::2],
            codes[1::2],
            None if weights is None else as_floats(list(weights), name),
            ids=tuple(ids),
            repeated=repeated,
            weights_are_distances=weights_are_distances,
            directed=directed,
            name=name,
        )
        return graph if nodes is None else graph.with_nodes(nodes)

    @classmethod
    def from_arrays(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        ids: Sequence[Hashable] | int | None = None,
        repeated: Repeated = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """A graph from two arrays of node positions [m] and their weights [m]: the fast way in.

        ``ids`` names the positions 0, 1, …; a number n means the ids 0 to n - 1. Default: 0 to the
        largest position.
        """
        first, second = as_positions("first", first), as_positions("second", second)
        used = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
        if ids is None or isinstance(ids, Integral):
            ids = range(used if ids is None else int(ids))
        node_ids = NodeIds(ids)
        if not isinstance(ids, range):
            distinct_ids(list(node_ids), name, once=True)
        if first.shape != second.shape:
            raise GraphError(
                f"first and second must have one length, got {len(first)} and {len(second)}"
            )
        if min(first.min(initial=0), second.min(initial=0)) < 0 or used > len(node_ids):
            raise GraphError(
                f"{name or 'the ties'}: positions must lie between 0 and {len(node_ids) - 1}"
            )
        floats = None if weights is None else as_floats(weights, name)
        if floats is not None and floats.shape != first.shape:
            raise GraphError(f"{name or 'the ties'}: {len(first)} ties and {len(floats)} weights")
        rows = EdgeRows(
            first, second, floats, node_ids, lambda row: f"{name or 'the ties'}, row {row} (from 0)"
        )
        rules = Policies(repeated, "sum", weights_are_distances, directed)
        return cls.from_rows(rows, kind="list", rules=rules, name=name)

    @cached_property
    def node_order(self) -> Ints:
        """[n] the nodes in an order that follows from ties and ids, not from the order in which
        they were given.
        """
        return frozen(node_order(self.ids, self.edges, self.classes), np.int64)

    def reordered(self, order: Ints) -> Self:
        """The same graph with node ``order[k]`` in place k; ids, labels and attributes are left
        behind.
        """
        edges, weights, directions = self.moved_to(positions_in(order))
        other = type(self)(NodeIds(range(self.n_nodes)), edges, weights, directions=directions)
        if self.centrality is not None:
            other.keep_centrality(*(of[order] for of in self.centrality))
        return other

    centrality: ClassVar[tuple[Floats, Floats] | None] = None
    """What `ultrahyperbolic.graph.flow.centrality_of` found, once it was asked for."""

    def keep_centrality(self, values: Floats, errors: Floats) -> None:
        """Keep what was found."""
        vars(self)["centrality"] = values, errors

    def unweighted(self) -> Self:
        """The same graph with every weight 1."""
        columns = None if self.columns is None else self.columns._replace(weight=None)
        if self.directions is None:
            return replace(self, weights=np.ones(self.n_edges), columns=columns)
        directions = (self.directions > 0.0).astype(np.float64)
        return replace(self, weights=directions.sum(1), directions=directions, columns=columns)

    def index(self, node: Hashable) -> int:
        """The position of a node id; `GraphError` where there is no such node."""
        try:
            return self.ids.index(node)
        except ValueError:
            text = str(node)
            hint = (
                f"; the ids here are text: {text!r}"
                if not isinstance(node, str) and text in self.ids
                else ""
            )
            raise GraphError(f"{self._name} has no node {node!r}{hint}") from None

    @cached_property
    def classes(self) -> Ints:
        """[m] the capacity class of each tie: ``capacities[classes]`` is ``weights``."""
        return frozen(np.searchsorted(self.capacities, self.weights), np.int64)

    @cached_property
    def neighbor_lists(self) -> tuple[Ints, Ints]:
        """Offsets [n + 1] and nodes [2m]: ``nodes[offsets[i]:offsets[i + 1]]`` are the neighbours
        of i, ascending.
        """
        i, j = self.edges.T
        n, lesser = self.n_nodes, np.bincount(j, minlength=self.n_nodes)
        is_lesser = np.repeat(
            np.tile([True, False], n), np.column_stack((lesser, self.degree - lesser)).ravel()
        )
        nodes = np.empty(2 * self.n_edges, dtype=np.int64)
        # Edges are sorted by i and then j, so the greater neighbours of each node stand in order
        # already.
        nodes[is_lesser], nodes[~is_lesser] = np.sort(j * n + i) % max(n, 1), j
        return frozen(np.concatenate(([0], np.cumsum(self.degree))), np.int64), frozen(
            nodes, np.int64
        )

    @cached_property
    def component(self) -> Ints:
        """[n] what `evaluation.components` finds."""
        return frozen(components_of(self.n_nodes, self.edges), np.int64)

    @cached_property
    def neighbor_weights(self) -> Floats:
        """[2m] the weights of the ties of each node, in the order of `neighbor_lists`."""
        (i, j), n = self.edges.T, self.n_nodes
        return frozen(
            np.tile(self.weights, 2)[np.argsort(np.concatenate((i * n + j, j * n + i)))], np.float64
        )

    @property
    def isolated(self) -> Bools:
        """[n] whether a node has no tie."""
        return np.asarray(self.degree == 0)

    def adjacency(self) -> scipy.sparse.csr_array:
        """The symmetric matrix of weights [n, n], with sorted indices."""
        sparse = need("scipy.sparse", "Graph.adjacency")
        i, j = self.edges.T
        entries = np.concatenate((self.weights, self.weights))
        where = np.concatenate((i, j)), np.concatenate((j, i))
        return sparse.coo_array((entries, where), shape=(self.n_nodes, self.n_nodes)).tocsr()

    def to_networkx(self) -> networkx.Graph:
        """The same in networkx, weights as ``weight`` and labels as ``label``; a ``DiGraph`` if it
        is directed.
        """
        networkx = need("networkx", "Graph.to_networkx")
        graph = networkx.DiGraph() if self.is_directed else networkx.Graph()
        nodes = list(self.ids)
        graph.add_nodes_from(nodes)
        if self.labels is not None:
            graph.add_nodes_from(
                (node, {"label": label}) for node, label in self.labels.items() if node in self.ids
            )
        for name, values in self.attributes.items():
            graph.add_nodes_from(
                (node, {name: value}) for node, value in zip(nodes, values.tolist(), strict=True)
            )
        ties, weights = self.arcs if self.is_directed else (self.edges, self.weights)
        ends = ((nodes[i], nodes[j]) for i, j in ties.tolist())
        graph.add_weighted_edges_from(
            (*pair, w) for pair, w in zip(ends, weights.tolist(), strict=True)
        )
        return graph

    def require_trainable(self) -> None:
        """Raise `GraphError` unless the graph orders some pair before another: what embedding
        needs.
        """
        pairs = self.n_nodes * (self.n_nodes - 1) // 2
        if self.n_nodes == 0:
            raise GraphError(f"{self._name} is empty: there is nothing to embed")
        if self.n_nodes == 1:
            raise GraphError(
                f"{self._name} has one node, {self.ids[0]!r}: an embedding needs at least two and "
                "a tie"
            )
        if self.n_edges == 0:
            raise GraphError(
                f"{self._name} has {self.n_nodes} nodes and no ties: there is nothing to embed"
            )
        every = self.weights if self.directions is None else self.directions
        if self.n_edges == pairs and (every == every.flat[0]).all():
            raise GraphError(
                f"{self._name} has nothing to order: every pair of its {self.n_nodes} nodes is "
                "tied with "
                f"weight {every.flat[0]:g}; give weights that differ, or leave the weak ties out"
            )

    @property
    def counts_in_words(self) -> str:
        """How many nodes and ties there are."""
        ties = f"{self.n_edges} tie{'s' * (self.n_edges != 1)}"
        if self.directions is not None:
            ties = f"{len(self.arcs[1])} directed ties between {self.n_edges} pairs"
        return f"{self.n_nodes} node{'s' * (self.n_nodes != 1)}, {ties}"

    def describe(self) -> str:
        """One line: where from, how much, which columns of a table, and what was done on the
        way.
        """
        parts = self.counts_in_words
        if len(self.capacities) == 1:
            parts += f", every weight {self.capacities[0]:g}"
        elif self.n_edges:
            parts += f", weights from {self.capacities[0]:g} to {self.capacities[-1]:g}"
        taken = [] if self.columns is None else [str(self.columns)]
        done = [f"{policy_words(policy)}: {count}" for policy, count in self.policies.items()]
        return "; ".join([f"{self._name}: {parts}", *taken, *done])

    def __repr__(self) -> str:
        source = "" if self.source is None else f", source={self.source!r}"
        return f"{type(self).__name__}(n_nodes={self.n_nodes}, n_edges={self.n_edges}{source})"

    _repr_html_ = summary  # what a notebook shows

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)
