"""How the cost of ``embed`` on samples grows with the number of ties, part by part.

    python benchmarks/linear.py --json out/linear.json --plot docs/scaling-samples.png

Graphs of a power law (Chung and Lu's, exponent 2.5) with ten ties per node and five classes of weights, in Parquet.
Each size runs in a process of its own, which does what ``embed`` does for the same number of passes over the ties: CPU
seconds of each part on all cores, seconds of the clock for all of them, and the peak of its resident memory. Slopes are
those of log CPU seconds over log ties: they hold on a machine that does other things, too. Sizes are in nodes, above
200,000: a training of fewer ends by looking at all pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SIZES = (250_000, 500_000, 1_000_000)
PARTS = ("read", "start", "train", "measure", "write")
TIES_PER_NODE, CLASSES = 10, 5
_SMALLEST = 200_001
_ROWS = 1_000_000  # that are drawn at a time

Figures = dict[str, float]


def write_power_law(path: Path, nodes: int, seed: int = 0) -> None:
    """A graph of a power law in a Parquet file, with ids from 0 on in random order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    reach = np.cumsum((np.arange(nodes) + 10.0) ** (-1 / 1.5))
    names = rng.permutation(nodes)
    kinds = {"source": pa.int64(), "target": pa.int64(), "weight": pa.float64()}
    with pq.ParquetWriter(path, pa.schema(kinds)) as writer:
        for start in range(0, TIES_PER_NODE * nodes, _ROWS):
            size = min(_ROWS, TIES_PER_NODE * nodes - start)
            ends = names[np.searchsorted(reach, rng.random((2, size)) * reach[-1])]
            weights = 1.0 + rng.integers(CLASSES, size=size)
            writer.write_table(pa.table([*ends, weights], schema=pa.schema(kinds)))


def measure(path: Path, folder: Path, passes: int) -> Figures:
    """The figures of one graph, in this process."""
    from ultrahyperbolic.engines.base import Place
    from ultrahyperbolic.graph import Graph, read_graph
    from ultrahyperbolic.report import write_report
    from ultrahyperbolic.training.plan import Execution, Plan, Wishes
    from ultrahyperbolic.training.start import SpectralStart
    from ultrahyperbolic.training.train import with_node_measures, with_pair_measures

    clock, began = [time.process_time()], time.perf_counter()

    def lap() -> float:
        clock.append(time.process_time())
        return clock[-1] - clock[-2]

    graph = read_graph(path)
    figures: Figures = {"nodes": graph.n_nodes, "ties": graph.n_edges, "read": lap()}
    figures |= {"read_peak": _peak(), "read_wall": time.perf_counter() - began}
    if passes == 0:
        return figures
    # Every iteration looks at all ties, and lets every node meet some others.
    plan = Plan(wishes=Wishes(iterations=passes, stop="iterations"), place=Place("cpu"))
    execution = Execution(plan, graph, quiet=True)
    execution.prepare()
    prepared = lap()
    execution.configs[0].starting_points(graph, SpectralStart(graph))
    start = lap()
    embedding = execution.train(measures=False)  # which starts once more
    trained = lap() - start
    figures |= {"start": prepared + start, "train": trained}
    embedding = with_pair_measures(graph, embedding, quiet=True)
    embedding = with_node_measures(graph, embedding, quiet=True)
    figures["measure"] = lap()
    embedding.save(folder / "embedding")
    write_report(embedding, folder / "embedding")
    figures |= {"write": lap(), "peak": _peak(), "wall": time.perf_counter() - began}
    graph.save(folder / "ties.graph")
    figures["prepare"] = lap()
    Graph.load(folder / "ties.graph")
    figures["load"] = lap()
    return figures


def _peak() -> float:
    """Bytes of resident memory at most, so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def in_a_process(nodes: int, passes: int) -> Figures:
    """The figures of a graph of so many nodes, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_power_law(folder / "ties.parquet", nodes)
        command = [sys.executable, __file__, "--child", name, "--passes", str(passes)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        figures: Figures = json.loads(answer.stdout.splitlines()[-1])
        return figures


def slope(ties: list[float], seconds: list[float]) -> float:
    """The exponent with which seconds grow.

    >>> round(slope([1.0, 2.0, 4.0], [3.0, 6.0, 12.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(ties), np.log(seconds), 1)[0])


def total(row: Figures) -> float:
    return sum(row[part] for part in PARTS)


def plot(rows: list[Figures], slopes: Figures, path: Path) -> None:
    """CPU seconds over ties, part by part."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    ties = [row["ties"] for row in rows]
    drawing, axes = pyplot.subplots(figsize=(7, 4))
    for part in PARTS:
        axes.loglog(ties, [row[part] for row in rows], "o-", label=part)
    axes.loglog(ties, [total(row) for row in rows], "ko-", label=f"all (slope {slopes['slope_all']:.2f})")
    axes.set(xlabel="ties", ylabel="CPU seconds")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    drawing.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--plot", type=Path, help="draw them here")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="in nodes")
    parser.add_argument("--passes", type=int, default=20, help="over the ties")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(arguments.child / "ties.parquet", arguments.child, arguments.passes)))
        return
    if min(arguments.sizes) < _SMALLEST:
        parser.error(f"--sizes: at least {_SMALLEST} nodes, for fewer end by looking at all pairs")
    in_a_process(_SMALLEST, 0)  # the loops that read are compiled before the clock runs, and kept on disk
    rows = []
    print(
        "     nodes       ties  passes"
        + "".join(f"{part:>9}" for part in (*PARTS, "all", "load", "clock"))
        + "  peak GiB"
    )
    for size in sorted(arguments.sizes):
        row = in_a_process(size, arguments.passes)
        rows.append(row)
        seconds = [*(row[part] for part in PARTS), total(row), row["load"], row["wall"]]
        cells = "".join(f"{value:9.1f}" for value in seconds)
        line = f"{row['nodes']:10.0f} {row['ties']:10.0f} {arguments.passes:7d}{cells}  {row['peak'] / 2**30:8.2f}"
        print(line, flush=True)
    figures: Figures = {"passes": arguments.passes}
    figures |= {f"{what}_{row['nodes']:.0f}": value for row in rows for what, value in row.items()}
    if len(rows) > 1:
        ties = [row["ties"] for row in rows]
        slopes = {f"slope_{part}": slope(ties, [row[part] for row in rows]) for part in PARTS}
        slopes["slope_all"] = slope(ties, [total(row) for row in rows])
        figures |= slopes
        print(", ".join(f"{name.replace('_', ' of ')} {value:.2f}" for name, value in slopes.items()))
        if arguments.plot:
            plot(rows, slopes, arguments.plot)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
