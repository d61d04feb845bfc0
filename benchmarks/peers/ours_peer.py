"""Ours, by its public call: ``embed(graph, dim=, goal=)``, the choice of a geometry included, or ``p=, q=``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from peer import Given, Placed, main

import ultrahyperbolic as uh


def train(given: Given) -> Placed:
    """Options: ``goal``, ``signature`` (p,q) instead of a choice, ``iterations``, ``scope``, ``popularity`` (yes)."""
    graph = uh.Graph.from_arrays(given.edges[:, 0], given.edges[:, 1], given.weights, ids=given.n)
    words: dict[str, Any] = {"goal": given.options.get("goal", "balanced"), "seed": given.seed, "threads": 1}
    words["threads"] = int(given.number("threads", 1))
    if "signature" in given.options:
        words["p"], words["q"] = (int(each) for each in given.options["signature"].split(","))
    else:
        words["dim"] = given.dim
    if "iterations" in given.options:
        words["iterations"] = int(given.options["iterations"])
    if "scope" in given.options:
        words["scope"] = given.options["scope"]
    if "popularity" in given.options:
        words["popularity"] = given.options["popularity"] == "yes"
    embedding = uh.embed(graph, device="cpu", quiet=True, **words)
    geometry = embedding.geometry
    assert geometry is not None
    shape = {"flat": geometry.flat or 0, "p": geometry.p or 0, "q": geometry.q or 0, "beta": geometry.beta}
    return Placed(np.array(embedding.points, dtype=np.float64), "geometry", shape, embedding.popularity)


def short(given: Given) -> Given:
    """A few iterations of the same, which compile."""
    return replace(given, options=given.options | {"iterations": "20"})


if __name__ == "__main__":
    main(train, warm_up=short)
