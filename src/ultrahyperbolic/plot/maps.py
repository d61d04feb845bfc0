"""The map of the report and of `plot_map`: places, names and colours of the nodes, and which ties
are drawn.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Floats, Ints, positions_in
from ..embedding import Embedding
from ..embedding.answers import Labels, label_texts
from ..evaluation import clusters, communities
from ..graph import Graph
from ..pairs import rows_of
from ..spaces import Space

COMMUNITIES = "community"
# Okabe and Ito's colours and others that go with them; they read on white and on black.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#8c6bb1",
    "#b3a100",
    "#8c564b",
    "#2ca7a0",
)
REST = "#8b949e"
MAP_TIES = 1_200  # of more, a map draws the strongest of each node
_FEW = 12  # whole numbers with at most this many different values are kinds
_NEIGHBOURS = 12
_ITERATIONS = 300
_PUSHING = 300  # at most this many nodes, drawn for each iteration, push all others away
_SOFTNESS = 0.1  # no push grows beyond 1 / _SOFTNESS, however close two nodes are
_ROOM = (
    0.72  # a component of n nodes has a radius of n ** _ROOM: more than its share where it is large
)
_WIDER = 1.45  # how much wider than tall the map of several components is

Pairs = tuple[Ints, Floats]
"""The nearest of each node [n, k], and how far they are [n, k]; or pairs of near nodes [m, 2], and
how near [m].
"""


def map_of(embedding: Embedding, graph: Graph | None, rows: Ints) -> Floats:
    """A map [r, 2] of the nodes at ``rows`` [r], the same for the same points.

    Each node is pulled towards its nearest nodes by D_γ and pushed away by all others, the farther
    the larger its strength, as in UMAP and force-directed layouts. The components of the graph are
    laid out alone, and packed side by side, the largest in the middle.
    """
    n, points = len(rows), embedding.points[rows]
    popularity = None if embedding.popularity is None else embedding.popularity[rows]
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


class Kinds(NamedTuple):
    """A column of categories, one for each node."""

    name: str
    kinds: Sequence[str]  # the largest first; nodes of none are of the kind ""
    codes: Ints  # [n] positions in kinds


class Numbers(NamedTuple):
    """A column of numbers."""

    name: str
    values: Floats  # [n], NaN where a node has none


Column = Kinds | Numbers


def columns(embedding: Embedding, graph: Graph | None, rows: Ints) -> list[Column]:
    """What the nodes at ``rows`` can be coloured by, communities first."""
    found: list[Column] = [
        _by_size(COMMUNITIES, communities_of(embedding, graph, rows), numbered=True)
    ]
    for name, values in (
        (name, of[rows]) for name, of in embedding.attributes.items() if name != "cluster"
    ):
        if values.dtype.kind == "f" or (
            values.dtype.kind in "iu" and len(np.unique(values)) > _FEW
        ):
            found.append(Numbers(name, values.astype(np.float64)))
        else:
            found.append(_by_size(name, values))
    texts = label_texts([embedding.ids[int(row)] for row in rows], labels_of(embedding, graph))
    if any(texts) and not are_names(texts):
        found.append(_by_size("label", np.array(texts, dtype=object)))
    return found


def communities_of(embedding: Embedding, graph: Graph | None, rows: Ints) -> Ints:
    """The community of each node at ``rows``: the column ``cluster`` where there is one, else by
    the ties.

    Of some of the nodes, or where no ties are known, it is that by distances.
    """
    known = embedding.attributes.get("cluster")
    if known is not None:
        return np.unique(known[rows], return_inverse=True)[1].astype(np.int64)
    if len(rows) == len(embedding):
        ties = embedding.ties if graph is None else graph
        return (embedding.cluster("map") if ties is None else communities(ties))[rows]
    popularity = None if embedding.popularity is None else embedding.popularity[rows]
    return clusters(embedding.points[rows], embedding.space, popularity=popularity)


def _by_size(name: str, values: NDArray[np.generic] | Ints, *, numbered: bool = False) -> Kinds:
    """Values as kinds, the most frequent first; numbered ones are called 1, 2, …"""
    texts = (
        values if numbered else np.array([str(value) for value in values.tolist()], dtype=object)
    )
    kinds, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    named = [str(k + 1) for k in range(len(kinds))] if numbered else [str(kinds[k]) for k in order]
    return Kinds(name, named, positions_in(order)[codes])


def labels_of(embedding: Embedding, graph: Graph | None) -> Labels:
    """The labels that are known: the embedding's own, else the graph's."""
    return embedding.labels or (graph.labels if graph is not None and graph.labels else {})


def are_names(labels: Sequence[str]) -> bool:
    """Whether labels name the nodes: half or more have one of their own. Else they sort nodes into
    kinds.

    >>> are_names(["Ann", "Bob", "Ann", "Cid", "Dee"]), are_names(["red", "blue", "red", "red"])
    (True, False)
    """
    counts = Counter(filter(str.strip, labels))
    return sum(count == 1 for count in counts.values()) >= 0.5 * sum(counts.values()) > 0


def names_of(ids: Sequence[Hashable], labels: Labels) -> list[str]:
    """What to call each node: its label if that names it, with the id where two share one; else its
    id.

    >>> names_of([1, 2, 3, 4], {1: "Ann", 2: "Bob", 3: "Ann", 4: "Cid"})
    ['Ann (1)', 'Bob', 'Ann (3)', 'Cid']
    >>> names_of([1, 2, 3], {1: "red", 2: "red", 3: "blue"})
    ['1', '2', '3']
    """
    own = [node if isinstance(node, str) else str(node) for node in ids]
    texts = label_texts(ids, labels)
    if not are_names(texts):
        return own
    counts = Counter(texts)
    return [
        node if not text.strip() else text if counts[text] == 1 else f"{text} ({node})"
        for node, text in zip(own, texts, strict=True)
    ]


def edges_among(graph: Graph, rows: Ints) -> tuple[Ints, Ints]:
    """The edges between nodes at ``rows`` [r], weakest first: their numbers [m], and their ends [m,
    2] in ``rows``.
    """
    ends = positions_in(rows, graph.n_nodes)[graph.edges]
    among = np.flatnonzero((ends >= 0).all(axis=1))
    among = among[np.argsort(graph.weights[among], kind="stable")]
    return among, ends[among]


def backbone(ends: Ints, weights: Floats, n: int) -> Bools:
    """Which ties [m] between n nodes a map draws: all of a small graph, else the strongest of each
    node, at least one.

    >>> backbone(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [True, True, True]
    """
    both = np.concatenate((ends[:, 0], ends[:, 1]))
    order = np.lexsort((-np.concatenate((weights, weights)), both))
    stronger: Ints = positions_in(order) - np.searchsorted(both[order], both)
    # The number of stronger ties at one of its ends, whichever has fewer.
    fewest = np.minimum(stronger[: len(ends)], stronger[len(ends) :])
    room = min(max(MAP_TIES, 2 * n), 3 * MAP_TIES)
    counts = np.bincount(fewest, minlength=1).cumsum()
    return fewest < max(1, int(np.searchsorted(counts, room, side="right")))


def bow(first: Floats, last: Floats) -> Floats:
    """A tie as a slightly bent line, so that ties along one line can be distinguished."""
    share = np.linspace(0.0, 1.0, 25)[:, None]
    across = last - first
    bend = 0.08 * np.array([-across[1], across[0]]) * 4.0 * share * (1.0 - share)
    return first + share * across + bend
