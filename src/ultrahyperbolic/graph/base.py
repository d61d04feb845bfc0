"""Ids, ties and weights: what readers make of a file and notebooks show."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints
from .attributes import Attributes, as_attributes, taken
from .columns import Column, Columns, warn_of_distances
from .errors import GraphError
from .fold import fold, invert_distances, policy_words
from .ids import NodeIds, Nodes, check_texts, distinct_ids, fingerprint_of
from .rows import (
    ROUNDING,
    EdgeRows,
    Kind,
    Policies,
    check_edges,
    frozen,
    owned,
    sorted_distinct,
    without_rounding,
)


@dataclass(frozen=True, eq=False, repr=False)
class BaseGraph:
    """What a `Graph` holds, and what follows from that alone."""

    ids: NodeIds
    edges: Ints
    weights: Floats
    labels: Mapping[Hashable, object] | None = None
    policies: Mapping[str, int] = field(default_factory=dict)
    source: str | None = None
    columns: Columns | None = None
    attributes: Attributes = field(default_factory=dict)
    directions: Floats | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.ids, NodeIds):
            object.__setattr__(self, "ids", NodeIds(self.ids))
        object.__setattr__(self, "edges", owned(self.edges, np.int64))
        object.__setattr__(self, "weights", owned(self.weights, np.float64))
        if (
            self.edges.ndim != 2
            or self.edges.shape[1] != 2
            or self.weights.shape != (len(self.edges),)
        ):
            raise GraphError(
                f"edges must be [m, 2] and weights [m], got {self.edges.shape} and "
                f"{self.weights.shape}"
            )
        check_edges(self.edges, self.weights, len(self.ids), self._name)
        object.__setattr__(self, "weights", frozen(without_rounding(self.weights), np.float64))
        if self.directions is not None:
            ways = frozen(without_rounding(owned(self.directions, np.float64)), np.float64)
            object.__setattr__(self, "directions", ways)
            if ways.shape != (self.n_edges, 2):
                raise GraphError(
                    f"{self._name}: directions must be [m, 2], got {ways.shape} of {self.n_edges} "
                    "ties"
                )
            if not ((ways >= 0.0).all() and np.allclose(ways.sum(1), self.weights, ROUNDING, 0.0)):
                raise GraphError(
                    f"{self._name}: the weights of both directions, 0 or more, must add up to "
                    "that of the tie"
                )
        object.__setattr__(self, "attributes", as_attributes(self.attributes, len(self.ids)))
        # What could not be saved later, after a training, is refused here.
        check_texts(self.ids, "id", self._name)
        check_texts((self.labels or {}).values(), "label", self._name)
        check_texts(self.attributes, "name of an attribute", self._name)
        for attribute, values in self.attributes.items():
            if values.dtype == object:
                check_texts(values.tolist(), attribute, self._name)

    @classmethod
    def from_rows(
        cls,
        rows: EdgeRows,
        *,
        kind: Kind,
        rules: Policies = Policies(),  # noqa: B008 (it is immutable)
        weight_name: Column | None = None,
        labels: Mapping[Hashable, object] | None = None,
        columns: Columns | None = None,
        name: str | None = None,
    ) -> Self:
        """A graph from rows as a reader gathers them; ``weight_name`` is what weights without a
        table are called.
        """
        if rules.weights_are_distances:
            rows = invert_distances(rows, name or "the graph")
        elif rows.weights is not None:
            warn_of_distances(
                weight_name if columns is None else columns.weight, name or "the graph"
            )
        edges, weights, directions, counts = fold(rows, kind, rules)
        edges.flags.writeable = weights.flags.writeable = False  # so that they are not copied
        counts = _with_isolated(counts, edges, len(rows.ids))
        return cls(rows.ids, edges, weights, labels, counts, name, columns, directions=directions)

    def with_nodes(self, nodes: Nodes, attributes: Mapping[str, ArrayLike] | None = None) -> Self:
        """The same edges over the given nodes, in their order, which must have all of the graph's;
        others are isolated.

        A mapping gives labels too, and ``attributes`` further columns: one value per given node.
        """
        ids = distinct_ids(list(nodes), "the node list", once=True)
        missing = [node for node in self.ids if node not in ids]
        if missing:
            raise GraphError(
                f"{self._name}: node {missing[0]!r} is not in the node list ({len(missing)} "
                "such): add it or correct it"
            )
        positions = np.fromiter(map(ids.__getitem__, self.ids), dtype=np.int64, count=self.n_nodes)
        edges, weights, directions = self.moved_to(positions)
        labels = dict(nodes) if isinstance(nodes, Mapping) else self.labels
        given = None if attributes is None else as_attributes(attributes, len(ids))
        return replace(
            self,
            ids=NodeIds(ids),
            edges=edges,
            weights=weights,
            directions=directions,
            labels=labels,
            policies=_with_isolated(self.policies, edges, len(ids)),
            attributes=taken(self.attributes, positions, len(ids)) if given is None else given,
        )

    def moved_to(self, positions: Ints) -> tuple[Ints, Floats, Floats | None]:
        """The edges with node i at ``positions[i]``, i < j and sorted again, their weights and
        directions.
        """
        (first, second), directions = positions[self.edges.T], self.directions
        if directions is not None:
            directions = np.where((first > second)[:, None], directions[:, ::-1], directions)
        low, high = np.minimum(first, second), np.maximum(first, second)
        order = np.argsort(low * (high.max(initial=0) + 1) + high)
        edges = np.column_stack((low[order], high[order]))
        return edges, self.weights[order], None if directions is None else directions[order]

    @property
    def is_directed(self) -> bool:
        """Whether ties have directions."""
        return self.directions is not None

    @cached_property
    def arcs(self) -> tuple[Ints, Floats]:
        """The directed ties [k, 2], from the first node to the second, and their weights [k]; all
        forward ones first.

        Of an undirected graph each edge is a tie in both directions, with its whole weight.
        """
        both = (
            np.repeat(self.weights[:, None], 2, 1) if self.directions is None else self.directions
        )
        there, back = both.T > 0.0
        ends = np.concatenate((self.edges[there], self.edges[back][:, ::-1]))
        return frozen(ends, np.int64), frozen(
            np.concatenate((both[there, 0], both[back, 1])), np.float64
        )

    @property
    def n_nodes(self) -> int:
        """The number of nodes, isolated ones included."""
        return len(self.ids)

    @property
    def n_edges(self) -> int:
        """The number of ties."""
        return len(self.edges)

    @cached_property
    def capacities(self) -> Floats:
        """[c] the distinct weights, ascending."""
        return frozen(sorted_distinct(self.weights), np.float64)

    @cached_property
    def degree(self) -> Ints:
        """[n] the number of ties at each node."""
        return frozen(np.bincount(self.edges.ravel(), minlength=self.n_nodes), np.int64)

    @cached_property
    def strength(self) -> Floats:
        """[n] the sum of the weights at each node, the paper's s_i."""
        order = np.argsort(
            self.weights, kind="stable"
        )  # so that sums do not depend on the order of nodes
        ends, both = self.edges[order].ravel(), np.repeat(self.weights[order], 2)
        sums = np.bincount(ends, weights=both, minlength=self.n_nodes).astype(
            np.float64, copy=False
        )
        return frozen(without_rounding(sums), np.float64)

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 over ids, ties and weights, in hexadecimal: the same in every process and on
        every machine.

        Ids that are no text, number, bytes, tuple or frozenset enter by their type and ``repr``.
        """
        return fingerprint_of(self.ids, self.edges, self.weights, self.directions)

    @property
    def _name(self) -> str:
        return self.source or "graph"


def _with_isolated(policies: Mapping[str, int], edges: Ints, n_nodes: int) -> dict[str, int]:
    """The policies, with the number of nodes that kept their row without a tie."""
    counts = {policy: count for policy, count in policies.items() if policy != "isolated_nodes"}
    alone = np.ones(n_nodes, dtype=bool)
    alone[edges] = False
    return counts | {"isolated_nodes": int(alone.sum())} if alone.any() else counts


_TOP = 5
_LONGEST = 80


def summary(graph: BaseGraph) -> str:
    """Sizes, weights, data cleaning, and the nodes with the strongest ties."""
    rows = [("nodes", f"{len(graph.ids):,}"), ("ties", f"{len(graph.edges):,}")]
    if graph.source:
        rows.insert(0, ("source", graph.source))
    if len(graph.capacities):
        low, high = graph.capacities[0], graph.capacities[-1]
        weights = (
            f"all {low:g}"
            if low == high
            else f"{low:g} to {high:g} ({len(graph.capacities):,} different ones)"
        )
        rows.append(("weights", weights))
    if graph.attributes:
        rows.append(("columns of nodes", ", ".join(graph.attributes)))
    rows += [(policy_words(policy), f"{count:,}") for policy, count in graph.policies.items()]
    facts = html_table("Graph", [(text(name), text(value)) for name, value in rows])
    if not len(graph.edges):
        return f"<div>{facts}</div>"
    labels, top = graph.labels or {}, np.argsort(-graph.strength, kind="stable")[:_TOP].tolist()
    names = [
        node if (label := labels.get(node)) is None else label
        for node in (graph.ids[row] for row in top)
    ]
    strongest = [
        (text(name), f"{graph.strength[row]:g}", str(graph.degree[row]))
        for name, row in zip(names, top, strict=True)
    ]
    table = html_table("Strongest nodes", strongest, ("node", "strength", "ties"))
    return f"<div>{facts}{table}</div>"


def html_table(
    caption: str,
    rows: Iterable[Sequence[str]],
    heads: Sequence[str] = (),
    left: Collection[int] = (0,),
) -> str:
    """A table of cells that are markup already, those of the columns ``left`` to the left."""

    def line(cells: Sequence[str], first: str, others: str) -> str:
        tags = (first, *[others] * (len(cells) - 1))
        sides = (' style="text-align:left"' if k in left else "" for k in range(len(cells)))
        parts = zip(tags, sides, cells, strict=True)
        return f"<tr>{''.join(f'<{tag}{side}>{cell}</{tag}>' for tag, side, cell in parts)}</tr>"

    head = f"<thead>{line(heads, 'th', 'th')}</thead>" if heads else ""
    body = "".join(line(row, "td" if heads else "th", "td") for row in rows)
    return f"<table><caption>{caption}</caption>{head}<tbody>{body}</tbody></table>"


def text(value: object) -> str:
    """Text with markup escaped, cut where it is long."""
    shown = str(value)
    return escape(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…")


def components_of(n: int, edges: Ints) -> Ints:
    """`components` of n nodes and edges [m, 2] in either direction."""
    label = np.arange(n)
    first, second = i, j = edges.T.copy()
    while len(i):
        # Each root takes the lowest root beside it, and every node the root that this leads to. In
        # two rounds each root is taken or takes one, so that there are O(log n) rounds.
        np.minimum.at(label, np.maximum(first, second), np.minimum(first, second))
        while ((further := label[label]) < label).any():
            label = further
        first, second = label[i], label[j]
        apart = first != second
        i, j, first, second = i[apart], j[apart], first[apart], second[apart]
    return np.asarray((np.cumsum(label == np.arange(n)) - 1)[label])
