"""From columns of ids to positions: Arrow columns become integers in the order in which the ids first appear."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import need
from .fold import Ints

Words = NDArray[np.uint64]

# What a word keeps of the bytes it was read from, and its mark of the end, for -1 (ended before), 0, ..., 8 bytes left.
_KEPT = np.array([0, *((1 << 8 * k) - 1 for k in range(9))], dtype=np.uint64)
_END = np.array([0, *(0x80 << 8 * k for k in range(8)), 0], dtype=np.uint64)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LONGEST = 40  # bytes of an id (a UUID has 36); the words of all rows are held at once
_FEW = 20_000  # rows below which it does not pay either


def encode_ends(first: Any, second: Any) -> tuple[Ints, Ints, Any]:
    """Positions of both ends [m], and the Arrow array of the distinct ids in order of appearance, row by row.

    ``first`` and ``second`` are ``pyarrow.ChunkedArray`` of one type and without nulls.
    """
    pa = need("pyarrow", "reading a table")
    is_text = pa.types.is_string(first.type)
    encoded = _encode_short_text(pa, first, second) if is_text and len(first) > _FEW else None
    codes, ids = encoded or _encode_any(pa, first, second)
    return codes[:, 0], codes[:, 1], ids


def _encode_any(pa: Any, first: Any, second: Any) -> tuple[Ints, Any]:
    """Codes [m, 2] and ids, by Arrow's dictionary."""
    both = pa.chunked_array([*first.chunks, *second.chunks], type=first.type).dictionary_encode()
    both = both.unify_dictionaries()
    ids = both.chunk(0).dictionary if both.num_chunks else pa.array([], type=first.type)
    flat = np.concatenate([np.empty(0, dtype=np.int64), *(chunk.indices.to_numpy() for chunk in both.chunks)])
    codes = flat.astype(np.int64).reshape(2, -1).T
    appearance = np.empty(len(ids), dtype=np.int64)
    # Of repeated positions numpy keeps the last write, so running backwards keeps the first appearance.
    appearance[codes.ravel()[::-1]] = np.arange(codes.size)[::-1]
    order = np.argsort(appearance)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    return rank[codes], ids.take(pa.array(order))


def _encode_short_text(pa: Any, first: Any, second: Any) -> tuple[Ints, Any] | None:
    """The same for short strings, several times faster: by 64-bit hashes, on all cores, and every row checked after.

    A look-up in a table of a million strings misses the cache three times; hashes dealt out by their first byte make
    tables that fit into it. Returns ``None`` where an id is long, or where two ids share a hash.
    """
    batches = pa.table([first, second], names=["first", "second"]).to_batches()
    ends = np.cumsum([len(batch) for batch in batches])
    slices = [slice(end - len(batch), end) for batch, end in zip(batches, ends, strict=True)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        words = list(pool.map(lambda batch: (_words(batch.column(0)), _words(batch.column(1))), batches))
        hashes = np.empty((len(first), 2), dtype=np.uint64)

        def hash_batch(k: int) -> bool:
            for column, found in enumerate(words[k]):
                if found is None:
                    return False
                hashes[slices[k], column] = _hash(found)
            return True

        if not all(pool.map(hash_batch, range(len(batches)))):
            return None
        codes, example = _encode_hashes(pa, hashes.ravel(), pool)
        codes = codes.reshape(-1, 2)
        row, column = np.divmod(example, 2)
        strings = pa.chunked_array([*first.chunks, *second.chunks])
        ids = strings.take(pa.array(column * len(first) + row)).combine_chunks()
        known = _words(ids)

        def agrees(k: int) -> bool:
            return all(
                np.array_equal(mine, every.take(codes[slices[k], column]))
                for column, found in enumerate(words[k])
                for mine, every in zip(found, known, strict=False)  # type: ignore[arg-type]
            )

        return (codes, ids) if all(pool.map(agrees, range(len(batches)))) else None


def _encode_hashes(pa: Any, hashes: Words, pool: ThreadPoolExecutor) -> tuple[Ints, Ints]:
    """Codes of the hashes in order of appearance, and the position at which each code first appears."""
    first_byte = (hashes >> np.uint64(56)).astype(np.uint8)
    order = np.argsort(first_byte, kind="stable")
    cuts = np.concatenate(([0], np.cumsum(np.bincount(first_byte, minlength=256))))

    def encode(k: int) -> tuple[NDArray[np.int32], Ints]:
        positions = order[cuts[k] : cuts[k + 1]]
        table = pa.array(hashes[positions]).dictionary_encode()
        local = table.indices.to_numpy()
        appearance = np.empty(len(table.dictionary), dtype=np.int64)
        appearance[local[::-1]] = positions[::-1]
        return local, appearance

    parts = list(pool.map(encode, range(256)))
    appearances = np.concatenate([appearance for _, appearance in parts])
    by_appearance = np.argsort(appearances)
    rank = np.empty(len(by_appearance), dtype=np.int64)
    rank[by_appearance] = np.arange(len(by_appearance))
    starts = np.cumsum([0, *(len(appearance) for _, appearance in parts)])
    codes = np.empty(len(hashes), dtype=np.int64)

    def place(k: int) -> None:
        codes[order[cuts[k] : cuts[k + 1]]] = rank[starts[k] : starts[k + 1]][parts[k][0]]

    list(pool.map(place, range(256)))
    return codes, appearances[by_appearance]


def _words(strings: Any) -> Words | None:
    """The letters of each string in words of 8 bytes [words, rows]: one byte 0x80 marks the end, zeros follow.

    ``None`` where a string is longer than ``_LONGEST``.
    """
    _, offset_buffer, letters_buffer = strings.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int32)[strings.offset : strings.offset + len(strings) + 1]
    lengths = np.diff(offsets)
    shortest, longest = (int(lengths.min()), int(lengths.max())) if len(lengths) else (0, 0)
    if longest > _LONGEST:
        return None
    count = longest // 8 + 1
    start, end = int(offsets[0]), int(offsets[-1])
    letters = np.zeros(end - start + 8 * count, dtype=np.uint8)
    if end > start:
        letters[: end - start] = np.frombuffer(letters_buffer, dtype=np.uint8)[start:end]
    # One overlapping view with an element at every byte, so that each string is one element of it.
    anywhere = np.ndarray(end - start + 1, dtype=f"V{8 * count}", buffer=letters, strides=(1,))
    gathered = anywhere[offsets[:-1] - start].view("<u8").reshape(-1, count)
    words = np.empty((count, len(lengths)), dtype=np.uint64)
    for k in range(count):
        if shortest >= 8 * (k + 1):
            words[k] = gathered[:, k]
        else:
            left = np.clip(lengths - (8 * k - 1), 0, 9)
            np.bitwise_and(gathered[:, k], _KEPT[left], out=words[k])
            words[k] |= _END[left]
    return words


def _hash(words: Words) -> Words:
    """64 bits a string. A word of zeros adds nothing, so that the longest string of a batch does not matter."""
    mixed = np.zeros(words.shape[1], dtype=np.uint64)
    for k, word in enumerate(words):
        part = word * (_MULTIPLIER + np.uint64(2 * k))
        part ^= part >> np.uint64(32)
        part *= _MULTIPLIER
        mixed += part
    return mixed
