"""Long trainings: how far points drift off the manifold, and whether memory grows.

python benchmarks/soak.py karate --json out/soak_karate.json
python benchmarks/soak.py nips --json out/soak_nips.json
"""

import time
from pathlib import Path

import numpy as np
from bench import Figures, Floats, finish, parser

from ultrahyperbolic import datasets
from ultrahyperbolic.engines.base import BatchState, Machine
from ultrahyperbolic.loop import Progress
from ultrahyperbolic.progress import bar
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.train import embed_many

ITERATIONS = {"karate": 1_000_000, "nips": 10_000}


def resident() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def drift(points: Floats, time_dimensions: int, beta: float) -> float:
    """The largest |⟨x, x⟩ - β| / ‖x‖² of points [..., d], in more digits than float64 has."""
    squares = np.square(points.astype(np.longdouble))
    total = squares.sum(-1)
    inner = total - 2.0 * squares[..., :time_dimensions].sum(-1)
    return float((np.abs(inner - beta) / total).max())


def soak(name: str, iterations: int, threads: int | None) -> Figures:
    config = TrainingConfig(p=3, q=1, beta=-1.0, iterations=iterations)
    graph = datasets.load(name)
    worst, counted = 0.0, 0
    memory: list[float] = []
    with bar(f"soak {name}", iterations) as update:

        def look(progress: Progress[BatchState]) -> None:
            nonlocal worst, counted
            worst = max(
                worst, drift(progress.state.points, 2, -1.0), drift(progress.state.best, 2, -1.0)
            )
            counted += 1
            if progress.iteration * 10 >= iterations * (len(memory) + 1):
                memory.append(resident())
            update(progress.iteration, f"drift {worst:.1e}")

        started = time.monotonic()
        (found,) = embed_many(
            graph, [config], Machine(threads=threads), measures=False, callbacks=[look]
        )
        seconds = time.monotonic() - started
    run = found.run
    kept: Figures = {what: run[what] for what in ("iterations", "nonfinite", "steps_back")}
    kept |= {"graph": name, "looks": counted, "largest_drift": worst, "seconds": seconds}
    mib = {
        "after_a_tenth": memory[0],
        "at_the_end": memory[-1],
        "of_losses": 8 * 0.9 * iterations / 2**20,
    }
    return kept | {f"mib_{what}": value for what, value in mib.items()}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("graph", choices=sorted(ITERATIONS))
    made.add_argument(
        "--iterations", type=int, help="(default: a million of karate, 10,000 of nips)"
    )
    made.add_argument("--threads", type=int)
    options = made.parse_args()
    finish(
        soak(options.graph, options.iterations or ITERATIONS[options.graph], options.threads),
        options.json,
    )


if __name__ == "__main__":
    main()
