from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultrahyperbolic.graph import NodeIds

TEXT = st.lists(st.text(st.characters(codec="utf-8"), max_size=5), unique=True, max_size=8)


@given(TEXT)
def test_text_in_arrow_is_like_a_tuple_of_it(values):
    lazy, plain = NodeIds(pa.array(values, type=pa.string())), NodeIds(values)
    assert lazy == plain == tuple(values)
    assert list(lazy) == values
    assert [lazy[k] for k in range(len(values))] == values
    assert all(type(value) is str for value in lazy)
    assert lazy[1:] == plain[1:] == values[1:]
    assert lazy[::-2] == values[::-2]
    for k, value in enumerate(values):
        assert lazy.index(value) == plain.index(value) == k
        assert value in lazy


@pytest.mark.parametrize("make", [tuple, lambda values: pa.array(values)])
def test_what_is_not_there_is_not_found(make):
    ids = NodeIds(make(["a", "b"]))
    for absent in ("c", 0, None, ["a"]):
        assert absent not in ids
        with pytest.raises(ValueError, match="no node"):
            ids.index(absent)
    with pytest.raises(IndexError):
        ids[2]
    assert ids[-1] == "b"


def test_numbers_from_zero_cost_nothing_and_are_found():
    ids = NodeIds(range(10**12))
    assert len(ids) == 10**12
    assert ids.index(10**11) == 10**11
    assert -1 not in ids
    assert "1" not in ids


def test_scalars_of_numpy_become_plain_numbers():
    assert [type(node) for node in NodeIds(np.array([3, 5]))] == [int, int]


def test_index_keeps_the_contract_of_sequences():
    ids = NodeIds("abc")
    assert ids.index("b", 1) == 1
    with pytest.raises(ValueError, match="no node 'a'"):
        ids.index("a", 1)
    with pytest.raises(ValueError, match="no node 'c'"):
        ids.index("c", 0, 2)


def test_equality_and_repr():
    assert NodeIds("ab") != NodeIds("abc")
    assert NodeIds("ab") != NodeIds("ba")
    assert NodeIds("ab") != "ab"
    assert repr(NodeIds("ab")) == "NodeIds(['a', 'b'])"
    assert repr(NodeIds(range(9))) == "NodeIds([0, 1, 2, 3, 4, 5, ...])"


def test_ids_survive_pickling():
    for ids in (NodeIds(("a", 1)), NodeIds(range(3)), NodeIds(pa.array(["x", "y"]))):
        assert pickle.loads(pickle.dumps(ids)) == ids
