"""Tables 2 and 3 of the supplement: geometries, the steps they are trained with, the published figures."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..geometry import Geometry
from ..training.config import TrainingConfig, configured
from ..training.presets import coauthor_settings
from .tables import geometries, label

ROWS = ("rho_all", "rho10", "rho20", "recall_at_1")
# A step, and the longest move of a point. Where the scripts' step diverges, or is far from done when the iterations
# are over, longer steps with bounded moves do better; of these the lowest loss is kept, and nothing else looked at.
SCRIPTS = (1e-8, None)
_LADDERS = {
    "ultrahyperbolic": (SCRIPTS,),
    "curved": ((1e-8, 1e-3), (1e-7, 1e-3)),
    "flat": (SCRIPTS, (1e-7, 1e-3), (1e-6, 1e-3)),
}
Rung = tuple[float, float | None]


@dataclass(frozen=True)
class Column:
    """A column of a table, or a training reported below it."""

    key: str
    geometry: Geometry
    perturb_first: bool = False

    @property
    def ladder(self) -> Sequence[Rung]:
        """The steps to try."""
        geometry = self.geometry
        return _LADDERS["flat" if geometry.is_flat else "ultrahyperbolic" if geometry.p and geometry.q else "curved"]

    @property
    def label(self) -> str:
        """R⁴ (flat), or Q^{3,1}."""
        return label(self.geometry)

    def config(self, rung: Rung, seed: int, iterations: int) -> TrainingConfig:
        """The training at a step."""
        step, longest = rung
        return configured(
            coauthor_settings(q=self.geometry.q),
            p=self.geometry.p,
            q=self.geometry.q,
            flat=self.geometry.flat,
            seed=seed,
            iterations=iterations,
            step=step,
            max_step=None if longest is None else (longest, longest),
            perturb_first=self.perturb_first,
        )


@dataclass(frozen=True)
class PublishedTable:
    """A table of the supplement: its dimension, the iterations, and the figures as printed."""

    name: str
    title: str
    dimension: int
    iterations: int
    published: dict[str, tuple[float, ...]]  # by column, the measures in the order of ROWS
    norm_published: tuple[float, ...] = ()  # the norm on Q^{d,0} in place of δ

    @property
    def columns(self) -> list[Column]:
        """Flat space, then the signatures from hyperbolic to spherical."""
        return [Column(geometry.file_name, geometry) for geometry in geometries(self.dimension)]

    @property
    def beside(self) -> Column:
        """Flat space with all coordinates started at random."""
        return Column(f"R{self.dimension}_all_coordinates", Geometry(flat=self.dimension), perturb_first=True)


TABLE2 = PublishedTable(
    "table2", "Table 2", 4, 10_000,
    {
        "R4": (0.469, 0.512, 0.217, 70.7),
        "Q4_0": (0.460, 0.490, 0.292, 70.2),
        "Q3_1": (0.629, 0.552, 0.316, 83.5),
        "Q2_2": (0.667, 0.493, 0.307, 82.6),
        "Q1_3": (0.625, 0.441, 0.227, 78.1),
        "Q0_4": (0.437, 0.493, 0.387, 69.7),
    },
    norm_published=(0.044, -0.113, 0.264),
)  # fmt: skip
TABLE3 = PublishedTable(
    "table3", "Table 3", 6, 25_000,
    {
        "R6": (0.554, 0.459, 0.372, 88.6),
        "Q6_0": (0.455, 0.515, 0.321, 99.9),
        "Q5_1": (0.617, 0.507, 0.211, 93.1),
        "Q4_2": (0.666, 0.501, 0.317, 96.4),
        "Q3_3": (0.688, 0.514, 0.383, 96.7),
        "Q2_4": (0.675, 0.470, 0.370, 95.7),
        "Q1_5": (0.610, 0.494, 0.213, 93.5),
        "Q0_6": (0.456, 0.532, 0.257, 99.9),
    },
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A geometry at a step from a start."""

    geometry: Column
    rung: Rung
    config: TrainingConfig
