"""Zachary's karate club."""

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph

_MEMBERS = 34

# Each line is a member i with the later members j and the strength C[i, j] of the friendship, as
# Zachary published it (An information flow model for conflict and fission in small groups, Journal
# of Anthropological Research 33, 1977).
_STRENGTHS = """
    1: 2:4 3:5 4:3 5:3 6:3 7:3 8:2 9:2 11:2 12:3 13:1 14:3 18:2 20:2 22:2 32:2
    2: 3:6 4:3 8:4 14:5 18:1 20:2 22:2 31:2
    3: 4:3 8:4 9:5 10:1 14:3 28:2 29:2 33:2
    4: 8:3 13:3 14:3
    5: 7:2 11:3
    6: 7:5 11:3 17:3
    7: 17:3
    9: 31:3 33:3 34:4
    10: 34:2
    14: 34:3
    15: 33:3 34:2
    16: 33:3 34:4
    19: 33:1 34:2
    20: 34:1
    21: 33:3 34:1
    23: 33:2 34:3
    24: 26:5 28:4 30:3 33:5 34:4
    25: 26:2 28:3 32:2
    26: 32:7
    27: 30:4 34:2
    28: 34:4
    29: 32:2 34:2
    30: 33:4 34:2
    31: 33:3 34:3
    32: 33:4 34:4
    33: 34:5
"""
# C[j, i], where it differs from C[i, j].
_OTHER_WAY = {(1, 13): 2, (3, 33): 3, (9, 33): 4, (9, 34): 3, (23, 34): 0, (24, 30): 2, (30, 33): 3}
_MR_HI = frozenset(
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22)
)  # who followed the instructor


def karate_matrix() -> NDArray[np.int64]:
    """Zachary's matrix C [34, 34] of the relative strengths of friendships, with its seven
    asymmetric pairs.

    >>> matrix = karate_matrix()
    >>> int((matrix != matrix.T).sum()) // 2, int(matrix.max())
    (7, 7)
    """
    matrix = np.zeros((_MEMBERS, _MEMBERS), dtype=np.int64)
    for line in _STRENGTHS.split("\n"):
        member, _, friends = line.partition(": ")
        for friend in friends.split():
            i, (j, strength) = int(member), map(int, friend.split(":"))
            matrix[i - 1, j - 1] = strength
            matrix[j - 1, i - 1] = _OTHER_WAY.get((i, j), strength)
    return matrix


def karate(weighted: bool = True) -> Graph:
    """Zachary's karate club: 34 members "1" to "34", 78 friendships.

    The column ``club`` of its nodes says which side each member took when the club split. The
    weights are S = C + Cᵀ of `karate_matrix`, as in the paper; with ``weighted=False`` they are 1.

    >>> print(karate().describe())
    karate: 34 nodes, 78 ties, weights from 2 to 14; directions dropped, asymmetric pairs summed: 7
    """
    members = range(1, _MEMBERS + 1)
    graph = Graph.from_numpy(
        karate_matrix(), ids=[str(member) for member in members], name="karate"
    )
    sides = ["Mr. Hi" if member in _MR_HI else "Officer" for member in members]
    graph = graph.with_nodes(map(str, members), attributes={"club": sides})
    return graph if weighted else graph.unweighted()
