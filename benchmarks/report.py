"""Sizes and opening times of the HTML report, and pictures of it.

    python benchmarks/report.py --json out/report.json
    python benchmarks/report.py --picture docs
    python benchmarks/report.py --gallery out/site/gallery --folder FOLDER

The first command opens each report in headless Chromium several times and takes medians: until the
load event, the first picture, and everything. The second draws docs/report-lesmis.png.
The third writes live reports, of those graphs that it finds, and a list of them; embeddings are
kept in out/report.
"""

import io
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench import Figures, add_folder, finish, graph_named, parser

from ultrahyperbolic import Embedding, Graph, PseudoHyperboloid, datasets, embed, load
from ultrahyperbolic.embedding.record import RunRecord
from ultrahyperbolic.report import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Notes when all is drawn; performance.now() begins with the navigation.
_WATCH = """
new MutationObserver(() => { window.drawn ??= performance.now(); })
  .observe(document, { attributes: true, subtree: true, attributeFilter: ["data-ready"] });
"""
_TIMES = """
() => ({
  load: performance.getEntriesByType("navigation")[0].loadEventEnd,
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  all: window.drawn,
})
"""


def generated(n: int) -> Embedding:
    """Random points of Q^{3,1} and a graph of five edges a node, some with many; δ is estimated
    from 200 points.
    """
    rng = np.random.default_rng(0)
    tails, heads = rng.integers(n, size=5 * n), (n * rng.random(5 * n) ** 3).astype(np.int64)
    weights = rng.integers(1, 20, size=5 * n).astype(np.float64)
    graph = Graph.from_arrays(
        tails, heads, weights, ids=[f"node {k}" for k in range(n)], name="generated"
    )
    manifold = PseudoHyperboloid(3, 1)
    points = manifold.random(n, generator=torch.Generator().manual_seed(0))
    embedding = Embedding(graph.ids, points.numpy(), manifold, RunRecord(seed=0), graph)
    # A folder holds δ, and minutes of sums over all pairs are no part of a page.
    few = points[torch.from_numpy(rng.integers(n, size=200))]
    vars(embedding)["delta"] = (
        n * manifold.cdist(points, few, dissimilarity="geodesic").mean(1).numpy()
    )
    return embedding


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window; None where there is none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, chromium_sandbox=False)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, page: Path, **options: Any) -> Iterator[Any]:
    tab = browser.new_page(**options)
    tab.add_init_script(_WATCH)
    tab.goto(page.absolute().as_uri())
    tab.wait_for_selector("html[data-ready]", timeout=300_000)
    tab.wait_for_function(
        "performance.getEntriesByName('first-contentful-paint').length && document.readyState"
    )
    yield tab
    tab.close()


def opening(page: Path, repeats: int) -> Figures:
    """Medians of seconds from the navigation on, or nothing where there is no browser."""
    times: list[dict[str, float]] = []
    with chromium() as browser:
        for _ in range(repeats + 1 if browser else 0):
            with opened(browser, page, viewport={"width": 1280, "height": 900}) as tab:
                times.append(tab.evaluate(_TIMES))
    # The first one starts the browser's own processes.
    names = ("load", "paint", "all") if times else ()
    return {name: statistics.median(some[name] for some in times[1:]) / 1e3 for name in names}


PICTURED = {
    "lesmis": "Les Misérables: characters who appear together",
    "airports": "Flights between US airports",
    "netscience": "Co-authors in network science",
}


def pictured(name: str, data: Path) -> tuple[Embedding, Graph]:
    """An embedding to show and its graph, trained unless it was before."""
    graph, folder = graph_named(name, data), Path("out/report") / name
    if not (folder / "run.json").exists():
        embed(graph, quiet=True).save(folder, overwrite=True)
    return load(folder), graph


def picture(folder: Path, data: Path) -> None:
    """The report of les Misérables, as the pages show it."""
    known, graph = pictured("lesmis", data)
    with chromium() as browser, tempfile.TemporaryDirectory() as scratch:
        page = write_report(
            known, Path(scratch) / "lesmis.html", graph=graph, title=PICTURED["lesmis"]
        )
        look = {"viewport": {"width": 1400, "height": 920}, "color_scheme": "light"}
        with opened(browser, page, **look) as tab:
            keep(folder / "report-lesmis.png", tab.screenshot())


GALLERY = PICTURED | {
    "football": "American college football: games of a season",
    "karate": "Zachary's karate club",
    "davis": "Southern women and the events they attended",
}


def gallery(folder: Path, data: Path) -> None:
    """Live reports and a list of them; graphs that are not there are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    links = []
    for name, title in GALLERY.items():
        try:
            embedding, graph = pictured(name, data)
        except SystemExit as missing:
            print(f"  {missing}")
            continue
        page = write_report(embedding, folder / f"{name}.html", graph=graph, title=title)
        links.append(
            f'<li><a href="{page.name}">{escape(title)}</a> ({len(embedding):,} nodes)</li>'
        )
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Gallery</title>'
    style = (
        "<style>body "
        "{ font: 1.1rem/1.7 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto }</style>"
    )
    (folder / "index.html").write_text(
        f"{head}{style}<h1>Gallery</h1><p>Each page is a live report.</p><ul>{''.join(links)}</ul>"
    )


def keep(file: Path, content: bytes) -> None:
    """Write a picture with a palette of 256 colours, which is a third of the size."""
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"  {file}: {file.stat().st_size / 1e3:.0f} kB")


def measure(name: str, embedding: Embedding, folder: Path, repeats: int) -> Figures:
    embedding.delta  # noqa: B018  of the embedding, whose folder holds it
    start = time.perf_counter()
    page = write_report(embedding, folder / f"{name}.html")
    figures = {"nodes": float(len(embedding)), "megabytes": page.stat().st_size / 1e6}
    figures["write_seconds"] = time.perf_counter() - start
    figures |= {f"{what}_seconds": seconds for what, seconds in opening(page, repeats).items()}
    return {f"{name}_{key}": value for key, value in figures.items()}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--nodes", type=int, default=100_000, help="of the generated graph")
    made.add_argument("--repeats", type=int, default=5)
    made.add_argument("--keep", type=Path, help="keep the pages in this folder")
    made.add_argument(
        "--gallery", type=Path, help="write live reports into this folder, and measure nothing"
    )
    made.add_argument(
        "--picture",
        type=Path,
        help="write a picture of a report into this folder, and measure nothing",
    )
    add_folder(made)
    options = made.parse_args()
    if options.gallery:
        gallery(options.gallery, options.folder)
        return
    if options.picture:
        picture(options.picture, options.folder)
        return
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        embeddings = {name: embed(datasets.load(name), quiet=True) for name in ("karate", "lesmis")}
        if datasets.available("nips"):
            embeddings["nips"] = embed(datasets.nips(), iterations=200, quiet=True)
        embeddings["generated"] = generated(options.nodes)
        for name, embedding in embeddings.items():
            figures |= measure(name, embedding, folder, options.repeats)
    finish(figures, options.json)
    if "karate_load_seconds" not in figures:
        print("  no Chromium here: nothing was opened")


if __name__ == "__main__":
    main()
