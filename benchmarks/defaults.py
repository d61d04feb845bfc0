"""The default method on many graphs: against the paper's recipe, between geometries, and where things could break.

    python benchmarks/defaults.py table --cells out/cells.json --json out/table.json
    python benchmarks/defaults.py karate --json out/karate.json
    python benchmarks/defaults.py nips --json out/nips.json
    python benchmarks/defaults.py adversarial --json out/adversarial.json

``table``: every geometry of four dimensions on every graph, trained by ``embed`` with no other argument, over seeds;
beside it the share of violated orders that the paper's recipe reaches in 10,000 iterations from the same seeds with the
best of the steps 1e-4 … 1e-9. NIPS is compared with the recipe that the authors' scripts have for NIPS (τ = 1e-4, and
the bounded steps of Table 2 are tried too), the karate club with theirs for the club (τ = 0.01). For other graphs the
paper has no recipe: they are compared with the club's.

The table is long. ``--graphs`` and ``--geometries`` choose a part. ``--cells FILE`` keeps each cell as soon as it is
finished; what the file holds is not trained again, so that one file can be filled in several runs. Delete it after a
change of the method. ``--docs docs`` writes the tables of ``docs/optimisation.md`` from it.

``karate``: how often the two leaders of the club are ranked first and second, for every signature and for the one that
``select_signature`` names, which knows nothing of leaders. ``nips``: Recall@1 and Spearman's ρ. ``adversarial``: graphs
made to break things, every geometry; what must hold is that nothing is NaN and that the objective is no worse than at
the start.

Graphs are those of ``graphs.py``, which says on which of them the method was found.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cells
import numpy as np
import torch
from cells import GEOMETRIES, KEYS, Attempt, Cell, Cells, Figures, key_of
from graphs import ADVERSARIAL, GRAPHS

from ultrahyperbolic import datasets, select_signature
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.engines.base import Place
from ultrahyperbolic.evaluation import (
    delta,
    leader_ranks,
    recall_at_1,
    reconstruction,
    strength_spearman,
    violated_orders,
)
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.paper.coauthors import TABLE2, Rung
from ultrahyperbolic.training.config import TrainingConfig, configured
from ultrahyperbolic.training.defaults import choose
from ultrahyperbolic.training.plan import Plan, configure
from ultrahyperbolic.training.presets import settings
from ultrahyperbolic.training.train import embed_many

STEPS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)


def on_device(embedding: Embedding, device: str | None) -> tuple[torch.Tensor, Any]:
    place = torch.device(device or "cpu")
    return torch.from_numpy(np.array(embedding.points)).to(place), embedding.manifold.to(place)


def violated(graph: Graph, embedding: Embedding, device: str | None) -> float:
    share = violated_orders(graph, *on_device(embedding, device)).all_classes
    return 0.0 if math.isnan(share) else share


def ours(graph: Graph, geometry: Geometry, seeds: Sequence[int], device: str | None) -> list[Embedding]:
    """What ``embed`` returns for each seed; all tries of all seeds as one batch."""
    configs = configure(Plan(geometry), graph)
    batch = [replace(config, seed=seed) for seed in seeds for config in configs]
    found = embed_many(graph, batch, Place(device), measures=False)
    kept = []
    for start in range(0, len(batch), len(configs)):
        group = found[start : start + len(configs)]
        best = choose(configs, [violated(graph, e, device) for e in group]) if len(group) > 1 else 0
        kept.append(group[best])
    return kept


def recipe(name: str, graph: Graph, geometry: Geometry) -> tuple[str, list[tuple[Rung, TrainingConfig]]]:
    """Whose recipe a graph is compared with, and the trainings that are tried: a step, a bound on moves, the settings.

    The paper has two data sets. For any other graph it has no recipe, and that of the club is taken.
    """
    plain: list[Rung] = [(step, None) for step in STEPS]
    if name == "NIPS":
        (column,) = [column for column in TABLE2.columns if column.key == key_of(geometry)]
        rungs = [*plain, *(rung for rung in column.ladder if rung not in plain)]
        return "NIPS", [(rung, column.config(rung, 0, TABLE2.iterations)) for rung in rungs]
    fixed = settings(weighted=len(graph.capacities) > 1, q=geometry.q)
    return "club", [
        (rung, configured(fixed, p=geometry.p, q=geometry.q, flat=geometry.flat, step=rung[0])) for rung in plain
    ]


def papers(
    graph: Graph, trainings: Sequence[tuple[Rung, TrainingConfig]], seeds: Sequence[int], device: str | None
) -> list[Attempt]:
    """The share of violated orders that the recipe reaches from each seed at each step; all as one batch."""
    configs = [replace(config, seed=seed) for _, config in trainings for seed in seeds]
    found = [violated(graph, e, device) for e in embed_many(graph, configs, Place(device), measures=False)]
    shares = np.array(found).reshape(len(trainings), len(seeds)).tolist()
    return [Attempt(*rung, share) for (rung, _), share in zip(trainings, shares, strict=True)]


def scores(graph: Graph, embedding: Embedding, device: str | None) -> dict[str, float]:
    """What the table records of one training. ``strength_rho``: how well δ ranks the nodes by strength."""
    points, manifold = on_device(embedding, device)
    orders = violated_orders(graph, points, manifold)
    sums = delta(points, manifold)
    return {
        "violated_orders": 0.0 if math.isnan(orders.all_classes) else orders.all_classes,
        "violated_edges": 0.0 if math.isnan(orders.edges_vs_nonedges) else orders.edges_vs_nonedges,
        "recall_at_1": recall_at_1(graph, points, manifold),
        "map": reconstruction(graph, points, manifold).mean_average_precision,
        "strength_rho": strength_spearman(graph, sums),
        "strength_rho10": strength_spearman(graph, sums, top=10),
        "loss": embedding.run["final_loss"],
    }


def table(
    seeds: int, device: str | None, only: Sequence[str], geometries: Sequence[Geometry], path: Path | None
) -> Cells:
    """Train what the file does not hold yet; return all that it holds then."""
    kept = cells.load(path, seeds)
    names = [name for name in GRAPHS if not only or name in only]
    count, done, began = len(names) * len(geometries), 0, time.monotonic()
    for name in names:
        known = GRAPHS[name]
        try:
            graph = known.make()
        except Exception as error:
            print(f"{name}: left out: {error}", flush=True)
            done += len(geometries)
            continue
        kind = "not looked at" if known.unseen else "printed before the last search" if known.printed else "searched on"
        print(
            f"{name}: {graph.n_nodes} nodes, {graph.n_edges} edges, {len(graph.capacities)} classes; {kind}", flush=True
        )
        for geometry in geometries:
            done += 1
            place = name, key_of(geometry)
            if place not in kept:
                passed = f"{(time.monotonic() - began) / 60:.1f} min"
                print(f"[cell {done} of {count}, {passed}] {name}, {geometry.name}", file=sys.stderr, flush=True)
                kept[place] = train(name, graph, geometry, range(seeds), device)
                if path is not None:
                    cells.save(kept, path)
            print(f"  {line(kept[place])}", flush=True)
        near = cells.nearest(kept).get(name, [])
        if near:
            others = f"; within two standard errors over the seeds: {', '.join(near[1:])}" if near[1:] else ""
            print(f"  -> {near[0]} violates fewest{others}", flush=True)
    return kept


def train(name: str, graph: Graph, geometry: Geometry, seeds: Sequence[int], device: str | None) -> Cell:
    began = time.perf_counter()
    found = ours(graph, geometry, seeds, device)
    spent = (time.perf_counter() - began) / len(seeds)
    rows = [scores(graph, embedding, device) for embedding in found]
    whose, trainings = recipe(name, graph, geometry)
    attempts = papers(graph, trainings, seeds, device)
    return Cell(name, key_of(geometry), whose, device or "cpu", spent, rows, attempts)


def line(cell: Cell) -> str:
    bound = "" if cell.best.longest is None else f", moves of at most {cell.best.longest:.0e}"
    return (
        f"{KEYS[cell.geometry]:8s} violated {100 * cell.share:8.4f} ± {100 * cell.spread('violated_orders'):.4f} %   "
        f"recall {100 * cell.mean('recall_at_1'):6.2f} ± {100 * cell.spread('recall_at_1'):.2f} %   mAP "
        f"{cell.mean('map'):.3f} ± {cell.spread('map'):.3f}   ρ {cell.mean('strength_rho'):6.3f}   the {cell.recipe}'s "
        f"recipe {100 * cell.paper_share:8.4f} % (step {cell.best.step:.0e}{bound})   ratio {cell.ratio:.3g}   "
        f"{cell.seconds:.2f} s"
    )


def karate(seeds: int, device: str | None) -> Figures:
    figures: Figures = {}
    graph = datasets.karate()
    leaders = [graph.ids.index(node) for node in ("34", "1")]
    both: dict[str, list[bool]] = {}
    for geometry in GEOMETRIES:
        rho = []
        both[geometry.name] = []
        for embedding in ours(graph, geometry, range(seeds), device):
            sums = delta(*on_device(embedding, device))
            both[geometry.name].append(sorted(leader_ranks(sums, leaders).tolist()) == [1, 2])
            rho.append(strength_spearman(graph, sums, top=10))
        key = key_of(geometry)
        figures[f"{key}_both_leaders_first"] = sum(both[geometry.name])
        figures[f"{key}_rho10"] = float(np.mean(rho))
        first = sum(both[geometry.name])
        print(f"  {geometry.name:8s} leaders 1 and 2 in {first} of {seeds}, mean ρ₁₀ {np.mean(rho):.3f}", flush=True)
    chosen = [
        select_signature(graph, dim=4, seeds=3, seed=3 * run, quiet=True, device=device).best
        for run in range(min(seeds, 20))
    ]
    figures["select_runs"] = len(chosen)
    for geometry in GEOMETRIES:
        figures[f"select_{key_of(geometry)}"] = chosen.count(geometry)
    figures["select_leaders_first"] = float(np.mean([sum(both[g.name]) for g in chosen]))
    named = ", ".join(f"{g.name} {chosen.count(g)}" for g in GEOMETRIES if g in chosen)
    print(f"  select names {named} of {len(chosen)} times")
    print(
        f"  with the signature it names, the leaders are first in {figures['select_leaders_first']:.1f} of {seeds} runs"
    )
    return figures


def nips(seeds: int, device: str | None) -> Figures:
    figures: Figures = {}
    graph = datasets.nips()
    for geometry in GEOMETRIES:
        rows = []
        for embedding in ours(graph, geometry, range(seeds), device):
            points, manifold = on_device(embedding, device)
            rows.append(
                (
                    recall_at_1(graph, points, manifold),
                    strength_spearman(graph, delta(points, manifold)),
                    violated(graph, embedding, device),
                )
            )
        recall, rho, share = np.mean(rows, 0)
        key = key_of(geometry)
        figures |= {
            f"{key}_recall_at_1": float(recall),
            f"{key}_spearman_all": float(rho),
            f"{key}_violated_orders": float(share),
        }
        shown = ", ".join(f"{100 * r:.1f} %/{s:.3f}" for r, s, _ in rows)
        said = f"Recall@1 {100 * recall:.1f} %, ρ {rho:.3f}, violated {100 * share:.4f} %; by seed {shown}"
        print(f"  {geometry.name:8s} {said}", flush=True)
    return figures


def adversarial(seeds: int, device: str | None, only: Sequence[str]) -> Figures:
    figures: Figures = {"failures": 0, "runs": 0, "starts_returned": 0}
    for name, make in ADVERSARIAL.items():
        if only and name not in only:
            continue
        graph = make()
        began = time.perf_counter()
        worst = 0.0
        for geometry in GEOMETRIES:
            for embedding in ours(graph, geometry, range(seeds), device):
                figures["runs"] += 1
                before, after = embedding.run["start_loss"], embedding.run["final_loss"]
                finite = before is not None and after is not None and bool(np.isfinite(embedding.points).all())
                fine = finite and after <= before
                figures["starts_returned"] += finite and after == before > 0.0
                figures["failures"] += not fine
                worst = max(worst, violated(graph, embedding, device))
                if not fine:
                    print(f"  FAILED {name}, {geometry.name}: {before} -> {after}")
        figures[f"{name.replace(' ', '_').replace(',', '')}_worst_violated_orders"] = worst
        spent = time.perf_counter() - began
        said = f"{graph.n_nodes:5d} nodes  worst violated {100 * worst:7.3f} %  {spent:.1f} s"
        print(f"  {name:34s} {said}", flush=True)
    print(
        f"  {figures['failures']} of {figures['runs']} runs failed, {figures['starts_returned']} returned their start"
    )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("table", "karate", "nips", "adversarial"))
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--seeds", type=int, help="3 for the table and NIPS, 100 for karate, 1 for the rest")
    parser.add_argument("--device", help="cpu or cuda")
    parser.add_argument(
        "--graphs", "--graph", nargs="+", action="extend", default=[], metavar="NAME",
        help="of the table and the adversarial, only these",
    )  # fmt: skip
    parser.add_argument(
        "--geometries", "--geometry", nargs="+", action="extend", default=[], choices=KEYS,
        help="of the table, only these",
    )  # fmt: skip
    parser.add_argument(
        "--cells", type=Path, metavar="FILE",
        help="of the table: keep each finished cell here, and do not train again what it holds",
    )  # fmt: skip
    parser.add_argument("--docs", type=Path, metavar="DIR", help="write the tables of DIR/optimisation.md")
    arguments = parser.parse_args()
    count = arguments.seeds or {"table": 3, "karate": 100, "nips": 3, "adversarial": 1}[arguments.part]
    device, only = arguments.device, arguments.graphs
    unknown = set(only) - set(ADVERSARIAL if arguments.part == "adversarial" else GRAPHS)
    if unknown:
        parser.error(f"no graph is called {', '.join(sorted(unknown))}")
    if arguments.part == "table":
        wanted = [g for g in GEOMETRIES if not arguments.geometries or key_of(g) in arguments.geometries]
        found = table(count, device, only, wanted, arguments.cells)
        if not found:
            sys.exit("no graph could be made: nothing was trained")
        figures = cells.figures(found)
        if arguments.docs:
            cells.write_page(found, arguments.docs)
    elif arguments.part == "adversarial":
        figures = adversarial(count, device, only)
    else:
        figures = {"karate": karate, "nips": nips}[arguments.part](count, device)
    for name in figures:
        if name.startswith(("ratio_", "cyclic_")):
            print(f"  {name:44s} {figures[name]:.4g}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(cells.plain(figures), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
