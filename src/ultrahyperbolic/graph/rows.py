"""Edges as they were given, before repeated and reversed rows become one edge."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints
from .errors import GraphError
from .ids import NodeIds

_CHECKED = 1 << 20  # edges that are checked at a time
ROUNDING = 1e-12  # relative: numbers that differ by no more are equal, as sums in another order are

Number = TypeVar("Number", np.int64, np.float64)

Repeated = Literal["sum", "max", "first", "error"]
Asymmetric = Literal["sum", "error"]
# "list": rows of an edge list, where a reversed row is one more row. "matrix": the entries of a
# matrix or of a directed graph, where the two directions are C and its transpose. "undirected":
# rows whose direction means nothing.
Kind = Literal["list", "matrix", "undirected"]


@dataclass(frozen=True)
class Policies:
    """What the rows of a graph become where they are not plain."""

    repeated: Repeated = "sum"  # rows that give an edge again
    asymmetric: Asymmetric = "sum"  # a matrix or directed graph whose directions differ
    weights_are_distances: bool = False  # each tie gets the strength 1/d
    directed: bool = False  # a row is a tie from its first end to its second

    def __post_init__(self) -> None:
        check_option("repeated", self.repeated, Repeated)
        check_option("asymmetric", self.asymmetric, Asymmetric)


@dataclass(frozen=True)
class EdgeRows:
    """Edges as they were given: the two ends as positions in ``ids``, and the weights, or ``None``
    where all are 1.
    """

    first: Ints
    second: Ints
    weights: Floats | None
    ids: NodeIds
    place: Callable[[int], str]  # where a row stands, for messages
    counts: dict[str, int] = field(default_factory=dict)  # policies applied while reading


def check_option(name: str, value: object, allowed: object) -> None:
    """Refuse a value of an option that is not one of the words of ``allowed``, a ``Literal``."""
    words = get_args(allowed)
    if value not in words:
        raise GraphError(f"{name} must be one of {', '.join(map(repr, words))}, got {value!r}")


def check_edges(edges: Ints, weights: Floats, n_nodes: int, name: str) -> None:
    """Refuse edges [m, 2] and weights [m] that are not as compiled loops, which check nothing,
    trust them to be.
    """
    for start in range(0, len(edges), _CHECKED):
        before = max(start - 1, 0)
        i, j = edges[before : start + _CHECKED].T
        here = weights[start : start + _CHECKED]
        outside = (i < 0) | (i >= j) | (j >= n_nodes)
        if outside.any():
            k = int(outside.argmax())
            why = f"joins the nodes {i[k]} and {j[k]}: give positions i < j from 0 to {n_nodes - 1}"
            raise GraphError(f"{name}: tie {before + k} (from 0) {why}")
        if (disorder := (i[1:] < i[:-1]) | ((i[1:] == i[:-1]) & (j[1:] <= j[:-1]))).any():
            k = before + int(disorder.argmax()) + 1
            raise GraphError(
                f"{name}: tie {k} (from 0) does not come after the one before: sort them, each once"
            )
        if (wrong := ~((here > 0) & (here < np.inf))).any():
            k = int(wrong.argmax())
            why = f"weighs {here[k]:g}: a weight is a finite number above 0"
            raise GraphError(f"{name}: tie {start + k} (from 0) {why}")


def sorted_distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The distinct values, ascending: ``np.unique`` without its table of hashes, which some keys
    make very slow.
    """
    values = np.sort(values)
    return np.concatenate((values[:1], values[1:][values[1:] != values[:-1]]))


def without_rounding(values: Floats, tolerance: float = ROUNDING) -> Floats:
    """The same numbers, where those that differ by rounding alone are the least of them: .1 + .2 is
    .3.

    ``tolerance`` is relative.

    >>> without_rounding(np.array([0.1 + 0.2, 0.3, 0.5])).tolist()
    [0.3, 0.3, 0.5]
    """
    distinct = sorted_distinct(values.ravel())
    below, above = distinct[:-1], distinct[1:]
    with np.errstate(invalid="ignore"):  # of infinities
        near = above - below <= tolerance * np.minimum(np.abs(below), np.abs(above))
    if not near.any():
        return values
    begins = np.append(True, ~near)
    least: Floats = distinct[begins][np.cumsum(begins) - 1]
    alike: Floats = least[np.searchsorted(distinct, values)]
    return alike


def frozen(values: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """The values as a contiguous array that is read-only."""
    array: NDArray[Number] = np.ascontiguousarray(values, dtype=dtype)
    array.flags.writeable = False
    return array


def owned(values: ArrayLike, dtype: type[Number]) -> NDArray[Number]:
    """The values as a read-only array; arrays that can be written to are copied."""
    is_free = isinstance(values, np.ndarray) and values.flags.writeable
    return frozen(np.array(values, dtype=dtype) if is_free else values, dtype)


def as_positions(what: str, values: ArrayLike) -> Ints:
    """[m] positions of nodes; `GraphError` unless they are whole numbers."""
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError(
            f"{what} must be a 1-D array of whole numbers, got {array.dtype} {list(array.shape)}"
        )
    return array.astype(np.int64)


def as_floats(values: ArrayLike | Sequence[ArrayLike], name: str | None) -> Floats:
    """Weights as numbers; `GraphError` where they are none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise GraphError(f"{name or 'the ties'}: the weights must be numbers") from None
