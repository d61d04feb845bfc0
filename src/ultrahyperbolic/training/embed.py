"""The call that most people make: a graph in, its embedding out."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack, cast

from ..checks import check_callable
from ..embedding import Embedding
from ..engines.base import BatchState
from ..graph.readers import is_anndata
from ..loop import Callback
from ..options import Options, takes_options, without_goal
from ..progress import bar
from .continued import earlier
from .execution import Execution
from .inputs import Weight, find_graph
from .plan import Plan
from .select import choose

if TYPE_CHECKING:
    from anndata import AnnData


@takes_options
def embed(
    graph: object,
    *,
    weight: Weight | None = None,
    directed: bool = False,
    continue_from: Embedding | str | os.PathLike[str] | None = None,
    quiet: bool = False,
    callback: Callback[BatchState] | Sequence[Callback[BatchState]] | None = None,
    **options: Unpack[Options],
) -> Embedding:
    """Embed a weighted graph so that stronger ties are shorter than weaker ones.

    Parameters
    ----------
    graph
        A file, the name of a data set such as ``"lesmis"``, a list of pairs or triples, a `Graph`,
        or anything else `as_graph` takes: networkx, scipy, numpy, pandas, polars, … An ``AnnData``
        also gets the points, as ``obsm["X_uh"]``, and the ranks, as ``obs["uh_rank"]``.
    weight : str, int or False, optional
        The column or edge attribute that holds the weights; False: every weight is 1. Found where
        not given.
    directed : bool
        Keep the directions of ties: nodes get a height, from which ties point down
        (`Embedding.heights`). A `Graph` that is directed is taken as that in any case.
    continue_from : Embedding or path, optional
        An earlier embedding of the graph, or the folder of one, to start from when the graph has
        changed. Nodes start where they were, new ones are placed by their ties, those that are gone
        vanish, and a short training with small moves follows. The geometry is the earlier one, and
        so is whether nodes have a popularity.
    quiet : bool
        No progress bar and no notes.
    callback : callable or several, optional
        Called with a `Progress` after each chunk of iterations; returning True stops.
    **options
        Those of `ultrahyperbolic.options.Options`.

    Returns
    -------
    Embedding
        The best points seen.

    Raises
    ------
    Interrupted
        On Ctrl-C: a ``KeyboardInterrupt`` whose ``embedding`` is the best so far, not measured.

    Examples
    --------
    >>> from ultrahyperbolic import datasets
    >>> embed(datasets.karate(), p=3, q=1, iterations=5, quiet=True)
    Embedding(34 nodes on PseudoHyperboloid(p=3, q=1, beta=-1))
    """
    began = time.monotonic()
    data = find_graph(graph, weight, directed=directed, quiet=quiet)
    callbacks = (
        [] if callback is None else list(callback) if isinstance(callback, Sequence) else [callback]
    )
    for each in callbacks:
        check_callable("callback", each)
    plan = Plan.of(
        None if continue_from is None else earlier(continue_from), **without_goal(options)
    )
    execution = Execution(plan, data, quiet=quiet, began=began)
    with bar(
        f"embedding {data.source or 'the graph'}", show=not quiet
    ):  # between the bars of the steps, too
        choose(execution)
        found = execution.train(callbacks)
    if is_anndata(graph):
        cells = cast("AnnData", graph)
        cells.obsm["X_uh"], cells.obs["uh_rank"] = found.points, found.rank
    return found
