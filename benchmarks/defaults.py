"""The default method on many graphs: against the paper's recipe, between geometries, and where things could break.

    python benchmarks/defaults.py table --json out/table.json
    python benchmarks/defaults.py karate --json out/karate.json
    python benchmarks/defaults.py nips --json out/nips.json
    python benchmarks/defaults.py adversarial --json out/adversarial.json

``table``: every geometry of four dimensions on every graph, trained by ``embed`` with no other argument, over seeds;
beside it the share of violated orders that the paper's recipe reaches in 10,000 iterations (D_γ, τ = 0.01) from the
same seeds with the best of the steps 1e-4 … 1e-9. ``karate``: how often the two leaders of the club are ranked first
and second, for every signature and for the one that ``select_signature`` names, which knows nothing of leaders.
``nips``: Recall@1 and Spearman's ρ. ``adversarial``: graphs made to break things, every geometry; what must hold is
that nothing is NaN and that the objective is no worse than at the start.

Graphs are those of ``graphs.py``, which says on which of them the method was found.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from graphs import ADVERSARIAL, GRAPHS

from ultrahyperbolic import datasets, select_signature
from ultrahyperbolic.embedding import Embedding, TrainingConfig, configure, embed_many
from ultrahyperbolic.embedding.defaults import choose
from ultrahyperbolic.embedding.select import Geometry
from ultrahyperbolic.evaluation import (
    delta,
    leader_ranks,
    recall_at_1,
    reconstruction,
    strength_spearman,
    violated_orders,
)
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.paper.recipe import settings

Figures = dict[str, Any]
STEPS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
GEOMETRIES = [Geometry(p, 4 - p) for p in range(4, -1, -1)] + [Geometry(None, None, 4)]
# Those that are neither hyperbolic nor a sphere nor flat.
MIXED = {geometry.name for geometry in GEOMETRIES if geometry.p and geometry.q}


def key_of(geometry: Geometry) -> str:
    return f"R{geometry.flat}" if geometry.flat is not None else f"Q{geometry.p}_{geometry.q}"


def on_device(embedding: Embedding, device: str | None) -> tuple[torch.Tensor, Any]:
    place = torch.device(device or "cpu")
    return torch.from_numpy(np.array(embedding.points)).to(place), embedding.manifold.to(place)


def violated(graph: Graph, embedding: Embedding, device: str | None) -> float:
    share = violated_orders(graph, *on_device(embedding, device)).all_classes
    return 0.0 if math.isnan(share) else share


def ours(graph: Graph, geometry: Geometry, seeds: Sequence[int], device: str | None) -> list[Embedding]:
    """What ``embed`` returns for each seed; all tries of all seeds as one batch."""
    configs = configure(graph, **geometry.arguments)
    batch = [replace(config, seed=seed) for seed in seeds for config in configs]
    found = embed_many(graph, batch, measures=False, device=device)
    kept = []
    for start in range(0, len(batch), len(configs)):
        group = found[start : start + len(configs)]
        best = choose(configs, [violated(graph, e, device) for e in group]) if len(group) > 1 else 0
        kept.append(group[best])
    return kept


def papers(graph: Graph, geometry: Geometry, seeds: Sequence[int], device: str | None) -> tuple[float, float]:
    """The share of violated orders of the paper's recipe, mean over seeds, at its best step; and that step."""
    recipe = settings(weighted=len(graph.capacities) > 1, q=geometry.q)
    configs = [
        TrainingConfig(p=geometry.p, q=geometry.q, flat=geometry.flat, seed=seed, **{**recipe, "step": step})
        for step in STEPS
        for seed in seeds
    ]
    found = [violated(graph, e, device) for e in embed_many(graph, configs, measures=False, device=device)]
    shares = np.array(found).reshape(len(STEPS), len(seeds)).mean(1)
    best = int(np.argmin(shares))
    return float(shares[best]), STEPS[best]


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


def table(seeds: int, device: str | None, only: Sequence[str], geometries: Sequence[Geometry]) -> Figures:
    figures: Figures = {}
    ratios: list[float] = []
    unseen: list[float] = []
    nothing = 0
    wins: dict[str, list[str]] = {}
    for name, known in GRAPHS.items():
        if only and name not in only:
            continue
        try:
            graph = known.make()
        except Exception as error:
            print(f"{name}: left out: {error}")
            continue
        kind = "looked at while tuning" if known.tuned else "not looked at"
        print(
            f"{name}: {graph.n_nodes} nodes, {graph.n_edges} edges, {len(graph.capacities)} classes; {kind}", flush=True
        )
        shares = {}
        for geometry in geometries:
            began = time.perf_counter()
            found = ours(graph, geometry, range(seeds), device)
            spent = (time.perf_counter() - began) / seeds
            rows = [scores(graph, embedding, device) for embedding in found]
            mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
            spread = {name: float(np.std([row[name] for row in rows], ddof=min(1, seeds - 1))) for name in rows[0]}
            paper, step = papers(graph, geometry, range(seeds), device)
            share = mean["violated_orders"]
            ratio = share / paper if paper > 0 else (1.0 if share == 0 else math.inf)
            ratios.append(ratio)
            unseen += [] if known.tuned else [ratio]
            nothing += share == paper == 0
            shares[geometry.name] = np.array([row["violated_orders"] for row in rows])
            key = f"{name.lower().replace(' ', '_').replace(',', '')}_{key_of(geometry)}"
            figures |= {f"{key}_{what}": value for what, value in mean.items()}
            figures |= {f"{key}_{what}_std": value for what, value in spread.items()}
            figures |= {
                f"{key}_paper_violated_orders": paper, f"{key}_paper_step": step, f"{key}_ratio": ratio,
                f"{key}_seconds": spent,
            }  # fmt: skip
            print(
                f"  {geometry.name:8s} violated {100 * share:8.4f} ± {100 * spread['violated_orders']:.4f} %   recall "
                f"{100 * mean['recall_at_1']:6.2f} ± {100 * spread['recall_at_1']:.2f} %   mAP {mean['map']:.3f} ± "
                f"{spread['map']:.3f}   ρ {mean['strength_rho']:6.3f}   paper {100 * paper:8.4f} % (step {step:.0e})   "
                f"ratio {ratio:.3g}   {spent:.2f} s",
                flush=True,
            )  # fmt: skip
        if len(shares) == len(GEOMETRIES):
            wins[name] = near = fewest(shares)
            print(f"  -> {near[0]}" + (f", within the noise of {', '.join(near[1:])}" if near[1:] else ""), flush=True)
    figures["ratio_median"] = float(np.median(ratios))
    figures["ratio_above_1"] = int((np.array(ratios) > 1.0).sum())
    figures["ratio_count"] = len(ratios)
    figures["ratio_of_nothing"] = nothing
    if unseen:
        figures["ratio_median_not_looked_at"] = float(np.median(unseen))
    rich = [near for name, near in wins.items() if GRAPHS[name].cycles]
    figures["cyclic_graphs"] = len(rich)
    figures["cyclic_graphs_fewest_by_ultrahyperbolic"] = sum(near[0] in MIXED for near in rich)
    figures["cyclic_graphs_won_by_ultrahyperbolic"] = sum(set(near) <= MIXED for near in rich)
    return figures


def fewest(shares: dict[str, Any]) -> list[str]:
    """The geometry of the fewest violated orders, then those it cannot be told from by two standard errors.

    Of equals a true ultrahyperbolic signature comes last.
    """
    order = sorted(shares, key=lambda g: (float(shares[g].mean()), g in MIXED))
    first = shares[order[0]]

    def near(other: Any) -> bool:
        error = math.sqrt((first.var(ddof=1) + other.var(ddof=1)) / len(first)) if len(first) > 1 else math.inf
        return bool(other.mean() - first.mean() <= 2.0 * error)

    return [order[0], *(g for g in order[1:] if near(shares[g]))]


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
        "--graph", action="append", default=[], help="of the table and the adversarial, only this (may be repeated)"
    )
    parser.add_argument("--geometry", choices=[key_of(g) for g in GEOMETRIES], help="of the table, only this")
    arguments = parser.parse_args()
    count = arguments.seeds or {"table": 3, "karate": 100, "nips": 3, "adversarial": 1}[arguments.part]
    device, only = arguments.device, arguments.graph
    if arguments.part == "table":
        wanted = [g for g in GEOMETRIES if arguments.geometry in (None, key_of(g))]
        figures = table(count, device, only, wanted)
    elif arguments.part == "adversarial":
        figures = adversarial(count, device, only)
    else:
        figures = {"karate": karate, "nips": nips}[arguments.part](count, device)
    for name in figures:
        if name.startswith(("ratio_", "cyclic_")):
            print(f"  {name:44s} {figures[name]:.4g}")
    if arguments.json:
        # JSON has no NaN (the rank correlation where all nodes are equally strong) and no infinity.
        plain = {name: value if math.isfinite(value) else None for name, value in figures.items()}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
