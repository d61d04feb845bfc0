"""The board: what a user gets by default, on graphs that the method was sought on and on graphs it never saw.

    python benchmarks/board.py pack out/graphs.npz --folder DATA
    python benchmarks/board.py before out/before
    python benchmarks/board.py run --half looked --before out/before --packed out/graphs.npz --json out/board.json
    python benchmarks/board.py table out/board.json
    python benchmarks/board.py bars out/board.json

``run`` trains every graph of a half in eight geometries from three seeds: as ``embed(graph, p=, q=)`` does (``new``),
as the commit before this method did (``before``, from its own source in a process of its own) and by the paper's recipe
(``paper``; of NIPS that of its scripts for NIPS, of any other graph that for the club). All are measured alike, by the
measures of now. All geometries and seeds of a graph are one batch, and its seconds are shared alike. The file of
``--json`` is written after every graph; what it holds is not trained again unless ``--again`` says so. ``table`` prints
the tables of the docs from such files, and ``bars`` what must hold; it fails if something does not. ``bars`` takes the
files of the other parts too:

``karate``    how often a bare ``embed`` ranks both leaders of the club first
``nips``      NIPS by its signature alone, beside the paper's figures
``longer``    2N iterations against N, N the median at convergence, which ``--runs`` has or is trained for
``choice``    the geometry that is chosen for neighbours, against the best that ``--runs`` has of that goal
``cost``      CPU time of the command, against before and on a terminal
``ranks``     how often ranks from further seeds lie in the intervals that 20 seeds gave
``depth``     whether the hierarchy follows a depth that nothing was trained on; mammals are of the unseen half
``adversarial``  graphs made to break things

``pack`` writes all graphs into one file, so that a machine with torch and numpy alone can read them (``--packed``).
``--folder`` is where the others lie: the tables of real graphs, in it or in its ``graphs``, and ``nips_edges.txt``; if
not said, what ``ULTRAHYPERBOLIC_DATA`` names. ``board_graphs.py`` says which graphs there are, ``graphs.py`` how the
generated ones are made.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import board_before
import board_cost
import board_graphs
import board_parts
import torch
from board_figures import GEOMETRIES, KEYS, WHICH, Figures, load, save
from board_tables import bars, print_bars, tables
from board_train import How, run

from ultrahyperbolic.engines.base import Place
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training.method import GOALS

SEEDS = {"run": 3, "karate": 100, "nips": 3, "longer": 3, "choice": 3, "ranks": 20, "depth": 3, "adversarial": 1}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("part", choices=PARTS)
    made.add_argument(
        "files", nargs="*", type=Path, help="of table and bars: what was measured; of pack and before: where to write"
    )
    made.add_argument("--json", type=Path, help="write the figures here, under flat keys")
    made.add_argument(
        "--folder", type=Path, default=os.environ.get("ULTRAHYPERBOLIC_DATA"), help="where the real graphs are"
    )
    made.add_argument("--packed", type=Path, help="the file that pack wrote, instead")
    made.add_argument(
        "--half", choices=("looked", "unseen", "both"), default="looked", help="which graphs (default: looked)"
    )
    made.add_argument("--graphs", nargs="+", default=[], metavar="NAME", help="these alone")
    made.add_argument(
        "--geometries", nargs="+", default=[], choices=KEYS, metavar="KEY", help=f"these alone, of {', '.join(KEYS)}"
    )
    made.add_argument("--which", default="new", help="of run: new, before, paper, with commas (default: new)")
    made.add_argument("--seeds", type=int, help="3; 100 of karate, 20 of ranks, 1 of adversarial")
    made.add_argument("--further", type=int, default=50, help="of ranks: how many further seeds (default: 50)")
    made.add_argument("--iterations", type=int, help="of every training; of longer, N")
    made.add_argument("--goal", choices=GOALS, default="balanced", help="of run: what is trained for")
    made.add_argument("--before", type=Path, metavar="FOLDER", help="what before wrote")
    made.add_argument(
        "--runs", nargs="+", type=Path, default=[], metavar="FILE", help="of choice and longer: the files of run"
    )
    made.add_argument("--again", action="store_true", help="of run: train what the file holds already, too")
    made.add_argument("--device", help="cpu or cuda")
    made.add_argument("--threads", type=int, help="of the CPU (default: all; of cost: 1)")
    return made


class Asked:
    """The arguments, as the parts need them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.json: Path | None = arguments.json
        place = Place(arguments.device, threads=arguments.threads)
        self.how = How(place, arguments.iterations, None, arguments.before, arguments.goal)
        self.seeds: int = arguments.seeds or SEEDS.get(arguments.part, 1)
        self.geometries: list[Geometry] = [g for g in GEOMETRIES if g.file_name in (arguments.geometries or KEYS)]
        self.files: list[Path] = arguments.files

    @property
    def shelf(self) -> board_graphs.Shelf:
        """Where the graphs are."""
        return board_graphs.Shelf(self.arguments.folder, self.arguments.packed)

    @property
    def names(self) -> list[str]:
        """The graphs that were asked for."""
        return self.arguments.graphs or board_graphs.of_half(self.arguments.half)

    def graphs(self, *names: str) -> list[str]:
        """The graphs that were asked for, or else these."""
        return self.arguments.graphs or list(names)

    @property
    def file(self) -> Path:
        """The one place to write to."""
        if len(self.files) != 1:
            raise SystemExit(f"{self.arguments.part} needs one path to write to")
        return self.files[0]

    @property
    def before(self) -> Path:
        """The source of before."""
        if self.how.before is None:
            raise SystemExit("cost compares with the source of before: give --before FOLDER")
        return self.how.before


def pack(asked: Asked) -> Figures:
    board_graphs.pack(asked.shelf, asked.file, asked.graphs(*board_graphs.SOURCES))
    return {}


def before(asked: Asked) -> Figures:
    board_before.unpack(asked.file)
    return {}


def run_part(asked: Asked) -> Figures:
    which = asked.arguments.which.split(",")
    unknown = set(which) - set(WHICH)
    if unknown:
        raise SystemExit(f"--which knows {', '.join(WHICH)}, got {', '.join(sorted(unknown))}")
    return run(
        asked.shelf, asked.names, asked.geometries, asked.seeds, which, asked.how, asked.json,
        again=asked.arguments.again,
    )  # fmt: skip


def table(asked: Asked) -> Figures:
    print(tables(load(asked.files)))
    return {}


def bars_part(asked: Asked) -> Figures:
    return print_bars(bars(load(asked.files)))


def karate(asked: Asked) -> Figures:
    return board_parts.karate(asked.shelf, asked.seeds, asked.how)


def nips(asked: Asked) -> Figures:
    return board_parts.nips(asked.shelf, asked.seeds, asked.how)


def longer(asked: Asked) -> Figures:
    runs = load(asked.arguments.runs)
    return board_parts.longer(asked.shelf, asked.names, asked.geometries, asked.seeds, asked.how, runs)


def choice(asked: Asked) -> Figures:
    return board_cost.choice(asked.shelf, asked.names, asked.seeds, asked.how, load(asked.arguments.runs))


def cost(asked: Asked) -> Figures:
    folder = asked.arguments.folder or Path()
    threads = asked.arguments.threads or 1
    names = asked.graphs("netscience", "nips")
    return board_cost.cost(Path(folder), names, asked.before, threads, asked.how.iterations)


def ranks(asked: Asked) -> Figures:
    names = asked.graphs("karate", "lesmis", "nips")
    return board_parts.ranks(asked.shelf, names, asked.seeds, asked.arguments.further, asked.how)


def depth(asked: Asked) -> Figures:
    names = asked.graphs("karate", *board_graphs.depths_known())
    return board_parts.depth(asked.shelf, names, asked.geometries, asked.seeds, asked.how)


def adversarial(asked: Asked) -> Figures:
    return board_parts.adversarial(asked.arguments.graphs, asked.geometries, asked.seeds, asked.how)


PARTS: dict[str, Callable[[Asked], Figures]] = {
    "pack": pack, "before": before, "run": run_part, "table": table, "bars": bars_part, "karate": karate, "nips": nips,
    "longer": longer, "choice": choice, "cost": cost, "ranks": ranks, "depth": depth, "adversarial": adversarial,
}  # fmt: skip


def main() -> None:
    arguments = parser().parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    figures = PARTS[arguments.part](Asked(arguments))
    save(figures, arguments.json)
    if figures.get("bars:failed") or figures.get("adversarial:failures"):
        sys.exit(1)


if __name__ == "__main__":
    main()
