"""Names for the arrays that every room uses, the inverse of an order, and work on several blocks of
rows at once.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]


def positions_in(order: Ints, n: int | None = None) -> Ints:
    """[n] where each of the numbers 0 to n - 1 stands in ``order``, -1 if it does not; n is its
    length by default.
    """
    found: Ints = np.full(len(order) if n is None else n, -1, dtype=np.int64)
    found[order] = np.arange(len(order))
    return found


AT_ONCE = 4
"""How many blocks are worked on at once."""
T = TypeVar("T")


def in_blocks(work: Callable[[slice], T], count: int, size: int) -> list[T]:
    """What ``work`` finds in each block of ``size`` of ``count`` rows, in their order; numpy lets
    threads go on.
    """
    blocks = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    if len(blocks) < 2:
        return [work(block) for block in blocks]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, blocks))
