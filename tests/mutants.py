"""Forty mistakes, planted one at a time in a copy of the source: which of them do the quick tests
miss?

    python tests/mutants.py                     # all; exit code 1 if one is missed
    python tests/mutants.py geometry nn         # those of some rooms
    python tests/mutants.py --json out/mutants.json

Each names the tests that should catch it. They must pass without the mistake, and one of them must
fail with it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = Path("src", "ultrahyperbolic")


class Mutant(NamedTuple):
    """A text that occurs once in a file of the package, and what is written in its place."""

    file: str
    old: str
    new: str
    tests: str
    """Where it should be caught, below ``tests``: a file, or a test of one."""

    @property
    def room(self) -> str:
        return self.file.split("/")[0].removesuffix(".py")

    def planted(self, package: Path) -> str:
        """The file with the mistake in it."""
        text = (package / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.file} has {text.count(self.old)} times, not once:\n{self.old}")
        return text.replace(self.old, self.new)


MUTANTS = [
    # A wrong sign, factor or bound in the mathematics.
    Mutant(
        "geometry/functions.py",
        "_ASINHC = (1.0, -1 / 6,",
        "_ASINHC = (1.0, 1 / 6,",
        "geometry/test_functions.py",
    ),
    Mutant(
        "geometry/quadric.py",
        "raised[..., : self.q + 1].neg_()",
        "raised[..., : self.q].neg_()",
        "geometry/test_pseudo_hyperboloid.py::test_preconditioner_matrix_is_the_precondition",
    ),
    Mutant(
        "pairs/kinds.py",
        '"smoothed": Kind.SMOOTHED',
        '"smoothed": Kind.GEODESIC',
        "pairs/test_kinds.py",
    ),
    Mutant(
        "pairs/reference.py",
        "lengths = lengths - torch",
        "lengths = lengths + torch",
        "pairs/test_passes.py::test_popularity_is_part_of_every_distance",
    ),
    Mutant("options.py", "defaults | dict(given)", "dict(given) | defaults", "test_options.py"),
    Mutant(
        "objective/ranking.py",
        "_softplus(cumulative[tables.weaker] - scores)",
        "_softplus(cumulative[tables.weaker] + scores)",
        "objective/test_ranking.py",
    ),
    Mutant(
        "optim/descent.py",
        "keepdim=True).sign() * followed",
        "keepdim=True).abs() * followed",
        "optim/test_descent.py::test_one_step_along_each_direction_is_its_definition",
    ),
    Mutant(
        "engines/numba/iterate.py",
        "return -step if length <= max_step else",
        "return -step if True else",
        "engines/test_engines.py::test_compiled_iterations_equal_the_reference",
    ),
    Mutant(
        "engines/numba/loss.py",
        "pulls[e] -= above * own[e]",
        "pulls[e] += above * own[e]",
        "engines/test_engines.py::test_compiled_loss_and_gradient_equal_autograd",
    ),
    Mutant(
        "engines/numba/streaming.py",
        "rows[-1] = n\n",
        "rows[-1] = n - 1\n",
        "engines/test_numba.py::test_slabs_hold_every_row_once_and_about_equally_many_pairs",
    ),
    Mutant(
        "nn/graph.py",
        "scale[source] * weight * scale[target]",
        "scale[source] * weight * scale[source]",
        "nn/test_pseudo_graph_conv.py",
    ),
    Mutant(
        "contrib/geoopt.py",
        "self.manifold.descent_direction(x, u)",
        "-self.manifold.descent_direction(x, u)",
        "contrib/test_geoopt.py",
    ),
    # An off-by-one, a dropped class, an order turned round in what is counted and shown.
    Mutant(
        "evaluation/hierarchy.py",
        "0.5 * (counts - 1)",
        "0.5 * counts",
        "evaluation/test_hierarchy.py",
    ),
    Mutant(
        "evaluation/retrieval.py",
        "rank = 1.0 + float(",
        "rank = float(",
        "evaluation/test_retrieval.py",
    ),
    Mutant(
        "embedding/answers.py",
        "order[order != row][:k]",
        "order[order != row][: k - 1]",
        "embedding/test_answers.py::test_neighbors_of_several_nodes",
    ),
    Mutant(
        "embedding/answers.py",
        '"rank_low": 1 + surely_higher',
        '"rank_low": surely_higher',
        "embedding/test_ranks.py::test_an_interval_counts_who_may_be_higher_and_who_surely_is",
    ),
    Mutant(
        "graph/fold.py",
        "there if even.all() else there + back",
        "there + back",
        "graph/test_fold.py::test_a_list_that_gives_every_edge_both_ways_holds_each_once",
    ),
    Mutant(
        "engines/numba/offsets.py",
        "-4.0 * spring / tau",
        "-2.0 * spring / tau",
        "engines/test_directed.py",
    ),
    Mutant(
        "graph/graph.py",
        "directions[:, ::-1], directions)",
        "directions, directions)",
        "graph/test_directed.py",
    ),
    Mutant(
        "graph/flow.py",
        "- 2.0 * found.potentials",
        "- found.potentials",
        "graph/test_flow.py::test_the_definition_holds_dense_and_by_elimination",
    ),
    Mutant(
        "graph/elimination.py",
        "potential += chance[u] * potentials[u]",
        "potential += chance[u]",
        "graph/test_flow.py::test_the_definition_holds_dense_and_by_elimination",
    ),
    Mutant(
        "graph/probes.py",
        "diagonal[inner] += sampled[:count]",
        "diagonal[inner] = sampled[:count]",
        "graph/test_flow.py::test_estimates_lie_within_their_errors",
    ),
    Mutant(
        "graph/hops.py",
        "np.int32(level + 1) * bits",
        "np.int32(level) * bits",
        "graph/test_hops.py",
    ),
    Mutant(
        "training/method.py",
        'for name in ("map", "tie_order") if',
        'for name in ("map",) if',
        "training/test_method.py::test_the_score_is_the_mean_of_neighbours_and_tie_order",
    ),
    Mutant(
        "training/start.py",
        "hops[hops < 0] = hops.max(initial=0) + 2",
        "hops[hops < 0] = 0",
        "training/test_start.py",
    ),
    Mutant(
        "report/distances.py",
        "weights > weights.min(initial=np.inf)",
        "weights >= weights.min(initial=np.inf)",
        "report/test_distances.py",
    ),
    Mutant(
        "spaces/distances.py",
        "0.5 * turn, -1.0 - 0.5",
        "0.5 * turn, 1.0 - 0.5",
        "spaces/test_distances.py",
    ),
    Mutant(
        "plot/maps.py",
        "np.lexsort((-np.concatenate(",
        "np.lexsort((np.concatenate(",
        "plot/test_map.py::test_of_many_ties_each_node_keeps_its_strongest",
    ),
    Mutant("export/tables.py", "[=+\\-@＝＋－＠]", "[=+\\-＝＋－＠]", "export/test_tables.py"),
    Mutant("datasets/zachary.py", "33: 34:5", "33: 34:4", "datasets/test_zachary.py"),
    Mutant(
        "paper/table2.py",
        "return min(tried, key",
        "return max(tried, key",
        "paper/test_table2.py::test_one_seed",
    ),
    # What is answered, kept and refused.
    Mutant(
        "cli/errors.py",
        "if name in OPTIONS else message",
        "if name in () else message",
        "cli/test_errors.py::test_signatures_that_do_not_parse",
    ),
    Mutant(
        "files.py",
        "if lock(handle):",
        "if not lock(handle):",
        "test_files.py::test_a_kill_between_two_renames_leaves_a_pair",
    ),
    Mutant("loop.py", "chunks and clock.left <= 0.0", "clock.left <= 0.0", "test_loop.py"),
    Mutant("checks.py", "0.0 <= value < 1.0", "0.0 <= value <= 1.0", "test_arguments.py"),
    Mutant(
        "interrupted.py",
        "list(embeddings), result",
        "[], result",
        "training/test_embed.py::test_interrupted_before_the_first_chunk_ends",
    ),
    Mutant("rounding.py", "1.0 / (count - 1)", "1.0 / count", "pairs/test_portable.py"),
    Mutant(
        "progress.py",
        "task = self.tasks[-1]",
        "task = self.tasks[0]",
        "test_progress.py",
    ),
    Mutant(
        "verdict.py",
        "rate is None or rate >= TIE",
        "rate is None or rate < TIE",
        "evaluation/test_ranks.py",
    ),
    Mutant(
        "testing.py",
        "report.failed[name] = f",
        "report.skipped[name] = f",
        "test_testing.py::test_mutants_are_caught_by_the_property_meant_for_them",
    ),
]


def failing(copy: Path, tests: Iterable[str], cache: Path) -> str | None:
    """The first of the quick tests that fails on a copy of the package; None where all pass."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "--tb=no",
        "-rfE",
    ]
    source = {
        "PYTHONPATH": str(copy.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
    }
    ended = subprocess.run(
        [*words, *(f"tests/{place}" for place in tests)],
        cwd=ROOT,
        env=os.environ | source,
        capture_output=True,
        text=True,
    )
    if ended.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", ended.stdout, re.M)
    if failed is None:
        raise SystemExit(f"the tests did not run\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return failed[1]


def caught_by(mutant: Mutant, copy: Path, cache: Path) -> str | None:
    """The test that fails with the mistake in the copy of the package; None where none does."""
    file = copy / mutant.file
    right = file.read_text(encoding="utf-8")
    file.write_text(mutant.planted(copy), encoding="utf-8")
    try:
        # numba's cache does not look at the files that a compiled function calls.
        with tempfile.TemporaryDirectory() as empty:
            return failing(copy, [mutant.tests], Path(empty) if "numba" in mutant.file else cache)
    finally:
        file.write_text(right, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rooms", nargs="*", help="rooms or files of the package; default: all")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    arguments = parser.parse_args()
    unknown = {
        word for word in arguments.rooms if not any(word in (m.room, m.file) for m in MUTANTS)
    }
    if unknown:
        parser.error(f"no mutant in {', '.join(sorted(unknown))}")
    chosen = [m for m in MUTANTS if not arguments.rooms or {m.room, m.file} & set(arguments.rooms)]
    for mutant in MUTANTS:
        mutant.planted(ROOT / PACKAGE)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        copy, cache = Path(folder, PACKAGE), Path(folder, "compiled")
        shutil.copytree(ROOT / PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if (
            broken := failing(copy, sorted({mutant.tests for mutant in chosen}), cache)
        ) is not None:
            raise SystemExit(f"{broken} fails without a mistake")
        for mutant in chosen:
            began = time.monotonic()
            by = caught_by(mutant, copy, cache)
            answer = "MISSED" if by is None else f"caught by {by}"
            print(f"{mutant.file}: {answer} ({time.monotonic() - began:.0f} s)", flush=True)
            found.append(
                {"file": mutant.file, "old": mutant.old, "new": mutant.new, "caught_by": by}
            )
    missed = sum(each["caught_by"] is None for each in found)
    print(f"{len(found) - missed} of {len(found)} caught")
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(
            json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
