"""The pass over the pairs without an edge where an edge is compared with the pairs of its two ends: sums by node.

Two sweeps over the same slabs and tiles as in the graph-wide pass. The first adds Σ exp(-d/τ) to both nodes of every
pair; from these and the edges come two coefficients for each pair, and the second sweep adds up the gradient. What the
first sweep has computed is kept for the second while there is room, and computed again beyond.

A pair counts where it is not much farther than the longest edge of one of its nodes: no edge there can tell it from
nothing. Sums are those of exp(-d/τ) itself where that cannot vanish. Where it can (a "cold" pass) each node has a
dissimilarity of its own that its sum is relative to, the least it has met, and pairs are taken one by one.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.functions import bounds, dissimilarity, exponentials, smooth
from ...pairs.numba.portable import jit, vectorized
from ..base import CELL
from .arguments import Rows
from .offsets import add_offset_pair, less, take_off_tile
from .streaming import (
    FEW,
    ROWS,
    TILE,
    add_pair,
    add_up,
    chords,
    evaluate,
    far,
    half_chord,
    kind_of_table,
    mask,
    push,
    slabs_of,
)

# exp(-d/τ) is a number of full precision up to here, in units of τ.
_MOST = 650.0
# Pairs of which the first sweep keeps what it has computed, in all slabs of a run together.
KEPT_PAIRS = 1 << 22
# Numbers of the longest entry: four of a tile, and four of each pair that is taken by itself.
_LONGEST_ENTRY = 4 + 4 * ROWS * TILE
# Farther than any pair, and a number.
_BEYOND = 1e300


def kept_numbers(n: int, numbers: int = 1) -> int:
    """How many numbers a slab keeps at most, where it keeps so many of a pair."""
    slabs = len(slabs_of(n)) - 1
    return numbers * min(KEPT_PAIRS, n * (n - 1) // 2) // slabs + 2 * _LONGEST_ENTRY


def rows_of(n: int, m: int, dtype: type, *, popular: bool = False) -> Rows:
    """Room for n nodes and m edges; ``dtype`` is the precision of pairs. With offsets, weights are kept too."""
    slabs = len(slabs_of(n)) - 1
    return Rows(
        np.zeros((4, n)),
        np.zeros((slabs, 4, n)),
        np.zeros((slabs, kept_numbers(n, 1 + popular))),
        np.zeros((slabs, 2), np.int64),
        np.zeros((slabs, 2)),
        np.zeros((slabs, ROWS * TILE), dtype),
        np.zeros((3, 2 * m)),
        np.zeros(2),
    )


@jit
def longest_edges(ends, values, longest):
    """The longest edge of each node, into longest [n]; that of none is beyond all on the other side."""
    for i in range(len(longest)):
        longest[i] = -_BEYOND
    for e in range(len(ends)):
        i, j = ends[e]
        longest[i] = max(longest[i], values[e])
        longest[j] = max(longest[j], values[e])


@jit
def is_cold(work, tau):
    """Whether exp(-d/τ) could vanish for a pair that counts."""
    longest, most = work.rows.nodes[3], 0.0
    for i in range(len(longest)):
        most = max(most, longest[i])
    return most - work.rows.shift[1] + work.cut[0] * tau > _MOST * tau


@jit
def _between(far, offsets, i, most, space, now, limit):
    """The w between which a pair of node i may be no farther, where no offset exceeds ``most``."""
    if offsets is None:
        low, high = bounds(far, space.kind, space.radius, now.epsilon)
        return max(low, -limit), min(high, limit)
    far += offsets[i] + most
    if far < 0.0:
        return limit, -limit
    low, high = bounds(far, space.kind, space.radius, now.epsilon)
    return max(low, -limit), min(high, limit)


@jit
def begin(offsets, space, now, work, cold, everything):
    """Set what each slab's sums are relative to and the pairs that count: with ``everything``, all at first."""
    nodes, slabs, shift = work.rows.nodes, work.rows.slabs, work.rows.shift
    cut, w = work.cut[0], work.tiles[0, 0]
    limit = 0.5 * far(w)
    for i in range(nodes.shape[1]):
        longest = nodes[3, i]
        low, high = limit, -limit
        if everything:
            low, high = -limit, limit
        elif longest > -_BEYOND:
            low, high = _between(longest + cut * now.tau, offsets, i, shift[0], space, now, limit)
        relative = shift[1]
        if cold:
            relative = _BEYOND if everything else longest
        for s in range(len(slabs)):
            slabs[s, 0, i], slabs[s, 1, i], slabs[s, 2, i], slabs[s, 3, i] = relative, 0.0, low, high


@jit
def gather(tau, parts, rows):
    """The sums of all slabs in their order, into the first two rows of the nodes' [4, n]."""
    nodes, slabs = rows.nodes, rows.slabs
    for i in range(nodes.shape[1]):
        least, total = slabs[0, 0, i], 0.0
        for s in range(1, len(slabs)):
            least = min(least, slabs[s, 0, i])
        for s in range(len(slabs)):
            if slabs[s, 0, i] == least:
                total += slabs[s, 1, i]
            elif slabs[s, 1, i] > 0.0:
                total += slabs[s, 1, i] * math.exp((least - slabs[s, 0, i]) / tau)
        nodes[0, i], nodes[1, i] = least, parts * total


@vectorized
def _count(w, at, count, low, high, lows, highs):
    """How many w lie between the bounds of their row or of their column."""
    found = 0
    for j in range(count):
        x = w[at + j]
        least = lows[j] if lows[j] < low else low
        most = highs[j] if highs[j] > high else high
        found += (x >= least) & (x <= most)
    return found


@vectorized
def _extremes(w, count, found):
    above, below = found[0], found[1]
    for j in range(count):
        above = w[j] if (w[j] >= 0.0) & (w[j] < above) else above
        below = w[j] if (w[j] < 0.0) & (w[j] > below) else below
    found[0], found[1] = above, below


@vectorized
def _times(weights, slopes, size, products):
    for j in range(size):
        products[j] = weights[j] * slopes[j]


@vectorized
def _weigh(products, count, row, columns, pulls):
    """Products times the coefficients of their row and of their columns."""
    for j in range(count):
        pulls[j] = products[j] * (row + columns[j])


@jit
def _lower(offsets, mine, i, value, space, now, cut, most, limit):
    """Make the sum of a node relative to a nearer pair."""
    if mine[1, i] > 0.0:
        mine[1, i] *= math.exp((value - mine[0, i]) / now.tau)
    mine[0, i] = value
    mine[2, i], mine[3, i] = _between(value + cut * now.tau, offsets, i, most, space, now, limit)


@jit
def _list_few(offsets, exact, factors, space, now, mine, w, i, rows, start, count, entry):
    """The pairs of a tile that count, into an entry: nodes, dissimilarity and slope of each; how many there are."""
    found = 0
    for r in range(rows):
        for j in range(start, start + count):
            x = w[r * count + j - start]
            if x >= min(mine[2, i + r], mine[2, j]) and x <= max(mine[3, i + r], mine[3, j]):
                chord = half_chord(exact, factors, space.time, i + r, j)
                value, slope = dissimilarity(chord, space.kind, space.radius, now.epsilon)
                value = less(offsets, value, i + r, j)
                at = 4 + 4 * found
                entry[at], entry[at + 1], entry[at + 2], entry[at + 3] = i + r, j, value, slope
                found += 1
    return found


@jit
def _add_few(offsets, entry, found, cold, space, now, cut, most, limit, relative, mine):
    """Add the pairs of an entry to the sums of their nodes."""
    for k in range(found):
        i, j, value = int(entry[4 + 4 * k]), int(entry[5 + 4 * k]), entry[6 + 4 * k]
        if cold:
            if value < mine[0, i]:
                _lower(offsets, mine, i, value, space, now, cut, most, limit)
            if value < mine[0, j]:
                _lower(offsets, mine, j, value, space, now, cut, most, limit)
            mine[1, i] += math.exp((mine[0, i] - value) / now.tau)
            mine[1, j] += math.exp((mine[0, j] - value) / now.tau)
        else:
            weight = math.exp((relative - value) / now.tau)
            mine[1, i] += weight
            mine[1, j] += weight


@jit
def _push_few(offsets, entry, found, cold, tau, points, nodes, relative, gradient):
    """Add the pairs of an entry to the gradient."""
    for k in range(found):
        i, j, value, slope = int(entry[4 + 4 * k]), int(entry[5 + 4 * k]), entry[6 + 4 * k], entry[7 + 4 * k]
        if cold:
            weight = 0.0
            if nodes[2, i] > 0.0:
                weight += nodes[2, i] * math.exp((nodes[0, i] - value) / tau)
            if nodes[2, j] > 0.0:
                weight += nodes[2, j] * math.exp((nodes[0, j] - value) / tau)
        else:
            weight = (nodes[2, i] + nodes[2, j]) * math.exp((relative - value) / tau)
        add_pair(points, i, j, weight * slope, gradient)
        add_offset_pair(offsets, gradient, i, j, weight)


@jit
def _push_tile(offsets, entry, i, start, count, points, coefficients, pulls, gradient):
    """Add a tile whose products of weights and slopes are kept to the gradient; with offsets, its weights too."""
    columns = coefficients[start : start + count]
    for r in range(ROWS):
        _weigh(entry[4 + r * count :], count, coefficients[i + r], columns, pulls[r * count :])
    push(points, i, start, count, pulls, gradient)
    _push_weights(offsets, entry, i, start, count, coefficients, pulls, gradient)


@jit
def _push_weights(offsets, entry, i, start, count, coefficients, pulls, gradient):
    """Add the weights of a tile, which follow its products, to the gradient in the offsets."""
    if offsets is not None:
        columns, slopes = coefficients[start : start + count], gradient[len(gradient) - 1]
        for r in range(ROWS):
            at = 4 + (ROWS + r) * count
            _weigh(entry[at:], count, coefficients[i + r], columns, pulls[r * count :])
        add_up(pulls[: ROWS * count], count, slopes, i, slopes[start:])


@jit
def _keep_weights(offsets, weights, size, entry):
    """Put the weights of a tile after its products where the gradient needs them; how many numbers that is."""
    if offsets is None:
        return 0
    for j in range(size):
        entry[4 + size + j] = weights[j]
    return size


@jit
def sweep(run, space, now, prepared, edges, work, cold, pushing, s):
    """The pairs of slab ``s``: their sums by node, or when these are known (``pushing``) the gradient."""
    exact, points, offsets, neighbors = run.points, run.pair_points, edges.offsets, edges.neighbors
    factors, table, gradient, tiles, cut = work.factors, work.table, work.gradients[s], work.tiles[s], work.cut[0]
    w, values, slopes, weights = tiles[0], tiles[1], tiles[2], tiles[3]
    rows = work.rows
    mine, nodes, kept, pulls, nearest = rows.slabs[s], rows.nodes, rows.kept[s], rows.pulls[s], rows.nearest[s]
    n, last, hot, parts = points.shape[1], work.slabs[s + 1], prepared.hot, now.parts
    tabled, limit, popular = kind_of_table(space.kind, n), 0.5 * far(w), run.offsets
    looking = prepared.slack == 0.0 and not pushing and popular is None
    most, relative, double = rows.shift[0], rows.shift[1], 1 if popular is None else 2
    i, position, keeping = work.slabs[s], 0, not pushing
    if pushing:
        for k in range(len(gradient)):
            for j in range(i, n):
                gradient[k, j] = 0.0
        while position < rows.ends[s, 0]:
            entry = kept[position:]
            found = int(entry[0])
            if found < 0:
                start, count = int(entry[2]), int(entry[3])
                _push_tile(popular, entry, int(entry[1]), start, count, points, nodes[2], pulls, gradient)
                position += 4 + double * ROWS * count
            else:
                _push_few(popular, entry, found, cold, now.tau, points, nodes, relative, gradient)
                position += 4 + 4 * found
        i = rows.ends[s, 1]
    else:
        nearest[0], nearest[1] = _BEYOND, -_BEYOND
        rows.ends[s, 1] = last
    cursor = np.zeros(ROWS, np.int64)
    while i < last:
        height = min(ROWS, last - i)
        for r in range(height):
            cursor[r] = offsets[i + r]
        before = position
        cell = (i + 1) // CELL[1]
        cell += (now.part - i // ROWS - cell) % parts
        start = i + 1 if parts == 1 else max(i + 1, cell * CELL[1])
        while start < n:
            count = min(TILE if parts == 1 else (cell + 1) * CELL[1] - start, n - start)
            size = height * count
            chords(exact, factors, space.time, i, height, start, count, work.wide, s, w)
            for r in range(height):
                while cursor[r] < offsets[i + r + 1] and neighbors[cursor[r]] < start + count:
                    cursor[r] += 1
            masked = mask(w, far(w), i, height, start, count, cursor, offsets, neighbors)
            if looking:
                _extremes(w, size, nearest)
            alive = size if hot else 0
            if not hot:
                for r in range(height):
                    alive += _count(
                        w, r * count, count, mine[2, i + r], mine[3, i + r], mine[2, start:], mine[3, start:]
                    )
            if alive > 0:
                if keeping and position + _LONGEST_ENTRY > len(kept) - _LONGEST_ENTRY:
                    # No more room: from this row on everything is computed again.
                    keeping, position = False, before
                    rows.ends[s, 1] = i
                entry = kept[position:]
                if cold or alive * FEW < size or height < ROWS:
                    found = _list_few(popular, exact, factors, space, now, mine, w, i, height, start, count, entry)
                    entry[0], length = found, 4 + 4 * found
                    if pushing:
                        _push_few(popular, entry, found, cold, now.tau, points, nodes, relative, gradient)
                    else:
                        _add_few(popular, entry, found, cold, space, now, cut, most, limit, relative, mine)
                else:
                    evaluate(w, size, tabled, space.radius, now, prepared, table, masked, values, slopes)
                    products, length = entry[4:], 4 + size
                    if hot:
                        mask(values, 0.0, i, height, start, count, cursor, offsets, neighbors)
                        mask(slopes, 0.0, i, height, start, count, cursor, offsets, neighbors)
                        for j in range(size):
                            products[j] = slopes[j]
                        if not pushing:
                            add_up(values, count, mine[1], i, mine[1, start:])
                    else:
                        if tabled != space.kind:
                            smooth(values, slopes, size, now.epsilon, space.time == 0)
                        take_off_tile(popular, values, i, height, start, count)
                        exponentials(values, size, relative, 1.0 / now.tau, weights)
                        mask(weights, 0.0, i, height, start, count, cursor, offsets, neighbors)
                        _times(weights, slopes, size, products)
                        length += _keep_weights(popular, weights, size, entry)
                        if not pushing:
                            add_up(weights, count, mine[1], i, mine[1, start:])
                    entry[0], entry[1], entry[2], entry[3] = -1.0, i, start, count
                    if pushing:
                        _push_tile(popular, entry, i, start, count, points, nodes[2], pulls, gradient)
                if keeping:
                    position += length
            cell += parts
            start = start + count if parts == 1 else cell * CELL[1]
        i += height
    if not pushing:
        rows.ends[s, 0] = position
