"""Every choice of the default method against its alternatives: what was tried, and by how much it wins or loses.

    python benchmarks/ways.py --json out/ways.json
    python benchmarks/ways.py --optimisers --json out/optimisers.json
    python benchmarks/ways.py --optimisers --graphs "small world 200" --geometries Q0_4

One training is the measure: the spectral start, τ from 0.03 to 0.003, ε from 0.1 to 0.001, moves of at most 0.2 to
0.001. Each row changes what it says. What is printed is the geometric mean, over the small graphs that the method was
found on, of violated orders (all classes, plus 0.01 %, so that nothing divides by zero) relative to that training:
below 1 the alternative is better. Hyperbolic space, the true ultrahyperbolic signatures, and sphere and flat space
apart.

``--optimisers``: momentum, second moments and the surrogate direction instead of plain clipped steps along -χ, by
``ultrahyperbolic.optim`` on graphs of up to 40 nodes, graph by graph: a share near 0 makes a ratio that says little.
``--graphs`` and ``--geometries`` name others.
"""

from __future__ import annotations

import argparse
import json
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cells import GEOMETRIES, KEYS, key_of
from defaults import ours, violated
from graphs import GRAPHS
from torch import nn

from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.engines.base import BatchState, Place
from ultrahyperbolic.engines.registry import make_engine
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.train import embed_many, problem_of

BASE = TrainingConfig(start="spectral", temperature=(0.03, 0.003))
WAYS: dict[str, dict[str, Any]] = {
    "D_γ": {"dissimilarity": "geodesic"},
    "the broken geodesic": {"dissimilarity": "broken"},
    "ε 1 to 0.01": {"epsilon": (1.0, 0.01)},
    "ε 0.001 to 1e-6": {"epsilon": (1e-3, 1e-6)},
    "ε 0.001 to 1e-6, τ 0.3 to 0.01": {"epsilon": (1e-3, 1e-6), "temperature": (0.3, 0.01)},
    "from the pole": {"start": "pole"},
    "from the pole, τ 0.1 to 0.01": {"start": "pole", "temperature": (0.1, 0.01)},
    "τ 0.3 to 0.01": {"temperature": (0.3, 0.01)},
    "τ 0.1 to 0.01": {"temperature": (0.1, 0.01)},
    "τ 0.01 to 0.001": {"temperature": (0.01, 0.001)},
    "τ 0.01 throughout": {"temperature": (0.01, 0.01)},
    "τ 0.1 throughout": {"temperature": (0.1, 0.1)},
    "steps of 1e-3": {"step": 1e-3},
    "steps of 1e-4": {"step": 1e-4},
    "moves of 0.05 at first": {"max_step": (0.05, 1e-3)},
    "moves of 0.2 throughout": {"max_step": (0.2, 0.2)},
    "no bound on moves, steps of 1e-6": {"max_step": None, "step": 1e-6},
    "8,000 iterations": {"iterations": 8000},
}
OPTIMISERS: dict[str, Any] = {
    "momentum 0.9": lambda x, manifold: PseudoRiemannianSGD([x], manifold, 0.1, momentum=0.9, max_step=1.0),
    "second moment (Adam)": lambda x, manifold: PseudoRiemannianAdam([x], manifold, 0.1, max_step=1.0),
    "surrogate": lambda x, manifold: PseudoRiemannianSGD([x], manifold, 0.1, max_step=1.0, direction="surrogate"),
}
FLOOR = 1e-4
LARGE = ("mammals", "NIPS")
GROUPS = {
    "hyperbolic": ("Q^{4,0}",),
    "ultrahyperbolic": ("Q^{3,1}", "Q^{2,2}", "Q^{1,3}"),
    "others": ("Q^{0,4}", "R^4"),
}


def of(geometry: Geometry, **changes: Any) -> TrainingConfig:
    return replace(BASE, p=geometry.p, q=geometry.q, flat=geometry.flat, **changes)


def shares(graph: Graph, configs: list[TrainingConfig], seeds: int, device: str | None) -> list[float]:
    """Violated orders of each training, mean over the seeds; trainings of one length are one batch."""
    found = np.zeros(len(configs))
    for length in sorted({config.iterations for config in configs}):
        which = [k for k, config in enumerate(configs) if config.iterations == length]
        batch = [replace(configs[k], seed=seed) for k in which for seed in range(seeds)]
        trained = embed_many(graph, batch, Place(device), measures=False)
        mine = np.array([violated(graph, embedding, device) for embedding in trained])
        found[which] = mine.reshape(len(which), seeds).mean(1)
    return found.tolist()


def with_optimiser(graph: Graph, config: TrainingConfig, seeds: int, make: Any) -> list[float]:
    """Violated orders of each seed after the same schedule with another optimiser, which sees the same gradients."""
    manifold, plan, settled = config.manifold(), config.schedule(), config.spec().settled
    configs = [replace(config, seed=seed) for seed in range(seeds)]
    engine = make_engine(problem_of(graph, configs), Place("cpu"))
    state = BatchState.start([each.starting_points(graph) for each in configs])
    points = nn.Parameter(torch.from_numpy(state.points.copy()))  # [seeds, n, d]: no move depends on another seed's
    optimiser = make(points, manifold)
    least, best = np.full(seeds, math.inf), state.points.copy()
    for t in range(config.iterations):
        state.iteration, state.points[:] = t, points.detach().numpy()
        found = engine.evaluate(state)
        if t >= settled:  # the best of the last quarter, as the default keeps
            lower = found.loss < least
            least[lower], best[lower] = found.loss[lower], state.points[lower]
        for group in optimiser.param_groups:
            group["max_step"] = float(plan.max_step[t])
        points.grad = torch.from_numpy(found.gradient)
        optimiser.step()
    return [violated(graph, Embedding(graph.ids, kept, manifold, graph=graph), None) for kept in best]


def by_optimiser(name: str, geometry: Geometry, seeds: int) -> dict[str, float]:
    """Violated orders, mean over the seeds: of plain steps, and of every optimiser."""
    torch.set_num_threads(1)
    graph, config = GRAPHS[name].make(), of(geometry)
    (plain,) = shares(graph, [config], seeds, "cpu")
    others = {way: float(np.mean(with_optimiser(graph, config, seeds, make))) for way, make in OPTIMISERS.items()}
    return {"plain steps": plain, **others}


def looked_at(largest: int | None = None) -> list[str]:
    """The names of the graphs that the method was found on."""
    names = [name for name, known in GRAPHS.items() if known.tuned and name not in LARGE]
    return [name for name in names if largest is None or GRAPHS[name].make().n_nodes <= largest]


def compare_optimisers(names: list[str], geometries: list[Geometry], seeds: int) -> dict[str, float]:
    """Print violated orders of each optimiser relative to plain steps, for each graph, and return them."""
    cases = [(name, geometry) for name in names for geometry in geometries]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = dict(zip(cases, pool.map(by_optimiser, *zip(*cases, strict=True), [seeds] * len(cases)), strict=True))
    figures: dict[str, float] = {}
    print(f"violated orders, {seeds} seeds: of plain steps in percent, and of the others relative to that")
    print(f"{'':44s}" + "".join(f"{geometry.name:>10s}" for geometry in geometries))
    for name in names:
        for way in ("plain steps", *OPTIMISERS):
            cells = []
            for geometry in geometries:
                share, plain = found[name, geometry][way], found[name, geometry]["plain steps"]
                ratio = (share + FLOOR) / (plain + FLOOR)
                figures[f"{way}_{name}_{geometry.name}"] = share
                cells.append(f"{100 * share:10.2f}" if way == "plain steps" else f"{ratio:10.2f}")
            print(f"{name + ', ' + way:44s}" + "".join(cells))
    return figures


def compare_ways(names: list[str], geometries: list[Geometry], seeds: int, device: str | None) -> dict[str, float]:
    """Print every alternative relative to the one training, over the graphs, and return the ratios."""
    logs: dict[str, dict[str, list[float]]] = {}
    for name in names:
        graph = GRAPHS[name].make()
        for geometry in geometries:
            (group,) = [group for group, names in GROUPS.items() if geometry.name in names]
            fits = {
                way: changes
                for way, changes in WAYS.items()
                if geometry.flat is None or changes.get("dissimilarity") != "broken"
            }
            base, *rest = shares(graph, [of(geometry), *(of(geometry, **c) for c in fits.values())], seeds, device)
            found = dict(zip(fits, rest, strict=True))
            kept = ours(graph, geometry, range(seeds), device)
            found["the best of the default's"] = float(np.mean([violated(graph, e, device) for e in kept]))
            for way, share in found.items():
                logs.setdefault(way, {}).setdefault(group, []).append(float(np.log((share + FLOOR) / (base + FLOOR))))
        print(f"{name}: done", flush=True)
    figures: dict[str, float] = {}
    print(f"{'violated orders, relative':36s}" + "".join(f"{group:>18s}" for group in GROUPS))
    for way, by_group in logs.items():
        ratios = {group: float(np.exp(np.mean(values))) for group, values in by_group.items()}
        figures |= {f"{way}_{group}": ratio for group, ratio in ratios.items()}
        print(f"{way:36s}" + "".join(f"{ratios.get(group, math.nan):18.2f}" for group in GROUPS))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--seeds", type=int, help="3, and 5 of the optimisers, if not said")
    parser.add_argument("--device", help="cpu or cuda")
    parser.add_argument("--optimisers", action="store_true", help="momentum and second moments instead")
    parser.add_argument("--graphs", nargs="+", default=[], choices=GRAPHS, metavar="NAME", help="these graphs instead")
    parser.add_argument("--geometries", nargs="+", default=KEYS, choices=KEYS, help="these alone")
    arguments = parser.parse_args()
    geometries = [geometry for geometry in GEOMETRIES if key_of(geometry) in arguments.geometries]
    torch.set_num_threads(1)  # of so little work, threads only lose time
    if arguments.optimisers:
        names = arguments.graphs or looked_at(largest=40)
        figures = compare_optimisers(names, geometries, arguments.seeds or 5)
    else:
        names = arguments.graphs or looked_at()
        figures = compare_ways(names, geometries, arguments.seeds or 3, arguments.device)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
