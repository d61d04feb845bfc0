"""One iteration on the NIPS co-authorship graph: the exact loss against the paper's 42,000 sampled
non-edges an edge.

    python benchmarks/nips.py --json out/nips.json

Q^{3,1}, τ = 1e-4, D_γ, after 100 iterations from the paper's start. ``threads`` are those of the
exact form, ``sampled_threads`` those that torch had during the sampled. ``hot_over_cold`` is the
time of the exact objective at τ = 1, where every pair counts, over that at τ = 1e-4, where almost
none does.
"""

from typing import Any

import torch
from bench import Figures, best, finish, parser

from ultrahyperbolic import PseudoHyperboloid, datasets
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.paper.sampled import SAMPLES, ResampledEngine

BARS = {"speedup": "at least 500", "hot_over_cold": "at most 3"}


class Watched(ResampledEngine):
    """The sampled form, which tells on how many threads it was computed."""

    seen: int = 0

    def objective(self, *arguments: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The loss, and the dissimilarities of edges and of other pairs."""
        self.seen = torch.get_num_threads()
        return super().objective(*arguments)


def measure(graph: Graph, threads: int, samples: int, count: int) -> Figures:
    """The figures of a graph: ``count`` iterations of the sampled form, many of the exact one."""
    pairs, manifold = RankedPairs.of(graph), PseudoHyperboloid(3, 1)
    generator = torch.Generator().manual_seed(0)
    start = manifold.random_near_pole(
        pairs.n_nodes, epsilon=0.1, generator=generator, perturb_first=False
    )
    state = BatchState.start([start.numpy()])
    spec, hot_spec = (
        RunSpec(manifold, Schedule.constant(1000, temperature=tau, step=1e-8), "geodesic")
        for tau in (1e-4, 1.0)
    )
    cold, hot = (NumbaEngine(pairs, [each], threads=threads) for each in (spec, hot_spec))
    sampled = Watched(pairs, [spec], samples=samples, seeds=(0,), threads=threads)
    cold.advance(state, 100)
    hot.evaluate(state)
    cold_pass, hot_pass = (best(lambda e=e: e.evaluate(state), 10) for e in (cold, hot))  # type: ignore[misc]
    iteration = best(lambda: cold.advance(state, 20), 5) / 20
    theirs = best(lambda: sampled.advance(state, count), 1) / count
    iteration = min(iteration, best(lambda: cold.advance(state, 20), 5) / 20)
    return {
        "threads": threads,
        "cold_pass_ms": 1e3 * cold_pass,
        "hot_pass_ms": 1e3 * hot_pass,
        "iteration_ms": 1e3 * iteration,
        "sampled_iteration_ms": 1e3 * theirs,
        "speedup": theirs / iteration,
        "sampled_threads": sampled.seen,
        "hot_over_cold": hot_pass / cold_pass,
    }


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--threads", type=int, default=1, help="of both forms (default: 1)")
    made.add_argument("--graph", default="nips", help="another data set, to try it out")
    made.add_argument("--samples", type=int, default=SAMPLES, help="fewer, to try it out")
    made.add_argument("--sampled-iterations", type=int, default=1)
    options = made.parse_args()
    graph = datasets.load(options.graph)
    finish(
        measure(graph, options.threads, options.samples, options.sampled_iterations),
        options.json,
        BARS,
    )


if __name__ == "__main__":
    main()
