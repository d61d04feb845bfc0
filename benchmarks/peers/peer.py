"""What every peer's script shares: a graph comes in as a file, coordinates and what they cost go out as another.

A script runs in the environment of its peer, so this file needs numpy alone. The graph has ``edges`` [m, 2], ``n`` and
``weights`` [m]. What is written has ``coordinates`` [n, d], the name of their ``dissimilarity`` (``spaces.py``), and
what they cost: CPU seconds of the training itself and of the whole process, and its peak memory.
"""

from __future__ import annotations

import argparse
import re
import resource
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Given:
    """What a peer is given."""

    edges: Ints
    """[m, 2]"""
    n: int
    weights: Floats
    """[m]"""
    dim: int
    seed: int
    options: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, default: float) -> float:
        """An option that is a number."""
        return float(self.options.get(name, default))

    @property
    def both_ways(self) -> tuple[Ints, Floats]:
        """Each tie in both directions [2m, 2], and the weights [2m]."""
        return np.concatenate((self.edges, self.edges[:, ::-1])), np.concatenate((self.weights, self.weights))


@dataclass(frozen=True)
class Placed:
    """What a peer gives back."""

    coordinates: Floats
    """[n, d]; NaN of a node that the peer cannot place, which is then far from all."""
    dissimilarity: str
    extra: dict[str, float] = field(default_factory=dict)
    popularity: Floats | None = None
    """[n] what is taken from the dissimilarities of each node, where anything is."""


def ring(given: Given) -> Given:
    """A small graph in place of what is given: what it takes to compile."""
    return replace(given, edges=np.array([(k, (k + 1) % 30) for k in range(30)]), n=30, weights=np.ones(30))


def cpu_seconds() -> float:
    """User and system time of this process so far, and of those it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def peak_memory() -> float:
    """MiB: the most that this process held at once."""
    try:
        # getrusage would count what the process that started this one held.
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024.0


def main(train: Callable[[Given], Placed], *, warm_up: Callable[[Given], Given] | None = None) -> None:
    """Run a peer on the file that the command line names; one that compiles trains something small first, untimed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("graph", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dim", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args()
    options = dict(each.split("=", 1) for each in asked.option)
    with np.load(asked.graph) as data:
        edges, weights = data["edges"].astype(np.int64), data["weights"].astype(np.float64)
        given = Given(edges, int(data["n"]), weights, asked.dim, asked.seed, options)
    if warm_up is not None:
        train(warm_up(given))
    began = cpu_seconds()
    placed = train(given)
    ended = cpu_seconds()
    used = {"cpu": ended - began, "process_cpu": ended, "memory": peak_memory()}
    found = {"coordinates": placed.coordinates, "dissimilarity": placed.dissimilarity, **placed.extra, **used}
    if placed.popularity is not None:
        found["popularity"] = placed.popularity
    np.savez(asked.out, allow_pickle=False, **{name: np.array(value) for name, value in found.items()})
