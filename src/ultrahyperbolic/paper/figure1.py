"""Figure 1 of the paper: Q^{2,1} projected to R³ along one time dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from .. import plot
from ..geometry import PseudoHyperboloid
from ..plot.pieces import LEVELS, level_surface
from . import Figures
from .console import Console, write_figure


def figure1(*, output: Path, quiet: bool = False) -> Figures:
    """Draw the family of hyperboloids, and say how far the points drawn are from the manifold."""
    manifold = PseudoHyperboloid(2, 1)
    figures: Figures = {"points": 0.0, "largest_residual": 0.0}
    lines = [
        "Q^{2,1} projected along x_0: the surfaces x_2² + x_3² - x_1² = x_0² - 1",
        "",
        "| x_0 | surface |",
        "|---|---|",
    ]
    for level in LEVELS:
        shadow = level_surface(manifold, level).reshape(-1, 3)
        shadow = shadow[np.isfinite(shadow).all(1)]
        points = torch.from_numpy(np.column_stack((np.full(len(shadow), level), shadow[:, [2, 0, 1]])))
        residual = ((manifold.inner(points, points) + 1.0).abs() / points.square().sum(-1)).max().item()
        figures["points"] += len(points)
        figures["largest_residual"] = max(figures["largest_residual"], residual)
        lines.append(f"| {level:g} | {_kind(level)} |")
    lines += ["", f"{figures['points']:,.0f} points, |⟨x, x⟩ + 1| at most {figures['largest_residual']:.1e} ‖x‖²."]
    console = Console(quiet)
    console.print("\n".join(lines))
    console.files(output, write_figure("figure1", output, plot.family))
    return figures


def _kind(level: float) -> str:
    """What the surface is."""
    if level == 1.0:
        return "a cone"
    return "a hyperboloid of two sheets" if level < 1.0 else "a hyperboloid of one sheet"
