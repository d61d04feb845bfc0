"""The loss as the authors computed it on a large graph: for each edge, a new sample of the
non-edges.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..checks import check_count
from ..embedding import Embedding
from ..embedding.record import Result, RunRecord, Timing
from ..engines.base import BatchState, Machine
from ..engines.callbacks import guard
from ..engines.reference import ReferenceEngine, pair_function
from ..engines.registry import find_device
from ..graph import Graph
from ..loop import Progress, run
from ..objective import RankedPairs
from ..training.config import TrainingConfig
from ..training.train import problem_of

SAMPLES = 42_000
# Draws made at once: this bounds the memory.
_DRAWN_AT_ONCE = 4_000_000


@dataclass
class ResampledEngine(ReferenceEngine):
    """Eq. 17 with the weaker set of an edge its weaker edges and ``samples`` non-edges, drawn with
    replacement.

    They are drawn for each edge at each iteration, and depend only on the seed and the iteration.
    """

    name: str = "sampled"
    samples: int = SAMPLES
    seeds: Sequence[int] = ()  # [B] one for each run

    def objective(
        self,
        run: int,
        points: Tensor,
        iteration: int,
        parts: int,
        offsets: Tensor | None,
        spring: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The loss, and the dissimilarities of edges and of other pairs."""
        measured, spec = self._losses[run], self.specs[run]
        measured.dissimilarity = pair_function(spec, iteration)
        edges, nonedges = measured.distances(points, offsets, spring)
        tau = float(spec.schedule.temperature[iteration])
        generator = torch.Generator(points.device).manual_seed(
            1_000_003 * self.seeds[run] + iteration
        )
        loss = sampled_loss(self.pairs, -edges / tau, -nonedges / tau, self.samples, generator)
        return loss, edges.detach(), nonedges.detach()


def sampled_loss(
    pairs: RankedPairs, edges: Tensor, nonedges: Tensor, samples: int, generator: torch.Generator
) -> Tensor:
    """The loss from the scores -d/τ of the edges [m], weakest class first, and of the non-edges
    [pairs - m].

    There are fewer non-edges than draws, so each is measured once. With Z_k the sum over e_k, its
    weaker edges and its draws, draw i of e_k has the slope exp(score_i)/Z_k; the slopes of all
    draws of a non-edge are added up here, and autograd meets it once.
    """
    weaker = torch.from_numpy(pairs.weaker).to(edges.device)
    nothing = edges.new_full((1,), -torch.inf)
    lighter = torch.cat((nothing, torch.logcumsumexp(edges, dim=0)))[weaker]
    own, scores = torch.logaddexp(edges, lighter).detach(), nonedges.detach()
    sums, slopes = torch.empty_like(own), torch.zeros_like(scores)
    at_once = max(1, _DRAWN_AT_ONCE // samples)
    for first in range(0, len(own), at_once):
        rows = slice(first, min(first + at_once, len(own)))
        drawn = torch.randint(
            len(scores), (rows.stop - first, samples), generator=generator, device=own.device
        )
        values = scores[drawn]
        sums[rows] = torch.logsumexp(values, dim=1)
        total = torch.logaddexp(own[rows], sums[rows])
        slopes.index_add_(0, drawn.view(-1), (values - total[:, None]).exp_().view(-1))
    excess = torch.logaddexp(lighter, sums) - edges
    loss = torch.logaddexp(torch.zeros_like(excess), excess).sum()
    through = slopes @ nonedges
    return loss + (through - through.detach())


def embed_sampled(
    graph: Graph,
    config: TrainingConfig,
    place: Machine,
    *,
    quiet: bool = False,
    callback: Callable[[Progress[BatchState]], object],
) -> Embedding:
    """Train on the sampled loss, on one thread by default; after an iteration, print the expected
    time to stderr.
    """
    device = find_device(place.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    threads = 1 if place.threads is None else check_count("threads", place.threads, 1)
    engine = ResampledEngine(
        *problem_of(graph, [config]), device=device, seeds=[config.seed], threads=threads
    )

    def tell(progress: Progress[BatchState]) -> None:
        if progress.iteration == 1 and not quiet:
            minutes = progress.seconds * progress.total / 60
            whole = f"{minutes / 60:.0f} hours" if minutes > 120 else f"{minutes:.0f} minutes"
            logging.getLogger("ultrahyperbolic").warning(
                f"{SAMPLES:,} samples per tie: {progress.seconds:.1f} s an iteration, about "
                f"{whole} for the {progress.total:,} iterations of this training"
            )
        callback(progress)

    state = BatchState.start([config.starting_points(graph)])
    taking_back = guard(engine.specs, state, compare=config.step_back)
    outcome = run(engine, state, config.iterations, callbacks=[taking_back, tell])
    best = float(state.record["best_loss"][0])
    record = RunRecord(
        result=Result(outcome.losses.shape[1], best, steps_back=int(state.steps_back[0])),
        timing=Timing(seconds=outcome.seconds, backend=f"{engine.name}, {device.type}"),
    )
    manifold = config.manifold()
    return Embedding(graph.ids, state.best[0, :, : manifold.ambient_dim], manifold, record, graph)
