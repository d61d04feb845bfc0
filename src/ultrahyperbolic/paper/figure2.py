"""Figure 2 of the paper: the three kinds of geodesic, and exp and log with the tangent plane."""

from __future__ import annotations

from pathlib import Path

import torch

from .. import plot
from ..geometry import PseudoHyperboloid
from ..plot.pieces import DIRECTIONS, VECTOR
from . import Figures
from .console import Console, write_figure


def figure2(*, output: Path, quiet: bool = False) -> Figures:
    """Draw both halves, and check in numbers what they show."""
    manifold = PseudoHyperboloid(1, 1)
    x = manifold.origin()
    t = torch.linspace(-1.5, 1.5, 301, dtype=torch.float64)
    figures: Figures = {}
    lines = [
        "Q^{1,1}: geodesics from x = (1, 0, 0), and exp and log at x",
        "",
        "| geodesic | ⟨ξ, ξ⟩ | largest \\|⟨γ(t), γ(t)⟩ + 1\\| |",
        "|---|---|---|",
    ]
    for kind, direction in DIRECTIONS.items():
        vector = manifold.proju(x, torch.tensor(direction, dtype=torch.float64))
        points = manifold.geodesic(x, vector, t)
        square = manifold.inner(vector, vector).item()
        residual = (manifold.inner(points, points) + 1.0).abs().max().item()
        key = kind.replace("-", "_")
        figures |= {f"{key}_square": square, f"{key}_residual": residual}
        lines.append(f"| {kind} | {square:g} | {residual:.1e} |")
    vector = manifold.proju(x, torch.tensor(VECTOR, dtype=torch.float64))
    back = manifold.logmap(x, manifold.expmap(x, vector)).vector
    figures["log_of_exp_error"] = (back - vector).abs().max().item()
    lines += ["", f"log_x(exp_x(ξ)) is ξ to {figures['log_of_exp_error']:.1e}."]
    console = Console(quiet)
    console.print("\n".join(lines))
    console.files(output, write_figure("figure2", output, plot.figure2))
    return figures
