"""The scikit-learn estimator keeps scikit-learn's conventions."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import scipy.sparse
import torch

import ultrahyperbolic as uh
from ultrahyperbolic.embedding.forms import landmarks

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.base import clone  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402


def adjacency():
    return uh.datasets.karate().adjacency()


def test_fit_transform_dense_and_sparse():
    model = uh.UltrahyperbolicEmbedding(p=3, q=1, iterations=50, random_state=0)
    features = model.fit_transform(adjacency().toarray())
    points = model.embedding_
    assert points.shape == (34, 5)
    assert np.array_equal(features, model.result_.features(256))
    assert model.delta_.shape == (34,)
    assert model.n_features_in_ == 34
    assert model.loss_ > 0
    again = clone(model).fit(scipy.sparse.csr_array(adjacency()))
    assert np.array_equal(points, again.embedding_)
    assert uh.PseudoHyperboloid(3, 1).check_point(torch.from_numpy(points)).ok
    model.set_params(popularity=True).fit(adjacency())
    assert model.result_.popularity.any()


def test_parameters_and_errors():
    model = uh.UltrahyperbolicEmbedding().set_params(p=2, q=2)
    assert model.get_params()["p"] == 2
    with pytest.raises(ValueError, match="square"):
        model.fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match="Negative values in data"):
        model.fit(-adjacency().toarray())


PART = (
    "the fitted graph has points of its own; a part of it, or its nodes in another order, are new "
    "nodes"
)
EXPECTED = {"check_methods_subset_invariance": PART, "check_methods_sample_order_invariance": PART}


@parametrize_with_checks(
    [uh.UltrahyperbolicEmbedding(p=2, q=1, iterations=3, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learn_s_own_checks(estimator, check, monkeypatch):
    # Where new nodes are placed does not matter here.
    monkeypatch.setattr(import_module("ultrahyperbolic.training.place"), "_ITERATIONS", 4)
    check(estimator)


def test_pandas_output_and_names():
    pd = pytest.importorskip("pandas")
    graph = uh.datasets.karate()
    frame = pd.DataFrame(adjacency().toarray(), index=list(graph.ids), columns=list(graph.ids))
    model = uh.UltrahyperbolicEmbedding(
        signature="2,1", n_features=3, iterations=10, seed=0
    ).set_output(transform="pandas")
    points = model.fit_transform(frame)
    assert list(points.index) == list(graph.ids)
    assert list(points.columns) == [f"ultrahyperbolicembedding{k}" for k in range(4)]
    assert points.equals(model.transform(frame))
    assert list(model.result_.ids) == list(graph.ids)


def test_networkx_and_names_of_data_sets():
    pytest.importorskip("networkx")
    graph = uh.datasets.karate()
    drawn = graph.to_networkx()
    model = uh.UltrahyperbolicEmbedding(p=2, q=1, n_features=0, iterations=10, random_state=0)
    points = model.fit_transform(drawn)
    assert list(model.result_.ids) == list(graph.ids)
    assert np.array_equal(points, model.transform(drawn))
    assert np.array_equal(points, clone(model).fit_transform("karate"))
    assert np.array_equal(
        points, uh.embed("karate", p=2, q=1, iterations=10, seed=0, quiet=True).points
    )
    unweighted = clone(model).set_params(weight=False).fit(drawn)
    assert unweighted.result_.graph.capacities.tolist() == [1.0]


def test_a_dimension_is_chosen_and_a_device_taken():
    model = uh.UltrahyperbolicEmbedding(dim=2, iterations=12, device="cpu", seed=0).fit(adjacency())
    assert model.result_.record.select is not None
    assert model.result_.manifold.dim == 2
    with pytest.raises(ValueError, match="seed and random_state are the same setting"):
        uh.UltrahyperbolicEmbedding(seed=0, random_state=0).fit(adjacency())


@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize("tied", [[0, 2], []])
def test_a_new_node_without_ties_is_refused_by_its_row(form, tied):
    model = uh.UltrahyperbolicEmbedding(p=2, q=1, iterations=5, seed=0).fit(adjacency().toarray())
    ties = np.zeros((4, 34))
    ties[tied, 0] = 3.0
    first, count = (1, 2) if tied else (0, 4)
    with pytest.raises(
        ValueError, match=rf"^row {first} of X \(from 0\) has no ties .* \({count} such\)"
    ):
        model.transform(form(ties))


def test_new_nodes_are_placed_by_their_ties():
    graph, matrix = uh.datasets.karate(), adjacency().toarray()
    model = uh.UltrahyperbolicEmbedding(p=2, q=1, n_features=0, iterations=50, seed=0).fit(matrix)
    ties = np.zeros((2, 34))
    ties[0, [0, 1, 2]] = 3.0
    ties[1, [32, 33]] = 5.0
    points = model.transform(ties)
    assert points.shape == (2, 4)
    assert uh.PseudoHyperboloid(2, 1).check_point(torch.from_numpy(points), tolerance=1e-8).ok
    assert np.array_equal(points, model.transform(scipy.sparse.csr_array(ties)))
    named = model.result_.transform([("x", 0, 3.0), ("x", 1, 3.0), ("x", 2, 3.0)])
    assert named.points.shape == (1, 4)
    assert graph.n_nodes == len(model.embedding_)


@pytest.mark.slow
def test_new_nodes_have_distances_to_the_landmarks_of_the_fitted_ones():
    matrix = adjacency().toarray()
    model = uh.UltrahyperbolicEmbedding(p=2, q=1, n_features=5, iterations=50, seed=0).fit(matrix)
    found = model.transform(np.eye(34)[[0, 33]] * 3.0)
    assert found.shape == (2, 6)
    points = clone(model).set_params(n_features=0).fit(matrix).transform(np.eye(34)[[0, 33]] * 3.0)
    rows = landmarks(model.result_.manifold, model.result_.points, 5)
    there = model.result_.points[rows]
    apart = model.result_.manifold.cdist(
        torch.from_numpy(points), torch.from_numpy(there), dissimilarity="geodesic"
    )
    np.testing.assert_allclose(found[:, :5], apart.clamp(min=0).sqrt().numpy(), atol=1e-9)


def test_by_default_features_are_made_for_classifiers():
    """Rings of cliques: a linear model tells them apart by their features."""
    from sklearn.linear_model import LogisticRegression

    ties = np.kron(np.eye(6), np.ones((8, 8))) - np.eye(48)
    for clique in range(6):
        a, b = 8 * clique, (8 * clique + 9) % 48
        ties[a, b] = ties[b, a] = 1.0
    kind = np.repeat(np.arange(6), 8)
    model = uh.UltrahyperbolicEmbedding(iterations=200, seed=0)
    features = model.fit_transform(ties)
    assert (
        model.result_.geometry.name
        == uh.embed("karate", p=8, q=8, iterations=1, quiet=True).geometry.name
    )
    assert model.result_.popularity is not None
    assert np.array_equal(features[:, -1], model.result_.popularity)
    learnt = LogisticRegression(max_iter=1000).fit(features[::2], kind[::2])
    assert learnt.score(features[1::2], kind[1::2]) > 0.9
    flat = uh.UltrahyperbolicEmbedding(
        dim=2, flat=True, n_features=0, iterations=5, seed=0
    ).fit_transform(ties)
    assert flat.shape == (48, 2)


def test_landmarks_are_far_from_each_other():
    embedding = uh.embed("karate", iterations=100, quiet=True)
    rows = landmarks(embedding.manifold, embedding.points, 6)
    assert len(set(rows.tolist())) == 6
    apart = embedding.features(6)[rows][:, :6]
    assert np.isfinite(apart).all()
    assert apart[~np.eye(6, dtype=bool)].min() > np.median(embedding.features(34)[:, :34].min(0))
    assert sorted(landmarks(embedding.manifold, embedding.points, 100).tolist()) == list(range(34))
    with pytest.raises(ValueError, match="k must be"):
        embedding.features(0)
