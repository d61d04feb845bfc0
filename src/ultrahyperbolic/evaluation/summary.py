"""Every measure of an embedding at once, beside the baselines."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from ..geometry import Manifold
from ..geometry.manifold import Measure
from ..graph import Graph
from ..pairs import Backend, PassOptions, row_statistics
from ..progress import bar
from .baselines import closeness, pagerank
from .closure import triadic_closure
from .hierarchy import norm_proxy, strength_spearman
from .inputs import Floats, check_points, edge_tensor
from .order import violated_orders
from .retrieval import precision_of, reconstruction_of

_NEAREST = 5
_TOPS = (5, 10)

Stage = Callable[[], dict[str, float]]


def evaluate(
    graph: Graph,
    points: Tensor,
    manifold: Manifold,
    *,
    measure: Measure = "dissimilarity",
    epsilon: float | None = None,
    backend: Backend = "auto",
    progress: bool = False,
) -> dict[str, float]:
    """All measures of points [n, d] that embed a graph, by name; ``docs/measures.md`` says what each name means.

    ``measure`` and ``epsilon`` say which distance, ``backend`` what computes it
    (:class:`~ultrahyperbolic.pairs.PassOptions`), ``progress`` shows a bar on a terminal. What is not defined for the
    graph is left out: no value is NaN.
    """
    check_points(graph, points)
    options = PassOptions(measure=measure, epsilon=epsilon, backend=backend)
    stages: dict[str, Stage] = {
        "orders": lambda: _orders(graph, points, manifold, options),
        "neighbours and ranks": lambda: _rows(graph, points, manifold, options),
        "norm": lambda: _correlations(graph, norm_proxy(points), "_norm"),
        "PageRank": lambda: _correlations(graph, -pagerank(graph), "_pagerank"),
        "closeness": lambda: _correlations(graph, -closeness(graph), "_closeness"),
        "triangles": lambda: triadic_closure(graph)._asdict(),
    }
    found: dict[str, float] = {}
    with bar("measuring", len(stages), show=progress) as update:
        for done, (name, stage) in enumerate(stages.items()):
            update(done, name)
            found |= stage()
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _orders(graph: Graph, points: Tensor, manifold: Manifold, options: PassOptions) -> dict[str, float]:
    violated = violated_orders(graph, points, manifold, **options)
    return {"violated_orders": violated.edges_vs_nonedges, "violated_orders_all": violated.all_classes}


def _rows(graph: Graph, points: Tensor, manifold: Manifold, options: PassOptions) -> dict[str, float]:
    """What one pass gives: the neighbours found, their ranks, and δ."""
    if graph.n_nodes < 2:
        return {}
    k = min(_NEAREST, graph.n_nodes - 1)
    statistics = row_statistics(points, manifold, edge_tensor(graph.edges), k, **options)
    indices = statistics.nearest.indices.cpu().numpy()
    found = {"recall_at_1": precision_of(graph, indices[:, :1])}
    if k == _NEAREST:
        found[f"precision_at_{_NEAREST}"] = precision_of(graph, indices)
    ranks = reconstruction_of(statistics.counts)
    found |= {"map": ranks.mean_average_precision, "mean_rank": ranks.mean_rank}
    return found | _correlations(graph, statistics.sums.cpu().numpy(), "")


def _correlations(graph: Graph, scores: Floats, suffix: str) -> dict[str, float]:
    """Spearman's ρ of a score that is small for central nodes, over all nodes and over the strongest."""
    found = {f"spearman_all{suffix}": strength_spearman(graph, scores)}
    for top in _TOPS:
        if top <= graph.n_nodes:
            found[f"spearman_top{top}{suffix}"] = strength_spearman(graph, scores, top=top)
    return found
