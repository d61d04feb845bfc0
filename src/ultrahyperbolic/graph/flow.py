"""Who is central: current-flow closeness, also called information centrality (Stephenson & Zelen,
1989).

The ties are wires whose conductance is their weight. R_ij, the resistance between two nodes, is a
distance that counts all paths and all weights: in a tree the length of the path, in a dense graph
about 1 / s_i + 1 / s_j, where s is the strength. A node is central if the sum of its resistances to
all others is small.

With M the inverse of the Laplacian without the row and the column of one node, the ground, of n
nodes,

    Σ_j R_ij = n M_ii + Σ_j M_jj - 2 Σ_j M_ij

Nodes of few ties are eliminated, and the dense core that is left is inverted: exact, but for
rounding. Of large cores the diagonal of M is estimated (`graph.probes`). Only positive numbers are
added, which keeps small weights beside large ones exact.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, positions_in
from .graph import Graph
from .network import LEAST, Inverse, Network, both_ways, dense_ties, grounded_inverse, on_device
from .rows import without_rounding

EXACT_NODES = 5000
"""Larger cores are estimated."""
_COMPILED = 1000
"""Nodes of a graph beyond which elimination saves more time than loading its code takes."""
_SAME = 1e-9
"""Values whose relative difference is no more than this differ by rounding alone."""


_SHARED = 1.5
"""An error that all nodes share puts all of them outside of an interval, or none: it counts for
this much more.
"""


class Centrality(NamedTuple):
    """What `current_flow` returns."""

    values: Floats
    """[n] the higher, the more central; 0 of a node without ties."""
    errors: Floats
    """[n] their standard errors; 0 where they are exact."""


def centrality_of(graph: Graph, device: str = "cpu") -> Centrality:
    """`current_flow`, computed once for each graph."""
    if (found := graph.centrality) is None:
        found = current_flow(graph, device=device)
        graph.keep_centrality(*found)
    return Centrality(*found)


def current_flow(
    graph: Graph, *, exact_nodes: int = EXACT_NODES, device: str = "cpu"
) -> Centrality:
    """Current-flow closeness of each node: (n_c - 1)² / ((n - 1) Σ_j R_ij), in units of weight.

    The sum is over the n_c nodes of the component, and their share in all nodes is the correction
    of Wasserman & Faust, as in ``networkx.closeness_centrality``. Cores of more than
    ``exact_nodes`` nodes are estimated.

    >>> current_flow(Graph.from_edges([("a", "b", 2), ("b", "c", 1)])).values.round(6).tolist()
    [1.0, 1.333333, 0.8]
    """
    n, order = graph.n_nodes, graph.node_order
    unit = float(graph.weights.max(initial=0.0)) or 1.0  # so that sums neither overflow nor vanish
    ordered = graph.reordered(order)
    network = Network.of(ordered, graph.component[order], unit)
    found = _inverse(ordered, network, exact_nodes, device)
    size = np.bincount(network.component)[network.component]
    farness = size * found.diagonal + found.traces - 2.0 * found.potentials
    closeness = np.divide(
        (size - 1.0) ** 2 / max(n - 1, 1), farness, out=np.zeros(n), where=size > 1
    )
    error = np.hypot(size * found.errors, _SHARED * found.trace_errors)
    errors = np.divide(closeness * error, farness, out=np.zeros(n), where=size > 1)
    back = positions_in(order)
    return Centrality(unit * _digits(closeness)[back], unit * errors[back])


def _inverse(graph: Graph, network: Network, exact_nodes: int, device: str) -> Inverse:
    """Exact where the core is small enough, else estimated."""
    n, is_ground = len(network.component), network.is_ground
    is_core, parts = np.ones(n, dtype=np.bool_), None
    few_ties = 2 * len(network.weights) <= (budget := exact_nodes**2 // 2)
    if (
        few_ties
        and n - is_ground.sum() > min(_COMPILED, exact_nodes)
        and find_spec("numba") is not None
    ):
        from .elimination import eliminate, substitute

        parts = eliminate(
            *graph.neighbor_lists,
            np.maximum(graph.neighbor_weights / graph.weights.max(), LEAST),
            is_ground,
            budget,
        )
        is_core = parts.is_core
    core = np.flatnonzero(is_core & ~is_ground)
    if len(core) > exact_nodes:
        from .probes import estimated_inverse

        return estimated_inverse(network, device)
    place = positions_in(core, n)
    if parts is None:
        inverse = on_device(
            device, grounded_inverse, *dense_ties(*both_ways(network.ends, network.weights), place)
        )
        diagonal, potentials = np.zeros(n), np.zeros(n)
        diagonal[core], potentials[core] = inverse.diagonal(), inverse.sum(1)
    else:
        tails = np.repeat(core, parts.length[core])
        inverse = on_device(
            device, grounded_inverse, *dense_ties(tails, *parts.ties_of(core), place)
        )
        diagonal, potentials = substitute(parts, core, inverse)
    return Inverse(diagonal, potentials, network.sums(diagonal))


def _digits(values: Floats) -> Floats:
    """Values [n] without what differs between processors: nearly equal ones are equal, and have ten
    digits.
    """
    parts, exponents = np.frexp(without_rounding(values, _SAME))
    rounded: Floats = np.ldexp(np.rint(np.ldexp(parts, 33)), exponents - 33)
    return rounded
