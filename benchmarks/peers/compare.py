"""The comparison with other methods: same graphs, same numbers per node, same threads, one
measuring code.

    python benchmarks/peers/setup.py
    python benchmarks/peers/compare.py run --peers wembed,gensim --graphs karate,nips --json
    out/peers.json python benchmarks/peers/compare.py baselines --json out/peers.json python
    benchmarks/peers/compare.py closure --graphs mammals --json out/closure.json python
    benchmarks/peers/compare.py table out/peers.json out/closure.json --docs docs/comparison.md
    python benchmarks/peers/compare.py bars out/peers.json

``run`` trains each peer in its own environment, from three seeds, on the whole graph and without a
tenth of its ties, and adds to the file of ``--json`` what that does not hold yet. ``closure`` ranks
hypernyms in 5 dimensions, by the published protocol and by ours. WordNet's nouns need a GPU:
``closure --graphs nouns --peers ours --seeds 1 --option signature=3,2 --option device=cuda``. CPU
seconds are of the training alone, ``process_cpu`` of all.
"""

import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch
from bench import Figures, Floats, Ints, Value, add_folder, fill, load, mean, number, parser, save
from board_graphs import Loaded, load_graph, phenotype_rows
from measuring import auc, centralities, link_aucs, measured, ranked, space_of
from torch import Tensor

from ultrahyperbolic.datasets import nouns
from ultrahyperbolic.evaluation import hold_out_edges
from ultrahyperbolic.geometry import Geometry, Manifold
from ultrahyperbolic.graph import Graph

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HELD_OUT = 0.1
LARGE = 3000  # nodes: no matrix of all pairs beyond
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Peer:
    """How a peer is run."""

    title: str
    method: str
    environment: str | None = None
    """The folder of its environment; None where it is the project's own."""
    options: Mapping[str, str] = field(default_factory=dict)
    seeded: bool = True
    """Whether another seed may give another result."""

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        if self.environment is None:
            return sys.executable
        path = ROOT / ".peers" / self.environment / "bin" / "python"
        if not path.exists():
            raise SystemExit(
                f"no environment for {self.title}: python benchmarks/peers/setup.py "
                f"{self.environment}"
            )
        return str(path)


PEERS = {
    "wembed": Peer("WEmbed", "wembed", "wembed"),
    "gensim": Peer("gensim", "gensim", "gensim"),
    "node2vec": Peer("node2vec", "node2vec", "pecanpy"),
    "umap": Peer("UMAP", "umap", "umap"),
    "spectral": Peer("spectral", "spectral", seeded=False),
}
OURS = {
    "ours": Peer("ours, 4", "ours"),
    "default": Peer("ours, default", "ours", options={"signature": "3,3"}),
    "q22": Peer("Q^{2,2}", "ours", options={"signature": "2,2"}),
}
ALL = PEERS | OURS
GRAPHS = (
    "karate",
    "lesmis",
    "dolphins",
    "football",
    "polbooks",
    "adjnoun",
    "jazz",
    "netscience",
    "celegans",
    "airports",
    "nips",
    "mammals",
)
DEPTHS = ("mammals", "phenotypes", "planted_tree", "planted_tree_weighted", "planted_random_tree")


class PeerError(Exception):
    """A peer's process failed; its last words are the message."""


class Result(NamedTuple):
    """What a peer gave: points [n, d], popularity [n], and seconds, CPU seconds and MiB."""

    points: Tensor
    manifold: Manifold
    cost: dict[str, float]
    popularity: Floats | None


def train(
    peer: Peer, graph: Graph, seed: int, asked: Namespace, pairs: Ints | None = None
) -> Result:
    """Train a graph in a process of its own; ``pairs`` [m, 2] are its ties in a direction of their
    own.
    """
    edges = graph.edges if pairs is None else pairs
    variables = {
        key: value
        for key, value in os.environ.items()
        if key != "PYTHONPATH" or peer.environment is None
    }
    variables |= dict.fromkeys(THREADS, str(asked.threads)) | {"PYTHONHASHSEED": "0"}
    options = {**peer.options, "threads": str(asked.threads), **asked.options}
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "graph.npz"), Path(folder, "out.npz")
        np.savez(given, edges=edges, n=np.array(graph.n_nodes), weights=graph.weights)
        command = [peer.python, str(HERE / "methods.py"), peer.method, str(given), str(out)]
        command += ["--dim", str(asked.dim), "--seed", str(seed)]
        command += [
            word for name, value in options.items() for word in ("--option", f"{name}={value}")
        ]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        if done.returncode:
            raise PeerError(
                f"{peer.title} failed on a graph of {graph.n_nodes} nodes:\n{done.stderr[-2000:]}"
            )
        with np.load(out) as data:
            numbers = {
                name: float(data[name])
                for name in data
                if not data[name].ndim and name != "dissimilarity"
            }
            coordinates, dissimilarity = data["coordinates"], str(data["dissimilarity"])
            popularity = data.get("popularity")
    cost = {name: numbers.pop(name) for name in ("seconds", "cpu", "process_cpu", "memory")}
    return Result(*space_of(coordinates, dissimilarity, **numbers), cost, popularity)


def one(peer: Peer, loaded: Loaded, seed: int, asked: Namespace) -> Figures:
    """All that is kept of a peer on a graph from a seed."""
    got = train(peer, loaded.graph, seed, asked)
    measures = measured(
        loaded.graph, got.points, got.manifold, loaded.depth, popularity=got.popularity
    )
    figures: Figures = {**measures, **got.cost}
    geometry = Geometry.of_manifold(got.manifold)
    if geometry is not None:
        figures["geometry"] = geometry.name
    if seed < asked.held_out:
        held = hold_out_edges(loaded.graph, HELD_OUT, seed)
        rest = train(peer, held.graph, seed, asked)
        figures["auc"] = auc(
            loaded.graph, rest.points, rest.manifold, held, popularity=rest.popularity
        )
    return figures


def each(
    asked: Namespace, graph: str, last: Callable[[int], str], work: Callable[[str, int], Figures]
) -> None:
    """Do the work for the peers and seeds whose ``last`` figure the file does not hold yet; add it
    to the file.
    """
    for name in asked.peers:
        for seed in range(asked.seeds if ALL[name].seeded else 1):
            stem = f"{name}.{graph}.seed{seed}"
            if f"{name}.{graph}" in asked.skip or (
                f"{stem}.{last(seed)}" in asked.kept and not asked.again
            ):
                continue
            began = time.perf_counter()
            try:
                figures = work(name, seed)
            except PeerError as error:
                print(f"{stem}: {error}", flush=True)
                continue
            keep(asked, {f"{stem}.{what}": value for what, value in figures.items()})
            told = [
                f"{what} {v:.4g}" if isinstance(v, float) else f"{v}" for what, v in figures.items()
            ]
            print(f"{stem}: {', '.join(told)} ({time.perf_counter() - began:.0f} s)", flush=True)


def keep(asked: Namespace, new: Figures) -> None:
    asked.kept = averaged((load([asked.json]) if asked.json else asked.kept) | new)
    save(asked.kept, asked.json)


def run(asked: Namespace) -> Figures:
    for graph in asked.graphs or GRAPHS:
        loaded = load_graph(graph, asked.folder)

        def work(name: str, seed: int, loaded: Loaded = loaded) -> Figures:
            return one(ALL[name], loaded, seed, asked)

        each(asked, loaded.name, lambda seed: "auc" if seed < asked.held_out else "cpu", work)
    return {}


def baselines(asked: Namespace) -> Figures:
    """What needs no embedding: centralities where depths are known, and scores of held-out ties."""
    for graph in asked.graphs or dict.fromkeys((*GRAPHS, *DEPTHS)):
        loaded, new = load_graph(graph, asked.folder), Figures()
        if loaded.depth is not None:
            scores = centralities(loaded.graph, loaded.depth)
            new |= {f"{name}.{graph}.seed0.depth": value for name, value in scores.items()}
        for seed in range(asked.seeds if loaded.graph.n_nodes <= LARGE else 0):
            aucs = link_aucs(loaded.graph, hold_out_edges(loaded.graph, HELD_OUT, seed))
            new |= {f"{name}.{graph}.seed{seed}.auc": value for name, value in aucs.items()}
        print(graph, {key: round(float(value or 0), 3) for key, value in new.items()}, flush=True)
        keep(asked, new)
    return {}


def averaged(figures: Mapping[str, Value]) -> Figures:
    """The figures, with the means over the seeds they hold: ``peer.graph.measure`` of
    ``peer.graph.seedK.measure``.
    """
    seeds: dict[str, list[float]] = {}
    for key in figures:
        parts = key.split(".")
        if len(parts) == 4 and parts[2].startswith("seed") and not isinstance(figures[key], str):
            seeds.setdefault(".".join((*parts[:2], parts[3])), []).append(number(figures, key))
    return {**figures, **{key: mean(values) for key, values in seeds.items()}}


class Closure(NamedTuple):
    """All pairs (below, above) of a hierarchy, direct or not; nodes are numbers."""

    below: Ints
    above: Ints
    n: int

    def graph(self, name: str) -> Graph:
        """The pairs as ties; one tie of two nodes that are above each other."""
        low, high = np.sort((self.below, self.above), axis=0)
        edges = np.unique(np.stack((low, high), 1), axis=0)
        return Graph.from_arrays(edges[:, 0], edges[:, 1], ids=self.n, name=name)


def all_nouns(folder: Path) -> Closure:
    """WordNet's nouns: 82,115 synsets and 743,241 pairs."""
    keys, _, below, above = nouns._read(nouns._find(None))
    return Closure(*nouns._closure(below, above), len(keys))


def mammals(folder: Path) -> Closure:
    """WordNet's mammals: 1,182 synsets and 6,542 pairs."""
    below, above, n = all_nouns(folder)
    root = nouns._read(nouns._find(None))[0].index("mammal%1:05:00::")
    inside = np.isin(np.arange(n), [*below[above == root], root])
    kept, places = inside[below] & inside[above], np.cumsum(inside) - 1
    return Closure(places[below[kept]], places[above[kept]], int(inside.sum()))


def phenotypes(folder: Path) -> Closure:
    rows = phenotype_rows(folder)
    places = {
        term: place for place, term in enumerate(sorted({term for row in rows for term in row}))
    }
    below, above = np.array([[places[term] for term in row] for row in rows], dtype=np.int64).T
    return Closure(*nouns._closure(below, above), len(places))


CLOSURES: dict[str, Callable[[Path], Closure]] = {
    "mammals": mammals,
    "phenotypes": phenotypes,
    "nouns": all_nouns,
}


def closure(asked: Namespace) -> Figures:
    """How well a node's hypernyms are told from the rest: as published (``directed_``), and all
    ties both ways.
    """
    # gensim has relations, from below to above; the others do not look at the direction.
    asked.options = {"both": "no", **asked.options}
    for graph in asked.graphs or ("mammals", "phenotypes"):
        known = CLOSURES[graph](asked.folder)
        ties = known.graph(f"{graph} closure")

        def work(name: str, seed: int, known: Closure = known, ties: Graph = ties) -> Figures:
            got = train(ALL[name], ties, seed, asked, np.stack((known.below, known.above), 1))
            points = got.points.to(asked.options.get("device", "cpu"))
            directed = ranked(
                points, got.manifold, known.below, known.above, popularity=got.popularity
            )
            figures = measured(ties, points, got.manifold, popularity=got.popularity) | got.cost
            return figures | {
                f"directed_{name}": value for name, value in directed._asdict().items()
            }

        each(asked, f"{graph}_closure", lambda seed: "cpu", work)
    return {}


def table(asked: Namespace) -> Figures:
    from peer_tables import tables

    made = tables(load(asked.files))
    if asked.docs is None:
        print("\n\n".join(f"{name}:\n{text}" for name, text in made.items()))
    else:
        fill(asked.docs, {name: text for name, text in made.items() if name != "closure"})
    return {}


def bars_part(asked: Namespace) -> Figures:
    from peer_tables import bars

    save(figures := bars(load(asked.files)), asked.json)
    return figures


PARTS: dict[str, Callable[[Namespace], Figures]] = {
    "run": run,
    "baselines": baselines,
    "closure": closure,
    "table": table,
    "bars": bars_part,
}


def main(words: Sequence[str] | None = None) -> None:
    def listed(text: str) -> list[str]:
        return [word for word in text.split(",") if word]

    made = parser(__doc__)
    made.add_argument("part", choices=PARTS)
    made.add_argument("files", nargs="*", type=Path, help="of table and bars: what was measured")
    made.add_argument(
        "--peers", type=listed, default=list(ALL), help=f"with commas (default: {','.join(ALL)})"
    )
    made.add_argument(
        "--graphs", type=listed, default=[], help="or files, with commas (default: the twelve)"
    )
    made.add_argument(
        "--skip", type=listed, default=[], metavar="PEER.GRAPH", help="of run: leave these out"
    )
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--threads", type=int, default=1, help="of every training (default: 1)")
    made.add_argument("--dim", type=int, help="4; of closure 5")
    made.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="handed to the peers"
    )
    made.add_argument(
        "--held-out", type=int, metavar="SEEDS", help="of run: seeds that also hold out ties (all)"
    )
    made.add_argument(
        "--again", action="store_true", help="of run: what the file holds already, too"
    )
    made.add_argument("--docs", type=Path, metavar="FILE", help="of table: the page to write into")
    add_folder(made)
    asked = made.parse_args(words)
    unknown = set(asked.peers) - set(ALL)
    if unknown:
        raise SystemExit(
            f"no peer is called {', '.join(sorted(unknown))}: there are {', '.join(ALL)}"
        )
    asked.options = dict(each.split("=", 1) for each in asked.option)
    asked.dim = asked.dim or (5 if asked.part == "closure" else 4)
    asked.held_out = asked.seeds if asked.held_out is None else asked.held_out
    asked.kept = load([asked.json] if asked.json else [])
    torch.set_num_threads(asked.threads)
    if PARTS[asked.part](asked).get("bars.failed"):
        sys.exit(1)


if __name__ == "__main__":
    main()
