"""What it costs: CPU time of the command against before and on a terminal, and the choice of a geometry."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from board_before import environment
from board_figures import KEYS, Cells, Figures, Value, mean
from board_graphs import Shelf, found
from board_train import How, measure

from ultrahyperbolic import select
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training.plan import Execution, Plan, Wishes
from ultrahyperbolic.training.select import choose
from ultrahyperbolic.training.where import Choice

DIM = 4
HERE = Path(__file__).parents[1]


def cpu_seconds(words: Sequence[str], folder: Path, threads: int, *, terminal: bool = False) -> float:
    """User and system time of the command, and of all it starts, with the package of ``src`` in a folder."""
    here = environment(folder)
    here |= {"OMP_NUM_THREADS": str(threads), "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "ultrahyperbolic", "embed", *words, "-o", f"{out}/out"]
        command += ["--threads", str(threads), *([] if terminal else ["--quiet"])]
        if not terminal:
            return _waited(subprocess.Popen(command, env=here))
        ours, theirs = pty.openpty()
        process = subprocess.Popen(command, env=here, stdout=theirs, stderr=theirs)
        os.close(theirs)
        try:
            while os.read(ours, 65536):
                pass
        except OSError:  # which Linux says when the other end is closed
            pass
        finally:
            os.close(ours)
        return _waited(process)


def _waited(process: subprocess.Popen[bytes]) -> float:
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the command failed with {process.returncode}: {process.args!r}")
    return used.ru_utime + used.ru_stime


def cost(folder: Path, names: Sequence[str], before: Path, threads: int, iterations: int | None) -> Figures:
    """CPU seconds of a bare ``embed``, after a short one that compiles: now, before, and now on a terminal."""
    figures: Figures = {"cost:threads": threads}
    more = [] if iterations is None else ["--iterations", str(iterations)]
    for name in names:
        file = {"nips": "nips_edges.txt"}.get(name, f"{name}.tsv.gz")
        graph = name if name == "karate" else str(found(folder, file))
        for tree in (HERE, before):
            cpu_seconds([graph, "--iterations", "20"], tree, threads)
        seconds = {
            "new": cpu_seconds([graph, *more], HERE, threads),
            "before": cpu_seconds([graph, *more], before, threads),
            "terminal": cpu_seconds([graph, *more], HERE, threads, terminal=True),
        }
        figures |= {f"cost:{name}/{which}_seconds": value for which, value in seconds.items()}
        figures[f"cost:{name}/ratio"] = seconds["new"] / seconds["before"]
        figures[f"cost:{name}/terminal_ratio"] = seconds["terminal"] / seconds["new"]
        print(
            f"{name}: {seconds['new']:.1f} s of CPU time, before {seconds['before']:.1f} s: "
            f"{figures[f'cost:{name}/ratio']:.3f} of it; on a terminal {figures[f'cost:{name}/terminal_ratio']:.2f} "
            "times as much", flush=True,
        )  # fmt: skip
    return figures


def choice(shelf: Shelf, names: Sequence[str], seeds: int, how: How, runs: Mapping[str, Value]) -> Figures:
    """The geometry that is chosen for neighbours, against the best of those that ``run`` trained, and what it costs."""
    if runs.get("run:goal", "balanced") != "neighbours":
        raise SystemExit(
            "choice compares with fixed geometries of the same goal: run --goal neighbours, then --runs FILE"
        )
    cells = Cells(runs)
    figures: Figures = {}
    differences: dict[str, list[float]] = {}
    for name in names:
        loaded = shelf.load(name)
        graph, stem = loaded.graph, f"choice:{name}"
        fixed = {key: cells.value(name, key, "new", "map") for key, geometry in KEYS.items() if geometry.dim == DIM}
        fixed = {key: value for key, value in fixed.items() if value == value}
        if not fixed:
            raise SystemExit(f"no mAP of {name} in a fixed geometry: give the file of run with --runs")
        best = max(fixed, key=lambda key: fixed[key])
        scores, chosen, ratios, agree = [], [], [], []
        wishes = Wishes(iterations=how.iterations)
        short = Plan(Choice.of(DIM), Wishes(iterations=20), place=how.place, goal="neighbours")
        _carried_out(short, graph)  # which compiles, untimed
        for seed in range(seeds):
            plan = Plan(Choice.of(DIM), wishes, seed, place=how.place, goal="neighbours")
            geometry, embedding, spent = _carried_out(plan, graph)
            _, _, alone = _carried_out(Plan(geometry, wishes, seed, place=how.place, goal="neighbours"), graph)
            points = embedding.points.copy()
            scores.append(measure(graph, geometry, points, how.place, embedding.popularity).measures["map"])
            chosen.append(geometry)
            ratios.append(spent / alone)
            words: dict[str, Any] = {"goal": "neighbours", "seed": seed, "device": how.place.device, "quiet": True}
            words |= {"threads": how.place.threads}
            words |= {} if how.iterations is None else {"iterations": how.iterations}
            agree.append(select(graph, dim=DIM, **words).best == geometry)
        figures |= {
            f"{stem}/geometry": ", ".join(sorted({geometry.name for geometry in chosen})),
            f"{stem}/map": mean(scores), f"{stem}/best_geometry": KEYS[best].name, f"{stem}/best_map": fixed[best],
            f"{stem}/time_ratio": mean(ratios), f"{stem}/select_agrees": mean(agree),
        }  # fmt: skip
        differences.setdefault(loaded.half, []).append(mean(scores) - fixed[best])
        print(
            f"{name}: {figures[f'{stem}/geometry']}, mAP {mean(scores):.3f} against {fixed[best]:.3f} of "
            f"{KEYS[best].name}; {mean(ratios):.2f} times one training; select "
            f"{'names the same' if all(agree) else 'names another'}", flush=True,
        )  # fmt: skip
    figures |= {f"choice:{half}/difference": mean(values) for half, values in differences.items()}
    figures["choice:least_difference"] = min(value for values in differences.values() for value in values)
    figures["choice:most_time_ratio"] = max(_numbers(figures, "/time_ratio"))
    figures["choice:select_agrees"] = min(_numbers(figures, "/select_agrees"))
    return figures


def _carried_out(plan: Plan, graph: Any) -> tuple[Geometry, Embedding, float]:
    """The geometry, the embedding and the seconds of a plan."""
    began = time.perf_counter()
    execution = Execution(plan, graph)
    choose(execution)
    embedding = execution.train(measures=False)
    seconds = time.perf_counter() - began
    return execution.configs[0].geometry, embedding, seconds


def _numbers(figures: Figures, end: str) -> list[float]:
    return [float(value) for key, value in figures.items() if key.endswith(end) and isinstance(value, float | int)]
