"""The board: what a user gets by default, on graphs that the method was sought on and on graphs it
never saw.

    python benchmarks/board.py run --half looked --which new,paper --json out/board.json
    python benchmarks/board.py table out/board.json --before old/board.json

``run`` trains every graph of a half in eight geometries from three seeds: as ``embed(graph, p=,
q=)`` does (``new``) and by the paper's recipe (``paper``; of NIPS its scripts' own). All trainings
of a graph are one batch, and share its seconds alike. What the file of ``--json`` holds is not
trained again unless ``--again`` says so. ``table`` prints the tables of the docs from such files.

``karate``       how often a bare ``embed`` ranks both leaders of the club first
``nips``         NIPS by its signature alone, beside the paper's figures
``choice``       the geometry that is chosen, against the best that ``--runs`` has
"""

import math
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import board_run
import torch
from bench import Figures, Floats, Value, add_folder, load, mean, parser, save
from board_graphs import Loaded, load_graph, of_half
from board_run import GEOMETRIES, KEYS, MEASURES, Cells, How, Job, Trained, measure, run, train

from ultrahyperbolic import datasets, select
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.evaluation import leader_ranks
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.options import complete
from ultrahyperbolic.training.execution import Execution
from ultrahyperbolic.training.inputs import USUAL, Choice
from ultrahyperbolic.training.method import score
from ultrahyperbolic.training.plan import Plan
from ultrahyperbolic.training.select import choose

SEEDS = {"karate": 100}
DIM = 4


def run_part(asked: Namespace) -> Figures:
    which = asked.which.split(",")
    if set(which) - {"new", "paper"}:
        raise SystemExit(f"--which knows new and paper, got {asked.which}")
    return run(
        asked.folder,
        asked.names,
        asked.geometries,
        asked.seeds,
        asked.how,
        which,
        asked.json,
        again=asked.again,
    )


def kept(asked: Namespace) -> Figures:
    """The figures of files, and those of another version as ``before``."""
    before = {
        key.replace("/new/", "/before/"): value
        for key, value in load(asked.before).items()
        if "/new/" in key
    }
    return load(asked.files) | before


def table_part(asked: Namespace) -> Figures:
    print(board_run.tables(kept(asked)))
    return {}


def leaders() -> list[int]:
    ids = list(datasets.karate().ids)
    return [ids.index(node) for node in ("1", "34")]


def deltas(loaded: Loaded, trainings: Sequence[Trained], how: How) -> list[Floats]:
    return [
        measure(loaded.graph, t.job.geometry, t.points, how.place, t.popularity).delta
        for t in trainings
    ]


def said(figures: Mapping[str, Value], stem: str) -> str:
    return ", ".join(f"{word} {figures[f'{stem}{what}']:.3f}" for what, word in MEASURES.items())


def karate(asked: Namespace) -> Figures:
    """How often a bare ``embed`` ranks both leaders of the club among the first three, and how it
    fits.
    """
    loaded = load_graph("karate")
    trainings = train(loaded, [Job(USUAL, seed) for seed in range(asked.seeds)], "new", asked.how)
    rows = [board_run.figures_of(loaded.graph, each, asked.how.place) for each in trainings]
    among = [
        bool(leader_ranks(delta, leaders())[-1] <= 3)
        for delta in deltas(loaded, trainings, asked.how)
    ]
    figures: Figures = {
        "geometry": USUAL.name,
        "seeds": asked.seeds,
        "leaders_among_three": mean(among),
    }
    figures |= {what: mean(row[what] for row in rows if row[what] is not None) for what in MEASURES}
    print(
        f"karate, {USUAL.name}: leaders among the first 3 in {sum(among)} of {asked.seeds}; "
        f"{said(figures, '')}"
    )
    return {f"karate:{what}": value for what, value in figures.items()}


def nips(asked: Namespace) -> Figures:
    """NIPS by its signature alone, beside what the paper has."""
    from ultrahyperbolic.paper.table2 import ROWS, TABLE2, TABLE3

    geometries = [KEYS[key] for key in ("Q2_2", "Q3_3", "Q3_1", "Q1_3")]
    cells = Cells(run(asked.folder, ["nips"], geometries, asked.seeds, asked.how))
    figures: Figures = {"nips:seeds": asked.seeds}
    for geometry in geometries:
        key, stem = geometry.file_name, f"nips:{geometry.file_name}/"
        figures |= {
            f"{stem}{what}": cells.value("nips", key, "new", what)
            for what in (*MEASURES, "seconds")
        }
        published = (TABLE2.published | TABLE3.published)[key]
        recall, rho = published[ROWS.index("recall_at_1")] / 100, published[ROWS.index("rho_all")]
        figures |= {f"{stem}published_recall_at_1": recall, f"{stem}published_spearman_all": rho}
        print(
            f"{geometry.name}: {said(figures, stem)}; the paper has Recall@1 {recall:.3f} and ρ "
            f"{rho:.3f}"
        )
    return figures


def choice(asked: Namespace) -> Figures:
    """The geometry that is chosen, against the best of those that ``run`` trained, and what it
    costs.
    """
    cells, place = Cells(load(asked.runs)), asked.how.place
    figures: Figures = {}
    differences: dict[str, list[float]] = {}
    for name in asked.names:
        loaded = load_graph(name, asked.folder)
        graph, stem = loaded.graph, f"choice:{name}"
        trained = {
            key: mean(cells.value(name, key, "new", what) for what in ("map", "tie_order"))
            for key, geometry in KEYS.items()
            if geometry.dim == DIM
        }
        fixed = {key: value for key, value in trained.items() if not math.isnan(value)}
        if not fixed:
            raise SystemExit(
                f"no score of {name} in a fixed geometry: give the file of run with --runs"
            )
        best = max(fixed, key=lambda key: fixed[key])
        scores, chosen, ratios, agree = [], [], [], []
        options = complete({"iterations": asked.how.iterations, **vars(place)})
        plan = Plan(Choice.of(DIM), options)
        carried_out(plan.but(iterations=20), graph)  # which compiles
        for seed in range(asked.seeds):
            plan = plan.but(seed=seed)
            geometry, embedding, spent = carried_out(plan, graph)
            _, _, alone = carried_out(replace(plan, where=geometry), graph)
            points = embedding.points.copy()
            scores.append(
                score(measure(graph, geometry, points, place, embedding.popularity).measures)
            )
            chosen.append(geometry.name)
            ratios.append(spent / alone)
            where: dict[str, Any] = {
                "device": place.device,
                "threads": place.threads,
                "quiet": True,
            }
            where |= {} if asked.iterations is None else {"iterations": asked.iterations}
            agree.append(select(graph, dim=DIM, seed=seed, **where).best == geometry)
        figures |= {
            f"{stem}/geometry": ", ".join(sorted(set(chosen))),
            f"{stem}/score": mean(scores),
            f"{stem}/best_geometry": KEYS[best].name,
            f"{stem}/best_score": fixed[best],
            f"{stem}/time_ratio": mean(ratios),
            f"{stem}/select_agrees": mean(agree),
        }
        differences.setdefault(loaded.half, []).append(mean(scores) - fixed[best])
        print(
            f"{name}: {figures[f'{stem}/geometry']}, score {mean(scores):.3f} against "
            f"{fixed[best]:.3f} of "
            f"{KEYS[best].name}; {mean(ratios):.2f} times one training; select agrees in "
            f"{mean(agree):.0%}",
            flush=True,
        )
    figures |= {f"choice:{half}/difference": mean(values) for half, values in differences.items()}
    figures["choice:least_difference"] = min(
        value for values in differences.values() for value in values
    )
    for name, end, worst in (
        ("most_time_ratio", "/time_ratio", max),
        ("select_agrees", "/select_agrees", min),
    ):
        figures[f"choice:{name}"] = worst(
            value for key, value in figures.items() if key.endswith(end)
        )
    return figures


def carried_out(plan: Plan, graph: Graph) -> tuple[Geometry, Embedding, float]:
    """The geometry, the embedding and the seconds of a plan."""
    began = time.perf_counter()
    execution = Execution(plan, graph)
    choose(execution)
    embedding = execution.train(measures=False)
    return execution.configs[0].geometry, embedding, time.perf_counter() - began


PARTS: dict[str, Callable[[Namespace], Figures]] = {
    "run": run_part,
    "table": table_part,
    "karate": karate,
    "nips": nips,
    "choice": choice,
}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("part", choices=PARTS)
    made.add_argument("files", nargs="*", type=Path, help="of table: what was measured")
    add_folder(made)
    made.add_argument(
        "--half", choices=("looked", "unseen", "both"), default="looked", help="(default: looked)"
    )
    made.add_argument("--graphs", nargs="+", default=[], metavar="NAME", help="these alone")
    made.add_argument(
        "--geometries",
        nargs="+",
        default=list(KEYS),
        choices=KEYS,
        metavar="KEY",
        help=", ".join(KEYS),
    )
    made.add_argument(
        "--which", default="new", help="of run: new, paper, or both with a comma (default: new)"
    )
    made.add_argument("--seeds", type=int, help="3; 100 of karate")
    made.add_argument("--iterations", type=int, help="of every training")
    made.add_argument(
        "--before",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="of run, by another version",
    )
    made.add_argument(
        "--runs",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="of run, for choice",
    )
    made.add_argument(
        "--again", action="store_true", help="of run: train what the file holds already, too"
    )
    made.add_argument("--device", help="cpu or cuda")
    made.add_argument("--threads", type=int, help="of the CPU (default: all)")
    asked = made.parse_args()
    if asked.threads:
        torch.set_num_threads(asked.threads)
    asked.how = How(Machine(asked.device, threads=asked.threads), asked.iterations)
    asked.seeds = asked.seeds or SEEDS.get(asked.part, 3)
    asked.geometries = [
        geometry for geometry in GEOMETRIES if geometry.file_name in asked.geometries
    ]
    asked.names = asked.graphs or of_half(asked.half)
    save(PARTS[asked.part](asked), asked.json)


if __name__ == "__main__":
    main()
