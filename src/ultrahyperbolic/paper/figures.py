"""Figures 1 and 2 of the paper: Q^{2,1} projected to R³ along one time dimension; geodesics, exp and log of Q^{1,1}."""

from pathlib import Path

import numpy as np
import torch

from .. import plot
from ..geometry import PseudoHyperboloid
from ..plot.pieces import DIRECTIONS, LEVELS, VECTOR, kind_of, level_surface
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
        lines.append(f"| {level:g} | {kind_of(level, 'a hyperboloid of ')} |")
    lines += ["", f"{figures['points']:,.0f} points, |⟨x, x⟩ + 1| at most {figures['largest_residual']:.1e} ‖x‖²."]
    Console(quiet).finish(lines, output, write_figure("figure1", output, plot.family))
    return figures


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
    Console(quiet).finish(lines, output, write_figure("figure2", output, plot.figure2))
    return figures
