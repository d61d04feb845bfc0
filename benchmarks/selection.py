"""What it costs to have the geometry chosen, and how good the choice is.

    python benchmarks/selection.py --json out/selection.json
    python benchmarks/selection.py karate "power law 200" --seeds 3
    python benchmarks/selection.py NIPS --device cuda --json out/selection.json

For each graph and ``goal="neighbours"``: the time of ``embed(dim=4)`` over that of one training of the geometry that it
chose, both after a first of each has compiled; and mAP of what it chose beside the best of the six geometries, each
trained alone, means over the seeds. Whether ``select`` names the same is counted, too.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from graphs import GRAPHS

from ultrahyperbolic import Embedding, embed, select
from ultrahyperbolic.geometry import Geometry

DEFAULT = ("karate", "les Misérables", "Davis", "blocks 4x40", "tree with cycles 200")
DIM, GOAL = 4, "neighbours"
MOST_TIME = 3.0
AGAIN = 3


def timed(call: Callable[[], Embedding], again: int) -> tuple[Embedding, float]:
    """What a call gives, and the least time of a few, after a first that compiles."""
    times = []
    for _ in range(1 + again):
        start = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - start)
    return found, min(times[1:])


def words(geometry: Geometry) -> dict[str, Any]:
    """A geometry as ``embed`` is told it."""
    return {"dim": geometry.flat, "flat": True} if geometry.is_flat else {"p": geometry.p, "q": geometry.q}


def compare(name: str, seeds: int, again: int, options: dict[str, Any]) -> dict[str, float]:
    """The figures of a graph."""
    graph = GRAPHS[name].make()
    geometries = [Geometry(flat=DIM), *(Geometry(p, DIM - p) for p in range(DIM, -1, -1))]
    ratios, chosen, same = [], [], []
    fixed: dict[Geometry, list[float]] = {geometry: [] for geometry in geometries}
    for seed in range(seeds):
        common: dict[str, Any] = {"goal": GOAL, "seed": seed, "quiet": True, **options}
        for geometry in geometries:
            fixed[geometry].append(embed(graph, **words(geometry), **common).run["measures"]["map"])
        found, with_choice = timed(partial(embed, graph, dim=DIM, **common), again)
        taken = found.geometry
        assert taken is not None
        _, alone = timed(partial(embed, graph, **words(taken), **common), again)
        ratios.append(with_choice / alone)
        chosen.append(found.run["measures"]["map"])
        same.append(select(graph, dim=DIM, **common).best == taken)
        print(f"  {name}, seed {seed}: {taken.name}, {with_choice:.2f} s of {alone:.2f} s alone", flush=True)
    best = max(geometries, key=lambda geometry: fmean(fixed[geometry]))
    print(f"  {name}: the best fixed geometry is {best.name}")
    return {
        "dim_over_single": fmean(ratios),
        "map": fmean(chosen),
        "best_fixed_map": fmean(fixed[best]),
        "below_best": fmean(fixed[best]) - fmean(chosen),
        "select_names_the_same": fmean(same),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", default=DEFAULT, metavar="GRAPH", help=f"of {', '.join(GRAPHS)}")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--again", type=int, default=AGAIN, help="take the least time of so many")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    options = {"device": arguments.device, "iterations": arguments.iterations}
    figures: dict[str, float] = {}
    for name in arguments.graphs:
        for key, value in compare(name, arguments.seeds, arguments.again, options).items():
            figures[f"{name.lower().replace(', ', '_').replace(' ', '_')}_{key}"] = value
    worst = max(value for key, value in figures.items() if key.endswith("dim_over_single"))
    below = [value for key, value in figures.items() if key.endswith("below_best")]
    figures |= {"worst_dim_over_single": worst, "mean_below_best": fmean(below), "worst_below_best": max(below)}
    bars = {"dim_over_single": MOST_TIME, "mean_below_best": 0.01, "worst_below_best": 0.04}
    for key, value in figures.items():
        bar = next((most for end, most in bars.items() if key.endswith(end)), None)
        print(f"  {key:44s} {value:8.3f}" + ("" if bar is None else f"  (at most {bar:g})"))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
