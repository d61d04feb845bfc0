"""How far samples are from the loss they stand for, and how fast they go.

``python benchmarks/sampled.py [--json FILE]``. The bias of the loss and of its gradient for growing samples, with
intervals of 95 %, and the exponent with which they fall; the bias of the class sums in standard errors; and ties a
second.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

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


def bias(pairs: RankedPairs, scope: Scope, others: list[int], draws: int) -> dict[str, float | None]:
    """Mean error of loss and gradient over draws, relative to their size, with half of an interval of 95 %."""
    points = points_of(pairs.n_nodes, torch.device("cpu")).requires_grad_()
    truth = RankingLoss(pairs, SPACE.pair_function("smoothed", EPSILON), TAU, scope=scope)(points)
    (gradient,) = torch.autograd.grad(truth, points)
    points, truth = points.detach(), truth.detach()
    # Along the true gradient, where what is off can be told from noise.
    tangent = SPACE.egrad2rgrad(points, gradient)
    figures: dict[str, float | None] = {}
    told: dict[str, list[tuple[int, float]]] = {"loss": [], "gradient": []}
    for count in others:
        loss = SampledLoss(pairs, SampleSizes(pairs.n_edges, count, 4 * count), scope)
        found: list[Estimate] = [loss(points, None, loss.draw(1, k), MEASURE) for k in range(draws)]
        losses = np.array([float(f.loss / truth - 1.0) for f in found])
        along = np.array(
            [float((SPACE.egrad2rgrad(points, f.gradient) * tangent).sum() / tangent.square().sum()) for f in found]
        )
        for name, values in (("loss", losses), ("gradient", along - 1.0)):
            mean, deviation = float(values.mean()), float(values.std(ddof=1))
            interval = 1.96 * deviation / draws**0.5
            about = f"{scope}_{name}"
            figures |= {f"{about}_bias_{count}": mean, f"{about}_interval_{count}": interval}
            figures[f"{about}_deviation_{count}"] = deviation
            if abs(mean) > interval:  # only a bias that can be told from nothing falls with anything
                told[name].append((count, abs(mean)))
    for name, known in told.items():
        counts, sizes = (np.log([each[k] for each in known]) for k in (0, 1))
        figures[f"{scope}_{name}_exponent"] = float(np.polyfit(counts, sizes, 1)[0]) if len(known) > 1 else None
    return figures


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
    return {"class_sums_pairs": float(errors[0].max()), "class_sums_ties": float(errors[1].max(initial=0.0))}


def speed(n: int, m: int, sizes: SampleSizes, device: torch.device, scope: Scope) -> dict[str, float | None]:
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
        f"{scope}_seconds": seconds,
        f"{scope}_ties_per_second": min(sizes.ties, len(edges)) / seconds,
        f"{scope}_peak_bytes": peak,
    }


def graph_of(n: int) -> Graph:
    """Some ties of three strengths."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, 4 * n))
    keep = i != j
    return Graph.from_arrays(i[keep], j[keep], rng.integers(1, 4, keep.sum()).astype(float), ids=n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE, under flat keys")
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
    result: dict[str, float | str | None] = {
        "draws": options.draws, "nodes": options.speed[0], "ties": options.speed[1], "batch": options.batch,
        "others": options.negatives, "device": str(device),
    }  # fmt: skip
    for scope in scopes:
        result |= bias(pairs, scope, options.others, options.draws)
    result |= class_sums(pairs, options.draws)
    for scope in scopes:
        result |= speed(options.speed[0], options.speed[1], sizes, device, scope)
    print("\n".join(f"{name}: {value}" for name, value in result.items()))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
