"""What users may give: a graph, for the calls in Python and for scikit-learn, and words that name a
geometry.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ..arrays import Ints, positions_in
from ..checks import as_integer, check_count, suggestion
from ..datasets import load, names
from ..engines.base import EXACT_NODES_ON_CUDA
from ..graph import Graph, GraphError, as_graph
from ..graph.fold import said_of_directions
from ..options import Signature
from ..spaces import Geometry

log = logging.getLogger("ultrahyperbolic")

Weight = str | int | Literal[False]
FLAT_DIMENSION = 4


@dataclass(frozen=True)
class UsualGeometry(Geometry):
    """Q^{3,3}, where none was named: a large graph gets more dimensions."""

    def for_nodes(self, n_nodes: int) -> Geometry:
        """One more dimension of each kind for each tenfold number of pairs above those of 10,000
        nodes.

        Where even a GPU looks at parts of the pairs alone, all but two of the time dimensions
        become space dimensions: with many, pairs far from each other crowd the light cone, and a
        part seldom meets those that come near.

        >>> [UsualGeometry(3, 3).for_nodes(n).name for n in (10_000, 40_000, 100_000, 300_000)]
        ['Q^{3,3}', 'Q^{4,4}', 'Q^{5,5}', 'Q^{8,2}']
        """
        kind = 3 + len(str(n_nodes**2 // 10_000**2)) - 1
        time = kind if n_nodes <= EXACT_NODES_ON_CUDA else 2
        return Geometry(2 * kind - time, time, None, self.beta)


USUAL = UsualGeometry(3, 3)


def find_graph(
    data: object, weight: Weight | None = None, *, directed: bool = False, quiet: bool = True
) -> Graph:
    """The graph of a file, a data set of that name, or anything `as_graph` takes; a file goes
    first.

    ``weight`` names the column or the attribute of the weights; False ignores them. ``directed``
    keeps directions; unless it is ``quiet``, a line says whether they were dropped.

    >>> find_graph("karate", weight=False).capacities.tolist()
    [1.0]
    """
    if isinstance(data, str) and data in names() and not os.path.isfile(data):
        data = load(data)
    elif isinstance(data, str) and not os.path.exists(data) and not os.path.dirname(data):
        hint = suggestion(data, names()) or f"; data sets: {', '.join(names())}"
        raise GraphError(f"{data}: no such file, and no data set of that name{hint}")
    if isinstance(data, Graph):
        if directed and not data.is_directed:
            raise GraphError(
                f"{data.source or 'the graph'} has no directions: make it with directed=True, as "
                "in read_graph(…, directed=True)"
            )
        if weight is None:
            return data
        if weight is False:
            return data.unweighted()
        raise GraphError(
            f"weight={weight!r} names a column, and this is a graph already: its weights are known"
        )
    given: dict[str, object] = {} if weight is None else {"weight": weight}
    graph = as_graph(data, **given, **({"directed": True} if directed else {}))
    if not quiet and (words := said_of_directions(graph.source, graph.policies)) is not None:
        log.warning("%s", words)
    return graph


def among(graph: Graph, nodes: Ints) -> Graph:
    """The ties among some nodes, which are then in this order."""
    rows = positions_in(nodes, graph.n_nodes)
    ends, weights = graph.arcs if graph.is_directed else (graph.edges, graph.weights)
    kept = (rows[ends] >= 0).all(1)
    first, second = rows[ends[kept]].T
    ids = [graph.ids[node] for node in nodes.tolist()]
    return Graph.from_arrays(
        first, second, weights[kept], ids=ids, directed=graph.is_directed, name=graph.source
    )


@dataclass(frozen=True)
class Choice:
    """Geometries of which one is to be chosen."""

    geometries: tuple[Geometry, ...]

    @classmethod
    def of(cls, dim: int | Iterable[int], beta: float = -1.0) -> Choice:
        """Flat space and every signature, from hyperbolic to spherical, of a dimension or of
        several.
        """
        found: list[Geometry] = []
        for given in dim if isinstance(dim, Iterable) else (dim,):
            d = check_count("dim", given, 1)
            found += [Geometry(flat=d), *(Geometry(p, d - p, None, beta) for p in range(d, -1, -1))]
        if not found:
            raise ValueError(f"dim must be one dimension or several, got {dim!r}")
        return cls(tuple(dict.fromkeys(found)))


def geometry_of(
    p: int | None = None,
    q: int | None = None,
    dim: int | None = None,
    *,
    flat: bool = False,
    signature: Signature | None = None,
    beta: float | None = None,
    old: Geometry | None = None,
) -> Geometry | Choice:
    """The geometry that a user's words name, or a choice; one named twice, or other than ``old``,
    is refused.
    """
    if signature is not None:
        if p is not None or q is not None or flat:
            raise ValueError("signature names the geometry: leave p, q and flat out")
        pair = signature_of(signature)
        if pair is not None and dim is not None:
            raise ValueError(
                f"signature {signature} gives the dimension, {sum(pair)}: leave dim out"
            )
        (p, q), flat = pair or (None, None), pair is None
    if old is not None:
        _check_same(old, {"p": p, "q": q, "dim": dim, "flat": flat or None, "beta": beta})
        return old
    if (p is None) != (q is None):
        raise ValueError(f"p and q go together, got p = {p} and q = {q}")
    if p is not None and (dim is not None or flat):
        raise ValueError("name a signature p, q, or a dimension dim (with flat), not both")
    curvature = -1.0 if beta is None else beta
    if flat:
        return Geometry(
            flat=FLAT_DIMENSION if dim is None else check_count("dim", dim, 1), beta=curvature
        )
    if dim is not None:
        return Choice.of(dim, curvature)
    return replace(USUAL, beta=curvature) if p is None else Geometry(p, q, None, curvature)


def signature_of(signature: Signature) -> tuple[int, int] | None:
    """(p, q) of a pair or of the text "p,q"; None for "flat".

    >>> signature_of("3,1"), signature_of((2, 2)), signature_of("flat")
    ((3, 1), (2, 2), None)
    """
    if isinstance(signature, str):
        if signature.strip().lower() == "flat":
            return None
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*", signature)
        pair: tuple[object, ...] = () if match is None else (int(match[1]), int(match[2]))
    else:
        pair = tuple(signature) if isinstance(signature, tuple | list) else ()
    if len(pair) != 2:
        raise ValueError(
            f"signature must be p,q, two whole numbers such as 3,1, or flat, got {signature!r}"
        )
    return as_integer("p", pair[0]), as_integer("q", pair[1])


def _check_same(old: Geometry, asked: dict[str, object]) -> None:
    """``ValueError`` unless what was asked for is the geometry of the earlier embedding."""
    has = {"p": old.p, "q": old.q, "dim": old.dim, "flat": old.is_flat, "beta": old.beta}
    for name, value in asked.items():
        if value is not None and value != has[name]:
            raise ValueError(
                f"the earlier embedding is on {old}, and {name} = {value} is another geometry: "
                "leave the geometry out, or embed anew"
            )
