"""How long a user waits: for ``embed`` with nothing compiled and then again, and for ``rank`` and ``neighbors``.

    python benchmarks/start.py --json out/start.json

Each is a process of its own, imports and compilation included. The second ``embed`` finds what the first compiled on
disk. Queries are compared with ``python -c "import pyarrow.parquet"``, measured in turn with them: the median of
several runs, after one that is not counted.

``--tasks`` times the ten tasks of ``docs/ten-tasks.md`` instead, each with nothing compiled and then again;
``--docs docs/ten-tasks.md`` writes the table into the page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import tasks

COMMAND = (sys.executable, "-m", "ultrahyperbolic")
ARROW = (sys.executable, "-c", "import pyarrow.parquet")
# What a figure may be at most.
BARS = {"warm_over_cold": 1 / 3, "rank_over_arrow": 3.0, "neighbors_over_arrow": 3.0}


def seconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """How long a process takes."""
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def training(folder: Path) -> dict[str, float]:
    """The first ``embed`` of a machine, and the second."""
    command = [*COMMAND, "embed", "karate", "-o", str(folder / "karate"), "--overwrite", "--quiet"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    cold, warm = (seconds(command, environment) for _ in range(2))
    return {"cold_seconds": cold, "warm_seconds": warm, "warm_over_cold": warm / cold}


def queries(saved: Path, runs: int) -> dict[str, float]:
    """``rank`` and ``neighbors`` of a folder beside the import of what reads it."""
    commands = {
        "arrow": ARROW,
        "import": (sys.executable, "-c", "import ultrahyperbolic"),
        "rank": (*COMMAND, "rank", str(saved)),
        "neighbors": (*COMMAND, "neighbors", str(saved), "34"),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(runs + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if run:
                times[name].append(taken)
    figures = {f"{name}_seconds": median(found) for name, found in times.items()}
    ratios = {f"{name}_over_arrow": median(times[name]) / median(times["arrow"]) for name in ("rank", "neighbors")}
    return figures | ratios


def ten_tasks(page: Path | None) -> dict[str, float]:
    """The ten tasks of a newcomer, cold and warm; the table goes into the page."""
    times = []
    print("    cold     warm")
    with tempfile.TemporaryDirectory() as name:
        for found in tasks.timings(Path(name)):
            times.append(found)
            print(f"{found.cold:7.1f}s {found.warm:7.1f}s  {found.task.words}", flush=True)
    if page is not None:
        tasks.write(page, times)
    return {
        f"task{number}_{kind}_seconds": getattr(found, kind)
        for number, found in enumerate(times, start=1)
        for kind in ("cold", "warm")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--runs", type=int, default=7, help="of each query (default: 7)")
    parser.add_argument(
        "--queries", metavar="FOLDER", type=Path, help="measure only queries, of this embedding of karate"
    )
    parser.add_argument("--tasks", action="store_true", help="time the ten tasks of docs/ten-tasks.md")
    parser.add_argument("--docs", type=Path, metavar="PAGE", help="of --tasks: the page to write the table into")
    arguments = parser.parse_args()
    if arguments.tasks:
        write(arguments.json, ten_tasks(arguments.docs))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {} if arguments.queries else training(folder)
        figures |= queries(arguments.queries or folder / "karate", arguments.runs)
    for key, value in figures.items():
        print(f"  {key:22s} {value:8.3f}" + (f"  (at most {BARS[key]:.3g})" if key in BARS else ""))
    write(arguments.json, figures)


def write(path: Path | None, figures: object) -> None:
    """Keep figures as JSON, where a file is named."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
