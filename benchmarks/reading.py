"""Reading a large edge list: time and memory of ``read_graph`` beside ``pandas.read_csv`` of the same file.

    python benchmarks/reading.py --edges 10000000 --json out/reading.json

The file is a TSV with text ids, ten edges a node, heavy-tailed degrees and whole weights, its rows in random order.
pandas parses the table and stops there; ``read_graph`` also numbers the ids and sorts and merges the edges. Every
measurement runs in a process of its own; the readers take turns, and the fastest of the repetitions counts. Each reads
a file of at most a million edges first: by then its libraries are loaded, and the loops of ``read_graph`` compiled,
which happens once and is kept on disk. How long that first file took, the fastest again, is ``warm_up``. Ratios compare
like with like: on all cores, or, as ``serial``, both on one, to which their processes are bound where the system can.
``low_memory=False`` makes pandas 3.1 and later read with one thread, as earlier versions always do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ultrahyperbolic.graph.errors import need

_PEAK = "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == 'darwin' else 1024)"
_CORES = "len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()"
_ONE_CORE = """\
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
"""
_READERS = {
    "graph": (
        "import pyarrow; from ultrahyperbolic.graph import read_graph",
        "read_graph(path)",
        "{'nodes': out.n_nodes, 'distinct_edges': out.n_edges}",
    ),
    "graph_serial": (
        f"{_ONE_CORE}import pyarrow; from ultrahyperbolic.graph import read_graph",
        "read_graph(path)",
        "{}",
    ),
    "pandas": (
        "import pandas, pyarrow",
        "pandas.read_csv(path, sep='\\t', header=None)",
        "{'pandas_version': pandas.__version__}",
    ),
    "pandas_serial": (
        f"{_ONE_CORE}import pandas, pyarrow",
        "pandas.read_csv(path, sep='\\t', header=None, low_memory=False)",
        "{}",
    ),
}


def write_edges(path: Path, edges: int, seed: int = 0) -> None:
    pa, csv = need("pyarrow", "this benchmark"), need("pyarrow.csv", "this benchmark")
    rng = np.random.default_rng(seed)
    nodes = max(edges // 10, 2)
    # Expected degrees of a power law with exponent 2.5; which node has which is random.
    reach = np.cumsum((np.arange(nodes) + 10.0) ** (-1 / 1.5))
    names = pa.array([f"user-{k:07d}" for k in rng.permutation(nodes)])
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with open(path, "wb") as file:
        for start in range(0, edges, 1_000_000):
            size = min(1_000_000, edges - start)
            ends = np.searchsorted(reach, rng.random((2, size)) * reach[-1])
            first, second = (names.take(pa.array(end)) for end in ends)
            table = pa.table([first, second, rng.integers(1, 100, size)], names=["first", "second", "weight"])
            csv.write_csv(table, file, options)


def measure(reader: str, warm_up: Path, path: Path) -> dict[str, Any]:
    imports, call, facts = _READERS[reader]
    program = f"""\
import json, os, resource, sys, time
{imports}
seconds = []
for path in sys.argv[1:]:
    start = time.perf_counter()
    out = {call}
    seconds.append(time.perf_counter() - start)
print(json.dumps({{"warm_up": seconds[0], "seconds": seconds[1], "peak_bytes": {_PEAK}, "cores": {_CORES},
                  **{facts}}}))
"""
    command = [sys.executable, "-c", program, str(warm_up), str(path)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"edges": arguments.edges, "repeats": arguments.repeats}
    best = dict.fromkeys(_READERS, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        warm_up, path = Path(folder, "warm-up.tsv"), Path(folder, "edges.tsv")
        write_edges(warm_up, min(arguments.edges, 1_000_000))
        write_edges(path, arguments.edges)
        figures["file_mib"] = round(path.stat().st_size / 2**20, 1)
        for _ in range(arguments.repeats):
            for reader in _READERS:
                result = measure(reader, warm_up, path)
                best[reader] = min(best[reader], result.pop("seconds"))
                first = f"{reader}_warm_up_seconds"
                figures[first] = min(figures.get(first, float("inf")), round(result.pop("warm_up"), 3))
                peak = f"{reader}_peak_gib"
                figures[peak] = max(figures.get(peak, 0.0), round(result.pop("peak_bytes") / 2**30, 3))
                figures[f"{reader}_cores"] = result.pop("cores")
                figures |= result
    figures |= {f"{reader}_seconds": round(seconds, 3) for reader, seconds in best.items()}
    figures["ratio_to_pandas"] = round(best["graph"] / best["pandas"], 2)
    figures["ratio_to_pandas_serial"] = round(best["graph_serial"] / best["pandas_serial"], 2)
    for key, value in figures.items():
        print(f"{key:30} {value}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
