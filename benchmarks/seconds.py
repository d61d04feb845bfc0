"""Where the CPU seconds of a bare ``embed`` go, and how many tiles of pairs a trained embedding would let a pass skip.

    python benchmarks/seconds.py nips --folder DATA [--goal neighbours] [--json FILE]

One thread, after a short training that compiles. A tile is the pairs of 8 rows with 256 columns. It could be skipped if
none of its pairs without a tie were near enough to count at the last temperature: within 30 τ of the nearest one, as
e⁻³⁰ of it adds nothing that double precision would show in a gradient.
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

# What is imported in the end, by a process that does nothing else.
IMPORTS = "import torch, numba, pyarrow.parquet, ultrahyperbolic.cli.embed, ultrahyperbolic.report.page"
ROWS, COLUMNS, CUT = 8, 256, 30.0


class Watch:
    """CPU seconds by name, of functions that are wrapped."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def over(self, owner: Any, function: str, name: str) -> None:
        """Count what a function takes, with all that it calls."""
        original = getattr(owner, function)

        def timed(*words: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return original(*words, **options)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - began

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


def watched(words: list[str]) -> dict[str, float]:
    """The parts of the command; a process of its own says what importing takes."""
    before = children()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    importing = children() - before
    began = time.process_time()
    from ultrahyperbolic.engines.numba.engine import NumbaEngine
    from ultrahyperbolic.training import train
    from ultrahyperbolic.training.finish import Finishing

    watch = Watch()
    watch.over(NumbaEngine, "advance", "descent")
    watch.over(Finishing, "_step", "finish")
    watch.over(train, "with_pair_measures", "measures")
    watch.over(train, "with_node_measures", "measures")
    command(words)
    total = time.process_time() - began
    found = {"importing": importing, **watch.seconds}
    return {**found, "rest, files and report": total - sum(found.values()), "total": total}


def tiles(name: str, folder: Path) -> dict[str, float]:
    """The shares of pairs and of tiles that count at the end, nodes in the order of the graph and along a line."""
    import numpy as np
    import torch

    import ultrahyperbolic as uh

    embedding = uh.load(folder)
    graph = uh.datasets.load(name) if name in uh.datasets.names() else uh.read_graph(name)
    config = embedding.run["config"]
    n, tau, epsilon = graph.n_nodes, config["temperature"][1], config["epsilon"][1]
    points = torch.from_numpy(embedding.points.copy())
    offsets = np.zeros(n) if embedding.popularity is None else np.asarray(embedding.popularity)
    values = embedding.manifold.cdist(points, points, dissimilarity=config["dissimilarity"], epsilon=epsilon).numpy()
    values = values - offsets[:, None] - offsets
    i, j = graph.edges.T
    values[i, j] = values[j, i] = np.inf
    np.fill_diagonal(values, np.inf)
    counts = values <= values.min() + CUT * tau
    first = points.numpy() - points.numpy().mean(0)
    along = np.argsort(np.linalg.svd(first, full_matrices=False)[0][:, 0], kind="stable")
    found = {"pairs_that_count": float(counts.mean())}
    for name, order in (("as_given", np.arange(n)), ("along_a_line", along)):
        sorted_counts = np.triu(counts[np.ix_(order, order)])
        padded = np.zeros((-(-n // ROWS) * ROWS, -(-n // COLUMNS) * COLUMNS), dtype=bool)
        padded[:n, :n] = sorted_counts
        cut = padded.reshape(len(padded) // ROWS, ROWS, -1, COLUMNS)
        some = np.asarray(cut.any((1, 3)))
        upper = np.arange(some.shape[1])[None, :] * COLUMNS + COLUMNS > np.arange(some.shape[0])[:, None] * ROWS
        found[f"tiles_that_count_{name}"] = float(some[upper].mean())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graph", help="a file or a data set")
    parser.add_argument("--folder", help="where data sets are; if not said, what ULTRAHYPERBOLIC_DATA names")
    parser.add_argument("--goal", default="balanced")
    parser.add_argument("--signature", default="3,3")
    parser.add_argument("--json", type=Path, help="write the figures here, under flat keys")
    arguments = parser.parse_args()
    if arguments.folder:
        os.environ["ULTRAHYPERBOLIC_DATA"] = arguments.folder
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        words = ["embed", arguments.graph, "--goal", arguments.goal, "--signature", arguments.signature]
        words += ["--threads", "1", "--quiet"]
        child = os.fork()
        if not child:  # which compiles, and imports nothing into this process
            command([*words, "--iterations", "20", "-o", f"{folder}/short"])
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise SystemExit("the short training failed")
        figures = watched([*words, "-o", f"{folder}/out"])
        print("| part | CPU seconds | share |\n|---|---|---|")
        for name, value in figures.items():
            print(f"| {name} | {value:.2f} | {value / figures['total']:.0%} |")
        found = tiles(arguments.graph, Path(folder, "out"))
    for name, share in found.items():
        print(f"{name.replace('_', ' ')}: {share:.4%}")
    if arguments.json:
        kept = {f"seconds:{name}": value for name, value in (figures | found).items()}
        arguments.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
