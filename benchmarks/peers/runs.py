"""Run peers as processes of their own environments, measure what they give, and keep it under flat keys."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from board_figures import Figures, Value, load, mean, number, save
from board_graphs import Loaded, Shelf
from graphs import Floats, Ints
from measuring import auc, centralities, link_aucs, measured
from spaces import space_of
from torch import Tensor

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
    script: str
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
            raise SystemExit(f"no environment for {self.title}: python benchmarks/peers/setup.py {self.environment}")
        return str(path)


PEERS = {
    "wembed": Peer("WEmbed", "wembed_peer.py", "wembed"),
    "gensim": Peer("gensim", "gensim_peer.py", "gensim"),
    "node2vec": Peer("node2vec", "pecanpy_peer.py", "pecanpy"),
    "umap": Peer("UMAP", "umap_peer.py", "umap"),
    "spectral": Peer("spectral", "spectral_peer.py", seeded=False),
    "lorentz": Peer("geoopt Lorentz", "geoopt_peer.py", options={"space": "lorentz"}),
    "sphere": Peer("geoopt Sphere", "geoopt_peer.py", options={"space": "sphere"}),
}
OURS = {
    "neighbours": Peer("ours, neighbours", "ours_peer.py", options={"goal": "neighbours"}),
    "balanced": Peer("ours, balanced", "ours_peer.py", options={"goal": "balanced"}),
    "q22": Peer("Q^{2,2}, balanced", "ours_peer.py", options={"goal": "balanced", "signature": "2,2"}),
    "q22_neighbours": Peer("Q^{2,2}, neighbours", "ours_peer.py", options={"goal": "neighbours", "signature": "2,2"}),
}
ALL = PEERS | OURS
SCORES = {
    "degree": "degree", "pagerank": "PageRank", "closeness": "closeness", "adamic_adar": "Adamic–Adar",
    "preferential": "pref. attachment",
}  # fmt: skip
GRAPHS = (
    "karate", "lesmis", "dolphins", "football", "polbooks", "adjnoun", "jazz", "netscience", "celegans", "airports",
    "nips", "mammals",
)  # fmt: skip
DEPTHS = ("mammals", "phenotypes", "planted_tree", "planted_tree_weighted", "planted_random_tree")


class PeerError(Exception):
    """A peer's process failed; its last words are the message."""


@dataclass(frozen=True)
class Result:
    """What a peer gave."""

    points: Tensor
    manifold: Manifold
    cost: dict[str, float]
    """CPU seconds of the training and of the process, and MiB."""
    popularity: Floats | None = None
    """[n] what is taken from the dissimilarities of each node, where anything is."""


@dataclass(frozen=True)
class Asked:
    """What a run shares."""

    shelf: Shelf
    seeds: int = 3
    threads: int = 1
    dim: int = 4
    held_out: int = 3
    """How many of the seeds are also trained without a tenth of the ties."""
    again: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


def train(peer: Peer, graph: Graph, seed: int, asked: Asked, pairs: Ints | None = None) -> Result:
    """Train a graph in a process of its own; ``pairs`` [m, 2] are its ties in a direction of their own."""
    edges = graph.edges if pairs is None else pairs
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH" or peer.environment is None}
    variables |= dict.fromkeys(THREADS, str(asked.threads)) | {"PYTHONHASHSEED": "0"}
    options = {**peer.options, "threads": str(asked.threads), **asked.options}
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "graph.npz"), Path(folder, "out.npz")
        np.savez(given, edges=edges, n=np.array(graph.n_nodes), weights=graph.weights)
        command = [peer.python, str(HERE / peer.script), str(given), str(out)]
        command += ["--dim", str(asked.dim), "--seed", str(seed)]
        command += [word for name, value in options.items() for word in ("--option", f"{name}={value}")]
        done = subprocess.run(command, env=variables, capture_output=True, text=True)
        if done.returncode:
            raise PeerError(f"{peer.title} failed on a graph of {graph.n_nodes} nodes:\n{done.stderr[-2000:]}")
        with np.load(out) as data:
            numbers = {name: float(data[name]) for name in data if not data[name].ndim and name != "dissimilarity"}
            coordinates, dissimilarity = data["coordinates"], str(data["dissimilarity"])
            popularity = data.get("popularity")
    cost = {name: numbers.pop(name) for name in ("cpu", "process_cpu", "memory")}
    points, manifold = space_of(coordinates, dissimilarity, **numbers)
    return Result(points, manifold, cost, popularity)


def one(peer: Peer, loaded: Loaded, seed: int, asked: Asked) -> Figures:
    """All that is kept of a peer on a graph from a seed."""
    found = train(peer, loaded.graph, seed, asked)
    figures: Figures = {
        **measured(loaded.graph, found.points, found.manifold, loaded.depth, popularity=found.popularity),
        **found.cost,
    }
    geometry = Geometry.of_manifold(found.manifold)
    if geometry is not None:
        figures["geometry"] = geometry.name
    if seed < asked.held_out:
        held = hold_out_edges(loaded.graph, HELD_OUT, seed)
        rest = train(peer, held.graph, seed, asked)
        figures["auc"] = auc(loaded.graph, rest.points, rest.manifold, held, popularity=rest.popularity)
    return figures


def run(names: Sequence[str], graphs: Sequence[str], asked: Asked, skip: set[str], path: Path | None) -> Figures:
    """Train and measure what the file does not hold yet; it is read again and written after each, so that runs add up.

    ``skip`` has ``peer.graph`` pairs to leave out.
    """
    kept = load([path] if path else [])
    for graph in graphs:
        loaded = asked.shelf.load(graph)
        for name in names:
            if f"{name}.{graph}" in skip:
                continue
            for seed in range(asked.seeds if ALL[name].seeded else 1):
                stem = f"{name}.{graph}.seed{seed}"
                wanted = f"{stem}.auc" if seed < asked.held_out else f"{stem}.cpu"
                if wanted in kept and not asked.again:
                    continue
                began = time.perf_counter()
                try:
                    figures = one(ALL[name], loaded, seed, asked)
                except PeerError as error:
                    print(f"{stem}: {error}", flush=True)
                    continue
                new: Figures = {f"{stem}.{what}": value for what, value in figures.items()}
                kept = averaged((load([path]) if path else kept) | new)
                save(kept, path)
                shown = [what for what in ("map", "recall_at_1", "cpu", "auc") if what in figures]
                told = [f"{what} {number(figures, what):.4g}" for what in shown]
                said = ", ".join([*told, *([str(figures["geometry"])] if "geometry" in figures else [])])
                print(f"{stem}: {said} ({time.perf_counter() - began:.0f} s)", flush=True)
    return kept


def baselines(graphs: Sequence[str], asked: Asked, path: Path | None) -> Figures:
    """What needs no embedding: centralities where depths are known, and scores of held-out ties."""
    new: Figures = {}
    for graph in graphs:
        loaded = asked.shelf.load(graph)
        if loaded.depth is not None:
            found = centralities(loaded.graph, loaded.depth)
            new |= {f"{name}.{graph}.seed0.depth": value for name, value in found.items()}
        if loaded.graph.n_nodes > LARGE:
            continue
        for seed in range(asked.seeds):
            held = hold_out_edges(loaded.graph, HELD_OUT, seed)
            aucs = link_aucs(loaded.graph, held)
            new |= {f"{name}.{graph}.seed{seed}.auc": value for name, value in aucs.items()}
        print(
            graph, {key: round(float(value or 0), 3) for key, value in new.items() if f".{graph}." in key}, flush=True
        )
    kept = averaged((load([path]) if path else {}) | new)
    save(kept, path)
    return kept


def averaged(figures: Mapping[str, Value]) -> Figures:
    """The figures, with the means over the seeds they hold: ``peer.graph.measure`` of ``peer.graph.seedK.measure``."""
    seeds: dict[str, list[float]] = {}
    for key in figures:
        parts = key.split(".")
        if len(parts) == 4 and parts[2].startswith("seed") and not isinstance(figures[key], str):
            seeds.setdefault(".".join((*parts[:2], parts[3])), []).append(number(figures, key))
    means: Figures = {key: mean(values) for key, values in seeds.items()}
    return {**figures, **means}
