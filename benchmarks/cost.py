"""What a training costs as graphs, dimensions, samples, devices and processes grow: ``python
benchmarks/cost.py PART``.

``scaling``: the exact objective on the CPU against nodes and coordinates, five random ties per
node. ``gpu``: the CUDA engine: an iteration on NIPS (``--data``), and the pass over all pairs
against the limit of the card. ``large``: millions of nodes: made up, trained, and judged by hidden
ties. ``whole``: the command ``embed`` on files of graphs, with its time and its measures, by one
seed or several. ``distributed``: one process against several of one thread each. ``evaluation``:
every measure of random points, five edges per node: compiled passes over the pairs beside torch's.

Slopes are those of log cost over log size. What is compared computes on the same number of threads.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import bench
import numpy as np
import torch
from bench import Figures, Floats, Ints, auc, random_edges, save, show
from bench import slope as exponent

import ultrahyperbolic
from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, Precision, RunSpec, Schedule
from ultrahyperbolic.geometry import Manifold
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.training.execution import Execution
from ultrahyperbolic.training.plan import Plan

Options = argparse.Namespace
BARS = {"nips_iteration_ms": "at most 0.1", "pairs_per_second_d5": "at least 3e11"}


def points_of(manifold: Manifold, n: int, scale: float) -> torch.Tensor:
    return manifold.random(n, scale=scale, generator=torch.Generator().manual_seed(0))


NODES = (1_000, 3_000, 10_000, 30_000)
COORDINATES = (3, 5, 10, 20, 40)


def scaling(options: Options) -> Figures:
    """The smoothed dissimilarity at two temperatures; slopes from 3,000 nodes and from five
    coordinates on.
    """
    from ultrahyperbolic.engines.numba.engine import NumbaEngine
    from ultrahyperbolic.pairs import usable_threads

    def milliseconds(n: int, d: int, tau: float) -> float:
        """The best time of value and gradient."""
        edges, manifold = random_edges(n, 5 * n), PseudoHyperboloid(d - 2, 1)
        pairs = RankedPairs.of(Graph.from_arrays(edges[:, 0], edges[:, 1], ids=n))
        schedule = Schedule.constant(1, temperature=tau, step=1e-6, epsilon=0.1)
        engine = NumbaEngine(pairs, [RunSpec(manifold, schedule, "smoothed")])
        state = BatchState.start([points_of(manifold, n, 0.7).numpy()])
        engine.evaluate(state)
        return 1e3 * bench.best(lambda: engine.evaluate(state), 3 if n < 30_000 else 1)

    nodes = options.sizes or NODES
    figures: Figures = {"threads": usable_threads()}
    for tau in (0.01, 1e-4):
        times = [milliseconds(n, 5, tau) for n in nodes]
        figures |= {f"ms_n{n}_tau{tau:g}": ms for n, ms in zip(nodes, times, strict=True)}
        figures[f"slope_n_tau{tau:g}"] = exponent(nodes[1:], times[1:])
    wide = [milliseconds(min(3_000, max(nodes)), d, 0.01) for d in COORDINATES]
    figures |= {f"ms_d{d}": ms for d, ms in zip(COORDINATES, wide, strict=True)}
    figures["slope_d"] = exponent(COORDINATES[1:], wide[1:])
    return figures


# Operations of one pair: three per coordinate (difference, square, gradient), and these for D_γ
# with its slope, exp and what adds them up, at 128 a multiprocessor and clock.
OPERATIONS = 42
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")


def gpu(options: Options) -> Figures:
    """Needs torch, triton and numpy alone; rates are of ordered pairs, the sweep for the nearest
    pair included.
    """
    if not torch.cuda.is_available():
        raise SystemExit("this part needs a CUDA device, and torch finds none")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    figures = gpu_nips(options.data) | gpu_limit()
    show(figures, BARS)
    return figures


def device_milliseconds(work: Callable[[], object], repeats: int = 5) -> float:
    work()
    times = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop))
    return float(min(times))


def pass_milliseconds(n: int, d: int, repeats: int, *, smoothed: bool = False) -> float:
    """A pass over all pairs in d coordinates, two of them time, at τ = 1/2."""
    from ultrahyperbolic.engines.triton.pair_functions import GEODESIC, SMOOTHED
    from ultrahyperbolic.engines.triton.passes import Passes

    cuda: Any = {"device": "cuda"}
    kind = int((SMOOTHED if smoothed else GEODESIC).value)
    passes = Passes(n, random_edges(n, 5 * n), 1, d, 2, kind, torch.float32, torch.device("cuda"))
    points = points_of(PseudoHyperboloid(d - 2, 1), n, 0.7)
    factors = torch.full((1, d), 0.25, dtype=torch.float32, **cuda)
    factors[0, :2] *= -1.0
    schedule = torch.tensor([[[0.5], [0.1], [1e-6], [1e9]]], dtype=torch.float64, **cuda)
    radius, iteration = (
        torch.ones(1, dtype=torch.float64, **cuda),
        torch.zeros(1, dtype=torch.int64, **cuda),
    )
    pair_points = passes.pair_points(points.T.contiguous().to("cuda")[None], radius).contiguous()
    return device_milliseconds(
        partial(passes.launch, pair_points, factors, radius, schedule, iteration), repeats
    )


def gpu_nips(path: Path | None) -> Figures:
    """An iteration on the co-authors (Q^{3,1}, τ = 1e-4, D_γ), replayed as a captured graph."""
    from ultrahyperbolic.engines.triton.engine import TritonEngine

    if path is None:
        print("  no --data: the iteration on NIPS is left out")
        return {}
    rows, manifold = np.loadtxt(path), PseudoHyperboloid(3, 1)
    first, second = rows[:, :2].astype(np.int64).T - 1
    pairs = RankedPairs.of(
        Graph.from_arrays(first, second, rows[:, 2], ids=int(max(first.max(), second.max())) + 1)
    )
    start = manifold.random_near_pole(
        pairs.n_nodes, epsilon=0.1, generator=torch.Generator().manual_seed(0)
    ).numpy()
    figures: Figures = {}
    for precision, suffix in zip(PRECISIONS, ("", "_float64"), strict=True):
        spec = RunSpec(manifold, Schedule.constant(11_000, temperature=1e-4, step=1e-8), "geodesic")
        engine, state = TritonEngine(pairs, [spec], precision=precision), BatchState.start([start])
        engine.advance(state, 100)
        figures[f"nips_iteration_ms{suffix}"] = (
            device_milliseconds(partial(engine.advance, state, 1000)) / 1000
        )
    return figures


def gpu_limit() -> Figures:
    """Rates at 100,000 nodes, and the share of what the card's operations allow."""
    card, n, figures = torch.cuda.get_device_properties(0), 100_000, Figures()
    clock = getattr(card, "clock_rate", 1_980_000) * 1e3
    for d in (5, 10, 16):
        figures[f"pass_ms_d{d}"] = pass_milliseconds(n, d, 3)
        figures[f"pairs_per_second_d{d}"] = n * (n - 1) / figures[f"pass_ms_d{d}"] * 1e3
        figures[f"limit_pairs_per_second_d{d}"] = (
            card.multi_processor_count * 128 * clock / (3 * d + OPERATIONS)
        )
        figures[f"share_of_limit_d{d}"] = (
            figures[f"pairs_per_second_d{d}"] / figures[f"limit_pairs_per_second_d{d}"]
        )
        smoothed = pass_milliseconds(n, d, 3, smoothed=True)
        figures[f"pairs_per_second_smoothed_d{d}"] = n * (n - 1) / smoothed * 1e3
    return figures


TIES_PER_NODE, CLASSES = 10, 5


def large(options: Options) -> Figures:
    """A graph on a ring, of which every fiftieth tie is hidden, trained as ``embed`` does and
    judged.
    """
    from ultrahyperbolic.evaluation import from_samples

    device, figures = torch.device(options.device), Figures()
    nodes, at = options.nodes or 1_000_000, time.perf_counter()

    def clock(name: str, since: float) -> float:
        figures[f"seconds_{name}"] = time.perf_counter() - since
        return time.perf_counter()

    ends, weights = ties_on_a_ring(nodes, options.ties, device)
    at, rng = clock("generate", at), np.random.default_rng(1)
    hidden = rng.random(len(ends)) < 0.02
    kept, asked = (
        ends[~hidden],
        np.concatenate((ends[hidden][:100_000], rng.integers(nodes, size=(100_000, 2)))),
    )
    graph = Graph.from_arrays(kept[:, 0], kept[:, 1], weights[~hidden], ids=nodes, name="power law")
    figures |= {
        "nodes": graph.n_nodes,
        "ties": graph.n_edges,
        "largest_degree": int(graph.degree.max()),
    }
    popular = graph.degree[asked].astype(float).prod(1)
    del ends, kept, weights
    at = clock("graph", at)
    plan = Plan.of(signature=options.signature, iterations=options.iterations, device=device.type)
    execution = Execution(plan, graph)
    if options.others:
        parts = max(1, nodes // options.others[0])
        execution.configs = [replace(config, parts=parts) for config in execution.configs]
    embedding = execution.train(measures=False)
    at, seconds = clock("train_in_all", at), embedding.run["timing"]["seconds"]
    passes = embedding.run["iterations"]
    figures |= {"passes": passes, "parts": execution.configs[0].parts, "seconds_train": seconds}
    figures["ties_per_second"] = graph.n_edges * passes / seconds
    points = torch.from_numpy(embedding.points.copy()).to(device)
    figures |= from_samples(
        graph, points, embedding.manifold, popularity=embedding.popularity
    ).measures
    lengths = embedding.manifold.dissimilarity(*points[asked.T]).cpu().numpy()
    if embedding.popularity is not None:
        lengths -= embedding.popularity[asked].sum(1)
    tied = np.arange(len(asked)) < len(asked) - 100_000
    figures |= {
        "auc_hidden_ties": auc(-lengths, tied),
        "auc_preferential_attachment": auc(popular, tied),
    }
    clock("judge", at)
    figures["peak_host_gib"] = bench.peak_bytes() / 2**30
    if device.type == "cuda":
        figures["peak_device_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return figures


def made_up(name: str, options: Options) -> Floats:
    """The rows of a file: ``ba`` is a Barabási–Albert graph, ``ring`` that of ``large``."""
    nodes = options.nodes or 50_000
    if name == "ring":
        return np.column_stack(ties_on_a_ring(nodes, options.ties, torch.device("cpu")))
    import networkx as nx

    return np.array(nx.barabasi_albert_graph(nodes, 5, seed=0).edges)


def whole(options: Options) -> Figures:
    """The command ``embed``, measures and report included, for each file, ``ba`` or ``ring``, and
    each seed.

    With ``--against`` Welch's t with the figures of another run, say on another device.
    """
    figures, keys = Figures(), ("map", "recall_at_1", "tie_order", "spearman_all")
    for text, seed in product(options.graphs or ["ba"], range(options.seeds)):
        with tempfile.TemporaryDirectory() as name:
            path, label = (
                Path(text),
                Path(text).name.partition(".")[0] + f"_seed{seed}" * (options.seeds > 1),
            )
            if text in ("ba", "ring"):
                np.savetxt(path := Path(name, f"{text}.tsv"), made_up(text, options), "%d", "\t")
            began, cpu = time.perf_counter(), sum(os.times()[2:4])
            line = [
                sys.executable,
                "-m",
                "ultrahyperbolic",
                "embed",
                str(path),
                "-o",
                f"{name}/out",
                f"--seed={seed}",
            ]
            line += (
                ["--signature", ",".join(map(str, options.signature))] if options.signature else []
            )
            subprocess.run([*line, "--device", options.device], check=True, stdout=sys.stderr)
            figures[f"{label}_seconds"] = time.perf_counter() - began
            figures[f"{label}_cpu_seconds"] = sum(os.times()[2:4]) - cpu
            run = json.loads(Path(name, "out", "run.json").read_text(encoding="utf-8"))
            figures[f"{label}_iterations"] = run["iterations"]
            figures |= {
                f"{label}_{key}": run["measures"][key] for key in keys if key in run["measures"]
            }
    other = json.loads(options.against.read_text(encoding="utf-8")) if options.against else {}
    for key in [key for key in figures if "_seed0_" in key]:
        seeds = [key.replace("_seed0", f"_seed{seed}") for seed in range(options.seeds)]
        runs = [[each[key] for key in seeds] for each in (figures, other) if key in each]
        means, errors = np.mean(runs, 1), np.std(runs, 1, ddof=1)
        name = key.replace("_seed0", "")
        figures |= {f"{name}_mean": means[0], f"{name}_sd": errors[0]}
        if len(runs) > 1:
            figures[f"{name}_t"] = (
                (means[0] - means[1]) / math.hypot(*errors) * math.sqrt(options.seeds)
            )
    return figures


def ties_on_a_ring(n: int, m: int, device: torch.device, seed: int = 0) -> tuple[Ints, Floats]:
    """About m distinct ties [m, 2] of n nodes, and their strengths [m]: the first end is drawn by a
    power law, the second at a distance along the ring whose logarithm is uniform, the most popular
    of four. Near ends are stronger.
    """
    generator = torch.Generator(device).manual_seed(seed)

    def uniform() -> torch.Tensor:
        return torch.rand(m, generator=generator, device=device, dtype=torch.float64)

    rank = torch.randperm(n, generator=generator, device=device)
    chances = (rank + 1.0).double() ** -0.6
    first = torch.searchsorted(chances.cumsum(0) / chances.sum(), uniform()).clamp_max_(n - 1)
    nearness = uniform()  # 1 for next to each other, 0 for half the ring apart
    steps = ((n / 2.0) ** (1.0 - nearness)).long() * torch.where(uniform() < 0.5, -1, 1)
    second = (first + steps) % n
    for k in range(1, 4):
        other = (first + steps + k * steps.sign()) % n
        second = torch.where(rank[other] < rank[second], other, second)
    keys = torch.minimum(first, second) * n + torch.maximum(first, second)
    # The strength goes along in the last digit, so that one sort serves both.
    keys = torch.unique(keys * CLASSES + (nearness * CLASSES).long().clamp_max(CLASSES - 1))
    strength, keys = keys % CLASSES, keys // CLASSES
    kept = keys // n != keys % n
    kept[1:] &= keys[1:] != keys[:-1]
    keys, strength = keys[kept], strength[kept]
    return torch.stack((keys // n, keys % n), 1).cpu().numpy(), (
        1.0 + strength.double()
    ).cpu().numpy()


# Where a process writes the processor's time that it took.
CPU_FOLDER = "ULTRAHYPERBOLIC_BENCHMARK_CPU"
SHORT = 2


def distributed(options: Options) -> Figures:
    """``embed --threads 1`` against ``torchrun`` with processes of one thread each: do losses
    agree, and how long?

    ``speedup_2_cpu`` is the processor's time of one process alone over that of the busiest of two,
    without starting.
    """
    options.nodes, options.iterations = options.nodes or 10_000, options.iterations or 200
    with tempfile.TemporaryDirectory() as name:
        folder, graph = Path(name), Path(name, "ties.tsv")
        edges = random_edges(options.nodes, options.nodes * options.degree // 2)
        np.savetxt(graph, np.column_stack((edges, 1 + np.arange(len(edges)) % 4)), "%d", "\t")

        def both(count: int) -> tuple[float, list[float], list[float]]:
            """Seconds and losses of a training, and the processor's time of its iterations in each
            process.
            """
            _, _, short = torchrun(graph, folder / f"short{count}", SHORT, count, options)
            seconds, losses, whole = torchrun(
                graph, folder / f"of{count}", options.iterations, count, options
            )
            return seconds, losses, [a - b for a, b in zip(whole, short, strict=True)]

        torchrun(graph, folder / "compiled", SHORT, 1, options)
        alone, expected, (cpu,) = both(1)
        figures: Figures = {"nodes": options.nodes, "iterations": options.iterations}
        figures |= {"seconds_alone": alone, "cpu_alone": cpu}
        for count in sorted({*options.processes} - {1}):  # one is what the others are compared with
            seconds, losses, used = both(count)
            figures |= {f"seconds_{count}": seconds, f"speedup_{count}": alone / seconds}
            figures |= {f"cpu_{count}_process_{k}": each for k, each in enumerate(used)}
            figures |= {
                f"speedup_{count}_cpu": cpu / max(used),
                f"same_losses_{count}": losses == expected,
            }
    return figures


def torchrun(
    graph: Path, folder: Path, iterations: int, processes: int, options: Options
) -> tuple[float, list[float], list[float]]:
    """Seconds of a training, its losses, and the processor's seconds of each process."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    line = [
        sys.executable,
        *(launcher if processes > 1 else []),
        __file__,
        "embed",
        str(graph),
        "-o",
        str(folder),
    ]
    line += ["--signature", "3,1", "--iterations", str(iterations), "--stop", "iterations"]
    line += [
        "--threads",
        "1",
        "--no-report",
        "--quiet",
        "--device",
        options.device,
    ]
    if options.device == "cpu":
        line += ["--preset", "paper"]
    cpu = folder.with_suffix(".cpu")
    cpu.mkdir()
    source = str(Path(ultrahyperbolic.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", CPU_FOLDER: str(cpu)}
    subprocess.run(line, check=True, env=environment)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    used = [float((cpu / str(k)).read_text(encoding="ascii")) for k in range(processes)]
    return record["timing"]["seconds"], record["loss"], used


def evaluation(options: Options) -> Figures:
    """Both backends evaluate a smaller graph in turn, the fastest counts; a first graph loads the
    compiled passes.
    """
    from ultrahyperbolic.evaluation import evaluate
    from ultrahyperbolic.pairs import Backend, usable_threads

    space = PseudoHyperboloid(3, 1)

    def random_graph(nodes: int) -> tuple[Graph, torch.Tensor]:
        rng = np.random.default_rng(0)
        i, j = rng.permutation(random_edges(nodes, 10 * nodes))[: 5 * nodes].T
        graph = Graph.from_arrays(i, j, rng.integers(1, 50, len(i)).astype(float), ids=nodes)
        return graph, points_of(space, nodes, 1.0)

    def seconds(graph: Graph, points: torch.Tensor, backend: Backend, repeats: int = 1) -> float:
        return bench.best(lambda: evaluate(graph, points, space, backend=backend), repeats)

    torch.set_num_threads(usable_threads())  # what the compiled passes take
    load = seconds(*random_graph(50), "numba")
    smaller, larger = random_graph(options.both), random_graph(options.nodes or 12_000)
    rounds = [
        (seconds(*smaller, "numba"), seconds(*smaller, "reference")) for _ in range(options.repeats)
    ]
    compiled, reference = map(min, zip(*rounds, strict=True))
    return {
        "threads": usable_threads(),
        "reference_threads": torch.get_num_threads(),
        "load_seconds": load,
        "both_nodes": options.both,
        "both_edges": smaller[0].n_edges,
        "reference_seconds": reference,
        "compiled_seconds": compiled,
        "speedup": reference / compiled,
        "nodes": larger[0].n_nodes,
        "edges": larger[0].n_edges,
        "seconds": seconds(*larger, "numba", options.repeats),
    }


def embed_command() -> None:
    """Be the command, as a process of a training, and write down the time of the processor."""
    from ultrahyperbolic.cli import main as run

    try:
        run()
    finally:
        path = Path(os.environ[CPU_FOLDER]) / os.environ.get("RANK", "0")
        path.write_text(str(time.process_time()), encoding="ascii")


PARTS: dict[str, Callable[[Options], Figures]] = {
    "scaling": scaling,
    "gpu": gpu,
    "large": large,
    "whole": whole,
    "distributed": distributed,
    "evaluation": evaluation,
}
# What a part needs in place of the common defaults.
DEFAULTS: dict[str, dict[str, Any]] = {
    "distributed": {"device": "cpu"},
}


def main() -> None:
    made = bench.parser(__doc__)
    made.add_argument("part", choices=PARTS)
    made.add_argument("graphs", nargs="*", help="of whole: files")
    made.add_argument("--seeds", type=int, default=1, help="of whole")
    made.add_argument(
        "--against", type=Path, metavar="JSON", help="of whole: what it wrote elsewhere"
    )
    made.add_argument("--data", type=Path, help="of gpu: nips_edges.txt")
    made.add_argument("--sizes", type=int, nargs="+", help="of scaling: in nodes")
    made.add_argument(
        "--nodes",
        type=int,
        help="large 1,000,000, distributed 10,000, evaluation 12,000",
    )
    made.add_argument("--ties", type=int, default=10_000_000, help="of large and a ring")
    made.add_argument(
        "--others", type=int, nargs="+", help="that a node meets; of large as embed has it"
    )
    made.add_argument("--iterations", type=int, help="of distributed 200, else as embed takes")
    made.add_argument("--signature", type=int, nargs=2, help="of large, whole; as embed has it")
    made.add_argument("--device", help="cpu or cuda")
    made.add_argument(
        "--both",
        type=int,
        default=3_000,
        help="of evaluation: nodes of the graph for both backends",
    )
    made.add_argument("--repeats", type=int, default=3, help="of evaluation")
    made.add_argument("--degree", type=int, default=8, help="of distributed: ties of a node")
    made.add_argument("--processes", type=int, nargs="+", default=[2], help="of distributed")
    options = made.parse_args()
    defaults = {"device": "cuda" if torch.cuda.is_available() else "cpu"}
    for name, value in (defaults | DEFAULTS.get(options.part, {})).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    figures = PARTS[options.part](options)
    if options.part != "gpu":
        show(figures)
    save(figures, options.json)


if __name__ == "__main__":
    embed_command() if CPU_FOLDER in os.environ else main()
