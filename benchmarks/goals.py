"""What a goal buys and what it costs: mAP, tie order and ρ of the four goals on four graphs.

python benchmarks/goals.py --folder DATA [--json FILE] [--png FILE]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
from board_graphs import SOURCES

from ultrahyperbolic import datasets
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training import embed_many
from ultrahyperbolic.training.method import GOALS
from ultrahyperbolic.training.plan import Plan, configure

GRAPHS = ("lesmis", "tree_with_cycles", "power_law", "celegans")
MEASURES = {"map": "mAP", "tie_order": "tie order", "spearman_all": "ρ"}


def load(name: str, folder: Path) -> Graph:
    """One of the board's graphs."""
    if name in datasets.names():
        return datasets.load(name)
    return SOURCES[name].read(folder).graph(name)


def measure(graph: Graph, geometry: Geometry, seeds: int) -> dict[str, dict[str, float]]:
    """Means over the seeds: goal → measure → value; without those that are not defined for the graph."""
    found: dict[str, dict[str, float]] = {}
    for goal in GOALS:
        configs = [config for seed in range(seeds) for config in configure(Plan(geometry, seed=seed, goal=goal), graph)]
        measures = [embedding.record.measures for embedding in embed_many(graph, configs)]
        found[goal] = {name: float(np.mean([m[name] for m in measures])) for name in MEASURES if name in measures[0]}
    return found


def draw(found: dict[str, dict[str, dict[str, float]]], path: Path, title: str) -> None:
    """A panel for each graph: mAP over ρ, a dot for each goal."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(found), 3.2), layout="constrained")
    for axis, (name, goals) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        for number, (goal, measures) in enumerate(goals.items()):
            # Rings, each larger than the one before: goals that train alike are one inside the other.
            size = 5 + 4 * number
            axis.plot(
                measures["spearman_all"], measures["map"], "o", color=f"C{number}", fillstyle="none", markersize=size,
                markeredgewidth=2, label=goal,
            )  # fmt: skip
        axis.set(title=name.replace("_", " "), xlabel="hierarchy: ρ with strength")
        axis.margins(0.15)
    figure.axes[0].set_ylabel("neighbours: mAP")
    figure.axes[0].legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Train, print a table, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("ULTRAHYPERBOLIC_DATA", ".")))
    parser.add_argument("--signature", default="2,2")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--png", type=Path)
    asked = parser.parse_args()
    p, q = map(int, asked.signature.split(","))
    geometry = Geometry(p, q)
    found: dict[str, dict[str, dict[str, float]]] = {}
    print("| graph | goal | " + " | ".join(MEASURES.values()) + " |\n|---|---|" + "---|" * len(MEASURES))
    for name in GRAPHS:
        found[name] = measure(load(name, asked.folder), geometry, asked.seeds)
        for goal, measures in found[name].items():
            cells = [f"{measures[key]:.3f}" if key in measures else "–" for key in MEASURES]
            print(f"| {name} | {goal} | " + " | ".join(cells) + " |", flush=True)
    if asked.json is not None:
        flat = {
            f"{g}_{goal}_{key}": v for g, goals in found.items() for goal, m in goals.items() for key, v in m.items()
        }
        asked.json.write_text(json.dumps(flat, indent=1) + "\n")
    if asked.png is not None:
        draw(found, asked.png, f"What a goal buys, {geometry.name}, {asked.seeds} seeds")


if __name__ == "__main__":
    main()
