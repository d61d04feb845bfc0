"""The call that most people make: a graph in, its embedding out."""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch

from ..checks import check_callable
from ..embedding import Embedding
from ..engines.base import Backend, BatchState, Optimizer, Place, Precision
from ..geometry import Product
from ..geometry.words import Dissimilarity
from ..loop import Callback
from ..objective import Scope
from ..progress import bar
from .config import Stop
from .continued import continued_geometry, earlier
from .inputs import Signature, Weight, find_graph, located
from .method import GivenGoal, as_goal
from .overrides import Overrides
from .plan import Execution, Plan
from .presets import Preset
from .select import choose
from .selection import By
from .tensorboard import check_board, with_tensorboard
from .where import geometry_of


def embed(
    graph: object,
    *,
    weight: Weight | None = None,
    p: int | None = None,
    q: int | None = None,
    dim: int | None = None,
    flat: bool = False,
    signature: Signature | None = None,
    product: str | Product | None = None,
    beta: float | None = None,
    goal: GivenGoal = "balanced",
    by: By = "graph",
    seed: int = 0,
    seeds: int = 1,
    preset: Preset | None = None,
    optimizer: Optimizer | None = None,
    iterations: int | None = None,
    time_limit: float | None = None,
    temperature: float | tuple[float, float] | None = None,
    dissimilarity: Dissimilarity | None = None,
    epsilon: float | tuple[float, float] | None = None,
    step: float | None = None,
    max_step: float | tuple[float, float] | None = None,
    stop: Stop | None = None,
    scope: Scope | None = None,
    popularity: bool | None = None,
    device: str | torch.device | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    precision: Precision | None = None,
    quiet: bool = False,
    callback: Callback[BatchState] | Sequence[Callback[BatchState]] | None = None,
    tensorboard: str | os.PathLike[str] | None = None,
    continue_from: Embedding | str | os.PathLike[str] | None = None,
) -> Embedding:
    """Embed a weighted graph so that stronger ties are shorter than weaker ones.

    Parameters
    ----------
    graph
        A file, the name of a data set such as ``"lesmis"``, a list of pairs or triples, a `Graph`, or anything
        else `as_graph` takes: networkx, scipy, numpy, pandas, …
    weight : str, int or False, optional
        The column or edge attribute that holds the weights; False: every weight is 1. Found where not given.
    p, q : int, optional
        The signature of Q^{p,q}_β.
    dim : int, optional
        Dimension of the manifold instead: the signature is chosen as by `select`, within the time of two
        trainings, or with ``flat`` it is R^dim. Where nothing is given, Q^{3,3}. Flat space is among the choices
        unless it cannot be trained as told: through φ, for example.
    flat : bool
        Euclidean space; δ and the measures take the squared distance, as the authors' scripts do.
    signature : (int, int), str, optional
        The same in one word: ``(3, 1)``, ``"3,1"`` or ``"flat"``, as the command has it.
    product : str or Product, optional
        Geometries side by side, such as ``"3,1+2,0+flat2"`` (``"2,0@-4"`` for β = -4), or a `Product` of
        pseudo-hyperboloids and flat spaces. Trained with torch, which is slower: at most 10,000 nodes.
    beta : float, optional
        Negative; 1/β is the curvature, which flat space has none of. By default -1, or that of ``continue_from``.
    goal : "balanced", "hierarchy", "neighbours" or "ties"
        What the embedding is for: how it is trained, and with ``dim`` what the choice of a signature judges by.
    by : "graph" or "links"
        With ``dim``: judge by the graph itself, or by edges that are held out.
    seed : int
        Same seed, same bits on the CPU, for any number of threads.
    seeds : int
        Train with so many seeds from ``seed`` on as one batch and keep the one of the lowest loss; each node's rank
        then has an interval.
    preset : "paper" or "paper-text", optional
        The recipe of the authors' scripts: D_γ, temperature 0.01, steps of 1e-6, 10,000 iterations. Or that of the
        paper's text, which differs in details (``docs/reproducing.md``).
    optimizer : "descent", "phi", "gradient" or "signed-gradient", optional
        Along -χ (default), through φ (Section 4.1), along -Df, which does not converge in general, or along -Df or +Df,
        whichever descends, which may stick where ⟨Df, Df⟩ is 0.
    iterations : int, optional
        At most so many: by default 1,600 for a mean degree of 4 or less and up to 4,000 for more, or 10,000 with the
        preset.
    time_limit : float, optional
        Seconds: there are only as many iterations as there is time for, and after so long it stops.
    temperature, epsilon, max_step : float or (float, float), optional
        τ, the smoothing of the light cone, and the longest move of a point: one value, or the first and the last.
    dissimilarity : str, optional
        ``"smoothed"`` (default), ``"geodesic"`` (D_γ; in flat space the squared distance), ``"broken"``,
        ``"cone-rule"`` (the scripts' form of D_γ), ``"extrinsic"`` (Eq. 4), or ``"distance"``, where all pairs have
        one: flat, hyperbolic and spherical space.
    step : float, optional
        Step size η.
    stop : "converged", "iterations" or "ordered", optional
        ``"converged"``, the default, stops once the loss no longer falls; ``"iterations"``, that of the presets,
        performs them all; ``"ordered"`` also stops once every connected pair is closer than every unconnected one.
    scope : "graph" or "node", optional
        Compare a tie with all weaker pairs of the graph (Eq. 17), or with those of its two ends; set by the method
        where it is not given.
    popularity : bool, optional
        Learn an offset a_i of each node with its point, and compare pairs by d_ij - a_i - a_j: hubs then find room for
        their many ties, and the hierarchy suffers. δ stays the sum of distances. Where it is not given, it is on for
        the goals ``"neighbours"`` and ``"ties"``.
    device : str, optional
        ``"cpu"`` or ``"cuda"``; by default the CPU, or CUDA where there is one and the graph is large.
    backend : "auto", "numba", "triton", "reference" or "sampled"
        By default the fastest that the device has: numba's loops on the CPU, Triton's kernels on CUDA, torch elsewhere.
        ``"sampled"`` draws ties and pairs; it is taken where memory or time allow nothing else.
    threads : int, optional
        CPU threads; results do not depend on it.
    precision : "float64" or "float32", optional
        Of the pass over the pairs; points and edges are always float64. By default float64 with numba and float32 with
        Triton.
    quiet : bool
        No progress bar and no notes.
    callback : callable or several, optional
        Called with a `Progress` after each chunk of iterations; returning True stops.
    tensorboard : path, optional
        A folder in which TensorBoard finds the training: every 100 iterations, also while it runs.
    continue_from : Embedding or path, optional
        An earlier embedding of the graph, or the folder of one, to start from when the graph has changed. Nodes start
        where they were, new ones are placed by their ties, those that are gone vanish, and a short training with small
        moves follows. The geometry is the earlier one, and whether nodes have a popularity; another is refused. The
        rest is as ever.

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
    data = find_graph(graph, weight, quiet=quiet)
    callbacks = _as_list(callback)
    check_board(tensorboard)
    named = located(signature, p, q, dim, flat=flat)
    old, where = None, geometry_of(**named, dim=dim, beta=beta, product=product)
    if continue_from is not None:
        old = earlier(continue_from)
        where = continued_geometry(old, **named, dim=dim, beta=beta, product=product)
    plan = Plan(
        where,
        Overrides(optimizer, iterations, temperature, dissimilarity, epsilon, step, max_step, stop, scope, popularity),
        seed,
        preset,
        time_limit,
        Place(device, backend, threads, precision),
        as_goal(goal),
        by,
        seeds,
        old,
    )
    execution = Execution(plan, data, quiet=quiet)
    with bar(f"embedding {data.source or 'the graph'}", show=not quiet):  # between the bars of the steps, too
        choose(execution)
        with with_tensorboard(tensorboard, data, execution.configs) as boards:
            return execution.train([*boards, *callbacks])


def _as_list(callback: Callback[BatchState] | Sequence[Callback[BatchState]] | None) -> list[Callback[BatchState]]:
    if callback is None:
        return []
    callbacks = list(callback) if isinstance(callback, Sequence) else [callback]
    for each in callbacks:
        check_callable("callback", each)
    return callbacks
