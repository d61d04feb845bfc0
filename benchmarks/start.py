"""How long a user waits: for ``embed`` with nothing compiled and then again, and for ``rank`` and
``neighbors``.

    python benchmarks/start.py --json out/start.json

Each is a process of its own, imports and compilation included. Queries are compared with ``python
-c "import pyarrow.parquet"``, in turn: the median of several runs, after one that is not counted.
``--tasks docs/start.md`` times the commands of that page instead, each with nothing compiled and
then again.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench import Figures, finish, parser, table
from snippets import examples, files

COMMAND = (sys.executable, "-m", "ultrahyperbolic")
BARS = {
    "warm_over_cold": "at most a third",
    "cold_cpu_seconds": "at most 12",
    "warm_cpu_seconds": "at most 2",
}
BARS |= dict.fromkeys(("rank_over_arrow", "neighbors_over_arrow"), "at most 3")


def seconds(command: Sequence[str], folder: Path | None = None, cache: Path | None = None) -> float:
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def training(folder: Path) -> Figures:
    """The first ``embed`` of a machine, and the second, which takes less: in seconds, and in those
    of processors.
    """
    command = [*COMMAND, "embed", "karate", "-o", str(folder / "karate"), "--overwrite", "--quiet"]
    (cold, first), (warm, second) = (
        (seconds(command, cache=folder / "cache"), sum(os.times()[2:4])) for _ in range(2)
    )
    found = {"cold_seconds": cold, "warm_seconds": warm, "warm_over_cold": warm / cold}
    return found | {"cold_cpu_seconds": first, "warm_cpu_seconds": second - first}


def queries(saved: Path, runs: int) -> Figures:
    """``rank`` and ``neighbors`` of a folder beside the import of what reads it."""
    commands = {
        "arrow": (sys.executable, "-c", "import pyarrow.parquet"),
        "import": (sys.executable, "-c", "import ultrahyperbolic"),
        "rank": (*COMMAND, "rank", str(saved)),
        "neighbors": (*COMMAND, "neighbors", str(saved), "34"),
    }
    rounds = [
        {name: seconds(command) for name, command in commands.items()} for _ in range(runs + 1)
    ][1:]
    figures = {f"{name}_seconds": median(each[name] for each in rounds) for name in commands}
    ratios = {
        f"{name}_over_arrow": figures[f"{name}_seconds"] / figures["arrow_seconds"]
        for name in commands
    }
    return figures | {key: ratio for key, ratio in ratios.items() if key in BARS}


def tasks(page: Path) -> Figures:
    """The tasks of a page, cold and warm, as a table."""
    text = page.read_text(encoding="utf-8")
    titles, figures, rows = re.findall(r"^## (\d+\. .*)$", text, re.M), Figures(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in files(text).items():
            (folder / file).write_text(content, encoding="utf-8")
        for number, (title, (words, _)) in enumerate(zip(titles, examples(text), strict=True), 1):
            command = [*COMMAND, *shlex.split(words)[1:]]
            again = [*command, *(["--overwrite"] if command[3] in ("embed", "export") else [])]
            cold, warm = (
                seconds(each, folder, folder / f"cache{number}") for each in (command, again)
            )
            figures |= {f"task{number}_cold_seconds": cold, f"task{number}_warm_seconds": warm}
            rows.append((title, f"{cold:.1f}", f"{warm:.1f}"))
    print(table(("task", "cold", "warm"), rows))
    return figures


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--runs", type=int, default=7, help="of each query (default: 7)")
    made.add_argument(
        "--queries",
        metavar="FOLDER",
        type=Path,
        help="measure queries alone, of this folder of karate",
    )
    made.add_argument("--tasks", type=Path, metavar="PAGE", help="time the tasks of docs/start.md")
    options = made.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.tasks:
            figures = tasks(options.tasks)
        else:
            figures = {} if options.queries else training(Path(name))
            figures |= queries(options.queries or Path(name, "karate"), options.runs)
    finish(figures, options.json, BARS)


if __name__ == "__main__":
    main()
