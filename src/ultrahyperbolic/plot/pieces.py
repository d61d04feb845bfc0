"""What figures show, as plain data that any library can draw: the paper's geometry, graphs and
losses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..embedding import Embedding
from ..graph import Graph
from ..lazy import Tensor, torch
from ..pairs import distances_from

if TYPE_CHECKING:
    from ..geometry import PseudoHyperboloid

# Colours that people with any kind of colour vision tell apart (Okabe and Ito).
BLUE, SKY, GREEN, ORANGE, VERMILION, BLACK = (
    "#0072B2",
    "#56B4E9",
    "#009E73",
    "#E69F00",
    "#D55E00",
    "#222222",
)
GREY = "#A9B0BA"
_MOST_TIES = 5000  # that are drawn, the strongest


class Surface(NamedTuple):
    """A grid of points."""

    points: Floats  # [a, b, 3]
    color: str
    opacity: float = 1.0
    name: str = ""  # for the legend; surfaces without a name are not in it


class Curve(NamedTuple):
    """A line through points."""

    points: Floats  # [n, 3]
    color: str
    name: str = ""
    width: float = 2.5
    dashed: bool = False


class Arrow(NamedTuple):
    """A tangent vector."""

    start: Floats  # [3]
    end: Floats
    color: str
    name: str = ""


class Mark(NamedTuple):
    """A point with its label."""

    point: Floats  # [3]
    text: str
    color: str = BLACK
    shift: tuple[float, float, float] = (0.0, 0.0, 0.12)  # where the label stands from the point


Piece = Surface | Curve | Arrow | Mark


class Scene(NamedTuple):
    """One panel of a figure. The last of the three coordinates is drawn upward."""

    title: str
    axes: tuple[str, str, str]
    pieces: Sequence[Piece]
    limits: tuple[float, float, float]  # the panel shows -limit … limit along each axis
    view: tuple[float, float] = (18.0, -60.0)  # elevation and azimuth of the eye, in degrees


# x_0 of the surfaces shown together, in units of √|β|: two below 1, the cone, and two above.
LEVELS = (0.0, 0.7, 1.0, 1.3, 1.7)
_HEIGHT = 2.2
_RINGS, _ROUND = 41, 73
_FAMILY_VIEW = (14.0, -50.0)


def _space(p: int, beta: float) -> tuple[PseudoHyperboloid, float, Tensor]:
    """Q^{p,1}_β, √|β| and the pole."""
    from ..geometry import PseudoHyperboloid

    manifold = PseudoHyperboloid(p, 1, beta)
    return manifold, math.sqrt(-beta), manifold.origin()


def level_surface(manifold: PseudoHyperboloid, level: float, turn: float = 2.0 * math.pi) -> Floats:
    """The points of Q^{2,1}_β with x_0 = level · √|β|, as a grid [a, b, 3] of (x_2, x_3, x_1), NaN
    between two sheets.

    They are x_2² + x_3² - x_1² = x_0² + β: a hyperboloid of two sheets where x_0² < |β|, a cone
    where they are equal, a hyperboloid of one sheet beyond. ``turn`` below 2π leaves a part of the
    way round out.
    """
    height = torch.linspace(-_HEIGHT, _HEIGHT, 2 * _RINGS - 1, dtype=torch.float64)
    if level <= 1.0:
        # Even steps of the radius, not of the height: the sheets are round where they are nearest.
        nearest, widest = math.sqrt(1.0 - level**2), math.sqrt(_HEIGHT**2 + level**2 - 1.0)
        radius = torch.linspace(0.0, widest, _RINGS, dtype=torch.float64)
        above = (radius.square() + nearest**2).sqrt()
        height = torch.cat((above, above.new_tensor([math.nan]), -above))
    # ψ⁻¹ of a unit time part, along (level, height), and a space part in all directions.
    time = torch.stack((torch.full_like(height, level), height), dim=-1)
    length = time.norm(dim=-1, keepdim=True)
    around = torch.linspace(0.0, turn, _ROUND, dtype=torch.float64)
    space = (length.square() - 1.0).clamp_min(0.0).sqrt()[:, None] * torch.stack(
        (around.cos(), around.sin()), dim=-1
    )
    unit = (time / length)[:, None].expand(-1, len(around), -1)
    return manifold.psi_inverse(torch.cat((unit, space), dim=-1))[..., [2, 3, 1]].numpy()


def family(beta: float = -1.0) -> list[Scene]:
    """Figure 1: Q^{2,1}_β projected along x_0 to R³. All the hyperboloids at once, then one of each
    kind.
    """
    manifold, root, _ = _space(2, beta)
    axes, limits = ("x₂", "x₃", "x₁"), (_HEIGHT * root * 1.1,) * 2 + (_HEIGHT * root,)
    together = []
    for level in LEVELS:
        grid, name = (
            level_surface(manifold, level, 1.5 * math.pi),
            f"x₀ = {level * root:.3g}: {kind_of(level)}",
        )
        together.append(Surface(grid, _level_color(level), name=name))
    scenes = [Scene("the family, cut open", axes, together, limits, _FAMILY_VIEW)]
    for where, level in {"below": 0.7, "at": 1.0, "above": 1.3}.items():
        alone = [Surface(level_surface(manifold, level), _level_color(level))]
        scenes.append(
            Scene(f"x₀ {where} {root:.3g}: {kind_of(level)}", axes, alone, limits, _FAMILY_VIEW)
        )
    return scenes


def kind_of(level: float, before: str = "") -> str:
    """The name of the surface at a level; ``before`` comes before the number of sheets."""
    return "a cone" if level == 1.0 else before + ("two sheets" if level < 1.0 else "one sheet")


def _level_color(level: float) -> str:
    """Blue below 1, darker the farther; orange at it; vermilion above."""
    if level == 1.0:
        return ORANGE
    base, strength = (BLUE, 1.0 - level) if level < 1.0 else (VERMILION, level - 1.0)
    share = 0.5 + 0.5 * min(1.0, strength)
    mixed = bytes(round(255 - share * (255 - part)) for part in bytes.fromhex(base[1:]))
    return f"#{mixed.hex().upper()}"


# Figure 2 lives on Q^{1,1}, the only signature with three kinds of geodesic that fits into R³: time
# (x_0, x_1) is the ground, space x_2 is upward.
_TALL = 1.55
_AXES = ("x₀", "x₁", "x₂")
# Tangent vectors at the pole, in units of √|β|: one of each kind, and the ξ of exp and log.
DIRECTIONS = {
    "space-like": (0.0, 0.0, 1.0),
    "light-like": (0.0, 1.0, 1.0),
    "time-like": (0.0, 1.0, 0.0),
}
VECTOR = (0.0, 0.35, 1.2)


def _heights() -> Tensor:
    return torch.linspace(-_TALL, _TALL, 81, dtype=torch.float64)[:, None]


def _part(manifold: PseudoHyperboloid, first: Tensor, last: Tensor) -> Floats:
    """Q^{1,1}_β up to a height, as a grid [a, b, 3]: ψ⁻¹ of arcs, from an angle [a, 1] to another
    at each height.
    """
    around = first + torch.linspace(0.0, 1.0, 145, dtype=torch.float64) * (last - first)
    arcs = torch.stack((around.cos(), around.sin(), _heights().expand_as(around)), dim=-1)
    return manifold.psi_inverse(arcs).numpy()


def geodesics(beta: float = -1.0) -> list[Scene]:
    """Figure 2, left: the geodesics of Q^{1,1}_β through a point (Eq. 5): one of each kind, and
    both light rays.
    """
    manifold, root, x = _space(1, beta)
    steps = torch.linspace(-1.0, 1.0, 181, dtype=torch.float64)
    kinds = (
        ("space-like: a branch of a hyperbola", BLUE, DIRECTIONS["space-like"], math.asinh(_TALL)),
        ("light-like: a straight line", ORANGE, DIRECTIONS["light-like"], _TALL),
        ("", ORANGE, (0.0, -1.0, 1.0), _TALL),  # the other light ray
        ("time-like: closed", VERMILION, DIRECTIONS["time-like"], math.pi),
    )
    half = torch.full_like(_heights(), math.pi)
    pieces: list[Piece] = [Surface(_part(manifold, -half, half), GREY, 0.42)]
    for name, color, direction, length in kinds:
        vector = manifold.proju(x, root * torch.tensor(direction, dtype=torch.float64))
        pieces.append(Curve(manifold.geodesic(x, vector, length * steps).numpy(), color, name, 3.0))
    pieces.append(Mark(x.numpy(), "x", BLACK, (0.0, -0.3 * root, -0.05 * root)))
    return [Scene("three kinds of geodesic", _AXES, pieces, _limits(root), (16.0, 24.0))]


def exp_log(beta: float = -1.0) -> list[Scene]:
    """Figure 2, right: exp and log between the tangent plane at x and Q^{1,1}_β; the part that
    exp_x does not reach.
    """
    manifold, root, x = _space(1, beta)
    vector = manifold.proju(x, root * torch.tensor(VECTOR, dtype=torch.float64))
    way = manifold.geodesic(x, vector, torch.linspace(0.0, 1.0, 61, dtype=torch.float64))
    y = manifold.expmap(x, vector)
    back = x + manifold.logmap(x, y).vector
    corners = torch.tensor(
        [[[0.0, a, b] for a in (-1.15, 1.15)] for b in (-1.35, 1.35)], dtype=torch.float64
    )
    plane = x + manifold.proju(x, root * corners)
    # The angle, seen from the pole x, of the light rays through -x: no geodesic from x goes beyond
    # them.
    edge = (-1.0 / (1.0 + _heights().square()).sqrt()).acos()
    pieces: list[Piece] = [
        Surface(_part(manifold, -edge, edge), SKY, 0.34, "where expₓ leads"),
        Surface(_part(manifold, edge, 2.0 * math.pi - edge), GREY, 0.6, "no geodesic from x"),
        Surface(plane.numpy(), GREEN, 0.34, "the tangent plane at x"),
        Curve(way.numpy(), BLUE, "the geodesic t ↦ expₓ(tξ)", 3.0),
        Curve(torch.stack((back, y)).numpy(), BLACK, "", 1.2, dashed=True),
        Arrow(x.numpy(), back.numpy(), GREEN, "ξ = logₓ(y)"),
        Mark(x.numpy(), "x", BLACK, (0.0, 0.0, -0.27 * root)),
        Mark(back.numpy(), "ξ = logₓ(y)", GREEN, (-0.74 * root, 0.36 * root, 0.06 * root)),
        Mark(y.numpy(), "y = expₓ(ξ)", BLUE, (0.55 * root, -0.25 * root, 0.1 * root)),
    ]
    return [Scene("exponential and logarithm map", _AXES, pieces, _limits(root), (14.0, 58.0))]


def _limits(root: float) -> tuple[float, float, float]:
    wide = math.sqrt(1.0 + _TALL**2) * root
    return wide, wide, _TALL * root


class Nodes(NamedTuple):
    """Dots, and the ties between them."""

    places: Floats  # [n, 2]
    ids: Sequence[str]
    deltas: Floats
    ranks: Ints
    sizes: Floats  # [n] diameters in points
    ties: Ints  # [m, 2] positions of nodes
    strengths: Floats  # [m] from 0 to 1


class Line(NamedTuple):
    """Values over iterations."""

    name: str
    x: Floats
    y: Floats
    share: float  # where its colour is in the scale, from 0 to 1
    ended: bool = False  # whether it stops because every constraint was met: a dot says so


class Drawing(NamedTuple):
    """One flat panel of a figure."""

    title: str
    x: str = ""
    y: str = ""
    nodes: Nodes | None = None
    lines: Sequence[Line] = ()
    log: bool = False
    by_rank: bool = False  # whether upward is by rank, 1 at the top


def plane(embedding: Embedding, *, landmarks: int = 500) -> Floats:
    """Positions [n, 2] whose squared distances are like the dissimilarities: classical scaling with
    landmarks.

    It needs nothing but the dissimilarities, D_γ or on flat space the squared distance, and so
    suits any signature. Above ``landmarks`` nodes, that number are chosen, and the others are
    placed by their dissimilarities to them.
    """
    n = len(embedding)
    chosen = np.arange(n)
    if n > landmarks:
        chosen = np.sort(np.random.default_rng(0).choice(n, landmarks, replace=False))
    rows = [
        distances_from(embedding.space, embedding.points[index], embedding.points)
        for index in chosen
    ]
    squares = np.array(rows).reshape(len(chosen), n)
    among = squares[:, chosen]
    centred = among - among.mean(0) - among.mean(1)[:, None] + among.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    values, vectors = values[:-3:-1], vectors[:, :-3:-1]
    # Of an eigenvector either sign will do: the one whose largest entry is positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])])
    # Nodes on one line, or in one place, leave nothing for an axis.
    usable = values > 1e-9 * max(np.abs(among).max(initial=0.0), 1e-300)
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    placed = np.zeros((n, 2))
    placed[:, : len(values)] = -0.5 * (squares - among.mean(1)[:, None]).T @ (vectors * scale)
    return placed


def hierarchy_drawing(embedding: Embedding, graph: Graph | None = None, title: str = "") -> Drawing:
    """Height by rank, and left to right by the order along the first axis of the plane, spread
    evenly.
    """
    across = np.argsort(np.argsort(plane(embedding)[:, 0], kind="stable"), kind="stable")
    places = np.stack((across.astype(float), embedding.rank.astype(float)), axis=1)
    title = title or f"height by rank of δ on {_name(embedding)}"
    return Drawing(title, y="rank", nodes=_nodes(embedding, graph, places), by_rank=True)


def map_drawing(embedding: Embedding, graph: Graph | None = None) -> Drawing:
    """The nodes in the plane."""
    return Drawing(
        f"{len(embedding)} nodes on {_name(embedding)}",
        nodes=_nodes(embedding, graph, plane(embedding)),
    )


def losses_drawing(runs: Mapping[str, Embedding], title: str) -> Drawing:
    """The loss of each run; colours follow the order of the runs."""
    if not runs:
        raise ValueError("losses needs at least one run")
    lines = []
    for number, (name, embedding) in enumerate(runs.items()):
        record = embedding.record
        loss = np.asarray(record.loss, dtype=float)
        if not len(loss):
            raise ValueError(f"the run {name!r} holds no loss: it was not trained here, or not yet")
        iterations = np.arange(len(loss), dtype=float) * record.loss_every
        ended = record.result is not None and record.result.ordered_at is not None
        lines.append(Line(name, iterations, loss, number / max(1, len(runs) - 1), ended))
    return Drawing(title, "iteration", "loss", lines=lines, log=True)


def _nodes(embedding: Embedding, graph: Graph | None, places: Floats) -> Nodes:
    graph = embedding.ties if graph is None else graph
    ties, strengths = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if graph is not None:
        if list(graph.ids) != list(embedding.ids):
            graph = graph.with_nodes(embedding.ids)
        strongest = np.argsort(graph.weights, kind="stable")[-_MOST_TIES:]
        ties, strengths = (
            graph.edges[strongest],
            graph.weights[strongest] / graph.weights.max(initial=1e-300),
        )
    n = len(embedding)
    # The top is largest; a crowd is small.
    sizes = np.clip(60.0 / np.sqrt(n), 2.0, 9.0) * (
        1.0 + 1.2 * (1.0 - (embedding.rank - 1.0) / max(1, n - 1))
    )
    return Nodes(
        places,
        [str(node) for node in embedding.ids],
        embedding.delta,
        embedding.rank,
        sizes,
        ties,
        strengths,
    )


def _name(embedding: Embedding) -> str:
    return str(embedding.manifold) if embedding.geometry is None else embedding.geometry.name
