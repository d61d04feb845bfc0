"""From a graph to its embedding: one call, or many runs at once."""

from __future__ import annotations

import logging
import math
import os
import platform
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..checks import check_callable, check_count, check_positive
from ..embedding.embedding import Embedding
from ..engines.base import BatchState, Engine, Floats, Precision, Way
from ..engines.memory import require_memory
from ..engines.registry import Backend, available, choose_backend, make_engine
from ..evaluation import over_nodes, over_pairs, violated_orders
from ..geometry.words import Dissimilarity
from ..graph import Graph, as_graph
from ..interrupted import Interrupted
from ..loop import INTERRUPTED, Callback, Outcome, Progress, SoFar, run
from ..objective import RankedPairs
from ..progress import bar
from .config import Stop, TrainingConfig
from .defaults import at_temperature, choose, in_units_of_radius, tries
from .select import choose_signature
from .start import SpectralStart
from .tensorboard import check_board, with_tensorboard

# The loss is kept at no more points than this.
_LOSS_POINTS = 1000
# Settings that say how to train: with one of them given, there is one training.
_HOW = ("optimizer", "temperature", "epsilon", "step", "max_step")
PRESETS = ("paper", "paper-text")


def embed(
    graph: Any,
    *,
    p: int | None = None,
    q: int | None = None,
    dim: int | None = None,
    flat: bool = False,
    beta: float = -1.0,
    seed: int = 0,
    preset: str | None = None,
    optimizer: Way | None = None,
    iterations: int | None = None,
    time_limit: float | None = None,
    temperature: float | tuple[float, float] | None = None,
    dissimilarity: Dissimilarity | None = None,
    epsilon: float | tuple[float, float] | None = None,
    step: float | None = None,
    max_step: float | tuple[float, float] | None = None,
    stop: Stop | None = None,
    device: str | torch.device | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    precision: Precision | None = None,
    quiet: bool = False,
    callback: Callback | None = None,
    tensorboard: str | os.PathLike[str] | None = None,
) -> Embedding:
    """Embed a weighted graph so that stronger ties are shorter than weaker ones.

    Parameters
    ----------
    graph
        A :class:`Graph`, or anything :func:`as_graph` takes: a file, networkx, scipy, numpy, pandas, …
    p, q : int, optional
        The signature of Q^{p,q}_β.
    dim : int, optional
        Dimension of the manifold instead: the signature is chosen by :func:`select_signature` within the time of two
        trainings, or with ``flat`` it is R^dim. Where nothing is given, Q^{3,1}. Flat space is among the choices
        unless it cannot be trained as told: through φ, for example.
    flat : bool
        Euclidean space; δ and the measures take the squared distance, as the authors' scripts do.
    beta : float
        Negative; 1/β is the curvature, which flat space has none of.
    seed : int
        Same seed, same bits on the CPU, for any number of threads.
    preset : "paper" or "paper-text", optional
        The recipe of the authors' scripts: D_γ, temperature 0.01, steps of 1e-6, 10,000 iterations. Or that of the
        paper's text, which differs in details (``docs/reproducing.md``).
    optimizer : "descent", "phi", "gradient" or "signed-gradient", optional
        Along -χ (default), through φ (Section 4.1), along -Df, which does not converge in general, or along -Df or +Df,
        whichever descends, which may stick where ⟨Df, Df⟩ is 0.
    iterations : int, optional
        2,000 by default, 10,000 with the preset. Graphs of up to 1,500 nodes are trained in four or five ways at once,
        unless it is said how, and the best is kept: the fewest violated orders, or a warm training with few.
    time_limit : float, optional
        Seconds after which to stop.
    temperature, epsilon, max_step : float or (float, float), optional
        τ, the smoothing of the light cone, and the longest move of a point: one value, or the first and the last.
        One temperature is the last, and start, smoothing and moves are set in units of it.
    dissimilarity : str, optional
        ``"smoothed"`` (default), ``"geodesic"`` (D_γ; in flat space the squared distance), ``"broken"``,
        ``"cone-rule"`` (the scripts' form of D_γ), ``"extrinsic"`` (Eq. 4), or ``"distance"``, where all pairs have
        one: flat, hyperbolic and spherical space.
    step : float, optional
        Step size η.
    stop : "iterations" or "ordered", optional
        ``"ordered"`` also stops once every connected pair is closer than every unconnected one.
    device : str, optional
        ``"cpu"`` or ``"cuda"``; by default the CPU, or CUDA where there is one and the graph is large.
    backend : "auto", "numba", "triton" or "reference"
        By default the fastest that the device has: numba's loops on the CPU, Triton's kernels on CUDA, torch elsewhere.
    threads : int, optional
        CPU threads; results do not depend on it.
    precision : "float64" or "float32", optional
        Of the pass over the pairs; points and edges are always float64. By default float64 with numba and float32 with
        Triton.
    quiet : bool
        No progress bar and no notes.
    callback : callable, optional
        Called with a :class:`Progress` after each chunk of iterations; returning True stops.
    tensorboard : path, optional
        A folder in which TensorBoard finds the training: every 100 iterations, also while it runs.

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
    graph = as_graph(graph)
    chosen: dict[str, Any] = {
        "optimizer": optimizer, "iterations": iterations, "temperature": temperature, "step": step,
        "dissimilarity": dissimilarity, "epsilon": _ends(epsilon), "max_step": _ends(max_step), "stop": stop,
    }  # fmt: skip
    options: dict[str, Any] = {"device": device, "backend": backend, "threads": threads, "precision": precision}
    if callback is not None:
        check_callable("callback", callback)
    check_board(tensorboard)
    selection = None
    if p is None and q is None and not flat and dim is not None:
        graph.require_trainable()
        *_, flat_too = check_choice(
            graph, dim, beta=beta, seed=seed, preset=preset, time_limit=time_limit, options=options, **chosen
        )
        began = time.monotonic()
        selection = choose_signature(
            graph, dim, iterations=iterations, beta=beta, seed=seed, quiet=quiet, time_limit=time_limit,
            flat=flat_too, **options,
        )  # fmt: skip
        if time_limit is not None:
            time_limit = max(time_limit - (time.monotonic() - began), 1e-3)
    where: dict[str, Any] = {"p": p, "q": q, "dim": dim, "flat": flat}
    if selection is not None:
        where = selection.best.arguments
        beta = beta if selection.best.flat is None else TrainingConfig.beta
    configs = configure(graph, **where, beta=beta, seed=seed, preset=preset, **chosen)
    check_training(graph, time_limit=time_limit, **options)
    chosen_by = {} if selection is None else {"select": selection.to_json()}
    with with_tensorboard(tensorboard, graph, configs, callback) as told:
        try:
            embedding = embed_best(graph, configs, quiet=quiet, callback=told, time_limit=time_limit, **options)
        except Interrupted as interrupted:
            if interrupted.embedding is not None:
                interrupted.embedding.run.update(chosen_by)
            raise
    embedding.run.update(chosen_by)
    return embedding


def configure(
    graph: Graph,
    *,
    p: int | None = None,
    q: int | None = None,
    dim: int | None = None,
    flat: bool = False,
    beta: float = -1.0,
    seed: int = 0,
    preset: str | None = None,
    **chosen: Any,
) -> list[TrainingConfig]:
    """The trainings that the arguments of :func:`embed` ask for, those that are None left to the method.

    Several where nothing is said of how to train: of those the best is kept.
    """
    if preset not in (None, *PRESETS):
        raise ValueError(f"preset must be {', '.join(map(repr, PRESETS))} or None, got {preset!r}")
    geometry = _geometry(p, q, dim, flat)
    recipe: dict[str, Any] = {}
    if preset is not None:
        from ..paper.recipe import settings, text_settings

        recipe_of = settings if preset == "paper" else text_settings
        recipe = recipe_of(weighted=len(graph.capacities) > 1, q=geometry["q"])
    given = {name: value for name, value in chosen.items() if value is not None}
    how = {name: given.pop(name) for name in _HOW if name in given}
    config = TrainingConfig(**geometry, beta=beta, seed=seed, **{**recipe, **given})
    config.spec()  # the signature and what is measured on it are checked here, before any work
    if preset is None and not how:
        return tries(config, graph.n_nodes)
    temperature = how.get("temperature")
    if temperature is not None and not isinstance(temperature, tuple):
        check_positive("temperature", temperature)
        how["temperature"] = (temperature, temperature)
        if preset is None:
            del how["temperature"]
            how = {**at_temperature(temperature, config), **how}
    return [replace(in_units_of_radius(config), **how)]


def check_training(graph: Graph, *, time_limit: float | None = None, **options: Any) -> tuple[Backend, torch.device]:
    """Raise for what would be wrong with a training; the backend and the device of one that can be."""
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    return choose_backend(graph.n_nodes, **options)


def check_choice(
    graph: Graph, dim: int, *, beta: float, time_limit: float | None, options: dict[str, Any], **settings: Any
) -> tuple[Backend, torch.device, bool]:
    """Raise for what would be wrong with whichever signature of a dimension is chosen: it is said before work.

    The backend, the device, and whether flat space can be trained like that: through φ for example it cannot.
    """
    configure(graph, p=check_count("dim", dim, 1), q=0, beta=beta, **settings)
    backend, device = check_training(graph, time_limit=time_limit, **options)
    flat = False
    with suppress(ValueError):  # what was not wrong above is wrong in flat space alone
        flat = bool(configure(graph, dim=dim, flat=True, **settings))
    return backend, device, flat


def embed_best(
    graph: Graph,
    configs: Sequence[TrainingConfig],
    *,
    quiet: bool = True,
    measures: bool = True,
    callback: Callback | None = None,
    time_limit: float | None = None,
    **options: Any,
) -> Embedding:
    """Train in several ways as one batch and keep one: the fewest violated orders, or the warm one if it is near.

    Raises :class:`Interrupted` on Ctrl-C, with the best so far as its ``embedding``.
    """
    interrupted = False
    try:
        embeddings = embed_many(
            graph, configs, quiet=quiet, measures=False, callback=callback, time_limit=time_limit, **options
        )
    except Interrupted as error:
        embeddings, interrupted = error.embeddings, True
    best = embeddings[0]
    if len(embeddings) > 1:
        violated = [
            violated_orders(graph, torch.from_numpy(e.points.copy()), e.manifold).all_classes for e in embeddings
        ]
        best = embeddings[choose(configs, violated)]
        best.run["tries"] = [
            {
                "start": config.start,
                "temperature": list(config.temperature),
                "epsilon": list(config.epsilon),
                "step": config.step,
                "max_step": None if config.max_step is None else list(config.max_step),
                "violated_orders_all": None if math.isnan(share) else share,
                "kept": embedding is best,
            }
            for config, share, embedding in zip(configs, violated, embeddings, strict=True)
        ]
    if measures and not interrupted:
        try:
            _measure(graph, best, quiet=quiet)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        performed = best.run["iterations"]
        raise Interrupted(f"after {performed} iterations; the best points so far: .embedding", embedding=best)
    return best


def embed_many(
    graph: Graph,
    configs: Sequence[TrainingConfig],
    *,
    device: str | torch.device | None = None,
    backend: Backend = "auto",
    threads: int | None = None,
    precision: Precision | None = None,
    time_limit: float | None = None,
    measures: bool = True,
    quiet: bool = True,
    callback: Callback | None = None,
    so_far: SoFar | None = None,
) -> list[Embedding]:
    """Train several configurations of one length as a batch; each result is that of the training alone, bit for bit.

    ``so_far`` is what :meth:`Progress.so_far` gave an earlier call's callback: the training goes on from there. Raises
    :class:`Interrupted` on Ctrl-C, with the best of each so far, not measured, as its ``embeddings``.
    """
    graph.require_trainable()
    if time_limit is not None:
        check_positive("time_limit", time_limit)
    lengths = {config.iterations for config in configs}
    if len(lengths) != 1 or len({(c.stop, c.best_every, c.step_back) for c in configs}) != 1:
        raise ValueError("the trainings of a batch must agree on iterations, stop, best_every and step_back")
    require_memory(graph, configs, device=device, backend=backend, precision=precision)
    pairs = RankedPairs.of(graph)
    engine = make_engine(pairs, configs, device=device, backend=backend, threads=threads, precision=precision)
    state = BatchState.start(_starts(graph, configs))
    start = state.points.copy()
    before = _final_objective(engine, start)
    if not quiet and configs[0].preset is not None:
        _say_differences(configs[0].preset)
    started = time.time()
    iterations = lengths.pop()
    with bar("training", iterations, show=not quiet) as update:
        update(0, "compiling")

        def both(progress: Progress) -> Any:
            update(progress.iteration, _text(progress))
            return None if callback is None else callback(progress)

        outcome = run(
            engine, state, iterations, callback=both, time_limit=time_limit, step_back=configs[0].step_back,
            so_far=so_far,
        )  # fmt: skip
    # Whatever happened, nothing is worse than where it started.
    after = _final_objective(engine, state.best)
    worse = ~(after <= before)
    state = replace(state, best=np.where(worse[:, None, None], start, state.best))  # a checkpoint may have the other
    interrupted = outcome.reason == INTERRUPTED
    measures = measures and not interrupted
    embeddings = []
    for number, config in enumerate(configs):
        embedding = _finish(graph, config, state, outcome, number, engine.name, started)
        if measures:
            _measure(graph, embedding, quiet=quiet)
        losses = before[number], before[number] if worse[number] else after[number]
        embedding.run["start_loss"], embedding.run["final_loss"] = (_finite(loss) for loss in losses)
        embeddings.append(embedding)
    if interrupted:
        performed = outcome.losses.shape[1]
        raise Interrupted(f"after {performed} iterations; the best points so far: .embeddings", embeddings=embeddings)
    return embeddings


def _starts(graph: Graph, configs: Sequence[TrainingConfig]) -> list[Floats]:
    """The starting points [n, d] of each; the tables they are found with are large, and not kept."""
    spectral = SpectralStart(graph)
    return [config.starting_points(graph, spectral) for config in configs]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _final_objective(engine: Engine, points: Floats) -> Floats:
    """[B] the loss at points [B, n, d], as the last iteration sees it."""
    state = BatchState.start(list(points))
    state.iteration = len(engine.specs[0].schedule) - 1
    return engine.evaluate(state).loss


def _geometry(p: int | None, q: int | None, dim: int | None, flat: bool) -> dict[str, Any]:
    if (p is None) != (q is None):
        raise ValueError(f"p and q go together, got p = {p} and q = {q}")
    if p is not None and (dim is not None or flat):
        raise ValueError("name a signature p, q, or a dimension dim (with flat), not both")
    if dim is not None and not flat:
        raise ValueError(f"dim = {dim} names no signature: give p and q, or flat")
    if flat:
        return {"p": None, "q": None, "flat": 4 if dim is None else check_count("dim", dim, 1)}
    if p is None:
        return {"p": 3, "q": 1, "flat": None}
    return {"p": p, "q": q, "flat": None}


def _ends(value: float | tuple[float, float] | None) -> tuple[float, float] | None:
    if value is None or isinstance(value, tuple):
        return value
    return (float(value), float(value))


def _finish(
    graph: Graph, config: TrainingConfig, state: BatchState, outcome: Outcome, number: int, backend: str,
    started: float,
) -> Embedding:  # fmt: skip
    manifold = config.manifold()
    points = state.best[number, :, : manifold.ambient_dim]
    losses = outcome.losses[number]
    best_loss, best_at, _, done_at = state.record[number, :4]
    if done_at >= 0:
        losses = losses[: int(done_at) + 1]
    every = max(1, math.ceil(len(losses) / _LOSS_POINTS))
    record: dict[str, Any] = {
        "config": config.to_json(),
        "seed": config.seed,
        "versions": versions(),
        "graph": graph_record(graph),
        "loss": [_finite(loss) for loss in losses[::every]],  # entry k is that of iteration k · every
        "loss_every": every,
        "best_loss": _best(best_loss, losses[np.isfinite(losses)]),
        "best_iteration": int(best_at),
        "iterations": len(losses),
        "ordered_at": int(done_at) if done_at >= 0 else None,
        "stopped": outcome.reason,
        "steps_back": int(outcome.steps_back[number]),
        "nonfinite": int(outcome.nonfinite[number]),
        "measures": {},
        "timing": {"started": started, "seconds": outcome.seconds, "runs": len(state.points), "backend": backend},
    }
    return Embedding(graph.ids, points, manifold, record, graph)


def _measure(graph: Graph, embedding: Embedding, *, quiet: bool) -> None:
    """Measure an embedding, and let it keep what that found of all pairs."""
    measure_pairs(graph, embedding, quiet=quiet)
    points = torch.from_numpy(embedding.points.copy())
    embedding.run["measures"] |= over_nodes(graph, points, progress=not quiet)


def measure_pairs(graph: Graph, embedding: Embedding, *, quiet: bool) -> None:
    """The measures of one pass over all pairs; the embedding keeps what that found, δ among it."""
    found = over_pairs(graph, torch.from_numpy(embedding.points.copy()), embedding.manifold, progress=not quiet)
    embedding.remember(found.delta, found.nearest)
    embedding.run["measures"] = found.measures


def _best(best: float, losses: NDArray[np.float64]) -> float | None:
    """The best loss; the last one where the schedule never settled, None where no iteration was done."""
    if math.isfinite(best):
        return float(best)
    return float(losses[-1]) if len(losses) else None


def graph_record(graph: Graph) -> dict[str, Any]:
    """What ``run.json`` says of a graph."""
    return {
        "source": graph.source,
        "fingerprint": graph.fingerprint,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "capacities": len(graph.capacities),
        "policies": dict(graph.policies),
        "columns": None if graph.columns is None else graph.columns._asdict(),
    }


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    from ..version import __version__

    found = {"ultrahyperbolic": __version__, "python": platform.python_version(), "torch": torch.__version__}
    found["numpy"] = np.__version__
    if available("numba"):
        import numba

        found["numba"] = numba.__version__
    return found


def _say_differences(preset: str) -> None:
    from ..paper.recipe import DIFFERENCES

    if preset == "paper":
        first = "preset paper follows the authors' scripts; their text differs:"
        lines = [f"{subject}: {scripts} (text: {text})" for subject, text, scripts in DIFFERENCES]
    else:
        first = "preset paper-text follows the paper's text; the authors' scripts differ:"
        lines = [f"{subject}: {text} (scripts: {scripts})" for subject, text, scripts in DIFFERENCES]
    logging.getLogger("ultrahyperbolic").warning("\n".join([first, *(f"  {line}" for line in lines)]))


def _text(progress: Progress) -> str:
    """What the bar shows beside itself: only what costs nothing."""
    known = progress.loss[np.isfinite(progress.loss)]
    loss = f"loss {known.mean():.6g}" if len(known) else "loss not finite"
    left = progress.seconds * (progress.total - progress.iteration) / progress.iteration
    return f"{loss}, {timedelta(seconds=round(left))} left"
