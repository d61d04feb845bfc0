"""What users may give for a graph: one rule for the calls in Python and for scikit-learn."""

from __future__ import annotations

import difflib
import logging
import os
from typing import Literal

from ..datasets import load, names
from ..graph import Graph, GraphError, as_graph
from ..graph.fold import said_of_directions

log = logging.getLogger("ultrahyperbolic")

Weight = str | int | Literal[False]


def find_graph(data: object, weight: Weight | None = None, *, directed: bool = False, quiet: bool = True) -> Graph:
    """The graph of a file, a data set of that name, or anything `as_graph` takes; a file goes first.

    ``weight`` names the column or the attribute of the weights; False ignores them. ``directed`` keeps directions;
    unless it is ``quiet``, a line says whether they were dropped.

    >>> find_graph("karate", weight=False).capacities.tolist()
    [1.0]
    """
    is_name = isinstance(data, str) and not os.path.exists(data)
    if is_name and data in names():
        data = load(str(data))
    elif is_name and not os.path.dirname(str(data)):
        near = difflib.get_close_matches(str(data), names(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; data sets: {', '.join(names())}"
        raise GraphError(f"{data}: no such file, and no data set of that name{hint}")
    if isinstance(data, Graph):
        if directed and not data.is_directed:
            raise GraphError(
                f"{data.source or 'the graph'} has no directions: make it with directed=True, as in read_graph(…, "
                "directed=True)"
            )
        if weight is None:
            return data
        if weight is False:
            return data.unweighted()
        raise GraphError(f"weight={weight!r} names a column, and this is a graph already: its weights are known")
    given: dict[str, object] = {} if weight is None else {"weight": weight}
    graph = as_graph(data, **given, **({"directed": True} if directed else {}))
    if not quiet and (words := said_of_directions(graph.source, graph.policies)) is not None:
        log.warning("%s", words)
    return graph
