"""Where the CPU seconds of a bare ``embed`` go: ``python benchmarks/seconds.py nips [--goal GOAL]``.

One thread, after a short training that compiles.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from bench import Figures, finish, parser

# What is imported in the end, by a process that does nothing else.
IMPORTS = "import torch, numba, pyarrow.parquet, ultrahyperbolic.cli.embed, ultrahyperbolic.report.page"


def watch(seconds: Figures, owner: Any, function: str, name: str) -> None:
    """Count the CPU seconds that a function takes, with all that it calls."""
    original = getattr(owner, function)

    def timed(*words: Any, **options: Any) -> Any:
        began = time.process_time()
        try:
            return original(*words, **options)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - began

    setattr(owner, function, timed)


def command(words: list[str]) -> None:
    """The command, in this process."""
    from ultrahyperbolic.cli import main

    argv, sys.argv = sys.argv, ["ultrahyperbolic", *words]
    try:
        main()
    except SystemExit as ending:
        if ending.code:
            raise
    finally:
        sys.argv = argv


def children() -> float:
    """CPU seconds of the processes that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def watched(words: list[str]) -> Figures:
    """The parts of the command; a process of its own says what importing takes."""
    before = children()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    importing = children() - before
    began = time.process_time()
    from ultrahyperbolic.engines.numba.engine import NumbaEngine
    from ultrahyperbolic.training import train
    from ultrahyperbolic.training.finish import Finishing

    found: Figures = {"importing": importing}
    watch(found, NumbaEngine, "advance", "descent")
    watch(found, Finishing, "_step", "finish")
    watch(found, train, "with_pair_measures", "measures")
    watch(found, train, "with_node_measures", "measures")
    command(words)
    total = time.process_time() - began
    return {**found, "rest, files and report": total - sum(found.values()), "total": total}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("graph", help="a file or a data set")
    made.add_argument("--goal", default="balanced")
    made.add_argument("--signature", default="3,3")
    options = made.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        words = ["embed", options.graph, "--goal", options.goal, "--signature", options.signature]
        words += ["--threads", "1", "--quiet"]
        short = [sys.executable, "-m", "ultrahyperbolic", *words, "--iterations", "20", "-o", f"{folder}/short"]
        subprocess.run(short, check=True)  # which compiles, and imports nothing into this process
        figures = watched([*words, "-o", f"{folder}/out"])
    shares = {f"share: {name}": value / figures["total"] for name, value in figures.items()}
    finish({f"seconds:{name}": value for name, value in (figures | shares).items()}, options.json)


if __name__ == "__main__":
    main()
