"""The comparison with other methods: same graphs, same numbers per node, same threads, one measuring code.

    python benchmarks/peers/setup.py
    python benchmarks/peers/compare.py run --peers wembed,gensim --graphs karate,nips --json out/peers.json
    python benchmarks/peers/compare.py baselines --json out/peers.json
    python benchmarks/peers/compare.py closure --graphs mammals --json out/closure.json
    python benchmarks/peers/compare.py table out/peers.json out/closure.json --docs docs/comparison.md
    python benchmarks/peers/compare.py bars out/peers.json

``run`` trains each peer in its own environment, from three seeds, on the whole graph and without a tenth of its ties,
and adds to the file of ``--json`` what that does not hold yet. ``baselines`` has what needs no embedding. ``closure``
ranks hypernyms in 5 dimensions, by the published protocol and by ours. ``table`` writes the tables between the marks of
a page, or prints them, and ``bars`` says what is held and fails where something is not.

``--folder`` is where the graphs are; if not said, what ``ULTRAHYPERBOLIC_DATA`` names. CPU seconds are
of the training alone; ``process_cpu`` counts imports and compilation, too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from board_figures import Figures, load, save
from board_graphs import Shelf
from closures import CLOSURES, closure
from peer_bars import bars
from peer_tables import tables, written
from runs import ALL, DEPTHS, GRAPHS, Asked, baselines, run


def listed(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    made.add_argument("part", choices=PARTS)
    made.add_argument("files", nargs="*", type=Path, help="of table and bars: what was measured")
    made.add_argument("--json", type=Path, help="add the figures to this file, under flat keys")
    made.add_argument("--peers", type=listed, default=[], help=f"with commas, of {', '.join(ALL)} (default: all)")
    made.add_argument("--graphs", type=listed, default=[], help="with commas (default: the twelve)")
    made.add_argument("--skip", type=listed, default=[], metavar="PEER.GRAPH", help="of run: leave these out")
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument("--threads", type=int, default=1, help="of every training (default: 1)")
    made.add_argument("--dim", type=int, help="4; of closure 5")
    made.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="handed to the peers")
    made.add_argument(
        "--held-out", type=int, metavar="SEEDS", help="of run: how many of the seeds also hold out ties (default: all)"
    )
    made.add_argument("--again", action="store_true", help="of run: what the file holds already, too")
    made.add_argument("--docs", type=Path, metavar="FILE", help="of table: the page to write into")
    made.add_argument(
        "--folder", type=Path, default=os.environ.get("ULTRAHYPERBOLIC_DATA"), help="where the real graphs are"
    )
    return made


def asked_of(arguments: argparse.Namespace, dim: int) -> Asked:
    options = dict(each.split("=", 1) for each in arguments.option)
    return Asked(
        Shelf(arguments.folder), arguments.seeds, arguments.threads, arguments.dim or dim,
        arguments.seeds if arguments.held_out is None else arguments.held_out, arguments.again, options,
    )  # fmt: skip


def names_of(arguments: argparse.Namespace) -> list[str]:
    names: list[str] = arguments.peers or list(ALL)
    unknown = set(names) - set(ALL)
    if unknown:
        raise SystemExit(f"no peer is called {', '.join(sorted(unknown))}: there are {', '.join(ALL)}")
    return names


def run_part(arguments: argparse.Namespace) -> Figures:
    graphs = arguments.graphs or GRAPHS
    return run(names_of(arguments), graphs, asked_of(arguments, 4), set(arguments.skip), arguments.json)


def baselines_part(arguments: argparse.Namespace) -> Figures:
    graphs = arguments.graphs or dict.fromkeys((*GRAPHS, *DEPTHS))
    return baselines(list(graphs), asked_of(arguments, 4), arguments.json)


def closure_part(arguments: argparse.Namespace) -> Figures:
    graphs = arguments.graphs or list(CLOSURES)
    return closure(names_of(arguments), graphs, asked_of(arguments, 5), arguments.json)


def table_part(arguments: argparse.Namespace) -> Figures:
    made = tables(load(arguments.files))
    if arguments.docs is None:
        print("\n\n".join(f"{name}:\n{text}" for name, text in made.items()))
    else:
        page = arguments.docs.read_text(encoding="utf-8")
        arguments.docs.write_text(written(page, made), encoding="utf-8")
    return {}


def bars_part(arguments: argparse.Namespace) -> Figures:
    found = bars(load(arguments.files))
    save(found, arguments.json)
    return found


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "run": run_part, "baselines": baselines_part, "closure": closure_part, "table": table_part, "bars": bars_part,
}  # fmt: skip


def main() -> None:
    arguments = parser().parse_args()
    torch.set_num_threads(arguments.threads)
    figures = PARTS[arguments.part](arguments)
    if figures.get("bars.failed"):
        sys.exit(1)


if __name__ == "__main__":
    main()
