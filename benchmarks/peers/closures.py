"""Closures: how well a node's hypernyms are told from the rest, as published (directed pairs) and both ways."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from board_figures import Figures, load, save
from board_graphs import found
from graphs import Ints
from measuring import hypernyms, measured
from runs import ALL, Asked, averaged, train

from ultrahyperbolic.datasets import nouns
from ultrahyperbolic.graph import Graph


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


def closed(below: Ints, above: Ints, n: int) -> Closure:
    """The transitive closure of direct pairs."""
    return Closure(*nouns._closure(below, above, n), n)


def mammals(folder: Path) -> Closure:
    """WordNet's mammals: 1,182 synsets and 6,542 pairs."""
    keys, _, below, above = nouns._read(nouns._find(None))
    every = closed(below, above, len(keys))
    root = keys.index("mammal%1:05:00::")
    inside = np.zeros(len(keys), dtype=bool)
    inside[every.below[every.above == root]] = inside[root] = True
    kept = inside[every.below] & inside[every.above]
    places = np.cumsum(inside) - 1
    return Closure(places[every.below[kept]], places[every.above[kept]], int(inside.sum()))


def phenotypes(folder: Path) -> Closure:
    """Terms of phenotypes, child to parent."""
    with gzip.open(found(folder, "phenotypes.tsv.gz"), "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    ids = sorted({term for row in rows for term in row})
    places = {term: place for place, term in enumerate(ids)}
    below, above = np.array([[places[term] for term in row] for row in rows], dtype=np.int64).T
    return closed(below, above, len(ids))


CLOSURES: dict[str, Callable[[Path], Closure]] = {"mammals": mammals, "phenotypes": phenotypes}


def closure(names: Sequence[str], graphs: Sequence[str], asked: Asked, path: Path | None) -> Figures:
    """Train closures and rank; both protocols under ``peer.GRAPH_closure.seedK.``, the published one ``directed_``."""
    kept = load([path] if path else [])
    for graph in graphs:
        known = CLOSURES[graph](asked.shelf.folder)
        ties = known.graph(f"{graph} closure")
        for name in names:
            for seed in range(asked.seeds if ALL[name].seeded else 1):
                stem = f"{name}.{graph}_closure.seed{seed}"
                if f"{stem}.cpu" in kept and not asked.again:
                    continue
                began = time.perf_counter()
                # gensim has relations, from below to above; the others do not look at the direction.
                words = replace(asked, options={"both": "no", **asked.options})
                result = train(ALL[name], ties, seed, words, np.stack((known.below, known.above), 1))
                offsets = result.popularity
                directed = hypernyms(result.points, result.manifold, known.below, known.above, popularity=offsets)
                figures = measured(ties, result.points, result.manifold, popularity=offsets) | result.cost
                figures |= {"directed_map": directed.map, "directed_mean_rank": directed.mean_rank}
                new: Figures = {f"{stem}.{what}": value for what, value in figures.items()}
                kept = averaged((load([path]) if path else kept) | new)
                save(kept, path)
                print(
                    f"{stem}: published protocol mAP {directed.map:.3f}, mean rank {directed.mean_rank:.2f}; both ways "
                    f"mAP {figures['map']:.3f}, mean rank {figures['mean_rank']:.2f}; {figures['cpu']:.1f} s of CPU "
                    f"({time.perf_counter() - began:.0f} s)", flush=True,
                )  # fmt: skip
    return kept
