"""What the authors did, to the letter: their recipe, their figures, and the commands that reproduce
them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

Figures = dict[str, float]


@dataclass(frozen=True)
class Target:
    """Something of the paper that a command reproduces."""

    description: str
    module: str
    function: str
    options: frozenset[str] = frozenset()  # what it can be told beside seeds, output and quiet
    seeded: bool = True  # whether anything in it depends on chance

    def run(self, seeds: int | None, output: Path, quiet: bool, **options: Any) -> Figures:
        """Compute, print, and write into the folder ``output``; the figures printed, under flat
        keys.
        """
        function: Callable[..., Figures] = getattr(
            import_module(f".{self.module}", __name__), self.function
        )
        chance = {"seeds": seeds} if self.seeded else {}
        output.mkdir(parents=True, exist_ok=True)
        figures = function(**chance, output=output, quiet=quiet, **options)
        write_figures(output / f"{self.function}.json", figures)
        return figures


def write_figures(path: Path, figures: Figures) -> None:
    """Figures as one flat JSON object."""
    from ..files import replace_file  # which waits for numpy

    replace_file(path, json.dumps(figures, indent=2) + "\n")


TRAINING = frozenset({"loss", "iterations", "device", "threads"})
TARGETS: dict[str, Target] = {
    "table1": Target(
        "Table 1: leaders and rank correlations on the karate club, six geometries",
        "table1",
        "table1",
    ),
    "table2": Target(
        "Table 2: NIPS co-authors in 4 dimensions, six geometries", "table2", "table2", TRAINING
    ),
    "table3": Target(
        "Table 3: NIPS co-authors in 6 dimensions, eight geometries", "table2", "table3", TRAINING
    ),
    "figure1": Target(
        "Figure 1: Q^{2,1} projected along x_0, with its family of hyperboloids",
        "figures",
        "figure1",
        seeded=False,
    ),
    "figure2": Target(
        "Figure 2: the three kinds of geodesic; exp and log", "figures", "figure2", seeded=False
    ),
    "figure3": Target(
        "Figure 3: the karate club, and the loss for ten-dimensional signatures",
        "figures",
        "figure3",
    ),
    "timing": Target("The running times of the supplement beside ours", "timing", "timing"),
}
