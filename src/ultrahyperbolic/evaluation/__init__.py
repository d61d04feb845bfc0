"""The measures: the hierarchy, the neighbours, the orders and the links that an embedding gets
right.
"""

from ..graph.centrality import pagerank
from ..graph.hops import components
from ..verdict import no_tie_order, reservations
from .closure import TriadicClosure, triadic_closure
from .clusters import clusters, communities
from .directed import directed_measures
from .hierarchy import (
    baselines,
    component_delta,
    delta,
    hierarchy_spearman,
    leader_ranks,
    norm_proxy,
    ranks_of,
    stability,
    strength_spearman,
)
from .links import HeldOut, LinkPrediction, hold_out_edges, link_prediction
from .retrieval import (
    Reconstruction,
    ViolatedOrders,
    mean_average_precision,
    mean_rank,
    precision_at_k,
    recall_at_1,
    reconstruction,
    violated_orders,
)
from .summary import (
    SAMPLED_NODES,
    FromSamples,
    OverPairs,
    evaluate,
    from_samples,
    over_nodes,
    over_pairs,
)

__all__ = [
    "SAMPLED_NODES",
    "FromSamples",
    "HeldOut",
    "LinkPrediction",
    "OverPairs",
    "Reconstruction",
    "TriadicClosure",
    "ViolatedOrders",
    "baselines",
    "clusters",
    "communities",
    "component_delta",
    "components",
    "delta",
    "directed_measures",
    "evaluate",
    "from_samples",
    "hierarchy_spearman",
    "hold_out_edges",
    "leader_ranks",
    "link_prediction",
    "mean_average_precision",
    "mean_rank",
    "no_tie_order",
    "norm_proxy",
    "over_nodes",
    "over_pairs",
    "pagerank",
    "precision_at_k",
    "ranks_of",
    "recall_at_1",
    "reconstruction",
    "reservations",
    "stability",
    "strength_spearman",
    "triadic_closure",
    "violated_orders",
]
