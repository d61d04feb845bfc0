"""From ids to positions: integers in the order in which the ids first appear."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from .errors import compiled_loops, need

if TYPE_CHECKING:
    import pyarrow

Raw = TypeVar("Raw")
Room = TypeVar("Room", np.uint8, np.int32)

_FEW = 500_000  # rows below which loading the compiled loops takes longer than doing without them


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


class _Keyed(NamedTuple):
    block: Block
    keys: NDArray[np.uint64]  # [2 · rows, 2] two words an id, row by row
    is_hashed: bool  # whether some of them are hashes


class _Numbered(NamedTuple):
    codes: NDArray[np.int32]  # [rows, 2]
    weights: Floats | None
    agrees: bool  # whether every id is the one of its number, and none that shares its hash


def encode_ends(first: pyarrow.ChunkedArray, second: pyarrow.ChunkedArray) -> tuple[Ints, Ints, pyarrow.Array]:
    """Positions of both ends [m], and the distinct ids in order of appearance, row by row.

    ``first`` and ``second`` are of one type and without nulls.
    """
    pa = need("pyarrow", "reading a table")
    if pa.types.is_string(first.type) and len(first) > _FEW and (loops := compiled_loops()) is not None:
        batches = pa.table([first, second], names=["first", "second"]).to_batches()
        encoded = encode_blocks(loops, batches, _block_of_arrow)
        if encoded is not None:
            return encoded[0], encoded[1], encoded[3]
    return _encode_any(pa, first, second)


def _encode_any(
    pa: ModuleType, first: pyarrow.ChunkedArray, second: pyarrow.ChunkedArray
) -> tuple[Ints, Ints, pyarrow.Array]:
    """The same for ids of any type, by Arrow's dictionary."""
    both = pa.chunked_array([*first.chunks, *second.chunks], type=first.type).dictionary_encode()
    both = both.unify_dictionaries()
    ids = both.chunk(0).dictionary if both.num_chunks else pa.array([], type=first.type)
    flat = np.concatenate([np.empty(0, dtype=np.int64), *(chunk.indices.to_numpy() for chunk in both.chunks)])
    codes = flat.astype(np.int64).reshape(2, -1)
    appearance = np.empty(len(ids), dtype=np.int64)
    # Of repeated positions numpy keeps the last write, so running backwards keeps the first appearance.
    appearance[codes.T.ravel()[::-1]] = np.arange(codes.size)[::-1]
    order = np.argsort(appearance)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    return rank[codes[0]], rank[codes[1]], ids.take(pa.array(order))


def encode_blocks(
    loops: ModuleType, blocks: Iterable[Raw], load: Callable[[Raw], Block]
) -> tuple[Ints, Ints, Floats | None, pyarrow.StringArray] | None:
    """Positions of both ends, the weights, and the ids, of a large table that comes in blocks.

    Blocks are loaded on all cores and numbered one after the other, while more are read. ``loops`` is the module of
    compiled loops. Returns ``None`` where two ids share a hash.
    """
    numbering = _Numbering(loops)

    def prepare(raw: Raw) -> _Keyed:
        block = load(raw)
        keys = np.empty((len(block.first.starts), 2, 2), dtype=np.uint64)
        is_hashed = False
        for column, (text, starts, ends) in enumerate((block.first, block.second)):
            if len(text) < 16:
                text = np.frombuffer(text.tobytes().ljust(16, b"\0"), dtype=np.uint8)
            # An overlapping view with an element at every byte: the eight bytes from there on.
            words = np.ndarray(len(text) - 7, dtype="<u8", buffer=text, strides=(1,))
            is_hashed |= loops.make_keys(text, words, starts, ends, column, keys)
        return _Keyed(block, keys.reshape(-1, 2), is_hashed)

    def number(prepared: Future[_Keyed]) -> _Numbered:
        block, keys, is_hashed = prepared.result()
        codes = numbering.number(block, keys)
        return _Numbered(codes, block.weights, not is_hashed or numbering.agrees(block, codes))

    ahead = 2 * (os.cpu_count() or 1)  # blocks in memory at a time
    with ThreadPoolExecutor(os.cpu_count()) as pool, ThreadPoolExecutor(1) as in_order:
        waiting: list[Future[_Numbered]] = []
        for raw in blocks:
            waiting.append(in_order.submit(number, pool.submit(prepare, raw)))
            if len(waiting) > ahead:
                waiting[-ahead].result()
        parts = [future.result() for future in waiting]
        if not all(part.agrees for part in parts):
            return None
        cuts = np.concatenate(([0], np.cumsum([len(part.codes) for part in parts], dtype=np.int64))).tolist()
        first, second = np.empty(cuts[-1], dtype=np.int64), np.empty(cuts[-1], dtype=np.int64)

        def place(k: int) -> None:
            rows = slice(cuts[k], cuts[k + 1])
            first[rows], second[rows] = parts[k].codes.T

        list(pool.map(place, range(len(parts))))
    weights = [part.weights for part in parts if part.weights is not None]
    return first, second, np.concatenate(weights) if weights else None, numbering.ids()


def encode_integers(
    loops: ModuleType, blocks: Iterable[tuple[Ints, Floats | None]]
) -> tuple[Ints, Ints, Floats | None, pyarrow.Int64Array]:
    """The same for whole numbers, whose blocks are both ends [rows, 2] and the weights."""
    pa = need("pyarrow", "reading a table")
    table, ids = _Hashes(loops), [np.empty(0, dtype=np.int64)]
    parts, weights = [np.empty((0, 2), dtype=np.int32)], []
    for ends, some in blocks:
        flat = ends.reshape(-1)
        keys = np.zeros((len(flat), 2), dtype=np.uint64)
        keys[:, 0] = flat.view(np.uint64)
        codes, fresh = table.number(keys)
        ids.append(flat[fresh])
        parts.append(codes.reshape(-1, 2))
        if some is not None:
            weights.append(some)
    count = sum(map(len, parts))
    first, second, at = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64), 0
    parts.reverse()
    while parts:  # which frees them one by one
        part = parts.pop()
        first[at : at + len(part)], second[at : at + len(part)] = part.T
        at += len(part)
    return first, second, np.concatenate(weights) if weights else None, pa.array(np.concatenate(ids))


def texts_of_arrow(strings: pyarrow.StringArray) -> Texts:
    """The ids in an Arrow array of strings without nulls."""
    _, offset_buffer, text = strings.buffers()
    offsets = np.frombuffer(offset_buffer or bytes(4), dtype=np.int32)[strings.offset :][: len(strings) + 1]
    texts = Texts(np.frombuffer(text or b"", dtype=np.uint8), offsets[:-1], offsets[1:])
    for part in texts:
        part.flags.writeable = False
    return texts


def _block_of_arrow(batch: pyarrow.RecordBatch) -> Block:
    return Block(texts_of_arrow(batch.column(0)), texts_of_arrow(batch.column(1)), None)


class _Hashes:
    """Keys and their numbers, in the order in which they appear."""

    def __init__(self, loops: ModuleType) -> None:
        self._loops = loops
        self._used = 0
        self._table = np.zeros((1 << 19, 3), dtype=np.uint64)

    def number(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The numbers of keys [k, 2], and which of the keys are new."""
        self._make_room(len(keys))
        codes, fresh = np.empty(len(keys), dtype=np.int32), np.empty(len(keys), dtype=np.int32)
        before, self._used = self._used, self._loops.number_keys(keys, self._table, self._used, codes, fresh)
        return codes, fresh[: self._used - before]

    def _make_room(self, more: int) -> None:
        """Two thirds of the table may be full."""
        size = len(self._table)
        while 2 * size < 3 * (self._used + more):
            size *= 4
        if size > len(self._table):
            entries = self._table[self._table[:, 2] > 0]
            keys = np.empty((self._used, 2), dtype=np.uint64)
            keys[entries[:, 2].astype(np.int64) - 1] = entries[:, :2]
            self._table = np.zeros((size, 3), dtype=np.uint64)
            spare = np.empty((2, len(keys)), dtype=np.int32)
            self._loops.number_keys(keys, self._table, 0, *spare)


class _Numbering:
    """Ids and their numbers, in the order in which they appear."""

    def __init__(self, loops: ModuleType) -> None:
        self._loops, self._hashes = loops, _Hashes(loops)
        # The bytes of the ids, and where each ends after the first 0: both have room for more.
        self._text, self._offsets = np.empty(1 << 16, dtype=np.uint8), np.zeros(1 << 12, dtype=np.int32)
        self._count = 0

    def number(self, block: Block, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The numbers [rows, 2] of the ids of a block."""
        codes, fresh = self._hashes.number(keys)
        rows, is_second = np.divmod(fresh, 2)
        lengths = np.where(is_second, *(texts.ends[rows] - texts.starts[rows] for texts in (block.second, block.first)))
        begin, count = int(self._offsets[self._count]), self._count + len(fresh)
        ends = begin + np.cumsum(lengths, dtype=np.int64)
        size = int(ends[-1]) if len(ends) else begin
        if size > np.iinfo(np.int32).max:
            raise MemoryError("the ids are more than 2 GiB of text")
        self._text, self._offsets = _with_room(self._text, size), _with_room(self._offsets, count + 1)
        self._offsets[self._count + 1 : count + 1] = ends
        offsets = self._offsets[self._count : count + 1]
        self._loops.copy_ids(*block.first[:2], *block.second[:2], fresh, offsets, self._text)
        self._count = count
        return codes.reshape(-1, 2)

    def agrees(self, block: Block, codes: NDArray[np.int32]) -> bool:
        """Whether the ids of a block are, byte by byte, those of their numbers."""
        text, offsets = self._text.view(), self._offsets.view()
        text.flags.writeable = offsets.flags.writeable = False  # as those of Arrow are
        known = text, offsets[: self._count], offsets[1 : self._count + 1]
        sides = enumerate((block.first, block.second))
        return all(self._loops.same_ids(*texts, column, codes, *known) for column, texts in sides)

    def ids(self) -> pyarrow.StringArray:
        """The ids."""
        pa = need("pyarrow", "reading a table")
        offsets = self._offsets[: self._count + 1].copy()
        text = self._text[: offsets[-1]].copy()
        return pa.StringArray.from_buffers(self._count, pa.py_buffer(offsets), pa.py_buffer(text))


def _with_room(values: NDArray[Room], size: int) -> NDArray[Room]:
    """The array, or a longer one that begins with it."""
    if size <= len(values):
        return values
    longer = np.empty(max(size, 3 * len(values) // 2), dtype=values.dtype)
    longer[: len(values)] = values
    return longer
