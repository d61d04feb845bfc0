"""Current-flow closeness: against networkx, estimates against exact values, and the time of large
graphs.

    python benchmarks/flow.py                the CPU, with the graphs of --folder that are there
    python benchmarks/flow.py --device cuda

``NAME:off`` is the largest relative difference to ``networkx.information_centrality``, but for a
constant, and ``NAME:strength`` Spearman's ρ with strength. Of an estimate, ``median`` and ``p95``
are relative errors, ``within`` the share of nodes within two standard errors, ``first_ten`` how
many of the ten most central are right. Times are in seconds, with the order of the nodes known.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bench
import networkx as nx
import numpy as np
from bench import Figures
from scipy.stats import spearmanr

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.flow import EXACT_NODES, Centrality, current_flow

FILES = {"nips": "nips_edges.txt"} | {
    name: f"graphs/{name}.tsv.gz" for name in ("airports", "celegans", "citeseer", "enron")
}


def attached(n: int, m: int = 4) -> Graph:
    """Preferential attachment (Barabási & Albert): each tie of a node leads to the end of a random
    earlier tie.
    """
    ends = np.arange(n * m)
    source, chosen = (
        ends // m,
        (np.random.default_rng(0).random(n * m) * (2 * ends + 1)).astype(np.int64),
    )
    place = chosen.copy()
    while (copied := place % 2 == 1).any():
        place[copied] = chosen[place[copied] // 2]
    target = source[place // 2]
    return Graph.from_arrays(source[source != target], target[source != target], ids=n)


def grid(side: int) -> Graph:
    return Graph.from_networkx(nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side)))


MADE: dict[str, Callable[[], Graph]] = {
    "karate": uh.datasets.karate,
    "lesmis": lambda: uh.datasets.load("lesmis"),
    "attached_3000": lambda: attached(3000, 3),
    "grid_60": lambda: grid(60),
    "path_100000": lambda: Graph.from_arrays(np.arange(99_999), np.arange(1, 100_000)),
    "grid_300": lambda: grid(300),
    "attached_50000": lambda: attached(50_000),
}
ON_GPU: dict[str, Callable[[], Graph]] = {"attached_10000000": lambda: attached(10_000_000)}


def graphs(folder: Path, device: str) -> Iterator[tuple[str, Graph]]:
    for name, make in (MADE if device == "cpu" else MADE | ON_GPU).items():
        yield name, make()
    for name, file in FILES.items():
        if (folder / file).exists():
            yield name, uh.read_graph(folder / file)


def timed(graph: Graph, exact_nodes: int, device: str) -> tuple[Centrality, float]:
    began = time.perf_counter()
    found = current_flow(graph, exact_nodes=exact_nodes, device=device)
    return found, time.perf_counter() - began


def off(graph: Graph, found: Centrality) -> float:
    """How far the largest component is from networkx."""
    drawn = graph.to_networkx()
    expected = nx.information_centrality(
        drawn.subgraph(max(nx.connected_components(drawn), key=len)), weight="weight"
    )
    ratio = np.array([found.values[graph.index(node)] / value for node, value in expected.items()])
    return float(ratio.max() / ratio.min() - 1.0)


def measured(name: str, graph: Graph, device: str) -> Figures:
    _ = graph.node_order
    exact, seconds = timed(graph, EXACT_NODES, device)
    is_exact = not exact.errors.any()
    figures: Figures = {"nodes": graph.n_nodes, "seconds": seconds, "exact": is_exact}
    if graph.n_nodes <= 400:
        figures |= {
            "off": off(graph, exact),
            "strength": float(spearmanr(exact.values, graph.strength)[0]),
        }
    elif is_exact and graph.n_nodes <= EXACT_NODES:
        found, _ = timed(graph, 0, device)
        joined = exact.values > 0.0
        wrong = np.abs(found.values - exact.values)[joined]
        share, first = (
            wrong / exact.values[joined],
            (set(np.argsort(-each.values)[:10]) for each in (exact, found)),
        )
        figures |= {"median": float(np.median(share)), "p95": float(np.quantile(share, 0.95))}
        figures["within"] = float((wrong <= 2.0 * found.errors[joined]).mean())
        figures["first_ten"] = len(set.intersection(*first))
    print(name, *(f"{key} {bench.cell(value)}" for key, value in figures.items()), flush=True)
    return {f"{name}:{key}": value for key, value in figures.items()}


def main() -> None:
    made = bench.parser(__doc__)
    bench.add_folder(made)
    made.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    asked = made.parse_args()
    current_flow(attached(6000), device=asked.device)  # which compiles, untimed
    figures = [
        measured(name, graph, asked.device) for name, graph in graphs(asked.folder, asked.device)
    ]
    bench.finish({key: value for each in figures for key, value in each.items()}, asked.json)


if __name__ == "__main__":
    main()
