"""A training by samples as a script: alone, or as one of the processes that torchrun starts. Writes
what came of it.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext

import numpy as np
import torch

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.communicator import communicator, joined
from ultrahyperbolic.engines.registry import make_engine
from ultrahyperbolic.objective import RankedPairs, SampleSizes, tables

NODES, MANIFOLD = 1000, PseudoHyperboloid(2, 2)


def problem(scope):
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(0, NODES**2, 3000))
    edges = np.stack((keys // NODES, keys % NODES), 1)
    edges = edges[edges[:, 0] < edges[:, 1]]
    pairs = RankedPairs(NODES, edges, np.arange(len(edges)) // 100 * 100)
    schedule, sample = Schedule.constant(30, temperature=0.1, step=1e-3), SampleSizes(200, 20)
    return Problem(
        pairs,
        [
            RunSpec(
                MANIFOLD,
                schedule,
                "smoothed",
                optimizer,
                scope=scope,
                popularity=optimizer == "phi",
                sample=sample,
            )
            for optimizer in ("descent", "phi")
        ],
    )


def trained(scope):
    start = MANIFOLD.random(NODES, scale=0.3, generator=torch.Generator().manual_seed(0)).numpy()
    state = BatchState.start([start, start])
    engine = make_engine(problem(scope), Machine("cpu", "sampled", threads=1), exact_end=True)
    print(engine.name)
    before = engine.evaluate(state)
    losses = [engine.advance(state, 5)]
    state.points[0, 7] = state.points[0, 8]  # as a step that is taken back
    losses += [engine.advance(state, 10)]
    after = engine.estimate(state)
    losses.append(engine.advance(state, 5))
    engine.close()
    arrays = [
        *losses,
        state.points,
        state.best,
        state.offsets,
        *before[:2],
        *after[:2],
        after.offsets,
    ]
    return {f"{scope}_{k}": array for k, array in enumerate(arrays)}


def main():
    tables._AT_ONCE = 1000  # a batch has many blocks
    with joined() if "RANK" in os.environ else nullcontext():
        found = trained("graph") | trained("node")
        if communicator().rank == 0:
            np.savez(sys.argv[1], **found)


if __name__ == "__main__":
    main()
