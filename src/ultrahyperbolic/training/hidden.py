"""What the map says of ties that the training has not seen."""

from __future__ import annotations

from dataclasses import replace

from ..embedding import Embedding
from ..evaluation import hold_out_edges, link_prediction
from ..graph import Graph
from ..verdict import HIDDEN, can_hide
from .config import TrainingConfig
from .train import embed_many

_UNTIED = 1_000_000  # untied pairs, drawn with replacement, that hidden ties are compared with


def hidden_ties(embedding: Embedding, graph: Graph, *, quiet: bool = True) -> dict[str, float]:
    """Hide a tenth of the ties and train again on the others, with the same settings: ``auc``, the
    chance that a hidden tie is shorter than an untied pair, and how many ``ties`` were hidden.
    """
    if embedding.record.config is None:
        raise ValueError("the embedding does not say how it was trained: embed the graph again")
    if not can_hide(graph.n_edges):
        raise ValueError(f"too few ties to hide a tenth of them: the graph has {graph.n_edges}")
    config = TrainingConfig.from_json(embedding.record.config)
    if config.start == "given":  # from points that have seen the ties
        config = replace(config, start="spectral")
    training, ties = hold_out_edges(graph, HIDDEN, config.seed)
    (again,) = embed_many(training, [config], measures=False, quiet=quiet)
    found = link_prediction(
        graph, again.points, again.space, ties, negatives=_UNTIED, popularity=again.popularity
    )
    if not found.negatives:
        raise ValueError("every pair is tied: there is nothing to compare hidden ties with")
    return {"auc": found.auc, "ties": float(len(ties))}
