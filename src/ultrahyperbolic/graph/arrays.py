"""Arrays of a graph: read-only, of one type, and refused in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints
from .errors import GraphError
from .rows import Number


def frozen(values: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """The values as a contiguous array that is read-only."""
    array: NDArray[Number] = np.ascontiguousarray(values, dtype=dtype)
    array.flags.writeable = False
    return array


def owned(values: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """The values as nobody else can change them: a copy, unless they are read-only already."""
    is_free = isinstance(values, np.ndarray) and values.flags.writeable
    return frozen(np.array(values, dtype=dtype) if is_free else values, dtype)


def as_positions(what: str, values: ArrayLike) -> Ints:
    """[m] positions of nodes; `GraphError` unless they are whole numbers."""
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(f"{what} must be a 1-D array of whole numbers, got {array.dtype} {list(array.shape)}")
    return array.astype(np.int64)


def as_floats(values: ArrayLike, name: str | None) -> Floats:
    """Weights as numbers; `GraphError` where they are none."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise GraphError(f"{name or 'the edges'}: the weights must be numbers") from None
    return array
