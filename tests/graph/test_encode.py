from __future__ import annotations

from itertools import product, repeat

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ultrahyperbolic.graph import compiled, encode

# Letters that look alike in words of eight bytes: zeros, the mark of the end, and lengths around
# the edges of words.
LETTERS = st.sampled_from(["a", "b", "\0", "\x80", "é", "aaaaaaa", "aaaaaaaa"])
IDS = st.lists(LETTERS, max_size=4).map("".join)
ROWS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=40)


def by_hand(rows):
    ids = list(dict.fromkeys(end for row in rows for end in row))
    return [[ids.index(end) for end in row] for row in rows], ids


def columns(rows, cuts=(0,)):
    first, second = zip(*rows, strict=True)
    return tuple(
        pa.chunked_array(
            [list(column[a:b]) for a, b in zip(cuts, (*cuts[1:], len(rows)), strict=True)],
            pa.string(),
        )
        for column in (first, second)
    )


def encode_all(monkeypatch, first, second, few):
    monkeypatch.setattr(encode, "_MANY", few)
    i, j, weights, ids = encode.encode_ends(zip(first.chunks, second.chunks, repeat(None)))
    assert weights is None
    return [list(row) for row in zip(i.tolist(), j.tolist(), strict=True)], ids.to_pylist()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.integers(0, 40))
def test_both_ways_of_encoding_number_ids_as_they_appear(monkeypatch, rows, cut):
    both = columns(rows, (0, min(cut, len(rows))))
    for few in (0, len(rows)):
        assert encode_all(monkeypatch, *both, few) == by_hand(rows)


def test_slices_of_arrays_are_encoded_as_themselves(monkeypatch):
    first, second = columns([("x", "y"), ("abcdefgh", "b"), ("b", "abcdefghi")])
    encoded = encode_all(monkeypatch, first.slice(1), second.slice(1), few=0)
    assert encoded == ([[0, 1], [1, 2]], ["abcdefgh", "b", "abcdefghi"])


@pytest.mark.parametrize("size", [15, 16, 17, 24, 200])
def test_ids_of_any_length_are_encoded(monkeypatch, size):
    ids = [
        "x" * size,
        "x" * (size - 1),
        "y" + "x" * (size - 1),
        "x" * (size - 1) + "y",
        "x" * (size + 1),
        "x\0",
        "x",
    ]
    rows = list(product(ids, ids))
    assert encode_all(monkeypatch, *columns(rows), few=0) == by_hand(rows)


def test_long_ids_that_share_a_hash_are_told_apart(monkeypatch):
    make_keys = compiled.make_keys

    def collide(text, words, starts, ends, column, keys):
        is_hashed = make_keys(text, words, starts, ends, column, keys)
        keys[ends - starts > 15, column] = (1, 255 << 56)
        return is_hashed

    monkeypatch.setattr(compiled, "make_keys", collide)
    rows = [
        ("a", "b" * 16),
        ("b" * 16, "c" * 16),
        ("a", "c" * 15 + "d"),
        ("c" * 16, "c" * 15 + "d"),
        ("b" * 16, "b" * 17),
    ]
    for cuts in ((0,), (0, 1, 3)):
        assert encode_all(monkeypatch, *columns(rows, cuts), few=0) == by_hand(rows)


@pytest.mark.parametrize("few", [0, 100])
def test_other_types_and_no_rows(monkeypatch, few):
    monkeypatch.setattr(encode, "_MANY", few)
    for kind in (pa.int64(), pa.float64()):
        first, second = pa.array([7, 3, 7], kind), pa.array([3, 9, 9], kind)
        weights = np.array([0.5, 2.0, 4.0])
        parts = [(first[:2], second[:2], weights[:2]), (first[2:], second[2:], weights[2:])]
        i, j, found, ids = encode.encode_ends(parts)
        assert (i.tolist(), j.tolist(), ids.to_pylist()) == ([0, 1, 0], [1, 2, 2], [7, 3, 9])
        assert found.tolist() == weights.tolist()
    i, j, weights, ids = encode.encode_ends([])
    assert (len(i), len(j), weights, len(ids)) == (0, 0, None, 0)


@pytest.mark.slow
def test_the_table_of_ids_grows(monkeypatch):
    rng = np.random.default_rng(1)
    names = [f"n{k}" for k in range(100_000)]
    rows = [(names[i], names[j]) for i, j in rng.integers(0, len(names), (150_000, 2)).tolist()]
    encoded, ids = encode_all(monkeypatch, *columns(rows, range(0, len(rows), 10_000)), few=0)
    assert ids == list(dict.fromkeys(end for row in rows for end in row))
    assert [(ids[i], ids[j]) for i, j in encoded] == rows
