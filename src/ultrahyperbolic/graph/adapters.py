"""Graphs from the objects of other libraries, each imported only when its object arrives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..arrays import Floats
from .arrow import arrow_values, choose_arrow_columns, rows_of_arrow
from .attributes import plain_columns
from .columns import SAMPLE_ROWS, Column, Columns, Wanted, choose_columns, columns_taken
from .errors import GraphError, need
from .ids import NodeIds
from .rows import Asymmetric, Kind, Repeated, Rows, Rules

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import pyarrow
    import scipy
    import torch_geometric


class Adapters(ABC):
    """The constructors of `Graph` that take other libraries' objects.

    A matrix that is symmetric is taken as it is; of an asymmetric one, and of a directed graph, the two directions are
    added, S = C + Cᵀ, as the paper does, or refused with ``asymmetric="error"``. With ``weights_are_distances=True``
    the weights are distances d, the smaller the closer, and each tie gets the strength 1/d before all else.
    """

    @classmethod
    @abstractmethod
    def from_rows(
        cls,
        rows: Rows,
        *,
        kind: Kind,
        rules: Rules = Rules(),  # noqa: B008 (it is immutable)
        weight_name: Column | None = None,
        labels: Mapping[Hashable, object] | None = None,
        columns: Columns | None = None,
        name: str | None = None,
    ) -> Self:
        """A graph from rows as a reader gathers them."""

    @abstractmethod
    def with_nodes(
        self, nodes: Iterable[Hashable] | Mapping[Hashable, object], attributes: Mapping[str, ArrayLike] | None = None
    ) -> Self:
        """The same edges over the given nodes."""

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph,
        *,
        weight: str | Literal[False] = "weight",
        label: str | None = None,
        repeated: Repeated = "sum",
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        name: str | None = None,
    ) -> Self:
        """From any networkx graph. Edges without the attribute ``weight`` weigh 1; ``label`` names a node attribute.

        Other attributes of nodes are kept as ``Graph.attributes`` where they are text or numbers.
        """
        name = name or graph.name or None
        ids = list(graph.nodes)
        _check_ids(ids, name or "networkx graph")
        positions = {node: k for k, node in enumerate(ids)}
        edges = list(graph.edges(data=weight or "weight"))
        codes = np.array([(positions[u], positions[v]) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)
        weights, counts = (None, {}) if weight is False else _fill_missing([w for _, _, w in edges], name)
        labels = None if label is None else {node: text for node, text in graph.nodes(data=label) if text is not None}
        rows = Rows(codes[:, 0], codes[:, 1], weights, NodeIds(ids), lambda row: name or "networkx graph", counts)
        kind: Kind = "matrix" if graph.is_directed() else "undirected"
        made = cls.from_rows(
            rows, kind=kind, rules=Rules(repeated, asymmetric, weights_are_distances), weight_name=weight,
            labels=labels, name=name,
        )  # fmt: skip
        attributes = plain_columns([data for _, data in graph.nodes(data=True)], without=label)
        return made.with_nodes(ids, attributes) if attributes else made

    @classmethod
    def from_igraph(
        cls,
        graph: igraph.Graph,
        *,
        weight: str | Literal[False] = "weight",
        label: str | None = None,
        repeated: Repeated = "sum",
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        name: str | None = None,
    ) -> Self:
        """From an igraph graph; its vertices' ``name`` is their id where there is one, else their number."""
        ids = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
        _check_ids(ids, name or "igraph graph")
        codes = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        weights, counts = None, dict[str, int]()
        if weight is not False and weight in graph.es.attributes():
            weights, counts = _fill_missing(graph.es[weight], name)
        labels = None
        if label is not None:
            labels = {node: text for node, text in zip(ids, graph.vs[label], strict=True) if text is not None}
        rows = Rows(codes[:, 0], codes[:, 1], weights, NodeIds(ids), lambda row: name or "igraph graph", counts)
        kind: Kind = "matrix" if graph.is_directed() else "undirected"
        return cls.from_rows(
            rows, kind=kind, rules=Rules(repeated, asymmetric, weights_are_distances), weight_name=weight,
            labels=labels, name=name,
        )  # fmt: skip

    @classmethod
    def from_pyg(
        cls,
        data: torch_geometric.data.Data,
        *,
        weight: str | Literal[False] | None = None,
        ids: Sequence[Hashable] | None = None,
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a PyTorch Geometric ``Data``; weights are ``edge_weight``, or ``edge_attr`` if it has one per edge."""
        if getattr(data, "edge_index", None) is None:
            raise GraphError(f"{name or 'PyG data'}: no edge_index; a Data with edges is needed")
        first, second = data.edge_index.cpu().numpy().astype(np.int64)
        weights = None
        if weight is None:
            weights = getattr(data, "edge_weight", None)
            attributes = getattr(data, "edge_attr", None)
            if weights is None and attributes is not None and attributes.numel() == len(first):
                weights = attributes
        elif weight is not False:
            weights = getattr(data, weight, None)
            if weights is None or weights.numel() != len(first):
                raise GraphError(f"{name or 'PyG data'}: {weight!r} must hold one number per edge")
        floats = None if weights is None else weights.cpu().numpy().astype(np.float64).reshape(-1)
        node_ids = _ids_of_matrix(ids, int(data.num_nodes), name or "PyG data")
        rows = Rows(first, second, floats, node_ids, lambda row: f"{name or 'PyG data'}, edge {row} (from 0)")
        rules = Rules(asymmetric=asymmetric, weights_are_distances=weights_are_distances)
        return cls.from_rows(rows, kind="matrix", rules=rules, weight_name=weight, name=name)

    @classmethod
    def from_scipy(
        cls,
        matrix: scipy.sparse.sparray | scipy.sparse.spmatrix,
        *,
        ids: Sequence[Hashable] | None = None,
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a square sparse matrix of weights; ``ids`` names its rows, which else are 0 to n - 1.

        A zero that is stored is refused: ``matrix.eliminate_zeros()`` says that you meant no tie.
        """
        rows = _rows_of_sparse(matrix, ids, name or "sparse matrix")
        rules = Rules(asymmetric=asymmetric, weights_are_distances=weights_are_distances)
        return cls.from_rows(rows, kind="matrix", rules=rules, name=name)

    @classmethod
    def from_numpy(
        cls,
        matrix: ArrayLike,
        *,
        ids: Sequence[Hashable] | None = None,
        asymmetric: Asymmetric = "sum",
        weights_are_distances: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a square array of weights, 0 where there is no edge; ``ids`` names its rows, which else are 0 to n - 1.

        >>> import numpy as np
        >>> from ultrahyperbolic.graph import Graph
        >>> graph = Graph.from_numpy(np.array([[0, 2, 0], [3, 0, 1], [0, 1, 0]]), ids=["a", "b", "c"])
        >>> graph.weights.tolist(), graph.policies
        ([5.0, 2.0], {'asymmetric_pairs_summed': 1})
        """
        where = name or "matrix"
        array = np.asarray(matrix)
        _check_square(array.shape, array.dtype, where)
        first, second = np.nonzero(array)
        weights = array[first, second].astype(np.float64)
        rows = Rows(first, second, weights, _ids_of_matrix(ids, len(array), where), lambda row: where)
        rules = Rules(asymmetric=asymmetric, weights_are_distances=weights_are_distances)
        return cls.from_rows(rows, kind="matrix", rules=rules, name=name)

    @classmethod
    def from_pandas(
        cls,
        frame: pandas.DataFrame,
        *,
        source: Column | None = None,
        target: Column | None = None,
        weight: Column | Literal[False] | None = None,
        nodes: Iterable[Hashable] | Mapping[Hashable, object] | None = None,
        repeated: Repeated = "sum",
        weights_are_distances: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a data frame with one row per edge; columns are found as `read_graph` finds them."""
        pd = need("pandas", "Graph.from_pandas")
        where = name or "data frame"
        is_numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
        chosen = choose_columns(
            list(frame.columns),
            frame.shape[1],
            is_numeric.__getitem__,
            lambda k: frame.iloc[:SAMPLE_ROWS, k].dropna().map(_comparable).unique().tolist(),
            Wanted(source, target, weight),
            where,
        )
        first, second = frame.iloc[:, chosen[0]], frame.iloc[:, chosen[1]]
        weights = None
        if chosen[2] is not None:
            if not is_numeric[chosen[2]]:
                raise GraphError(f"{where}: the column {frame.columns[chosen[2]]!r} holds no numbers to be weights")
            weights = frame.iloc[:, chosen[2]].to_numpy(dtype=np.float64, na_value=np.nan)
        for column in (first, second):
            if column.isna().any():
                row = int(np.flatnonzero(column.isna())[0])
                raise GraphError(f"{where}, row {row} (from 0): the id in column {column.name!r} is missing")
        numbers = first.dtype == second.dtype and is_numeric[chosen[0]]
        both = np.empty((len(frame), 2), dtype=first.to_numpy().dtype if numbers else object)
        for k, column in enumerate((first, second)):
            both[:, k] = column if numbers else column.astype(object)
        codes, ids = pd.factorize(both.ravel())
        codes = codes.astype(np.int64).reshape(-1, 2)
        rows = Rows(codes[:, 0], codes[:, 1], weights, NodeIds(ids), lambda row: f"{where}, row {row} (from 0)")
        graph = cls.from_rows(
            rows, kind="list", rules=Rules(repeated, weights_are_distances=weights_are_distances),
            columns=columns_taken(list(frame.columns), chosen), name=name,
        )  # fmt: skip
        return graph if nodes is None else graph.with_nodes(nodes)

    @classmethod
    def from_arrow(
        cls,
        table: pyarrow.Table,
        *,
        source: Column | None = None,
        target: Column | None = None,
        weight: Column | Literal[False] | None = None,
        nodes: Iterable[Hashable] | Mapping[Hashable, object] | None = None,
        repeated: Repeated = "sum",
        weights_are_distances: bool = False,
        name: str | None = None,
    ) -> Self:
        """From a ``pyarrow.Table`` with one row per edge; columns are found as `read_graph` finds them."""
        where = name or "table"
        chosen = choose_arrow_columns(
            table.schema,
            lambda k: arrow_values(table.column(k)[:SAMPLE_ROWS]),
            Wanted(source, target, weight),
            where,
        )
        rows = rows_of_arrow(*(None if k is None else table.column(k) for k in chosen), where=where)
        graph = cls.from_rows(
            rows, kind="list", rules=Rules(repeated, weights_are_distances=weights_are_distances),
            columns=columns_taken(table.schema.names, chosen), name=name,
        )  # fmt: skip
        return graph if nodes is None else graph.with_nodes(nodes)


def _rows_of_sparse(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, ids: Sequence[Hashable] | None, where: str
) -> Rows:
    """Rows from the stored entries of a sparse matrix."""
    entries = matrix.tocoo()
    _check_square(entries.shape, entries.dtype, where)
    first, second = (np.asarray(axis, dtype=np.int64) for axis in entries.coords)
    weights = np.asarray(entries.data, dtype=np.float64)
    return Rows(first, second, weights, _ids_of_matrix(ids, entries.shape[0], where), lambda row: where)


def _fill_missing(weights: Sequence[ArrayLike | None], name: str | None) -> tuple[Floats | None, dict[str, int]]:
    """Weights as numbers, 1 where there is none, and how many had none; ``None`` where all have none."""
    missing = sum(weight is None for weight in weights)
    if missing == len(weights):
        return None, {}
    try:
        floats = np.array([1.0 if weight is None else weight for weight in weights], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        floats = np.empty((0, 0))
    if floats.ndim != 1:
        raise GraphError(f"{name or 'the graph'}: the weights must be numbers")
    return floats, {"missing_weights_set_to_1": missing} if missing else {}


def _check_square(shape: tuple[int, ...], dtype: DTypeLike, where: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"{where}: must be a square matrix, with one row and one column per node; got {shape}")
    if np.dtype(dtype).kind not in "biuf":
        raise GraphError(f"{where}: the entries must be real numbers, not {dtype}")


def _ids_of_matrix(ids: Sequence[Hashable] | None, n_nodes: int, where: str) -> NodeIds:
    if ids is None:
        return NodeIds(range(n_nodes))
    if len(ids) != n_nodes:
        raise GraphError(f"{where}: {len(ids)} ids for {n_nodes} rows")
    _check_ids(ids, where)
    return NodeIds(ids)


def _check_ids(ids: Sequence[Hashable], where: str) -> None:
    if len(set(ids)) < len(ids):
        raise GraphError(f"{where}: the ids are not distinct")
    if any(node is None or node != node for node in ids):
        raise GraphError(f"{where}: an id is missing (None or NaN)")


def _comparable(value: object) -> object:
    return value if isinstance(value, str | int | float) else str(value)
