"""What the authors did, to the letter: their recipe, their figures, and the commands that reproduce them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

Figures = dict[str, float]


@dataclass(frozen=True)
class Target:
    """Something of the paper that a command reproduces."""

    description: str
    module: str
    function: str

    def run(self, seeds: int | None, output: Path, quiet: bool) -> Figures:
        """Compute, print, and write into the folder ``output``; the figures printed, under flat keys."""
        function: Callable[..., Figures] = getattr(import_module(f".{self.module}", __name__), self.function)
        figures = function(seeds=seeds, output=output, quiet=quiet)
        (output / f"{self.function}.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
        return figures


TARGETS: dict[str, Target] = {
    "table1": Target("Table 1: leaders and rank correlations on the karate club, six geometries", "table1", "table1"),
    "figure3": Target("Figure 3: the karate club, and the loss for ten-dimensional signatures", "figure3", "figure3"),
    "timing": Target("The running times of the supplement beside ours", "timing", "timing"),
}
