"""The graphs of the board, by name: from a folder and the package, from a packed file, or made."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from graphs import GENERATED, Arrays, Half, Ints, depth_below

from ultrahyperbolic.graph import Graph

LEADERS = ("1", "34")


class Loaded(NamedTuple):
    """A graph of the board."""

    name: str
    half: Half
    graph: Graph
    depth: Ints | None


@dataclass(frozen=True)
class Source:
    """Where a graph comes from; what is not generated needs more than torch and numpy."""

    half: Half
    read: Callable[[Path], Arrays]
    generated: bool = False


def from_table(name: str) -> Callable[[Path], Arrays]:
    def read(folder: Path) -> Arrays:
        from ultrahyperbolic import read_graph

        return Arrays.of(read_graph(found(folder, f"{name}.tsv.gz")))

    return read


def found(folder: Path, name: str) -> Path:
    """A file of the folder, or of its ``graphs``."""
    for path in (folder / name, folder / "graphs" / name):
        if path.exists():
            return path
    raise SystemExit(f"{folder} has no {name}: name a folder that has it with --folder")


def of_package(name: str) -> Callable[[Path], Arrays]:
    def read(folder: Path) -> Arrays:
        from ultrahyperbolic import datasets

        return Arrays.of(datasets.load(name))

    return read


def nips(folder: Path) -> Arrays:
    from ultrahyperbolic import datasets

    return Arrays.of(datasets.nips(found(folder, "nips_edges.txt")))


def cora(folder: Path) -> Arrays:
    with np.load(found(folder, "cora.npz")) as data:
        graph = Graph.from_arrays(*data["edges"].T, ids=len(data["labels"]), repeated="error")
    return Arrays.of(graph)


def mammals(folder: Path) -> Arrays:
    """Every synset tied with all that it is a kind of; depth counts direct steps below mammal, the fewest."""
    from ultrahyperbolic.datasets import nouns

    graph = nouns.wordnet("mammals")
    keys, _, below, above = nouns._read(nouns._find(None))
    depth = depth_below(zip(below.tolist(), above.tolist(), strict=True), len(keys), keys.index("mammal%1:05:00::"))
    places = {key: place for place, key in enumerate(keys)}
    return Arrays.of(graph, depth[[places[str(key)] for key in graph.ids]])


def phenotypes(folder: Path) -> Arrays:
    """Terms tied with what they are a kind of; depth counts steps below the one term that is no kind of another."""
    from ultrahyperbolic import read_graph

    path = found(folder, "phenotypes.tsv.gz")
    graph = read_graph(path)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    (root,) = {parent for _, parent in rows} - {child for child, _ in rows}
    places = {str(node): place for place, node in enumerate(graph.ids)}
    pairs = [(places[child], places[parent]) for child, parent in rows]
    return Arrays.of(graph, depth_below(pairs, graph.n_nodes, places[root]))


def generated(name: str) -> Source:
    known = GENERATED[name]
    return Source(known.half, lambda folder: known.make(), generated=True)


_TABLES: dict[Half, Sequence[str]] = {
    "looked": ("airports", "celegans", "football", "netscience"),
    "unseen": ("dolphins", "polbooks", "adjnoun", "jazz"),
}
SOURCES: dict[str, Source] = {
    "karate": Source("looked", of_package("karate")),
    "lesmis": Source("looked", of_package("lesmis")),
    "davis": Source("looked", of_package("davis")),
    "nips": Source("looked", nips),
    **{name: Source(half, from_table(name)) for half, names in _TABLES.items() for name in names},
    "cora": Source("unseen", cora),
    "mammals": Source("unseen", mammals),
    "phenotypes": Source("apart", phenotypes),
    **{name: generated(name) for name in GENERATED},
}


def of_half(half: str) -> list[str]:
    """The names of a half, or of both."""
    wanted = ("looked", "unseen") if half == "both" else (half,)
    return [name for each in wanted for name, source in SOURCES.items() if source.half == each]


def depths_known() -> list[str]:
    """The graphs of which the depth of nodes is known and that are not of the first half alone."""
    return ["mammals", "phenotypes", *(name for name in GENERATED if name.startswith("planted"))]


class Shelf:
    """Where graphs are taken from: a packed file where one is given, else a folder."""

    def __init__(self, folder: Path | None, packed: Path | None = None) -> None:
        self.folder = Path() if folder is None else folder
        self.packed = None if packed is None else np.load(packed)
        if self.packed is not None:
            self.names = json.loads(str(self.packed["names"]))

    def load(self, name: str) -> Loaded:
        """A graph by its name."""
        if name not in SOURCES:
            raise SystemExit(f"no graph is called {name}: there are {', '.join(SOURCES)}")
        arrays = SOURCES[name].read(self.folder) if self.packed is None else self._unpacked(name)
        return Loaded(name, SOURCES[name].half, arrays.graph(name), arrays.depth)

    def _unpacked(self, name: str) -> Arrays:
        if name not in self.names:
            raise SystemExit(f"the packed file has no {name}")
        assert self.packed is not None
        part = {what: self.packed[f"{name}/{what}"] for what in self.names[name]}
        return Arrays(part["edges"], int(part["n"]), part.get("weights"), part.get("depth"))


def pack(shelf: Shelf, path: Path, names: Sequence[str]) -> None:
    """Write graphs into one file that numpy alone can read."""
    kept: dict[str, Any] = {}
    index: dict[str, list[str]] = {}
    for name in names:
        arrays = SOURCES[name].read(shelf.folder)
        index[name] = [what for what, value in arrays._asdict().items() if value is not None]
        kept |= {f"{name}/{what}": np.asarray(getattr(arrays, what)) for what in index[name]}
        print(f"  {name}: {arrays.n} nodes, {len(arrays.edges)} ties", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        np.savez_compressed(file, names=np.array(json.dumps(index)), **kept)
