from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultrahyperbolic.graph import Graph, GraphError, NodeIds, fold
from ultrahyperbolic.graph.rows import EdgeRows, Policies, sorted_distinct

N = 6
WEIGHTS = st.integers(1, 4)
ROWS = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), WEIGHTS), max_size=30)


def graph_of(rows, kind="list", **options):
    first, second, weights = (
        (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    )
    made = EdgeRows(
        np.array(first, dtype=np.int64),
        np.array(second, dtype=np.int64),
        np.array(weights, dtype=np.float64),
        NodeIds(range(N)),
        lambda row: f"row {row}",
    )
    return Graph.from_rows(made, kind=kind, rules=Policies(**options))


def as_dict(graph):
    return {
        tuple(edge): weight
        for edge, weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    }


def combine(weights, rule):
    return {"sum": sum, "max": max, "first": lambda values: values[0]}[rule](weights)


def oracle(rows, rule):
    """Policies of an edge list, with dictionaries: weights by pair, and the rows times up in one
    direction and both.
    """
    directed = defaultdict(list)
    for k, (i, j, w) in enumerate(rows):
        if i != j:
            directed[i, j].append((k, w))
    one_way = {
        pair: (times[0][0], combine([w for _, w in times], rule))
        for pair, times in directed.items()
    }
    repeats = sum(len(times) - 1 for times in directed.values())
    if all((j, i) in one_way and one_way[j, i][1] == w for (i, j), (_, w) in one_way.items()):
        return {(i, j): w for (i, j), (_, w) in one_way.items() if i < j}, repeats, 0
    pairs = defaultdict(list)
    for (i, j), times in one_way.items():
        pairs[min(i, j), max(i, j)].append(times)
    weights = {pair: combine([w for _, w in sorted(times)], rule) for pair, times in pairs.items()}
    return weights, repeats, sum(len(times) - 1 for times in pairs.values())


@given(ROWS, st.sampled_from(["sum", "max", "first"]))
def test_an_edge_list_follows_its_policy(rows, rule):
    graph = graph_of(rows, repeated=rule)
    expected, repeats, reversed_rows = oracle(rows, rule)
    past = {"sum": "summed", "max": "max_taken", "first": "first_taken"}[rule]
    assert as_dict(graph) == expected
    assert graph.policies.get(f"repeated_rows_{past}", 0) == repeats
    assert graph.policies.get(f"reversed_rows_{past}", 0) == reversed_rows
    assert graph.policies.get("self_loops_dropped", 0) == sum(i == j for i, j, _ in rows)
    assert graph.edges.tolist() == sorted(graph.edges.tolist())


@given(ROWS, st.randoms())
def test_the_order_of_the_rows_does_not_matter_to_sums(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert graph_of(rows) == graph_of(shuffled)


@given(ROWS)
def test_a_list_that_gives_every_edge_both_ways_holds_each_once(rows):
    once = {(min(i, j), max(i, j)): w for i, j, w in rows if i != j}
    both = [(i, j, w) for (i, j), w in once.items()] + [(j, i, w) for (i, j), w in once.items()]
    graph = graph_of(both, repeated="error")
    assert as_dict(graph) == once
    assert graph.policies.get("reversed_rows_merged", 0) == len(once)


@given(ROWS)
def test_undirected_rows_are_the_same_in_either_direction(rows):
    expected = defaultdict(float)
    for i, j, w in rows:
        if i != j:
            expected[min(i, j), max(i, j)] += w
    assert as_dict(graph_of(rows, kind="undirected")) == expected


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=N, max_size=N), min_size=N, max_size=N),
    st.booleans(),
)
def test_a_symmetric_matrix_is_taken_and_any_other_added_to_its_transpose(entries, symmetric):
    matrix = np.array(entries)
    matrix = np.maximum(matrix, matrix.T) if symmetric else matrix
    np.fill_diagonal(matrix, 0)
    even = np.array_equal(matrix, matrix.T)
    strengths = matrix if even else matrix + matrix.T
    graph = Graph.from_numpy(matrix)
    assert np.array_equal(graph.adjacency().toarray(), strengths)
    asymmetric = int((np.triu(matrix, 1) != np.triu(matrix.T, 1)).sum())
    assert graph.policies.get("asymmetric_pairs_summed", 0) == asymmetric
    if even:
        assert Graph.from_numpy(matrix, asymmetric="error") == graph
    else:
        with pytest.raises(GraphError, match="asymmetric='error'"):
            Graph.from_numpy(matrix, asymmetric="error")


def test_a_matrix_is_symmetric_but_for_rounding():
    matrix = np.array([[0, 1.0], [np.nextafter(1.0, 2.0), 0]])
    assert Graph.from_numpy(matrix).policies == {}
    assert Graph.from_numpy(matrix, asymmetric="error").weights.tolist() == [1.0]
    assert Graph.from_numpy(matrix + np.array([[0, 1e-11], [0, 0]])).policies == {
        "asymmetric_pairs_summed": 1
    }


def test_error_names_the_second_row_and_the_first():
    rows = [(0, 1, 1), (2, 3, 1), (4, 5, 1), (3, 2, 1), (0, 1, 1)]
    with pytest.raises(GraphError, match=r"^row 4 \(0 - 1\).*\(row 0\)"):
        graph_of(rows, repeated="error")
    with pytest.raises(GraphError, match=r"^row 3 \(3 - 2\).*\(row 1\)"):
        graph_of(rows[:4], repeated="error")
    with pytest.raises(GraphError, match=r"^row 1 \(0 - 1\).*\(row 0\)"):
        graph_of([(1, 0, 1), (0, 1, 2)], repeated="error")


def test_rows_are_named_as_given_when_self_loops_are_dropped():
    with pytest.raises(GraphError, match=r"^row 3 .*\(row 1\)"):
        graph_of([(2, 2, 1), (0, 1, 1), (3, 3, 1), (0, 1, 1)], repeated="error")


@pytest.mark.parametrize(
    ("bad", "text"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf"), (-1.5, "-1.5"), (0, "0")]
)
def test_bad_weights_are_refused_with_their_row(bad, text):
    with pytest.raises(GraphError, match=rf"^row 1 \(4 - 5\): the weight is {text};"):
        graph_of([(0, 1, 1.0), (4, 5, bad), (1, 2, bad)])


def test_sums_that_overflow_are_refused():
    with pytest.raises(GraphError, match="infinity"):
        graph_of([(0, 1, 1e308), (0, 1, 1e308)])


@pytest.mark.parametrize("option", ["repeated", "asymmetric"])
def test_unknown_policies_are_refused(option):
    with pytest.raises(GraphError, match=f"{option} must be one of 'sum'.*got 'mean'"):
        graph_of([], **{option: "mean"})


def test_distinct_values():
    values = np.array([3, 1, 3, 2, 1])
    assert sorted_distinct(values).tolist() == [1, 2, 3]
    assert sorted_distinct(values[:0]).tolist() == []


def test_what_is_said_of_policies():
    assert (
        fold.policy_words("asymmetric_pairs_summed")
        == "directions dropped, asymmetric pairs summed"
    )
    assert fold.policy_words("distances_inverted") == "distances turned into strengths 1/d"
    assert fold.policy_words("comment_lines_skipped") == "comment lines skipped"
