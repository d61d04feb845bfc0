"""From ids to positions: integers in the order in which the ids first appear; and rows from tables
of Arrow.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Words, positions_in
from .columns import Wanted, choose_columns
from .errors import GraphError
from .ids import NodeIds
from .rows import EdgeRows

Raw = TypeVar("Raw")
Room = TypeVar("Room", np.uint8, np.int32)
Codes = NDArray[np.int32]

_MANY = 500_000  # rows from which loading the compiled loops pays
Part = tuple[pa.Array, pa.Array, Floats | None]
"""Some rows of a table: the ids of both ends, of one type and without nulls, and the weights or
``None``.
"""


class Encoded(NamedTuple):
    """Rows of a table, their ids as numbers."""

    first: Ints
    second: Ints
    weights: Floats | None
    ids: pa.Array  # in the order in which they appear, row by row


def encode_ends(parts: Iterable[Part]) -> Encoded:
    """Positions of both ends; of many rows whose ids are text or whole numbers only some are in
    memory at a time.
    """
    parts = iter(parts)
    held: list[Part] = []
    count = 0
    for part in parts:
        held.append(part)
        count += len(part[0])
        if count > _MANY and (pa.types.is_string(part[0].type) or pa.types.is_int64(part[0].type)):
            every = chain(held, parts)
            if pa.types.is_int64(part[0].type):
                return _number_integers(every)
            return number_blocks(
                every, lambda ends: Block(texts_of_arrow(ends[0]), texts_of_arrow(ends[1]), ends[2])
            )
    if not count:
        return Encoded(
            np.empty(0, np.int64), np.empty(0, np.int64), None, pa.array([], pa.string())
        )
    # Ids of any type, by Arrow's dictionary.
    both = (
        pa.chunked_array([part[end] for end in (0, 1) for part in held])
        .dictionary_encode()
        .unify_dictionaries()
    )
    ids = both.chunk(0).dictionary
    codes = (
        np.concatenate([chunk.indices.to_numpy() for chunk in both.chunks])
        .astype(np.int64)
        .reshape(2, -1)
    )
    appearance = np.empty(len(ids), dtype=np.int64)
    # Of repeated positions numpy keeps the last write, so running backwards keeps the first
    # appearance.
    appearance[codes.T.ravel()[::-1]] = np.arange(codes.size)[::-1]
    order = np.argsort(appearance)
    weights = [some for *_, some in held if some is not None]
    first, second = positions_in(order)[codes]
    return Encoded(
        first, second, np.concatenate(weights) if weights else None, ids.take(pa.array(order))
    )


class Texts(NamedTuple):
    """Ids of some rows: bytes, and where in them each id begins and ends."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]


class Block(NamedTuple):
    """Some rows of a table: the ids of both ends, and the weights, or ``None`` where all are 1."""

    first: Texts
    second: Texts
    weights: Floats | None


def number_blocks(blocks: Iterable[Raw], load: Callable[[Raw], Block]) -> Encoded:
    """Positions of ids that are text: blocks are loaded on all cores, and numbered in order while
    more are read.
    """
    from . import compiled

    ids = _Numbered()

    def prepare(raw: Raw) -> tuple[Block, Words, bool]:
        block = load(raw)
        keys, is_hashed = np.empty((len(block.first.starts), 2, 2), dtype=np.uint64), False
        for column, (text, starts, ends) in enumerate(block[:2]):
            if len(text) < 16:
                text = np.frombuffer(text.tobytes().ljust(16, b"\0"), dtype=np.uint8)
            # An overlapping view with an element at every byte: the eight bytes from there on.
            words = np.ndarray(len(text) - 7, dtype="<u8", buffer=text, strides=(1,))
            is_hashed |= compiled.make_keys(text, words, starts, ends, column, keys)
        return block, keys.reshape(-1, 2), is_hashed

    def number(prepared: Future[tuple[Block, Words, bool]]) -> tuple[Codes, Floats | None]:
        block, keys, is_hashed = prepared.result()
        return ids.number_block(block, keys, is_hashed=is_hashed), block.weights

    ahead = 2 * (os.cpu_count() or 1)  # blocks in memory at a time
    with ThreadPoolExecutor(os.cpu_count()) as pool, ThreadPoolExecutor(1) as in_order:
        waiting: list[Future[tuple[Codes, Floats | None]]] = []
        for raw in blocks:
            waiting.append(in_order.submit(number, pool.submit(prepare, raw)))
            if len(waiting) > ahead:
                waiting[-ahead].result()
        return _joined([future.result() for future in waiting], ids.texts())


def _number_integers(parts: Iterable[Part]) -> Encoded:
    """Positions of ids that are whole numbers."""
    numbers, ids, found = _Numbered(), [np.empty(0, dtype=np.int64)], []
    for first, second, weights in parts:
        flat = np.stack((first.to_numpy(), second.to_numpy()), axis=1).reshape(-1)
        keys = np.zeros((len(flat), 2), dtype=np.uint64)
        keys[:, 0] = flat.view(np.uint64)
        codes, fresh = numbers.number(keys)
        ids.append(flat[fresh])
        found.append((codes, weights))
    return _joined(found, pa.array(np.concatenate(ids)))


def _joined(parts: list[tuple[Codes, Floats | None]], ids: pa.Array) -> Encoded:
    """The numbers [rows, 2] and weights of all parts."""
    with ThreadPoolExecutor(2) as pool:
        columns = ([codes[:, end] for codes, _ in parts] for end in (0, 1))
        first, second = pool.map(partial(np.concatenate, dtype=np.int64), columns)
    weights = [some for _, some in parts if some is not None]
    return Encoded(first, second, np.concatenate(weights) if weights else None, ids)


def texts_of_arrow(strings: pa.StringArray) -> Texts:
    """The ids in an Arrow array of strings without nulls."""
    _, offset_buffer, text = strings.buffers()
    offsets = np.frombuffer(offset_buffer or bytes(4), dtype=np.int32)[strings.offset :][
        : len(strings) + 1
    ]
    texts = Texts(np.frombuffer(text or b"", dtype=np.uint8), offsets[:-1], offsets[1:])
    for part in texts:
        part.flags.writeable = False  # what is compiled for one kind of array serves all
    return texts


class _Numbered:
    """Ids and their numbers, in the order in which they appear."""

    def __init__(self) -> None:
        from . import compiled  # which takes a moment

        self._loops = compiled
        self._table = np.zeros((1 << 19, 3), dtype=np.uint64)
        self._count = 0
        # The bytes of the ids, and where each ends after the first 0: both have room for more.
        self._text, self._offsets = (
            np.empty(1 << 16, dtype=np.uint8),
            np.zeros(1 << 12, dtype=np.int32),
        )

    def number(self, keys: Words, texts: tuple[Texts, Texts] | None = None) -> tuple[Codes, Codes]:
        """The numbers [rows, 2] of keys [2 · rows, 2], and which of them are new; ``texts`` where
        some are hashes.
        """
        size = len(self._table)
        while 2 * size < 3 * (self._count + len(keys)):  # two thirds of the table may be full
            size *= 4
        if size > len(self._table):
            larger = np.zeros((size, 3), dtype=np.uint64)
            self._loops.move_keys(self._table, larger)
            self._table = larger
        codes, fresh = np.empty(len(keys), dtype=np.int32), np.empty(len(keys), dtype=np.int32)
        text, offsets, before = self._text.view(), self._offsets.view(), self._count
        text.flags.writeable = offsets.flags.writeable = False  # as those of Arrow are
        compared = None if texts is None else (*texts, text, offsets)
        self._count = self._loops.number_keys(keys, self._table, before, codes, fresh, compared)
        return codes.reshape(-1, 2), fresh[: self._count - before]

    def number_block(self, block: Block, keys: Words, *, is_hashed: bool) -> Codes:
        """The numbers [rows, 2] of the ids of a block; the bytes of new ids are kept."""
        first, second, _ = block
        before = self._count
        codes, fresh = self.number(keys, (first, second) if is_hashed else None)
        rows, is_second = np.divmod(fresh, 2)
        lengths = np.where(
            is_second, *(texts.ends[rows] - texts.starts[rows] for texts in (second, first))
        )
        ends = int(self._offsets[before]) + np.cumsum(lengths, dtype=np.int64)
        if len(ends) and ends[-1] > np.iinfo(np.int32).max:
            raise MemoryError("the ids are more than 2 GiB of text")
        self._offsets = _with_room(self._offsets, self._count + 1)
        self._offsets[before + 1 : self._count + 1] = ends
        self._text = _with_room(self._text, int(self._offsets[self._count]))
        self._loops.copy_ids(
            first, second, fresh, self._offsets[before : self._count + 1], self._text
        )
        return codes

    def texts(self) -> pa.StringArray:
        """The ids."""
        offsets = self._offsets[: self._count + 1].copy()
        text = self._text[: offsets[-1]].copy()
        return pa.StringArray.from_buffers(self._count, pa.py_buffer(offsets), pa.py_buffer(text))


def _with_room(values: NDArray[Room], size: int) -> NDArray[Room]:
    """The array, or a longer one that begins with it."""
    return values if size <= len(values) else np.resize(values, max(size, 3 * len(values) // 2))


def choose_arrow_columns(
    schema: pa.Schema, values: Callable[[int], Sequence[object]], wanted: Wanted, where: str
) -> tuple[int, int, int | None]:
    """Positions of source, target and weight in an Arrow schema; ``values`` are those of
    `choose_columns`.
    """

    def is_numeric(k: int) -> bool:
        kind = schema.field(k).type
        return bool(
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        )

    return choose_columns(schema.names, len(schema), is_numeric, values, wanted, where)


def arrow_values(column: pa.ChunkedArray) -> list[object]:
    """The distinct values of an Arrow column, as far as they can be compared."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (
        pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        return []
    return [value for value in column.unique().to_pylist() if value is not None]


def rows_of_arrow(batches: Iterable[pa.RecordBatch], where: str) -> EdgeRows:
    """Rows from batches of a table whose columns are the ids of both ends and, if there is a third,
    the weights.
    """
    i, j, weights, ids = encode_ends(_checked(batches, where))
    is_lazy = pa.types.is_string(ids.type) or pa.types.is_int64(ids.type)
    return EdgeRows(
        i,
        j,
        weights,
        NodeIds(ids if is_lazy else ids.to_pylist()),
        lambda row: f"{where}, row {row} (from 0)",
    )


def _checked(batches: Iterable[pa.RecordBatch], where: str) -> Iterator[Part]:
    rows = 0
    for batch in batches:
        first, second = _plain_column(batch.column(0)), _plain_column(batch.column(1))
        if first.type != second.type:
            raise GraphError(
                f"{where}: source ids are {first.type}, target ids {second.type}: give both one "
                "type"
            )
        missing = pc.or_(first.is_null(nan_is_null=True), second.is_null(nan_is_null=True))
        if missing.true_count:
            row = pc.index(missing, True).as_py()
            what = "NaN" if first[row].is_valid and second[row].is_valid else "null"
            raise GraphError(f"{where}, row {rows + row} (from 0): an id is missing ({what})")
        weights = None
        if batch.num_columns > 2:
            try:
                weights = batch.column(2).cast(pa.float64()).to_numpy(zero_copy_only=False)
            except (
                pa.ArrowInvalid,
                pa.ArrowNotImplementedError,
            ):  # values, or a type, that Arrow makes no numbers of
                raise GraphError(
                    f"{where}: the weights are {batch.column(2).type}, no numbers"
                ) from None
        rows += len(first)
        yield first, second, weights


def _plain_column(column: pa.Array) -> pa.Array:
    """A column without dictionaries, and with one type for all text and one for all whole
    numbers.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        kind = pa.int64()
    return column if column.type == kind else column.cast(kind)
