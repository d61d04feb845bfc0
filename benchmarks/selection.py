"""What it costs to have the geometry chosen.

    python benchmarks/selection.py --json out/selection.json
    python benchmarks/selection.py --device cuda --json out/selection.json

``ultrahyperbolic select karate --dim 4 --seeds 10`` (6 geometries) over ``ultrahyperbolic embed karate``, each a
process of its own with an empty cache of compiled loops; and, in this process and after a first of each,
``embed(dim=4)`` over ``embed(p=, q=)`` of the signature that it chose. On a GPU: the seconds that ``select``
takes on the NIPS co-authors, kernels compiled and not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from board_graphs import SOURCES

from ultrahyperbolic import datasets, embed, select
from ultrahyperbolic.graph import Graph

AGAIN = 3


def command(*words: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": f"{folder}/cache"}
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "ultrahyperbolic", *words, "-o", f"{folder}/out", "--quiet"],
            env=environment, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return time.perf_counter() - start


def seconds(graph: Graph, **geometry: Any) -> float:
    """Of ``embed``: the least of a few, after a first that compiles."""
    times = []
    for _ in range(1 + AGAIN):
        start = time.perf_counter()
        embed(graph, quiet=True, **geometry)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    if arguments.device == "cuda":
        graph = datasets.nips()
        for key in ("nips_select_seconds_first", "nips_select_seconds"):
            start = time.perf_counter()
            found = select(graph, dim=4, quiet=True, device="cuda")
            figures[key] = time.perf_counter() - start
        print(f"  NIPS: {found!r}")
    else:
        cold = command("embed", "karate")
        figures["select_over_cold_embed"] = command("select", "karate", "--dim", "4", "--seeds", "10") / cold
        for name in ("karate", "lesmis", "blocks"):
            graph = SOURCES[name].read(Path()).graph(name)
            best = embed(graph, dim=4, quiet=True).run["config"]
            flat = {"dim": best["flat"], "flat": True}
            alone = seconds(graph, **(flat if best["flat"] else {"p": best["p"], "q": best["q"]}))
            figures[f"{name}_dim_over_single"] = seconds(graph, dim=4) / alone
    bars = {"select_over_cold_embed": 10, "nips_select_seconds": 60}
    for key, value in figures.items():
        bar = bars.get(key, 3 if key.endswith("dim_over_single") else None)
        print(f"  {key:32s} {value:8.3f}" + (f"  (at most {bar})" if bar else ""))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
