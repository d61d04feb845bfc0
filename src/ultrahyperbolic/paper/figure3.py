"""Figure 3 of the paper: the karate club by level, and both optimisers in ten dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import karate
from ..embedding import Embedding, TrainingConfig, embed, embed_many
from ..graph import Graph
from . import Figures
from .console import Console, progress, pyplot
from .recipe import DIFFERENCES, settings

# d = p + q + 1 = 10, q + 1 = 2 … 9, and the two small manifolds of the text.
SIGNATURES = [(10 - times, times - 1) for times in range(2, 10)]
SMALL = [(4, 1), (4, 2)]
ITERATIONS = 20_000
# Steps clipped and shortened over time, on the paper's own objective.
CLIPPED: dict[str, Any] = {
    "dissimilarity": "dissimilarity", "temperature": (0.01, 0.01), "step": 1e-2, "max_step": (0.05, 1e-3),
    "iterations": 10_000,
}  # fmt: skip


def figure3(*, seeds: int | None = None, output: Path, quiet: bool = False) -> Figures:
    """Draw the club, run both optimisers over the signatures, and count the runs that satisfy every constraint."""
    count = 10 if seeds is None else seeds
    if count < 1:
        raise ValueError(f"seeds must be at least 1, got {count}")
    console = Console(quiet)
    console.differences(DIFFERENCES)
    graph = karate().unweighted()
    paper = {**settings(weighted=False, q=1), "iterations": ITERATIONS}
    arms: dict[str, tuple[str, dict[str, Any]]] = {
        "chi_paper": ("χ, the paper's recipe", paper),
        "phi_paper": ("φ, the paper's recipe", {**paper, "optimizer": "phi"}),
        "chi_clipped": ("χ, clipped steps, the paper's objective", CLIPPED),
        "chi_controlled": ("χ, clipped steps, cone smoothed (the default)", {}),
        "gradient_paper": ("-Df, the paper's recipe", {**paper, "optimizer": "gradient"}),
    }
    figures: Figures = {}
    curves: dict[str, list[Embedding]] = {}
    lines = [f"Unweighted karate club, {count} seeds: share of runs that satisfy every constraint", ""]
    lines += ["| | " + " | ".join(f"Q^{{{p},{q}}}" for p, q in SIGNATURES + SMALL) + " |"]
    lines += ["|---|" + "---|" * len(SIGNATURES + SMALL)]
    for key, (title, recipe) in arms.items():
        runs = _run(graph, count, recipe, title, quiet)
        curves[key] = runs
        shares = []
        for k, (p, q) in enumerate(SIGNATURES + SMALL):
            mine = runs[k * count : (k + 1) * count]
            share = float(np.mean([run.run["ordered_at"] is not None for run in mine]))
            figures[f"{key}_Q{p}_{q}_satisfied"] = share
            figures[f"{key}_Q{p}_{q}_final_loss_mean"] = float(np.mean([run.run["loss"][-1] for run in mine]))
            shares.append(f"{share:.2f}")
        figures[f"{key}_worst_d10_satisfied"] = min(figures[f"{key}_Q{p}_{q}_satisfied"] for p, q in SIGNATURES)
        lines.append(f"| {title} | " + " | ".join(shares) + " |")
    lines += ["", "Mean loss at the last iteration:", ""]
    for key in ("chi_paper", "phi_paper", "gradient_paper"):
        values = [f"{figures[f'{key}_Q{p}_{q}_final_loss_mean']:.1f}" for p, q in SIGNATURES + SMALL]
        lines.append(f"- {arms[key][0]}: " + ", ".join(values))
    console.print("\n".join(lines))
    output.mkdir(parents=True, exist_ok=True)
    (output / "figure3.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _draw(output / "figure3.png", graph, curves, count)
    console.files(output, ("figure3.md", "figure3.png"))
    return figures


def _run(graph: Graph, count: int, recipe: dict[str, Any], title: str, quiet: bool) -> list[Embedding]:
    configs = [
        TrainingConfig(p=p, q=q, seed=seed, stop="ordered", **recipe)
        for p, q in SIGNATURES + SMALL
        for seed in range(count)
    ]
    with progress(title, configs[0].iterations, quiet) as callback:
        return embed_many(graph, configs, measures=False, callback=callback)


def _draw(path: Path, graph: Graph, curves: dict[str, list[Embedding]], count: int) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained", width_ratios=(1, 1, 1))
    _draw_club(axes[0])
    colors = plt.colormaps["viridis"](np.linspace(0, 0.95, len(SIGNATURES)))
    for axis, key, title in ((axes[1], "chi_paper", "χ (Section 4.2)"), (axes[2], "phi_paper", "φ (Section 4.1)")):
        for k, (p, q) in enumerate(SIGNATURES):
            run = curves[key][k * count].run
            iterations = np.arange(len(run["loss"])) * run["loss_every"]
            axis.plot(iterations, run["loss"], color=colors[k], label=f"q + 1 = {q + 1}, p = {p}", lw=1.3)
        axis.set(title=f"loss of Eq. 17, d = 10, {title}", xlabel="iteration", ylabel="loss", yscale="log")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _draw_club(axis: Any) -> None:
    """The club with the height of a node by its rank in the hierarchy, and left to right by who is tied to whom."""
    graph = karate()
    embedding = embed(graph, p=3, q=1, quiet=True)
    across = _fiedler(graph)
    height = -np.asarray(embedding.rank, dtype=float)
    heaviest = graph.weights.max()
    for (i, j), weight in zip(graph.edges, graph.weights, strict=True):
        axis.plot(across[[i, j]], height[[i, j]], color="0.6", lw=0.3 + 2.0 * weight / heaviest, zorder=1)
    axis.scatter(across, height, s=170, color="#56B4E9", edgecolor="black", zorder=2)
    for i, node in enumerate(graph.ids):
        axis.annotate(str(node), (across[i], height[i]), ha="center", va="center", fontsize=7, zorder=3)
    axis.set(title="karate club, height by rank of δ on Q^{3,1}", ylabel="rank", xticks=[])
    axis.set_yticks([-1, -10, -20, -30], ["1", "10", "20", "30"])


def _fiedler(graph: Graph) -> NDArray[np.float64]:
    """The order along the second eigenvector of the normalised Laplacian, spread evenly."""
    adjacency = graph.adjacency().toarray()
    root = 1.0 / np.sqrt(adjacency.sum(1))
    _, vectors = np.linalg.eigh(np.eye(len(root)) - root[:, None] * adjacency * root[None, :])
    return np.argsort(np.argsort(vectors[:, 1])).astype(float)
