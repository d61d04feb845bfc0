"""Zachary's karate club."""

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph

# The strengths C[j, i], counted from 1, that differ from C[i, j] in the matrix that Zachary
# published (An information flow model for conflict and fission in small groups, Journal of
# Anthropological Research 33, 1977); networkx has one strength for each pair.
_OTHER_WAY = {(1, 13): 2, (3, 33): 3, (9, 33): 4, (9, 34): 3, (23, 34): 0, (24, 30): 2, (30, 33): 3}


def karate_matrix() -> NDArray[np.int64]:
    """Zachary's matrix C [34, 34] of the relative strengths of friendships, with its seven
    asymmetric pairs.

    >>> matrix = karate_matrix()
    >>> int((matrix != matrix.T).sum()) // 2, int(matrix.max())
    (7, 7)
    """
    import networkx

    matrix: NDArray[np.int64] = networkx.to_numpy_array(
        networkx.karate_club_graph(), dtype=np.int64
    )
    for (i, j), strength in _OTHER_WAY.items():
        matrix[j - 1, i - 1] = strength
    return matrix


def karate(weighted: bool = True) -> Graph:
    """Zachary's karate club: 34 members "1" to "34", 78 friendships.

    The column ``club`` of its nodes says which side each member took when the club split. The
    weights are S = C + Cᵀ of `karate_matrix`, as in the paper; with ``weighted=False`` they are 1.

    >>> print(karate().describe())
    karate: 34 nodes, 78 ties, weights from 2 to 14; directions dropped, asymmetric pairs summed: 7
    """
    import networkx

    sides = networkx.get_node_attributes(networkx.karate_club_graph(), "club")
    members = [str(member + 1) for member in sides]
    graph = Graph.from_numpy(karate_matrix(), ids=members, name="karate")
    graph = graph.with_nodes(members, attributes={"club": list(sides.values())})
    return graph if weighted else graph.unweighted()
