"""What a comparison of geometries found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from statistics import fmean, stdev
from typing import TYPE_CHECKING, get_args

from ..embedding.record import Json
from ..graph.markup import html_table
from ..options import By as By
from ..spaces import Geometry

if TYPE_CHECKING:
    import pandas

BY: tuple[By, ...] = get_args(By)


@dataclass
class Row:
    """A geometry and how it did: one value a seed."""

    geometry: Geometry
    iterations: int = 0
    scores: list[float] = field(default_factory=list)
    """What decides, the higher the better: `score` of its measures, or the share of held-out edges
    that are closer.
    """
    measures: list[dict[str, float]] = field(default_factory=list)
    """Those of the pairs, of the edges it was trained on; of a large graph, estimated from
    samples.
    """
    held_out: list[float] = field(default_factory=list)
    """The share of (held-out edge, non-edge) in which the edge is not the closer; empty where none
    was held out.
    """
    differences: list[float] = field(default_factory=list)
    """The score less that of the winner, seed by seed."""

    @property
    def score(self) -> float:
        """The mean over the seeds."""
        return fmean(self.scores)

    @property
    def worst_last(self) -> tuple[float, float]:
        """What rows are sorted by: of equal scores the one that violates fewer orders is better."""
        return -self.score, self.mean("violated_orders_all") or 0.0

    @property
    def difference(self) -> float:
        """To the winner, below 0: the mean over the seeds."""
        return fmean(self.differences)

    @property
    def difference_error(self) -> float | None:
        """The standard error of that mean; None with one seed, which has none."""
        count = len(self.differences)
        return stdev(self.differences) / math.sqrt(count) if count > 1 else None

    @property
    def is_near(self) -> bool:
        """Whether it cannot be told from the winner."""
        error = self.difference_error
        return error is not None and self.difference >= -2.0 * error

    def mean(self, name: str) -> float | None:
        """A measure's mean over the seeds; None where it is not defined."""
        values = [found[name] for found in self.measures if name in found]
        return fmean(values) if values else None

    def to_json(self) -> dict[str, Json]:
        """Plain data: means over the seeds, with standard deviations (n - 1) as ``spread``."""
        violated = [
            found["violated_orders_all"]
            for found in self.measures
            if "violated_orders_all" in found
        ]
        found: dict[str, Json] = {
            "geometry": self.geometry.name,
            "p": self.geometry.p,
            "q": self.geometry.q,
            "flat": self.geometry.flat,
            "seeds": len(self.scores),
            "iterations": self.iterations,
            **{name: self.mean(name) for name in ("map", "tie_order")},
        }
        for name, values in (
            ("score", self.scores),
            ("violated_orders", violated),
            ("held_out", self.held_out),
        ):
            found[name] = fmean(values) if values else None
            found[f"{name}_spread"] = stdev(values) if len(values) > 1 else None
        return found | {"difference": self.difference, "difference_error": self.difference_error}


@dataclass(frozen=True)
class Selection:
    """What `select` returns."""

    rows: list[Row]
    """The best first."""
    prior: dict[str, float]
    """What the graph alone hints at; it decides nothing."""
    seconds: float
    by: By = "graph"

    @property
    def best(self) -> Geometry:
        """The winner."""
        return self.rows[0].geometry

    @property
    def within_noise(self) -> list[str]:
        """Geometries within two standard errors of the winner over the seeds; none with one seed,
        which cannot tell.

        A description of these seeds, not a test: few seeds give a rough standard error.
        """
        return [row.geometry.name for row in self.rows[1:] if row.is_near]

    @property
    def seeds(self) -> int:
        """How many starts each geometry had."""
        return len(self.rows[0].scores)

    def to_json(self) -> dict[str, Json]:
        """Plain data; ``within_noise`` is None where one seed cannot tell."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "winner": self.best.name,
            "by": self.by,
            "seeds": self.seeds,
            "within_noise": bool(self.within_noise) if self.seeds > 1 else None,
            "within_noise_of": list(self.within_noise),
            "prior": self.prior,
            "seconds": self.seconds,
        }

    def to_frame(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([row.to_json() for row in self.rows])

    @property
    def score_name(self) -> str:
        """What the numbers are that decide."""
        return "held-out ties nearer" if self.by == "links" else "score"

    def cells(self, row: Row) -> dict[str, str]:
        """What tables say of a geometry beside its name, by the heads of their columns."""
        violated, error = row.mean("violated_orders_all"), row.difference_error
        around = "" if error is None else f" ± {error:.4f}"
        means = {"mAP": row.mean("map"), "tie order": row.mean("tie_order")}
        return {
            self.score_name: f"{row.score:.4f}",
            **{head: "-" if mean is None else f"{mean:.3f}" for head, mean in means.items()},
            "violated orders": "-" if violated is None else f"{100 * violated:.2f} %",
            "difference to the winner": ""
            if row is self.rows[0]
            else f"{row.difference:+.4f}{around}",
            "iterations": str(row.iterations),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: the geometries, best first."""
        heads = ("geometry", *self.cells(self.rows[0]))
        rows = [(row.geometry.markup, *self.cells(row).values()) for row in self.rows]
        note = (
            ""
            if self.seeds > 1
            else "One seed cannot tell how much of a difference is noise: try seeds=5."
        )
        if self.within_noise:
            note = (
                f"Within two standard errors of the best: {escape(', '.join(self.within_noise))}."
            )
        table = html_table(f"Best geometry: {self.best.markup}", rows, heads)
        return f"<div>{table}<div>{note}</div></div>"

    def __repr__(self) -> str:
        near = (
            f"; within two standard errors: {', '.join(self.within_noise)}"
            if self.within_noise
            else ""
        )
        return f"Selection({self.best.name} of {len(self.rows)} geometries{near})"
