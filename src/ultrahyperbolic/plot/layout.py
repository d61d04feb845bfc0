"""Places of nodes in the plane: the map of the report and `plot_map`, and a plain scaling."""

from itertools import groupby

import numpy as np

from ..arrays import Floats, Ints, positions_in
from ..embedding import Embedding
from ..graph import Graph
from ..pairs import distances_from, rows_of
from ..spaces import Space

_NEIGHBOURS = 12
_ITERATIONS = 300
_PUSHING = 300  # at most this many nodes, drawn for each iteration, push all others away
_SOFTNESS = 0.1  # no push grows beyond 1 / _SOFTNESS, however close two nodes are
# A component of n nodes has a radius of n ** _ROOM: more than its share where it is large.
_ROOM = 0.72
_WIDER = 1.45  # how much wider than tall the map of several components is

Pairs = tuple[Ints, Floats]
"""The nearest of each node [n, k], and how far they are [n, k]; or pairs of near nodes [m, 2], and
how near [m].
"""


def part_of(embedding: Embedding, rows: Ints) -> tuple[Floats, Floats | None]:
    """The points of the nodes at ``rows``, and their popularity where it is known."""
    popularity = embedding.popularity
    return embedding.points[rows], None if popularity is None else popularity[rows]


def map_of(embedding: Embedding, graph: Graph | None, rows: Ints) -> Floats:
    """A map [r, 2] of the nodes at ``rows`` [r], the same for the same points.

    Each node is pulled towards its nearest nodes by D_γ and pushed away by all others, the farther
    the larger its strength, as in UMAP and force-directed layouts. The components of the graph are
    laid out alone, and packed side by side, the largest in the middle.
    """
    n, (points, popularity) = len(rows), part_of(embedding, rows)
    known: Pairs | None = None
    if n == len(embedding) > _NEIGHBOURS:
        others, far = embedding.nearest(_NEIGHBOURS)
        known = positions_in(rows)[others[rows]], far[rows]
    component, mass = np.zeros(n, np.int64), np.ones(n)
    if graph is not None:
        component, strength = graph.component[rows], graph.strength[rows]
        mass = 0.6 + np.sqrt(strength / max(float(strength.max(initial=0.0)), 1e-300))
        mass = mass / mass.mean()
    order = np.argsort(component, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(component[order])) + 1) if n else []
    parts.sort(key=len, reverse=True)
    placed: list[Floats] = []
    for size, alike in groupby(parts, key=len):
        some = np.array(list(alike))
        offsets = [None if popularity is None else popularity[part] for part in some]
        both = zip(some, offsets, strict=True)
        near = known if size == n else None
        links = [
            near_links(points[part], embedding.space, popularity=own, near=near)
            for part, own in both
        ]
        ends = [
            pairs + number * size for number, (pairs, _) in enumerate(links)
        ]  # as one graph, side by side
        whole = np.concatenate(ends), np.concatenate([weights for _, weights in links])
        placed.extend(size**_ROOM * _unit(places) for places in _spread(whole, mass[some]))
    places = np.zeros((n, 2))
    for part, inside, centre in zip(parts, placed, _packed(placed), strict=True):
        places[part] = inside + centre
    return places


def near_links(
    points: Floats, manifold: Space, *, popularity: Floats | None = None, near: Pairs | None = None
) -> Pairs:
    """The nearest nodes of each, weighted as UMAP does: 1 for the nearest; w_ij + w_ji - w_ij ·
    w_ji of a pair.

    Pairs [m, 2] with the smaller position first, each once, and weights [m] from 0 to 1. ``near``
    saves a pass.
    """
    n = len(points)
    k = min(_NEIGHBOURS, n - 1)
    if k < 1:
        return np.empty((0, 2), np.int64), np.empty(0)
    if near is None:
        near = rows_of(points, manifold, k=k, popularity=popularity)[1:3]
    others, far = near
    beyond = far - far.min(axis=1, keepdims=True)
    one_way = np.exp(-beyond / _scales(beyond)[:, None]).ravel()
    pairs = np.sort(np.column_stack((np.repeat(np.arange(n), k), others.ravel())), axis=1)
    keys, where = np.unique(pairs[:, 0] * n + pairs[:, 1], return_inverse=True)
    missing = np.ones(len(keys))
    np.multiply.at(missing, where, 1.0 - one_way)
    return np.column_stack(np.divmod(keys, n)), 1.0 - missing


def _scales(beyond: Floats) -> Floats:
    """For each node the scale [n] at which its nearest nodes together weigh log2(k + 1)."""
    n, k = beyond.shape
    typical = max(float(beyond.mean()), 1e-300)
    wanted = max(1.0, 0.9 * np.log2(k + 1))
    low, high, scale = np.zeros(n), np.full(n, np.inf), np.full(n, typical)
    for _ in range(40):
        too_wide = np.exp(-beyond / scale[:, None]).sum(1) > wanted
        high, low = np.where(too_wide, scale, high), np.where(too_wide, low, scale)
        scale = np.where(np.isinf(high), 2.0 * scale, 0.5 * (low + np.minimum(high, 1e300)))
    return np.asarray(np.clip(scale, 1e-6 * typical, 1e6 * typical))


def _spread(links: Pairs, mass: Floats) -> Floats:
    """Places [c, m, 2] of c components of m nodes each, with masses [c, m], by pulls and pushes
    within each.
    """
    many, n = mass.shape
    if n <= 2:
        return (
            np.tile([[-0.5, 0.0], [0.5, 0.0]], (many, 1, 1)) if n == 2 else np.zeros((many, n, 2))
        )
    rng = np.random.default_rng(0)
    size = np.sqrt(n)
    places: Floats = size * (_slow_directions(links, many, n) + 0.05 * rng.normal(size=(n, 2)))
    (first, second), weights = links[0].T, links[1]
    iterations = _ITERATIONS if n > 30 else _ITERATIONS // 3
    for iteration in range(iterations):
        flat = places.reshape(-1, 2)
        gap = flat[second] - flat[first]
        pull = (weights / np.sqrt(1.0 + (gap**2).sum(1)))[:, None] * gap
        force = (_sums(first, pull, len(flat)) - _sums(second, pull, len(flat))).reshape(
            places.shape
        )
        force += _push(places, mass, rng)
        force -= 0.007 * size * places  # keeps what hardly hangs together from drifting off
        length = np.linalg.norm(force, axis=-1, keepdims=True)
        longest = 0.12 * size * (1.0 - iteration / iterations) ** 1.5 + 1e-3
        places = places + force * np.minimum(0.15, longest / np.maximum(length, 1e-12))
    return places


def _slow_directions(links: Pairs, many: int, n: int) -> Floats:
    """Where to begin [c, m, 2], from -0.5 to 0.5: two eigenvectors of the links' Laplacian, by
    power iteration.
    """
    (first, second), weights = links[0].T, links[1]
    degree = np.bincount(first, weights, many * n) + np.bincount(second, weights, many * n)
    root = np.sqrt(np.maximum(degree, 1e-12))
    scaled = (weights / (root[first] * root[second]))[:, None]
    basis = np.tile(np.random.default_rng(1).normal(size=(n, 3)), (many, 1, 1))
    basis[..., 0] = root.reshape(many, n)
    for _ in range(120):
        flat = basis.reshape(-1, 3)
        mixed = _sums(first, scaled * flat[second], len(flat)) + _sums(
            second, scaled * flat[first], len(flat)
        )
        basis = np.linalg.qr(0.5 * (basis + mixed.reshape(basis.shape))).Q
    found = basis[..., 1:] / root.reshape(many, n, 1)
    # Ranks even out what eigenvectors crowd together.
    ranks = np.argsort(np.argsort(found, axis=1, kind="stable"), axis=1, kind="stable")
    return ranks / (n - 1) - 0.5


def _push(places: Floats, mass: Floats, rng: np.random.Generator) -> Floats:
    """By how much all others of its component, or ``_PUSHING`` drawn from them, push each node
    away.
    """
    n = mass.shape[1]
    some = np.arange(n) if n <= _PUSHING else rng.choice(n, _PUSHING, replace=False)
    # Single precision is enough for a push. Without products of matrices no threads wait for each
    # other.
    x, y = np.moveaxis(places.astype(np.float32), -1, 0)
    across, up = x[:, :, None] - x[:, None, some], y[:, :, None] - y[:, None, some]
    share = (mass[:, None, some] * (n / len(some))).astype(np.float32) / (
        across**2 + up**2 + np.float32(_SOFTNESS)
    )
    return np.asarray(
        mass[..., None] * np.stack(((share * across).sum(-1), (share * up).sum(-1)), axis=-1)
    )


def _sums(where: Ints, values: Floats, n: int) -> Floats:
    return np.column_stack([np.bincount(where, column, n) for column in values.T])


def _unit(places: Floats) -> Floats:
    """The places centred, with the widest direction horizontal, and within a distance of 1."""
    if len(places) < 2:
        return places
    places = places - places.mean(0)
    directions = np.linalg.eigh(places.T @ places)[1][:, ::-1]
    turned = places @ (directions * np.sign(directions[np.abs(directions).argmax(0), [0, 1]]))
    turned -= 0.5 * (turned.max(0) + turned.min(0))
    return np.asarray(turned / max(float(np.linalg.norm(turned, axis=1).max()), 1e-12))


def _packed(parts: list[Floats]) -> Floats:
    """Centres [c, 2] at which parts, the largest first, do not overlap: each as near to the middle
    as it can be.
    """
    radius = np.array([np.linalg.norm(part, axis=1).max(initial=0.0) for part in parts]) + 0.8
    centres = np.zeros((len(parts), 2))
    if len(parts) < 2:
        return centres
    # A grid with room enough for all, from the middle outwards.
    tall = 1.5 * np.sqrt((radius**2).sum() / _WIDER) + 2.0 * radius[0]
    step = max(0.6 * radius[-1], tall / 120)
    x, y = np.meshgrid(np.arange(-_WIDER * tall, _WIDER * tall, step), np.arange(-tall, tall, step))
    grid = np.column_stack((x.ravel(), y.ravel()))
    grid = grid[np.argsort(np.hypot(grid[:, 0] / _WIDER, grid[:, 1]), kind="stable")]
    free = np.hypot(*grid.T) - radius[0]
    for k in range(1, len(parts)):
        fits = free >= radius[k]
        centres[k] = grid[fits.argmax() if fits.any() else -1]
        free = np.minimum(free, np.hypot(*(grid - centres[k]).T) - radius[k])
    return centres


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
