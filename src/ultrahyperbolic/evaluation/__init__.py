"""The measures: the hierarchy, the neighbours, the orders and the links that an embedding gets right."""

from .baselines import baselines, closeness, pagerank
from .closure import TriadicClosure, triadic_closure
from .hierarchy import delta, leader_ranks, norm_proxy, strength_spearman
from .links import HeldOut, LinkPrediction, hold_out_edges, link_prediction
from .order import ViolatedOrders, violated_orders
from .retrieval import (
    Reconstruction,
    mean_average_precision,
    mean_rank,
    precision_at_k,
    recall_at_1,
    reconstruction,
)
from .summary import OverPairs, evaluate, over_nodes, over_pairs

__all__ = [
    "HeldOut",
    "LinkPrediction",
    "OverPairs",
    "Reconstruction",
    "TriadicClosure",
    "ViolatedOrders",
    "baselines",
    "closeness",
    "delta",
    "evaluate",
    "hold_out_edges",
    "leader_ranks",
    "link_prediction",
    "mean_average_precision",
    "mean_rank",
    "norm_proxy",
    "over_nodes",
    "over_pairs",
    "pagerank",
    "precision_at_k",
    "recall_at_1",
    "reconstruction",
    "strength_spearman",
    "triadic_closure",
    "violated_orders",
]
