"""The scikit-learn way: an estimator over adjacency matrices."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_non_negative, validate_data

from ..checks import as_integer
from ..graph import Graph
from ..objective import Scope
from .embed import embed
from .method import Goal
from .presets import Preset


class UltrahyperbolicEmbedding(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Embed the nodes of a graph given by its adjacency matrix of tie strengths.

    Parameters
    ----------
    p, q : int
        The signature of Q^{p,q}_β.
    beta : float
        Negative.
    goal : "balanced", "hierarchy", "neighbours" or "ties"
        What the embedding is for.
    iterations : int, optional
        At most so many; None for as many as the graph is given by default.
    temperature : float, optional
        τ; None for the default schedule.
    scope : "graph" or "node", optional
        Compare a tie with all weaker pairs of the graph, or with those of its two ends; None for what suits the goal.
    popularity : bool, optional
        Learn an offset of each node with its point, which ``result_.popularity`` has then; None for what suits the
        goal.
    preset : "paper", "paper-text" or None
        The recipe of the authors' scripts.
    random_state : int, RandomState or None
        Seed of the start.

    Attributes
    ----------
    embedding_ : ndarray [n, p + q + 1]
        Points, time coordinates first.
    delta_ : ndarray [n]
        δ_i, small for nodes high in the hierarchy.
    loss_ : float
        The best loss seen.
    result_ : Embedding
        Everything else.
    """

    def __init__(
        self,
        p: int = 3,
        q: int = 3,
        *,
        beta: float = -1.0,
        goal: Goal = "balanced",
        iterations: int | None = None,
        temperature: float | None = None,
        scope: Scope | None = None,
        popularity: bool | None = None,
        preset: Preset | None = None,
        random_state: Any = None,
    ) -> None:
        self.p = p
        self.q = q
        self.beta = beta
        self.goal = goal
        self.iterations = iterations
        self.temperature = temperature
        self.scope = scope
        self.popularity = popularity
        self.preset = preset
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the graph whose adjacency matrix X [n, n] is, dense or sparse; ``y`` is ignored."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        check_non_negative(X, type(self).__name__)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square adjacency matrix, got shape {X.shape}")
        state = self.random_state
        if isinstance(state, Integral):
            seed = as_integer("random_state", state)
        else:
            seed = int(check_random_state(state).randint(2**31 - 1))
        graph = Graph.from_numpy(X) if isinstance(X, np.ndarray) else Graph.from_scipy(X)
        result = embed(
            graph, p=self.p, q=self.q, beta=self.beta, goal=self.goal, iterations=self.iterations,
            temperature=self.temperature, scope=self.scope, popularity=self.popularity, preset=self.preset, seed=seed,
            quiet=True,
        )  # fmt: skip
        self.result_ = result
        self.embedding_ = np.array(result.points)
        self.delta_ = np.array(result.delta)
        self.loss_ = None if result.record.result is None else result.record.result.best_loss
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit and return the points [n, p + q + 1]."""
        return self.fit(X, y).embedding_
