"""Reading a large edge list: time and memory of ``read_graph`` beside ``pandas.read_csv`` of the
same file.

    python benchmarks/reading.py --edges 10000000 --json out/reading.json

The file is a TSV with text ids, ten edges a node, heavy-tailed degrees and whole weights, its rows
in random order. pandas parses the table and stops there; ``read_graph`` also numbers the ids and
sorts and merges the edges. Each runs in a process of its own, in turns, after a smaller file
(``warm_up``), and the fastest counts. Ratios compare both on all cores, or, as ``serial``, both
bound to one (``low_memory=False`` makes pandas read with one thread).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from bench import Figures, finish, parser, power_law_ends
from pyarrow import csv

_PEAK = (
    "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == 'darwin' else 1024)"
)
_CORES = "len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()"
_ONE_CORE = """\
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
"""
_GRAPH = ("import pyarrow; from ultrahyperbolic.graph import read_graph", "read_graph(path)")
_PANDAS = ("import pandas, pyarrow", "pandas.read_csv(path, sep='\\t', header=None)")
_SERIAL = "pandas.read_csv(path, sep='\\t', header=None, low_memory=False)"
_READERS = {
    "graph": (*_GRAPH, "{'nodes': out.n_nodes, 'distinct_edges': out.n_edges}"),
    "graph_serial": (_ONE_CORE + _GRAPH[0], _GRAPH[1], "{}"),
    "pandas": (*_PANDAS, "{'pandas_version': pandas.__version__}"),
    "pandas_serial": (_ONE_CORE + _PANDAS[0], _SERIAL, "{}"),
}


def write_edges(path: Path, edges: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    nodes = max(edges // 10, 2)
    drawn = power_law_ends(nodes, rng)
    names = pa.array([f"user-{k:07d}" for k in rng.permutation(nodes)])
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with open(path, "wb") as file:
        for start in range(0, edges, 1_000_000):
            size = min(1_000_000, edges - start)
            first, second = (names.take(pa.array(end)) for end in drawn(size))
            table = pa.table(
                [first, second, rng.integers(1, 100, size)], names=["first", "second", "weight"]
            )
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
print(json.dumps({{"warm_up": seconds[0], "seconds": seconds[1], "peak_bytes": {_PEAK},
                  "cores": {_CORES},
                  **{facts}}}))
"""
    command = [sys.executable, "-c", program, str(warm_up), str(path)]
    result: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return result


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--edges", type=int, default=10_000_000)
    made.add_argument("--repeats", type=int, default=3)
    options = made.parse_args()
    figures: Figures = {"edges": options.edges, "repeats": options.repeats}
    with tempfile.TemporaryDirectory() as folder:
        warm_up, path = Path(folder, "warm-up.tsv"), Path(folder, "edges.tsv")
        write_edges(warm_up, min(options.edges, 1_000_000))
        write_edges(path, options.edges)
        figures["file_mib"] = path.stat().st_size / 2**20
        rounds = [
            {reader: measure(reader, warm_up, path) for reader in _READERS}
            for _ in range(options.repeats)
        ]
    for reader in _READERS:
        mine = [each[reader] for each in rounds]
        figures[f"{reader}_warm_up_seconds"] = min(each.pop("warm_up") for each in mine)
        figures[f"{reader}_seconds"] = min(each.pop("seconds") for each in mine)
        figures[f"{reader}_peak_gib"] = max(each.pop("peak_bytes") for each in mine) / 2**30
        figures |= {f"{reader}_cores": mine[0].pop("cores")} | mine[0]
    for end in ("", "_serial"):
        figures[f"ratio_to_pandas{end}"] = (
            figures[f"graph{end}_seconds"] / figures[f"pandas{end}_seconds"]
        )
    finish(figures, options.json)


if __name__ == "__main__":
    main()
