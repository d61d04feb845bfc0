"""All pairs against samples in the same time: ``python benchmarks/equal_time.py FILE ... [--json FILE]``.

Each graph is trained three times: with every iteration looking at all pairs (``exact``), as ``embed`` does it, on parts
of the pairs first and on all of them last (``parts``), and on drawn ties and pairs first (``ties``,
``--backend sampled``). The last two have as long as the first took.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ultrahyperbolic.engines.base import Place
from ultrahyperbolic.engines.registry import settle
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph, as_graph
from ultrahyperbolic.training.plan import Execution, Plan, Wishes
from ultrahyperbolic.training.train import with_pair_measures

MEASURES = ("recall_at_1", "violated_orders", "map", "tie_order", "spearman_all")


def compared(graph: Graph, geometry: Geometry, device: str, iterations: int | None, seed: int) -> dict[str, float]:
    """Measures and seconds of the three trainings, by name."""
    place, figures = Place(device), dict[str, float]()
    used = settle(place, graph.n_nodes).torch_device

    def train(name: str, execution: Execution) -> None:
        began = time.perf_counter()
        embedding = execution.train(measures=False)
        figures[f"{name}_seconds"] = time.perf_counter() - began
        result = embedding.record.result
        figures[f"{name}_iterations"] = 0 if result is None else result.iterations
        found = with_pair_measures(graph, embedding, quiet=True, device=used).record.measures
        figures.update({f"{name}_{what}": found[what] for what in MEASURES if what in found})

    plan = Plan(geometry, Wishes(iterations=iterations), seed, place=place)
    # What is compiled is compiled before the clock runs.
    for backend in ("auto", "sampled"):
        few = replace(plan, wishes=Wishes(iterations=8), place=replace(place, backend=backend))
        Execution(few, graph).train(measures=False)
    exact = Execution(plan, graph)
    exact.configs = [replace(config, parts=1) for config in exact.configs]
    train("exact", exact)
    limited = replace(plan, time_limit=figures["exact_seconds"])
    train("parts", Execution(limited, graph))
    train("ties", Execution(replace(limited, place=replace(place, backend="sampled")), graph))
    return figures


def shown(name: str, figures: dict[str, float]) -> str:
    """A table of the three."""
    lines = [f"{name:12} {'seconds':>9} {'iterations':>11} " + " ".join(f"{what:>15}" for what in MEASURES)]
    for way in ("exact", "parts", "ties"):
        values = " ".join(f"{figures.get(f'{way}_{what}', float('nan')):15.4f}" for what in MEASURES)
        lines.append(f"{way:12} {figures[f'{way}_seconds']:9.1f} {figures[f'{way}_iterations']:11.0f} {values}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="+", help="files")
    parser.add_argument("--signature", type=int, nargs=2, default=[3, 3])
    parser.add_argument("--iterations", type=int, help="of the exact training; as many as embed takes, unless given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args(arguments)
    every: dict[str, float] = {}
    for text in options.graphs:
        graph, name = as_graph(text), Path(text).name.partition(".")[0]
        figures = compared(graph, Geometry(*options.signature), options.device, options.iterations, options.seed)
        print(shown(name, figures), flush=True)
        every.update({f"{name}_{what}": value for what, value in figures.items()})
        if options.json:
            options.json.write_text(json.dumps(every, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
