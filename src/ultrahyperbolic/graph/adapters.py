"""Graphs from the objects of other libraries, each imported only when its object arrives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .attributes import plain_columns
from .base import BaseGraph
from .columns import SAMPLE_ROWS, Column, Wanted, choose_columns, columns_taken, weight_attribute
from .errors import GraphError, need
from .ids import NodeIds, Nodes, distinct_ids
from .rows import Asymmetric, EdgeRows, Policies, Repeated, rows_of_network

if TYPE_CHECKING:
    import anndata
    import igraph
    import networkx
    import pandas
    import pyarrow
    import scipy
    import torch_geometric


class Adapters(BaseGraph):
    """The constructors of `Graph` that take other libraries' objects.

    ``repeated``, ``asymmetric``, ``weights_are_distances`` and ``directed`` are those of
    `read_graph`.
    """

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
        ends = [(positions[u], positions[v]) for u, v, _ in edges]
        attribute = None
        if weight is not False:
            attribute = weight_attribute(
                (held for *_, held in edges), weight, name or "networkx graph"
            )
        weights = None if attribute is None else [held.get(attribute) for *_, held in edges]
        labels = (
            None
            if label is None
            else {node: text for node, text in graph.nodes(data=label) if text is not None}
        )
        made = cls.from_rows(
            rows_of_network(ids, ends, weights, name or "networkx graph"),
            kind="matrix" if graph.is_directed() else "undirected",
            rules=Policies(repeated, asymmetric, weights_are_distances, directed),
            weight_name=attribute,
            labels=labels,
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
        attribute = None
        if weight is not False:
            attribute = weight_attribute(
                (edge.attributes() for edge in graph.es), weight, name or "igraph graph"
            )
        weights = None if attribute is None else graph.es[attribute]
        named = zip(ids, graph.vs[label], strict=True) if label is not None else None
        labels = None if named is None else {node: text for node, text in named if text is not None}
        return cls.from_rows(
            rows_of_network(ids, graph.get_edgelist(), weights, name or "igraph graph"),
            kind="matrix" if graph.is_directed() else "undirected",
            rules=Policies(repeated, asymmetric, weights_are_distances, directed),
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
        node_ids = _ids_of_matrix(ids, int(data.num_nodes), where)
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
        entries, where = matrix.tocoo(), name or "sparse matrix"
        _check_square(entries.shape, entries.dtype, where)
        first, second = (np.asarray(axis, dtype=np.int64) for axis in entries.coords)
        weights = np.asarray(entries.data, dtype=np.float64)
        rows = EdgeRows(
            first, second, weights, _ids_of_matrix(ids, entries.shape[0], where), lambda row: where
        )
        rules = Policies("sum", asymmetric, weights_are_distances, directed)
        return cls.from_rows(rows, kind="matrix", rules=rules, name=name)

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
        array, where = np.asarray(matrix), name or "matrix"
        _check_square(array.shape, array.dtype, where)
        first, second = np.nonzero(array)
        weights = np.asarray(array[first, second], dtype=np.float64)
        rows = EdgeRows(
            first, second, weights, _ids_of_matrix(ids, len(array), where), lambda row: where
        )
        rules = Policies("sum", asymmetric, weights_are_distances, directed)
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


def _check_square(shape: tuple[int, ...], dtype: DTypeLike, where: str) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(
            f"{where}: must be a square matrix, with one row and one column per node; got {shape}"
        )
    if np.dtype(dtype).kind not in "biuf":
        raise GraphError(f"{where}: the entries must be real numbers, not {dtype}")


def _ids_of_matrix(ids: Sequence[Hashable] | None, n_nodes: int, where: str) -> NodeIds:
    if ids is None:
        return NodeIds(range(n_nodes))
    if len(ids) != n_nodes:
        raise GraphError(f"{where}: {len(ids)} ids for {n_nodes} rows")
    distinct_ids(ids, where, once=True)
    return NodeIds(ids)
