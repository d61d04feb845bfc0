"""Geometry, optimisation and graph embedding on pseudo-hyperboloids."""

from __future__ import annotations

from importlib import import_module

from .version import __version__ as __version__

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from . import datasets, evaluation, nn, optim, plot, report
    from .embedding import Embedding
    from .geometry import (
        Check,
        Euclidean,
        Logarithm,
        Manifold,
        ManifoldParameter,
        ManifoldTensor,
        Product,
        PseudoHyperboloid,
        PseudoSphere,
        lorentz_to_poincare,
        poincare_to_lorentz,
    )
    from .graph import Graph, GraphError, as_graph, read_graph
    from .interrupted import Interrupted
    from .optim.minimize import MinimizeResult, minimize
    from .training.config import TrainingConfig
    from .training.embed import embed
    from .training.select import select
    from .training.selection import Selection
    from .training.sklearn import UltrahyperbolicEmbedding

    load = Embedding.load

__all__ = [
    "Check",
    "Embedding",
    "Euclidean",
    "Graph",
    "GraphError",
    "Interrupted",
    "Logarithm",
    "Manifold",
    "ManifoldParameter",
    "ManifoldTensor",
    "MinimizeResult",
    "Product",
    "PseudoHyperboloid",
    "PseudoSphere",
    "Selection",
    "TrainingConfig",
    "UltrahyperbolicEmbedding",
    "as_graph",
    "datasets",
    "embed",
    "evaluation",
    "load",
    "lorentz_to_poincare",
    "minimize",
    "nn",
    "optim",
    "plot",
    "poincare_to_lorentz",
    "read_graph",
    "report",
    "select",
]

_HOMES = {
    ".embedding": ("Embedding",),
    ".geometry": (
        "Check",
        "Euclidean",
        "Logarithm",
        "Manifold",
        "ManifoldParameter",
        "ManifoldTensor",
        "Product",
        "PseudoHyperboloid",
        "PseudoSphere",
        "lorentz_to_poincare",
        "poincare_to_lorentz",
    ),
    ".graph": ("Graph", "GraphError", "as_graph", "read_graph"),
    ".interrupted": ("Interrupted",),
    ".optim": ("MinimizeResult", "minimize"),
    ".training": ("Selection", "TrainingConfig", "embed", "select"),
    ".training.sklearn": ("UltrahyperbolicEmbedding",),
}
_ROOMS = (
    "contrib",
    "datasets",
    "embedding",
    "engines",
    "evaluation",
    "export",
    "geometry",
    "graph",
    "nn",
    "objective",
    "optim",
    "pairs",
    "paper",
    "plot",
    "report",
    "testing",
    "training",
)


def __getattr__(name: str) -> Any:
    """Public names, imported when they are first asked for: the command's help need not wait for
    torch.
    """
    try:
        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        if name == "load":
            return import_module(".embedding", __name__).Embedding.load
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home, __name__), name)
    except ModuleNotFoundError as error:
        from .lazy import explained

        raise explained(error, f"{__name__}.{name}") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
