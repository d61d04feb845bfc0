"""A weighted graph: ids, ties and weights, and the ways in from other libraries' objects."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from numbers import Integral
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Bools, Floats, Ints, positions_in
from .attributes import Attributes, as_attributes, plain_columns, taken
from .columns import (
    SAMPLE_ROWS,
    Column,
    Columns,
    Wanted,
    choose_columns,
    columns_taken,
    warn_of_distances,
    weight_attribute,
)
from .errors import GraphError, need
from .fold import fold, invert_distances, policy_words
from .ids import NodeIds, Nodes, check_texts, distinct_ids, fingerprint_of, node_order
from .markup import html_table, text
from .rows import (
    ROUNDING,
    Asymmetric,
    EdgeRows,
    Kind,
    Policies,
    Repeated,
    as_floats,
    as_positions,
    check_edges,
    frozen,
    owned,
    sorted_distinct,
    without_rounding,
)

_SHOWN = 5  # strongest nodes that a notebook shows

if TYPE_CHECKING:
    import anndata
    import igraph
    import networkx
    import pandas
    import pyarrow
    import scipy
    import torch_geometric


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
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
        if ids is None or isinstance(ids, int | Integral):
            node_ids = NodeIds(range(used if ids is None else int(ids)))
        else:
            node_ids = NodeIds(ids)
            distinct_ids(node_ids, name, once=True)
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

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph,
        *,
        weight: str | Literal[False] | None = None,
        label: str | None = None,
        repeated: Repeated = "sum",
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From any networkx graph; ``weight`` names an attribute of edges, ``label`` one of nodes.

        By default the weight is an attribute named weight (or weights, strength, capacity), else
        the only one that holds numbers, with a warning. Ties without it weigh 1; with ``False`` all
        do. Other attributes of nodes are kept as ``Graph.attributes`` where they are text or
        numbers.
        """
        name = name or graph.name or None
        ids = list(graph.nodes)
        positions = {node: k for k, node in enumerate(ids)}
        edges = list(graph.edges(data=True))
        made = cls._from_network(
            ids,
            [(positions[u], positions[v]) for u, v, _ in edges],
            [held for *_, held in edges],
            weight,
            Policies(repeated, asymmetric, weights_are_distances, directed),
            is_directed=graph.is_directed(),
            labels=None if label is None else dict(graph.nodes(data=label)),
            where=name or "networkx graph",
            name=name,
        )
        attributes = plain_columns([data for _, data in graph.nodes(data=True)], without=label)
        return made.with_nodes(ids, attributes) if attributes else made

    @classmethod
    def from_igraph(
        cls,
        graph: igraph.Graph,
        *,
        weight: str | Literal[False] | None = None,
        label: str | None = None,
        repeated: Repeated = "sum",
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From an igraph graph; its vertices' ``name`` is their id where there is one, else their
        number.

        The weight is found as in `from_networkx`.
        """
        ids = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
        return cls._from_network(
            ids,
            graph.get_edgelist(),
            [edge.attributes() for edge in graph.es],
            weight,
            Policies(repeated, asymmetric, weights_are_distances, directed),
            is_directed=graph.is_directed(),
            labels=None if label is None else dict(zip(ids, graph.vs[label], strict=True)),
            where=name or "igraph graph",
            name=name,
        )

    @classmethod
    def _from_network(
        cls,
        ids: Sequence[Hashable],
        ends: Sequence[tuple[int, int]],
        held: Sequence[Mapping[str, ArrayLike | None]],
        weight: str | Literal[False] | None,
        rules: Policies,
        *,
        is_directed: bool,
        labels: Mapping[Hashable, object] | None,
        where: str,
        name: str | None,
    ) -> Self:
        """From edges that hold attributes. A missing weight becomes 1, and is counted where others
        have one.
        """
        distinct_ids(ids, where, once=True)
        first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        attribute = None if weight is False else weight_attribute(held, weight, where)
        given = [] if attribute is None else [edge.get(attribute) for edge in held]
        missing = sum(value is None for value in given)
        weights, counts = None, {}
        if missing < len(given):
            weights = as_floats([1.0 if value is None else value for value in given], where)
            if weights.ndim != 1:
                raise GraphError(f"{where}: the weights must be numbers")
            counts = {"missing_weights_set_to_1": missing} if missing else {}
        if labels is not None:
            labels = {node: label for node, label in labels.items() if label is not None}
        return cls.from_rows(
            EdgeRows(first, second, weights, NodeIds(ids), lambda row: where, counts),
            kind="matrix" if is_directed else "undirected",
            rules=rules,
            weight_name=attribute,
            labels=labels,
            name=name,
        )

    @classmethod
    def from_pyg(
        cls,
        data: torch_geometric.data.Data,
        *,
        weight: str | Literal[False] | None = None,
        ids: Sequence[Hashable] | None = None,
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a PyTorch Geometric ``Data``; weights are ``edge_weight``, or ``edge_attr`` if it
        has one per tie.
        """
        where = name or "PyG data"
        if getattr(data, "edge_index", None) is None:
            raise GraphError(f"{where}: no edge_index; a Data with ties is needed")
        first, second = data.edge_index.cpu().numpy().astype(np.int64)
        weights = None if weight is False else getattr(data, weight or "edge_weight", None)
        if weight and (weights is None or weights.numel() != len(first)):
            raise GraphError(f"{where}: {weight!r} must hold one number per tie")
        attributes = getattr(data, "edge_attr", None)
        if (
            weight is None
            and weights is None
            and attributes is not None
            and attributes.numel() == len(first)
        ):
            weights = attributes
        floats = None if weights is None else weights.cpu().numpy().astype(np.float64).reshape(-1)
        node_ids = _ids_of_rows(ids, int(data.num_nodes), where)
        rows = EdgeRows(first, second, floats, node_ids, lambda row: f"{where}, tie {row} (from 0)")
        rules = Policies("sum", asymmetric, weights_are_distances, directed)
        return cls.from_rows(rows, kind="matrix", rules=rules, weight_name=weight, name=name)

    @classmethod
    def from_scipy(
        cls,
        matrix: scipy.sparse.sparray | scipy.sparse.spmatrix,
        *,
        ids: Sequence[Hashable] | None = None,
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a square sparse matrix of weights; ``ids`` names its rows. Default: 0 to n - 1.

        A zero that is stored is refused: ``matrix.eliminate_zeros()`` says that you meant no tie.
        """
        entries = matrix.tocoo()
        rules = Policies("sum", asymmetric, weights_are_distances, directed)
        return cls._from_entries(entries.coords, entries.data, entries.shape, ids, rules, name)

    @classmethod
    def from_anndata(
        cls,
        data: anndata.AnnData,
        *,
        weight: str | Literal[False] | None = None,
        asymmetric: Asymmetric = "sum",
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From the graph of cells that an ``AnnData`` holds: ``weight`` names a matrix of ``obsp``.

        Default: ``"connectivities"``, which scanpy's ``pp.neighbors`` makes. The ids are the names
        of the cells.
        """
        key, where = weight or "connectivities", name or "AnnData"
        if key not in data.obsp:
            raise GraphError(
                f"{where}: obsp has no {key!r}: make it with scanpy's pp.neighbors, or name it "
                "with weight"
            )
        matrix = data.obsp[key].tocsr(copy=True)
        matrix.eliminate_zeros()
        if weight is False:
            matrix.data[:] = 1.0
        return cls.from_scipy(
            matrix, ids=list(data.obs_names), directed=directed, asymmetric=asymmetric, name=name
        )

    @classmethod
    def from_numpy(
        cls,
        matrix: ArrayLike,
        *,
        ids: Sequence[Hashable] | None = None,
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a square array of weights, 0 where there is no tie; ``ids`` names its rows. Default:
        0 to n - 1.

        >>> import numpy as np
        >>> from ultrahyperbolic.graph import Graph
        >>> weights = np.array([[0, 2, 0], [3, 0, 1], [0, 1, 0]])
        >>> graph = Graph.from_numpy(weights, ids=["a", "b", "c"])
        >>> graph.weights.tolist(), graph.policies
        ([5.0, 2.0], {'asymmetric_pairs_summed': 1})
        """
        array = np.asarray(matrix)
        entries = np.nonzero(array)
        rules = Policies("sum", asymmetric, weights_are_distances, directed)
        return cls._from_entries(entries, array[entries], array.shape, ids, rules, name)

    @classmethod
    def _from_entries(
        cls,
        ends: Sequence[ArrayLike],
        values: ArrayLike,
        shape: tuple[int, ...],
        ids: Sequence[Hashable] | None,
        rules: Policies,
        name: str | None,
    ) -> Self:
        where, weights = name or "matrix", np.asarray(values)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise GraphError(
                f"{where}: must be a square matrix, with one row and one column per node; got "
                f"{shape}"
            )
        if weights.dtype.kind not in "biuf":
            raise GraphError(f"{where}: the entries must be real numbers, not {weights.dtype}")
        first, second = (np.asarray(end, dtype=np.int64) for end in ends)
        rows = EdgeRows(
            first,
            second,
            weights.astype(np.float64),
            _ids_of_rows(ids, shape[0], where),
            lambda row: where,
        )
        return cls.from_rows(rows, kind="matrix", rules=rules, name=name)

    @classmethod
    def from_pandas(
        cls,
        frame: pandas.DataFrame,
        *,
        source: Column | None = None,
        target: Column | None = None,
        weight: Column | Literal[False] | None = None,
        nodes: Nodes | None = None,
        repeated: Repeated = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a data frame with one row per tie; columns are found as `read_graph` finds them."""
        import pandas as pd

        names, where = list(frame.columns), name or "data frame"
        is_numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]

        def values(k: int) -> list[object]:  # which can be compared
            cells = frame.iloc[:SAMPLE_ROWS, k].dropna().tolist()
            return list(
                {cell if isinstance(cell, str | int | float) else str(cell) for cell in cells}
            )

        wanted = Wanted(source, target, weight)
        chosen = choose_columns(names, len(names), is_numeric.__getitem__, values, wanted, where)
        first, second = frame.iloc[:, chosen[0]], frame.iloc[:, chosen[1]]
        weights = None
        if chosen[2] is not None:
            if not is_numeric[chosen[2]]:
                raise GraphError(
                    f"{where}: the column {names[chosen[2]]!r} holds no numbers to be weights"
                )
            weights = frame.iloc[:, chosen[2]].to_numpy(dtype=np.float64, na_value=np.nan)
        for column in (first, second):
            if column.isna().any():
                row = int(np.flatnonzero(column.isna())[0])
                raise GraphError(
                    f"{where}, row {row} (from 0): the id in column {column.name!r} is missing"
                )
        numbers = first.dtype == second.dtype and is_numeric[chosen[0]]
        both = frame.iloc[:, list(chosen[:2])].to_numpy(
            dtype=first.to_numpy().dtype if numbers else object
        )
        codes, ids = pd.factorize(both.ravel())
        i, j = codes.astype(np.int64).reshape(-1, 2).T
        rows = EdgeRows(i, j, weights, NodeIds(ids), lambda row: f"{where}, row {row} (from 0)")
        rules = Policies(repeated, "sum", weights_are_distances, directed)
        graph = cls.from_rows(
            rows, kind="list", rules=rules, columns=columns_taken(names, chosen), name=name
        )
        return graph if nodes is None else graph.with_nodes(nodes)

    @classmethod
    def from_arrow(
        cls,
        table: pyarrow.Table,
        *,
        source: Column | None = None,
        target: Column | None = None,
        weight: Column | Literal[False] | None = None,
        nodes: Nodes | None = None,
        repeated: Repeated = "sum",
        weights_are_distances: bool = False,
        directed: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a ``pyarrow.Table``, or a table that Arrow can take over, such as polars' and
        DuckDB's, with one row per tie; columns are found as `read_graph` finds them.
        """
        pyarrow = need("pyarrow", "Graph.from_arrow")
        from .tables import choose_arrow_columns, distinct_values, rows_of_table

        table = pyarrow.table(table)

        names, where, wanted = table.schema.names, name or "table", Wanted(source, target, weight)
        chosen = choose_arrow_columns(
            table.schema, lambda k: distinct_values(table.column(k)[:SAMPLE_ROWS]), wanted, where
        )
        rows = rows_of_table(table.select([k for k in chosen if k is not None]), where)
        rules, columns = (
            Policies(repeated, "sum", weights_are_distances, directed),
            columns_taken(names, chosen),
        )
        graph = cls.from_rows(rows, kind="list", rules=rules, columns=columns, name=name)
        return graph if nodes is None else graph.with_nodes(nodes)

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
        # In the order of the weights, so that sums do not depend on the order of nodes.
        order = np.argsort(self.weights, kind="stable")
        both = np.repeat(self.weights[order], 2)
        sums = np.bincount(self.edges[order].ravel(), both, self.n_nodes).astype(np.float64)
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
        offsets = np.concatenate(([0], np.cumsum(self.degree)))
        nodes = np.concatenate((j, i))[self._both_ways]
        return frozen(offsets, np.int64), frozen(nodes, np.int64)

    @cached_property
    def _both_ways(self) -> Ints:
        """[2m] the ties in the order of `neighbor_lists`: k and m + k are tie k from either end."""
        (i, j), n = self.edges.T, self.n_nodes
        return np.argsort(np.concatenate((i * n + j, j * n + i)))

    @cached_property
    def component(self) -> Ints:
        """[n] what `evaluation.components` finds."""
        return frozen(components_of(self.n_nodes, self.edges), np.int64)

    @cached_property
    def neighbor_weights(self) -> Floats:
        """[2m] the weights of the ties of each node, in the order of `neighbor_lists`."""
        return frozen(np.tile(self.weights, 2)[self._both_ways], np.float64)

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
        counts = self.counts_in_words
        if len(self.capacities) == 1:
            counts += f", every weight {self.capacities[0]:g}"
        elif self.n_edges:
            counts += f", weights from {self.capacities[0]:g} to {self.capacities[-1]:g}"
        columns = [] if self.columns is None else [str(self.columns)]
        done = [f"{policy_words(policy)}: {count}" for policy, count in self.policies.items()]
        return "; ".join([f"{self._name}: {counts}", *columns, *done])

    def __repr__(self) -> str:
        source = "" if self.source is None else f", source={self.source!r}"
        return f"{type(self).__name__}(n_nodes={self.n_nodes}, n_edges={self.n_edges}{source})"

    def _repr_html_(self) -> str:
        """Sizes, weights, data cleaning, and the nodes with the strongest ties."""
        rows = [("nodes", f"{len(self.ids):,}"), ("ties", f"{len(self.edges):,}")]
        if self.source:
            rows.insert(0, ("source", self.source))
        if len(self.capacities):
            low, high = self.capacities[0], self.capacities[-1]
            weights = (
                f"all {low:g}"
                if low == high
                else f"{low:g} to {high:g} ({len(self.capacities):,} different ones)"
            )
            rows.append(("weights", weights))
        if self.attributes:
            rows.append(("columns of nodes", ", ".join(self.attributes)))
        rows += [(policy_words(policy), f"{count:,}") for policy, count in self.policies.items()]
        facts = html_table("Graph", [(text(name), text(value)) for name, value in rows])
        if not len(self.edges):
            return f"<div>{facts}</div>"
        labels, top = self.labels or {}, np.argsort(-self.strength, kind="stable")[:_SHOWN].tolist()
        names = [
            node if (label := labels.get(node)) is None else label
            for node in (self.ids[row] for row in top)
        ]
        strongest = [
            (text(name), f"{self.strength[row]:g}", str(self.degree[row]))
            for name, row in zip(names, top, strict=True)
        ]
        table = html_table("Strongest nodes", strongest, ("node", "strength", "ties"))
        return f"<div>{facts}{table}</div>"

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _with_isolated(policies: Mapping[str, int], edges: Ints, n_nodes: int) -> dict[str, int]:
    """The policies, with the number of nodes that kept their row without a tie."""
    counts = {policy: count for policy, count in policies.items() if policy != "isolated_nodes"}
    alone = np.ones(n_nodes, dtype=bool)
    alone[edges] = False
    return counts | {"isolated_nodes": int(alone.sum())} if alone.any() else counts


def _ids_of_rows(ids: Sequence[Hashable] | None, n_nodes: int, where: str) -> NodeIds:
    if ids is None:
        return NodeIds(range(n_nodes))
    if len(ids) != n_nodes:
        raise GraphError(f"{where}: {len(ids)} ids for {n_nodes} rows")
    distinct_ids(ids, where, once=True)
    return NodeIds(ids)


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
