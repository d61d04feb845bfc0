"""The scikit-learn estimator keeps scikit-learn's conventions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

import ultrahyperbolic as uh

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.base import clone  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402


def adjacency():
    return uh.datasets.karate().adjacency()


def test_fit_transform_dense_and_sparse():
    model = uh.UltrahyperbolicEmbedding(p=3, q=1, iterations=50, random_state=0)
    points = model.fit_transform(adjacency().toarray())
    assert points.shape == (34, 5)
    assert model.delta_.shape == (34,)
    assert model.n_features_in_ == 34
    assert model.loss_ > 0
    again = clone(model).fit(scipy.sparse.csr_array(adjacency()))
    assert np.array_equal(points, again.embedding_)
    assert uh.PseudoHyperboloid(3, 1).check_point(torch.from_numpy(points)).ok
    model.set_params(scope="node").fit(adjacency())
    assert model.result_.run["config"]["scope"] == "node"
    model.set_params(popularity=True).fit(adjacency())
    assert model.result_.popularity.any()


def test_parameters_and_errors():
    model = uh.UltrahyperbolicEmbedding().set_params(p=2, q=2)
    assert model.get_params()["p"] == 2
    with pytest.raises(ValueError, match="square"):
        model.fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match="Negative values in data"):
        model.fit(-adjacency().toarray())


@parametrize_with_checks([uh.UltrahyperbolicEmbedding(p=2, q=1, iterations=3, random_state=0)])
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)
