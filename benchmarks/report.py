"""Sizes and opening times of the HTML report, and pictures of it.

    python benchmarks/report.py --json out/report.json
    python benchmarks/report.py --pictures docs --data FOLDER

The first command measures the karate club, les Misérables, the NIPS co-authors where their file is available, and a
generated graph of 100,000 nodes with random points. It opens each report from disk in headless Chromium several times
and takes medians: until the load event, until the first picture (with the words and the ranking, it is a sketch of the
map), until plotly has drawn the map, and until everything is drawn. WebGL runs in software there, so the 3-D view,
which comes last, takes longer than with a GPU.

The second command writes the pictures of docs/report.md: the reports of les Misérables and of ``airports`` and
``netscience`` (from FOLDER), 1,400 and 390 pixels wide, light and dark, and their maps drawn by matplotlib. It keeps
the embeddings in out/report and uses them again.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from ultrahyperbolic import Embedding, Graph, PseudoHyperboloid, datasets, embed, load, plot, read_graph
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


PICTURED = {
    "lesmis": "Les Misérables: characters who appear together",
    "airports": "Flights between US airports",
    "netscience": "Co-authors in network science",
}
SIZES = {1400: 920, 390: 1000}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def pictured(name: str, data: Path | None) -> tuple[Embedding, Graph] | None:
    """An embedding to show and its graph, trained unless it was before; None where there is no data."""
    if name == "lesmis":
        graph = datasets.lesmis()
    else:
        files = [] if data is None else [data / f"{name}.tsv.gz", data / "graphs" / f"{name}.tsv.gz"]
        file = next((file for file in files if file.exists()), None)
        if file is None:
            return None
        graph = read_graph(file)
    folder = Path("out/report") / name
    if (folder / "run.json").exists():
        return load(folder), graph
    embedding = embed(graph, quiet=True)
    embedding.save(folder, overwrite=True)
    return embedding, graph


def pictures(folder: Path, data: Path | None) -> None:
    """Write the pictures of the docs."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    software = ["--enable-unsafe-swiftshader", "--use-angle=swiftshader"]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=found, chromium_sandbox=False, args=software)
        for name, title in PICTURED.items():
            known = pictured(name, data)
            if known is None:
                print(f"  {name}: no data; name its folder with --data")
                continue
            page = write_report(known[0], Path(scratch) / f"{name}.html", graph=known[1])
            for width, height in SIZES.items():
                for theme in THEMES:
                    tab = browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=theme, has_touch=width < 1000
                    )
                    tab.goto(page.absolute().as_uri())
                    tab.wait_for_selector("html[data-ready]", timeout=300_000)
                    keep(folder / f"report-{name}-{width}-{theme}.png", tab.screenshot())
                    tab.close()
            drawn = plot.save(plot.plot_map(*known, title=title), Path(scratch) / "map.png", dpi=110)
            keep(folder / f"map-{name}.png", drawn.read_bytes())
        browser.close()


def keep(file: Path, content: bytes) -> None:
    """Write a picture with a palette of 256 colours, which is a third of the size."""
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"  {file}: {file.stat().st_size / 1e3:.0f} kB")


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
    parser.add_argument("--pictures", type=Path, help="write pictures of reports into this folder, and measure nothing")
    parser.add_argument("--data", type=Path, help="where airports.tsv.gz and netscience.tsv.gz are")
    arguments = parser.parse_args()
    if arguments.pictures:
        pictures(arguments.pictures, arguments.data)
        return
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        figures |= measure("karate", embed(datasets.karate(), quiet=True), folder, arguments.repeats)
        figures |= measure("lesmis", embed(datasets.lesmis(), quiet=True), folder, arguments.repeats)
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
