"""The graphs of the board, by name: from a folder, from the package, or made."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import Ints, found, graph_named
from graphs import GENERATED, Half, depth_below

from ultrahyperbolic import datasets, read_graph
from ultrahyperbolic.datasets import nouns
from ultrahyperbolic.graph import Graph


class Loaded(NamedTuple):
    """A graph of the board."""

    name: str
    half: Half
    graph: Graph
    depth: Ints | None
    """[n] where it is known; -1 of nodes that the root does not reach."""


def cora(folder: Path) -> tuple[Graph, None]:
    with np.load(found(folder, "cora.npz")) as data:
        return Graph.from_arrays(*data["edges"].T, ids=len(data["labels"]), repeated="error"), None


def mammals(folder: Path) -> tuple[Graph, Ints]:
    """Every synset tied with all that it is a kind of; depth counts direct steps below mammal, the
    fewest.
    """
    graph = nouns.wordnet("mammals")
    keys, _, below, above = nouns._read(nouns._find(None))
    depth = depth_below(
        zip(below.tolist(), above.tolist(), strict=True), len(keys), keys.index("mammal%1:05:00::")
    )
    places = {key: place for place, key in enumerate(keys)}
    return graph, depth[[places[str(key)] for key in graph.ids]]


def phenotype_rows(folder: Path) -> list[list[str]]:
    with gzip.open(found(folder, "phenotypes.tsv.gz"), "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines][1:]


def phenotypes(folder: Path) -> tuple[Graph, Ints]:
    """Terms tied with what they are a kind of; depth counts steps below the one term that is no
    kind of another.
    """
    graph, rows = read_graph(found(folder, "phenotypes.tsv.gz")), phenotype_rows(folder)
    (root,) = {parent for _, parent in rows} - {child for child, _ in rows}
    places = {str(node): place for place, node in enumerate(graph.ids)}
    pairs = [(places[child], places[parent]) for child, parent in rows]
    return graph, depth_below(pairs, graph.n_nodes, places[root])


READ: dict[str, Callable[[Path], tuple[Graph, Ints | None]]] = {
    "nips": lambda folder: (datasets.nips(found(folder, "nips_edges.txt")), None),
    "cora": cora,
    "mammals": mammals,
    "phenotypes": phenotypes,
}
HALVES: Mapping[Half, Sequence[str]] = {
    "looked": (
        "karate",
        "lesmis",
        "davis",
        "nips",
        "airports",
        "celegans",
        "football",
        "netscience",
    ),
    "unseen": ("dolphins", "polbooks", "adjnoun", "jazz", "cora", "mammals"),
    "apart": ("phenotypes",),
}
HALF = {name: half for half, names in HALVES.items() for name in names} | {
    n: g.half for n, g in GENERATED.items()
}


def of_half(half: str) -> list[str]:
    wanted = ("looked", "unseen") if half == "both" else (half,)
    return [name for each in wanted for name, mine in HALF.items() if mine == each]


def depths_known() -> list[str]:
    """The graphs of which the depth of nodes is known and that are not of the first half alone."""
    return ["mammals", "phenotypes", *(name for name in GENERATED if name.startswith("planted"))]


def load_graph(name: str, folder: Path = Path()) -> Loaded:
    """A graph of the board, or that of a file."""
    if name in GENERATED:
        made = GENERATED[name].make()
        return Loaded(name, HALF[name], made.graph(name), made.depth)
    if name in HALF:
        graph, depth = READ[name](folder) if name in READ else (graph_named(name, folder), None)
    elif Path(name).is_file():
        graph, depth, name = read_graph(name), None, Path(name).name.partition(".")[0]
    else:
        raise SystemExit(f"no file and no graph is called {name}: there are {', '.join(HALF)}")
    # Nodes are numbers, and so are those of all graphs here.
    weights = graph.weights if len(graph.capacities) > 1 else None
    plain = Graph.from_arrays(
        graph.edges[:, 0], graph.edges[:, 1], weights, ids=graph.n_nodes, name=name
    )
    return Loaded(name, HALF.get(name, "apart"), plain, depth)
