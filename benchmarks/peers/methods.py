"""Run one method on a graph, in the environment of that method: ``python methods.py NAME GRAPH
OUT``.

A graph comes in as a file of numpy: ``edges`` [m, 2], ``n`` and ``weights`` [m]. What goes out has
``coordinates`` [n, d], the name of their ``dissimilarity`` (``measuring.py``), and what they cost:
CPU seconds of the training itself and of the whole process, and its peak memory. A method imports
what it needs itself: this file needs numpy alone.
"""

import argparse
import re
import resource
import tempfile
import time
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Given:
    """What a method is given: edges [m, 2] of n nodes, and their weights [m]."""

    edges: Ints
    n: int
    weights: Floats
    dim: int
    seed: int
    options: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, default: float) -> float:
        """An option that is a number."""
        return float(self.options.get(name, default))

    def ties(self, weights: Floats) -> Any:
        """The matrix [n, n] of ties in both directions, sparse."""
        from scipy.sparse import coo_matrix

        pairs = np.concatenate((self.edges, self.edges[:, ::-1]))
        return coo_matrix((np.tile(weights, 2), pairs.T), shape=(self.n, self.n)).tocsr()

    def placed(self, known: list[int], coordinates: Any) -> Floats:
        """[n, dim] of the nodes that a method knows, NaN of the others."""
        found = np.full((self.n, self.dim), np.nan)
        found[known] = coordinates
        return found


@dataclass(frozen=True)
class Placed:
    """What a method gives back: coordinates [n, d], NaN of a node that it cannot place, and
    popularity [n].
    """

    coordinates: Floats
    dissimilarity: str
    extra: dict[str, float] = field(default_factory=dict)
    popularity: Floats | None = None


def wembed(given: Given) -> Placed:
    """WEmbed: the last number of a node is its weight, which divides distances. It does not know
    tie weights.
    """
    import wembed as library

    library.setSeed(given.seed)
    graph = library.graphFromEdges([library.Edge(a, b) for a, b in given.edges.tolist()], given.n)
    options = library.Options()
    options.embeddingDimension = given.dim
    options.indexType = library.IndexKdTree
    embedder = library.createEmbedder(graph, options)
    embedder.calculateEmbedding()
    coordinates = np.asarray(embedder.getCoordinates(), dtype=np.float64).reshape(
        given.n, given.dim
    )
    return Placed(np.column_stack((coordinates, embedder.getWeights())), "wembed")


def gensim(given: Given) -> Placed:
    """PoincareModel (Nickel & Kiela 2017), 300 epochs, each tie as a relation both ways; with
    ``both=no`` one way.
    """
    from gensim.models.poincare import PoincareModel

    both = np.concatenate((given.edges, given.edges[:, ::-1]))
    pairs = given.edges if given.options.get("both") == "no" else both
    model = PoincareModel(
        [(str(a), str(b)) for a, b in pairs.tolist()], size=given.dim, seed=given.seed
    )
    model.train(epochs=int(given.number("epochs", 300)))
    known = [node for node in range(given.n) if str(node) in model.kv.key_to_index]
    return Placed(given.placed(known, [model.kv[str(node)] for node in known]), "poincare")


def node2vec(given: Given) -> Placed:
    """PecanPy's default on weighted ties: ten walks of 80 steps from each node, a window of 10, p =
    q = 1; cosines.
    """
    from pecanpy import pecanpy

    graph = pecanpy.SparseOTF(p=1, q=1, workers=1, verbose=False, random_state=given.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.edg")
        rows = zip(given.edges.tolist(), given.weights.tolist(), strict=True)
        path.write_text("".join(f"{a}\t{b}\t{weight!r}\n" for (a, b), weight in rows))
        graph.read_edg(str(path), weighted=True, directed=False)
    coordinates = graph.embed(dim=given.dim, num_walks=10, walk_length=80, window_size=10, epochs=1)
    return Placed(given.placed([int(node) for node in graph.nodes], coordinates), "cosine")


def umap(given: Given) -> Placed:
    """UMAP on hops, with its defaults but for the dimension."""
    from scipy.sparse.csgraph import shortest_path
    from umap import UMAP

    hops = shortest_path(given.ties(np.ones(len(given.edges))), unweighted=True)
    hops[np.isinf(hops)] = (
        2.0 * hops[np.isfinite(hops)].max()
    )  # other components: UMAP takes no infinity
    model = UMAP(
        min(15, given.n - 1), given.dim, metric="precomputed", random_state=given.seed, n_jobs=1
    )
    return Placed(np.asarray(model.fit_transform(hops), dtype=np.float64), "euclidean")


def spectral(given: Given) -> Placed:
    """Eigenvectors of the Laplacian of the tie weights, by scikit-learn, with its defaults but for
    the dimension.
    """
    from sklearn.manifold import SpectralEmbedding

    model = SpectralEmbedding(
        n_components=given.dim, affinity="precomputed", random_state=given.seed
    )
    return Placed(
        np.asarray(model.fit_transform(given.ties(given.weights)), dtype=np.float64), "euclidean"
    )


def ours(given: Given) -> Placed:
    """``embed(graph, dim=)``, the choice of a geometry included unless ``signature`` (p,q) is
    given.
    """
    import ultrahyperbolic as uh

    graph = uh.Graph.from_arrays(given.edges[:, 0], given.edges[:, 1], given.weights, ids=given.n)
    words: dict[str, Any] = {"threads": int(given.number("threads", 1))}
    if "signature" in given.options:
        words["p"], words["q"] = map(int, given.options["signature"].split(","))
    else:
        words["dim"] = given.dim
    if "iterations" in given.options:
        words["iterations"] = int(given.options["iterations"])
    if "popularity" in given.options:
        words["popularity"] = given.options["popularity"] == "yes"
    device = given.options.get("device", "cpu")
    embedding = uh.embed(graph, seed=given.seed, device=device, quiet=True, **words)
    geometry = embedding.geometry
    assert geometry is not None
    shape = {
        "flat": geometry.flat or 0,
        "p": geometry.p or 0,
        "q": geometry.q or 0,
        "beta": geometry.beta,
    }
    return Placed(
        np.array(embedding.points, dtype=np.float64), "geometry", shape, embedding.popularity
    )


def ring(given: Given) -> Given:
    """A small graph in place of what is given, for a moment: what it takes to import and to
    compile.
    """
    edges, options = (
        np.array([(k, (k + 1) % 30) for k in range(30)]),
        {"iterations": "2", "epochs": "1"},
    )
    return replace(given, edges=edges, n=30, weights=np.ones(30), options=given.options | options)


METHODS = {m.__name__: m for m in (wembed, gensim, node2vec, umap, spectral, ours)}


def cpu_seconds() -> float:
    """User and system time of this process so far, and of those it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_memory() -> float:
    try:
        # getrusage would count what the process that started this one held.
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=METHODS)
    parser.add_argument("graph", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dim", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    train, options = METHODS[asked.name], dict(each.split("=", 1) for each in asked.option)
    with np.load(asked.graph) as data:
        edges, weights = data["edges"].astype(np.int64), data["weights"].astype(np.float64)
        given = Given(edges, int(data["n"]), weights, asked.dim, asked.seed, options)
    warnings.simplefilter("ignore")  # of several components, and that a seed means one thread
    short = replace(given, options=given.options | {"iterations": "20"})
    train(short if train is ours else ring(given))  # untimed: what it imports and compiles
    clock, began = time.perf_counter(), cpu_seconds()
    placed = train(given)
    seconds, ended = time.perf_counter() - clock, cpu_seconds()
    used = {"seconds": seconds, "cpu": ended - began, "process_cpu": ended, "memory": peak_memory()}
    found = {
        "coordinates": placed.coordinates,
        "dissimilarity": placed.dissimilarity,
        **placed.extra,
        **used,
    }
    if placed.popularity is not None:
        found["popularity"] = placed.popularity
    np.savez(
        asked.out, allow_pickle=False, **{name: np.array(value) for name, value in found.items()}
    )


if __name__ == "__main__":
    main()
