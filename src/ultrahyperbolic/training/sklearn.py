"""The scikit-learn way: an estimator over adjacency matrices and graphs."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from ..arrays import Floats
from ..checks import as_integer, check_count
from ..graph import Graph
from ..options import Options, complete, described, takes_options, without_goal
from .embed import embed
from .inputs import Weight, find_graph

# What decides the geometry beside p and q, and what it is if nothing does: features need more room
# than a map.
_GEOMETRY = ("signature", "dim", "flat", "preset")
_DEFAULT_GEOMETRY = {"p": 8, "q": 8}


class UltrahyperbolicEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Embed the nodes of a graph, given by its adjacency matrix of tie strengths or as a networkx
    graph.

    It works as a step of a pipeline: ``fit_transform`` gives features of the nodes, ``transform``
    those of the graph it was fitted to, or of new nodes. All settings have the names they have in
    `ultrahyperbolic.embed`, which explains them. One default is made for classifiers: the geometry
    Q^(8,8).

    Parameters
    ----------
    **options
        Those of `ultrahyperbolic.options.Options`.
    n_features : int, default 256
        How many landmarks: the features of a node are the roots of its distances to them, and its
        popularity, as of `Embedding.features`. 0: the features are the points themselves, with as
        many coordinates as the space has.
    weight : str or False, optional
        Of a networkx graph: the edge attribute that holds the weights; False: every weight is 1.
    directed : bool
        Keep the directions of ties; an entry of a matrix is a tie from its row to its column.
    random_state : int, RandomState or None
        Seed of the start, the way scikit-learn takes it.

    Attributes
    ----------
    features_ : ndarray [n, f]
        What ``fit_transform`` returns.
    embedding_ : ndarray [n, d]
        Points, time coordinates first.
    delta_ : ndarray [n]
        δ_i, small for central nodes.
    loss_ : float
        The best loss seen.
    result_ : Embedding
        Everything else.
    """

    __doc__ = described(__doc__ or "")

    @takes_options
    def __init__(  # type: ignore[misc]  # p, q and seed are options that have another order or default here
        self,
        p: int | None = None,
        q: int | None = None,
        *,
        n_features: int = 256,
        weight: Weight | None = None,
        directed: bool = False,
        seed: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        **options: Unpack[Options],
    ) -> None:
        named = {name: value for name, value in vars().items() if name not in ("self", "options")}
        for name, value in (complete(without_goal(options)) | named).items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed a graph; ``y`` is ignored.

        Parameters
        ----------
        X
            The adjacency matrix [n, n], dense, sparse or a data frame, whose columns then name the
            nodes; or a networkx graph, a `Graph`, a file, or the name of a data set.
        y
            Ignored.
        """
        graph = self._graph(X)
        settings: dict[str, Any] = self.get_params(deep=False)
        state, seed = settings.pop("random_state"), settings.pop("seed")
        del settings["weight"], settings["directed"]  # of the graph, which is read already
        landmarks = check_count("n_features", settings.pop("n_features"), 0)
        if not any(settings[name] for name in _GEOMETRY) and settings["p"] is settings["q"] is None:
            settings |= _DEFAULT_GEOMETRY
        result = embed(graph, **settings, seed=self._seed(state, seed), quiet=True)
        self.result_ = result
        self.embedding_ = np.array(result.points)
        self.delta_ = np.array(result.delta)
        self.loss_ = None if result.record.result is None else result.record.result.best_loss
        self.features_ = self.embedding_ if not landmarks else result.features(landmarks)
        self._n_features_out = self.features_.shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit and return the features [n, f]."""
        return self.fit(X, y).features_

    def transform(self, X: Any) -> Floats:
        """The features of the graph this was fitted to, or of new nodes, which are placed by their
        ties.

        Parameters
        ----------
        X
            What `fit` was given; or the ties [m, n] of m new nodes to the n fitted ones, one row
            per new node; or a networkx graph, or pairs or triples, with the ties of new nodes to
            fitted ones.
        """
        check_is_fitted(self)
        if _is_graph(X) or (isinstance(X, list) and X and isinstance(X[0], tuple)):
            ties: object = find_graph(X, self.weight)
            if ties == self.result_.graph:
                return self.features_.copy()
            return self._placed(ties)
        matrix = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        check_non_negative(matrix, type(self).__name__)
        square = matrix.shape[0] == matrix.shape[1]
        if (
            square
            and _of_matrix(matrix, list(self.result_.ids), directed=self.directed)
            == self.result_.graph
        ):
            return self.features_.copy()
        rows, columns = matrix.nonzero()
        if len(alone := np.setdiff1d(np.arange(matrix.shape[0]), rows)):
            raise ValueError(
                f"row {alone[0]} of X (from 0) has no ties to the fitted nodes ({len(alone)} "
                "such), so nothing says where its node lies: give it one, or leave the row out"
            )
        values = np.asarray(matrix[rows, columns]).ravel().tolist()
        known, new = list(self.result_.ids), [("new", row) for row in range(matrix.shape[0])]
        entries = zip(rows.tolist(), columns.tolist(), values, strict=True)
        return self._placed(
            [(new[row], known[column], value) for row, column, value in entries], new
        )

    def _placed(self, ties: object, order: Sequence[Hashable] | None = None) -> Floats:
        """The features of new nodes, in an order of their ids where one is given."""
        found = self.result_.transform(ties)
        rows = slice(None) if order is None else [found.index(node) for node in order]
        values = (
            found.points
            if not self.n_features
            else self.result_.features(self.n_features, of=found)
        )
        return np.array(values[rows])

    def _graph(self, X: Any) -> Graph:
        """The graph of X; what scikit-learn keeps of its shape is kept."""
        if _is_graph(X):
            graph = find_graph(X, self.weight, directed=self.directed)
            self.n_features_in_ = graph.n_nodes
            return graph
        named = hasattr(X, "columns") and hasattr(X, "index") and list(X.columns) == list(X.index)
        ids = list(X.columns) if named else None
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_non_negative(X, type(self).__name__)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square adjacency matrix, got shape {X.shape}")
        return _of_matrix(X, ids, directed=self.directed)

    @staticmethod
    def _seed(state: object, seed: int | None) -> int:
        if seed is not None and state is not None:
            raise ValueError("seed and random_state are the same setting: give one of them")
        if seed is not None:
            return as_integer("seed", seed)
        if isinstance(state, Integral):
            return as_integer("random_state", state)
        return int(check_random_state(state).randint(2**31 - 1))


def _is_graph(X: object) -> bool:
    """Whether it is a graph by itself, and not a matrix."""
    library = type(X).__module__.partition(".")[0]
    return isinstance(X, Graph | str | os.PathLike) or library in (
        "networkx",
        "igraph",
        "torch_geometric",
    )


def _of_matrix(X: Any, ids: Sequence[Hashable] | None, *, directed: bool = False) -> Graph:
    make = Graph.from_numpy if isinstance(X, np.ndarray) else Graph.from_scipy
    return make(X, ids=ids, directed=directed)
