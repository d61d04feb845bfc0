from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ultrahyperbolic.graph import encode

# Letters that look alike in words of eight bytes: zeros, the mark of the end, and lengths around the edges of words.
LETTERS = st.sampled_from(["a", "b", "\0", "\x80", "é", "aaaaaaa", "aaaaaaaa"])
IDS = st.lists(LETTERS, max_size=4).map("".join)
ROWS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=40)


def by_hand(rows):
    ids = list(dict.fromkeys(end for row in rows for end in row))
    return [[ids.index(end) for end in row] for row in rows], ids


def columns(rows, cuts=(0,)):
    first, second = zip(*rows, strict=True)
    return tuple(
        pa.chunked_array([list(column[a:b]) for a, b in zip(cuts, (*cuts[1:], len(rows)), strict=True)], pa.string())
        for column in (first, second)
    )


@settings(deadline=None, max_examples=50)
@given(ROWS, st.integers(0, 40))
def test_both_ways_of_encoding_number_ids_as_they_appear(rows, cut):
    expected = by_hand(rows)
    first, second = columns(rows, (0, min(cut, len(rows))))
    for way in (encode._encode_any, encode._encode_short_text):
        codes, ids = way(pa, first, second)
        assert (codes.tolist(), ids.to_pylist()) == expected


def test_slices_of_arrays_are_encoded_as_themselves():
    first, second = columns([("x", "y"), ("abcdefgh", "b"), ("b", "abcdefghi")])
    codes, ids = encode._encode_short_text(pa, first.slice(1), second.slice(1))
    assert codes.tolist() == [[0, 1], [1, 2]]
    assert ids.to_pylist() == ["abcdefgh", "b", "abcdefghi"]


def test_ids_that_share_a_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(encode, "_FEW", 0)
    monkeypatch.setattr(encode, "_hash", lambda words: np.zeros(words.shape[1], dtype=np.uint64))
    rows = [("a", "b"), ("b", "c"), ("a", "c")]
    assert encode._encode_short_text(pa, *columns(rows)) is None
    i, j, ids = encode.encode_ends(*columns(rows))
    assert ([list(row) for row in zip(i.tolist(), j.tolist(), strict=True)], ids.to_pylist()) == by_hand(rows)


@pytest.mark.parametrize("size", [40, 41, 200])
def test_long_ids_are_encoded_too(monkeypatch, size):
    monkeypatch.setattr(encode, "_FEW", 0)
    rows = [("x" * size, "x" * (size - 1)), ("x" * (size - 1), "y")]
    assert (encode._encode_short_text(pa, *columns(rows)) is None) == (size > encode._LONGEST)
    i, j, ids = encode.encode_ends(*columns(rows))
    assert ([list(row) for row in zip(i.tolist(), j.tolist(), strict=True)], ids.to_pylist()) == by_hand(rows)


def test_other_types_and_no_rows():
    numbers = pa.chunked_array([[7, 3], [7]])
    i, j, ids = encode.encode_ends(numbers, pa.chunked_array([[3, 9, 9]]))
    assert (i.tolist(), j.tolist(), ids.to_pylist()) == ([0, 1, 0], [1, 2, 2], [7, 3, 9])
    none = pa.chunked_array([], pa.int64())
    i, j, ids = encode.encode_ends(none, none)
    assert (len(i), len(j), len(ids)) == (0, 0, 0)


def test_many_ids_are_encoded_on_all_cores():
    rng = np.random.default_rng(1)
    names = np.array([f"n{k}" for k in range(5_000)])
    ends = rng.integers(0, len(names), (30_000, 2))
    first, second = (pa.chunked_array([names[column].tolist()]) for column in ends.T)
    assert len(first) > encode._FEW
    i, j, ids = encode.encode_ends(first, second)
    words = np.array(ids.to_pylist())
    assert np.array_equal(words[i], names[ends[:, 0]])
    assert np.array_equal(words[j], names[ends[:, 1]])
    assert ids.to_pylist() == list(dict.fromkeys(names[ends].ravel().tolist()))
