"""Names for the arrays that every room uses, and the inverse of an order."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]


def positions_in(order: Ints, n: int | None = None) -> Ints:
    """[n] where each of the numbers 0 to n - 1 stands in ``order``, -1 if it does not; n is its length by default."""
    found: Ints = np.full(len(order) if n is None else n, -1, dtype=np.int64)
    found[order] = np.arange(len(order))
    return found
