"""What users may give for a graph and a geometry: one rule for the calls in Python and for scikit-learn."""

from __future__ import annotations

import difflib
import logging
import os
import re
from typing import Literal, TypedDict

from ..checks import as_integer
from ..datasets import load, names
from ..graph import Graph, GraphError, as_graph
from ..graph.fold import said_of_directions

log = logging.getLogger("ultrahyperbolic")

Weight = str | int | Literal[False]
Signature = str | tuple[int, int]


def find_graph(data: object, weight: Weight | None = None, *, quiet: bool = True) -> Graph:
    """The graph of a file, a data set of that name, or anything `as_graph` takes; a file goes first.

    ``weight`` names the column or the attribute of the weights; False ignores them. Unless it is ``quiet``, a line says
    whether directions were dropped.

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
        if weight is None:
            return data
        if weight is False:
            return data.unweighted()
        raise GraphError(f"weight={weight!r} names a column, and this is a graph already: its weights are known")
    graph = as_graph(data) if weight is None else as_graph(data, weight=weight)
    if not quiet and (words := said_of_directions(graph.source, graph.policies)) is not None:
        log.warning("%s", words)
    return graph


class Where(TypedDict, total=False):
    """A geometry, as `ultrahyperbolic.training.where.geometry_of` takes it."""

    p: int | None
    q: int | None
    flat: bool


def signature_of(signature: Signature) -> Where:
    """The geometry that a signature names: (p, q), the text "p,q", or "flat".

    >>> signature_of("3,1"), signature_of((2, 2)), signature_of("flat")
    ({'p': 3, 'q': 1}, {'p': 2, 'q': 2}, {'flat': True})
    """
    if isinstance(signature, str):
        if signature.strip().lower() == "flat":
            return {"flat": True}
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*", signature)
        pair: tuple[object, ...] = () if match is None else (int(match[1]), int(match[2]))
    else:
        pair = tuple(signature) if isinstance(signature, tuple | list) else ()
    if len(pair) != 2:
        raise ValueError(f"signature must be (p, q), two whole numbers such as (3, 1), or 'flat', got {signature!r}")
    return {"p": as_integer("p", pair[0]), "q": as_integer("q", pair[1])}


def located(signature: Signature | None, p: int | None, q: int | None, dim: int | None, *, flat: bool) -> Where:
    """The geometry as far as it is named by a signature, or by p, q and flat; naming it twice is refused."""
    if signature is None:
        return {"p": p, "q": q, "flat": flat}
    if p is not None or q is not None or flat:
        raise ValueError("signature names the geometry: leave p, q and flat out")
    found = signature_of(signature)
    if dim is not None and "p" in found:
        raise ValueError(f"signature {signature!r} gives the dimension: leave dim out")
    return found
