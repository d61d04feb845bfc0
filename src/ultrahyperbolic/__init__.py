"""Geometry, optimisation and graph embedding on pseudo-hyperboloids."""

from typing import Any

from . import datasets, evaluation, optim
from .embedding import Embedding, TrainingConfig, embed
from .geometry import Check, Euclidean, Logarithm, Manifold, PseudoHyperboloid, PseudoSphere, checked
from .graph import Graph, GraphError, as_graph, read_graph
from .optim import MinimizeResult, minimize

__version__ = "0.1.0"
__all__ = [
    "Check",
    "Embedding",
    "Euclidean",
    "Graph",
    "GraphError",
    "Logarithm",
    "Manifold",
    "MinimizeResult",
    "PseudoHyperboloid",
    "PseudoSphere",
    "TrainingConfig",
    "UltrahyperbolicEmbedding",
    "as_graph",
    "checked",
    "datasets",
    "embed",
    "evaluation",
    "load",
    "minimize",
    "optim",
    "read_graph",
]

load = Embedding.load


def __getattr__(name: str) -> Any:
    """The scikit-learn estimator, imported when it is asked for."""
    if name == "UltrahyperbolicEmbedding":
        from .embedding.sklearn import UltrahyperbolicEmbedding

        return UltrahyperbolicEmbedding
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
