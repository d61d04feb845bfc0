"""Sizes and opening times of the page that shows an embedding.

    python benchmarks/report.py --json out/report.json

The karate club, the NIPS co-authors where their file is at hand, and a generated graph of 100,000 nodes, whose points
are random: how good they are does not matter here. The page is opened from disk in headless Chromium, several times,
and the median counts: until its load event, until something is seen (words, ranking and a sketch of the graph), until
plotly has drawn the graph, and until it has drawn all. WebGL is done in software there, so that the view in space, the
last to be drawn, takes longer than where there is a GPU.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from ultrahyperbolic import Embedding, Graph, PseudoHyperboloid, datasets, embed
from ultrahyperbolic.embedding.record import RunRecord
from ultrahyperbolic.report import write_report

Figures = dict[str, float]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_DEGREE = 5
# Notes when each view is drawn; performance.now() begins with the navigation.
_WATCH = """
window.drawn = [];
new MutationObserver(() => window.drawn.push(performance.now()))
  .observe(document, { attributes: true, subtree: true, attributeFilter: ["data-drawn"] });
"""
_TIMES = """
() => ({
  load: performance.getEntriesByType("navigation")[0].loadEventEnd,
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  graph: window.drawn[0], all: window.drawn.at(-1),
})
"""


def generated(n: int) -> Embedding:
    """Random points of Q^{3,1} and a graph of five edges a node, some with many; δ is estimated from 200 points."""
    rng = np.random.default_rng(0)
    tails, heads = rng.integers(n, size=_DEGREE * n), (n * rng.random(_DEGREE * n) ** 3).astype(np.int64)
    weights = rng.integers(1, 20, size=_DEGREE * n).astype(np.float64)
    graph = Graph.from_arrays(tails, heads, weights, ids=[f"node {k}" for k in range(n)], name="generated")
    manifold = PseudoHyperboloid(3, 1)
    points = manifold.random(n, generator=torch.Generator().manual_seed(0))
    embedding = Embedding(graph.ids, points.numpy(), manifold, RunRecord(seed=0), graph)
    # A folder holds δ, and minutes of sums over all pairs are no part of a page.
    few = points[torch.from_numpy(rng.integers(n, size=200))]
    vars(embedding)["delta"] = n * manifold.cdist(points, few, dissimilarity="geodesic").mean(1).numpy()
    return embedding


def opening(page: Path, repeats: int) -> Figures:
    """Medians of seconds from the navigation on, or nothing where there is no browser."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        return {}
    from playwright.sync_api import sync_playwright

    software = ["--enable-unsafe-swiftshader", "--use-angle=swiftshader"]
    times: list[dict[str, float]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, chromium_sandbox=False, args=software)
        for _ in range(repeats + 1):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.add_init_script(_WATCH)
            tab.goto(page.absolute().as_uri())
            tab.wait_for_selector("html[data-ready]", timeout=300_000)
            times.append(tab.evaluate(_TIMES))
            tab.close()
        browser.close()
    # The first one starts the browser's own processes.
    return {
        name: statistics.median(some[name] for some in times[1:]) / 1e3 for name in ("load", "paint", "graph", "all")
    }


def measure(name: str, embedding: Embedding, folder: Path, repeats: int) -> Figures:
    """The figures of one page."""
    embedding.delta  # noqa: B018  of the embedding, whose folder holds it
    start = time.perf_counter()
    page = write_report(embedding, folder / f"{name}.html")
    figures = {"nodes": float(len(embedding)), "megabytes": page.stat().st_size / 1e6}
    figures["write_seconds"] = time.perf_counter() - start
    figures |= {f"{what}_seconds": seconds for what, seconds in opening(page, repeats).items()}
    return {f"{name}_{key}": round(value, 3) for key, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000, help="of the generated graph")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--keep", type=Path, help="keep the pages in this folder")
    arguments = parser.parse_args()
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        figures |= measure("karate", embed(datasets.karate(), quiet=True), folder, arguments.repeats)
        if datasets.available("nips"):
            nips = embed(datasets.nips(), iterations=200, quiet=True)
            figures |= measure("nips", nips, folder, arguments.repeats)
        figures |= measure("generated", generated(arguments.nodes), folder, arguments.repeats)
    for key, value in figures.items():
        print(f"  {key:26s} {value:10.3f}")
    if "karate_load_seconds" not in figures:
        print("  no Chromium here: nothing was opened")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
