"""How far samples are from the loss they stand for, and how fast they go: ``python benchmarks/sampled.py [--json]``.

The bias of the loss and of its gradient for growing samples, with intervals of 95 %, and the exponent with which they
fall; the bias of the class sums in standard errors; and ties a second.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

from ultrahyperbolic import PseudoHyperboloid, datasets
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs, RankingLoss, SampledLoss, SampleSizes, Scope
from ultrahyperbolic.objective.sampled import Draw, Estimate
from ultrahyperbolic.objective.tables import Measure
from ultrahyperbolic.pairs.kinds import kernel_space

SPACE = PseudoHyperboloid(3, 3)
TAU, EPSILON = 0.1, 0.01
MEASURE = Measure(kernel_space(SPACE, "smoothed"), TAU, EPSILON)


def points_of(n: int, device: torch.device) -> torch.Tensor:
    return SPACE.random(n, scale=0.3, generator=torch.Generator().manual_seed(0)).to(device)


def bias(pairs: RankedPairs, scope: Scope, others: list[int], draws: int) -> dict[str, object]:
    """Mean error of loss and gradient over draws, relative to their size, with half of an interval of 95 %."""
    points = points_of(pairs.n_nodes, torch.device("cpu")).requires_grad_()
    truth = RankingLoss(pairs, SPACE.pair_function("smoothed", EPSILON), TAU, scope=scope)(points)
    (gradient,) = torch.autograd.grad(truth, points)
    points, truth = points.detach(), truth.detach()
    # Along the true gradient, where what is off can be told from noise.
    tangent = SPACE.egrad2rgrad(points, gradient)
    rows = []
    for count in others:
        loss = SampledLoss(pairs, SampleSizes(pairs.n_edges, count, 4 * count), scope)
        found: list[Estimate] = [loss(points, None, loss.draw(1, k), MEASURE) for k in range(draws)]
        losses = np.array([float(f.loss / truth - 1.0) for f in found])
        along = np.array(
            [float((SPACE.egrad2rgrad(points, f.gradient) * tangent).sum() / tangent.square().sum()) for f in found]
        )
        along -= 1.0
        rows.append({
            "others": count,
            **{
                name: {
                    "bias": float(values.mean()),
                    "interval": float(1.96 * values.std(ddof=1) / draws**0.5),
                    "deviation": float(values.std(ddof=1)),
                }
                for name, values in (("loss", losses), ("gradient", along))
            },
        })  # fmt: skip
    slopes: dict[str, float | None] = {}
    for name in ("loss", "gradient"):
        # Only a bias that can be told from nothing falls with anything.
        known = [(count, row[name]) for count, row in zip(others, rows, strict=True)]
        told = [(count, abs(v["bias"])) for count, v in known if abs(v["bias"]) > v["interval"]]  # type: ignore[index]
        counts, sizes = (np.log([each[k] for each in told]) for k in (0, 1))
        slopes[name] = float(np.polyfit(counts, sizes, 1)[0]) if len(told) > 1 else None
    return {"scope": scope, "draws": draws, "rows": rows, "exponent": slopes}


def class_sums(pairs: RankedPairs, draws: int) -> dict[str, float]:
    """The bias of the sums over pairs without a tie, and over the ties of each class, in standard errors."""
    points = points_of(pairs.n_nodes, torch.device("cpu"))
    loss = SampledLoss(pairs, SampleSizes(pairs.n_edges // 4, 24))
    everything = loss.resized(SampleSizes(pairs.n_edges, pairs.n_nodes))
    truth = [part.numpy() for part in everything.class_sums(points, everything.draw(0), MEASURE)]
    found = [loss.class_sums(points, loss.draw(2, k), MEASURE) for k in range(draws)]
    errors = []
    for part, value in enumerate(truth):
        all_draws = np.array([f[part].numpy() for f in found])
        error = all_draws.std(0, ddof=1) / draws**0.5
        errors.append(np.abs(all_draws.mean(0) - value)[error > 0.0] / error[error > 0.0])
    return {"pairs": float(errors[0].max()), "ties": float(errors[1].max(initial=0.0)), "draws": draws}


def speed(n: int, m: int, sizes: SampleSizes, device: torch.device, scope: Scope) -> dict[str, object]:
    """Ties a second of drawing, loss and gradient on a random graph."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, n, (2, m))
    keys = np.unique(np.minimum(*ends) * n + np.maximum(*ends))
    keys = keys[keys // n != keys % n]
    edges = np.stack((keys // n, keys % n), 1)
    pairs = RankedPairs(n, edges, np.arange(len(edges)) // 1000 * 1000)
    points = points_of(n, device)
    dtype = torch.float64 if device.type == "cpu" else torch.float32
    loss = SampledLoss(pairs, sizes, scope, device=device, dtype=dtype)

    def iterate(count: int) -> float:
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        for k in range(count):
            draw: Draw = loss.draw(0, k)
            float(loss(points, None, draw, MEASURE).loss)
        return (time.perf_counter() - began) / count

    iterate(2)
    seconds = iterate(5)
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else None
    return {
        "nodes": n, "ties": len(edges), "batch": sizes.ties, "others": sizes.others, "scope": scope,
        "device": str(device), "seconds": seconds, "ties_per_second": min(sizes.ties, len(edges)) / seconds,
        "peak_bytes": peak,
    }  # fmt: skip


def graph_of(n: int) -> Graph:
    """Some ties of three strengths."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, 4 * n))
    keep = i != j
    return Graph.from_arrays(i[keep], j[keep], rng.integers(1, 4, keep.sum()).astype(float), ids=n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=300, help="of the graph whose bias is measured")
    parser.add_argument("--graph", choices=("random", "karate"), default="random")
    parser.add_argument("--others", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--speed", type=int, nargs=2, default=[100_000, 1_000_000], metavar=("NODES", "TIES"))
    parser.add_argument("--batch", type=int, default=1 << 14)
    parser.add_argument("--negatives", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    graph = datasets.karate() if options.graph == "karate" else graph_of(options.nodes)
    pairs = RankedPairs.of(graph)
    scopes: tuple[Scope, ...] = ("graph", "node")
    sizes, device = SampleSizes(options.batch, options.negatives), torch.device(options.device)
    result = {
        "bias": [bias(pairs, scope, options.others, options.draws) for scope in scopes],
        "class_sums": class_sums(pairs, options.draws),
        "speed": [speed(options.speed[0], options.speed[1], sizes, device, scope) for scope in scopes],
    }
    if options.json:
        print(json.dumps(result))
        return
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
