"""Dissimilarities as functions of the squared half chord w, their inverses, and tables of them.

A pair enters the loss through w = ⟨x-y, x-y⟩ / 4|β| alone (for flat kinds, through its squared
distance). Every dissimilarity is a monotone function of w on either side of the cone w = 0, which
is what lets pairs be left out by comparing w with two bounds.

A table holds a function and its slope as polynomials on 32 segments of every octave of |w|, for w >
0 and w < 0: the segment and the place within it are bits of w itself, so that looking up costs no
logarithm, root or division.
"""

import math
from fractions import Fraction

import numpy as np

from ..kinds import CONE, Kind
from .portable import (
    asin,
    asinh,
    bits,
    exp,
    exp_between,
    fma,
    from_bits,
    inner,
    log1p,
    sin,
    sinh,
    vectorized,
)

# The kinds of dissimilarities as plain numbers, which the compiler takes for constants.
GEODESIC, BROKEN, SMOOTHED, FLAT_SQUARED, FLAT_SMOOTHED, CONE_RULE, EXTRINSIC, FLAT_DISTANCE = map(
    int, Kind
)

# exp(-46) is below the unit roundoff squared: what is pruned cannot be seen in a sum.
CUT = 46.0
_HALF_PI = math.pi / 2

# Training's tables: 32 segments keep 13 digits, and what a pass looks up stays in the cache.
SEGMENT_BITS = 5
SEGMENTS = 1 << SEGMENT_BITS
DEGREE = 5
# |w| below 2^-24 is left to the function itself: few pairs are so close.
LOWEST_OCTAVE = -24
# The scripts' cone rule has a kink at 5e-6: below 2^-17 the table does not know it.
_LOWEST_CONE_OCTAVE = -17
# 2^48 half chords: 35 radii away.
HIGHEST_OCTAVE = 48
# Interpolation at Chebyshev's nodes of [-1/2, 1/2]: half the cosines of 15°, 45° and 75°, on both
# sides.
_NODES = np.array([math.sqrt(6) + math.sqrt(2), math.sqrt(8), math.sqrt(6) - math.sqrt(2)]) / 8
_NODES = np.concatenate((_NODES, -_NODES[::-1]))


def _powers(nodes: list[Fraction]) -> list[list[float]]:
    """[DEGREE + 1, DEGREE + 1]: row k holds the coefficients of x^k of Lagrange's polynomials."""
    columns = []
    for node in nodes:
        found = [Fraction(1)]
        for other in nodes:
            if other != node:  # times (x - other) / (node - other)
                raised, kept = [Fraction(0), *found], [*(other * c for c in found), Fraction(0)]
                found = [(a - b) / (node - other) for a, b in zip(raised, kept, strict=True)]
        columns.append(found)
    return [[float(column[k]) for column in columns] for k in range(len(nodes))]


_COEFFICIENTS = np.array(_powers([Fraction(node) for node in _NODES.tolist()]))


@inner
def _arc(w, radius):
    """D_γ and its derivative in w."""
    if w > 0.0:
        root, stretch = math.sqrt(w), math.sqrt(1.0 + w)
        # asinh √w, by a logarithm that keeps its digits for small w.
        return 2.0 * radius * log1p(root + w / (1.0 + stretch)), radius / (root * stretch)
    if w < -0.5:
        return radius * (_HALF_PI - 1.0 - 2.0 * w), -2.0 * radius
    if w < 0.0:
        root = math.sqrt(-w)
        return 2.0 * radius * asin(root), -radius / (root * math.sqrt(1.0 + w))
    return 0.0, 0.0


@inner
def _smooth(square, slope, epsilon):
    """(σ² + ε²)^¼ - √ε and its derivative, from σ and its derivative."""
    h = math.sqrt(square * square + epsilon * epsilon)
    root = math.sqrt(h)
    return square * square / ((h + epsilon) * (root + math.sqrt(epsilon))), 0.5 * square / (
        h * root
    ) * slope


@inner
def dissimilarity(w, kind, radius, epsilon):
    """The dissimilarity numbered ``kind`` and its derivative in w."""
    if kind == GEODESIC:
        return _arc(w, radius)
    if kind == SMOOTHED:
        d, slope = _arc(w, radius)
        if w > 0.0:
            return _smooth(d * d, 2.0 * d * slope, epsilon)
        if w < 0.0:
            return _smooth(-d * d, -2.0 * d * slope, epsilon)
        return 0.0, 0.0
    if kind == FLAT_SQUARED:
        return w, 1.0
    if kind == FLAT_SMOOTHED:
        return _smooth(w, 1.0, epsilon)
    if kind == FLAT_DISTANCE:
        root = math.sqrt(w)
        return root, (0.5 / root if root > 0.0 else 0.0)
    if kind == EXTRINSIC:
        root = math.sqrt(abs(w))
        return 2.0 * radius * root, (math.copysign(radius, w) / root if root > 0.0 else 0.0)
    if kind == CONE_RULE:
        if abs(w) < CONE:
            return 4.0 * radius * abs(w), 4.0 * radius * (
                1.0 if w > 0.0 else -1.0 if w < 0.0 else 0.0
            )
        return _arc(w, radius)
    # The broken geodesic.
    if w >= -0.5:
        return _arc(w, radius)
    if w > -1.0:
        return radius * (math.pi - 2.0 * asin(math.sqrt(1.0 + w))), -radius / math.sqrt(
            -w * (1.0 + w)
        )
    beyond = -1.0 - w
    if beyond == 0.0:
        return radius * math.pi, 0.0
    root = math.sqrt(beyond)
    return radius * (math.pi + 2.0 * asinh(root)), -radius / (root * math.sqrt(1.0 + beyond))


@inner
def _sinh_square(x):
    root = sinh(min(x, 350.0))
    return root * root


@inner
def _sin_square(x):
    root = sin(x)
    return root * root


@inner
def bounds(limit, kind, radius, epsilon):
    """Values (low, high) such that the dissimilarity of w exceeds ``limit`` outside [low, high]."""
    if kind == FLAT_SQUARED:
        return -1.0, limit
    if kind == FLAT_DISTANCE:
        return -1.0, limit * limit * 1.0000001
    if kind == EXTRINSIC:
        half = 0.5 * limit / radius
        high = half * half * 1.0000001
        return -high, high
    if kind in (FLAT_SMOOTHED, SMOOTHED):
        # Invert the smoothing: σ = √((limit + √ε)⁴ - ε²) is ±D².
        outer = (limit + math.sqrt(epsilon)) * (limit + math.sqrt(epsilon))
        outer = outer * outer - epsilon * epsilon
        square = math.sqrt(max(outer, 0.0))
        if kind == FLAT_SMOOTHED:
            return -1.0, square * 1.0000001
        limit = math.sqrt(square) * 1.0000001
    angle = limit / radius
    high = _sinh_square(0.5 * angle) * 1.0000001
    if kind == CONE_RULE:
        high = max(high, min(0.25 * angle, CONE))
    if kind == BROKEN:
        if angle >= math.pi:
            low = -1.0 - _sinh_square(0.5 * (angle - math.pi)) * 1.0000001
        else:
            low = -_sin_square(0.5 * angle) * 1.0000001
    elif angle > _HALF_PI:
        low = 0.5 * (_HALF_PI - 1.0 - angle) * 1.0000001
    else:
        low = -_sin_square(0.5 * angle) * 1.0000001
    if kind == CONE_RULE:
        low = min(low, -min(0.25 * angle, CONE))
    return low, high


@inner
def lowest_octave(kind):
    """Where a table begins: at 2 to this power."""
    return _LOWEST_CONE_OCTAVE if kind == CONE_RULE else LOWEST_OCTAVE


@inner
def table_octaves(reach, kind):
    """How many octaves of w > 0 and of w < 0 a table needs when no |w| exceeds ``reach``."""
    lowest = lowest_octave(kind)
    # The power of two above ``reach``; any number if that is not finite, for then all w are beyond
    # the table.
    above = min(max(math.frexp(min(reach, 1e300))[1] - lowest, 1), HIGHEST_OCTAVE - lowest)
    if kind in (FLAT_SQUARED, FLAT_SMOOTHED, FLAT_DISTANCE):
        return above, 0
    if kind == BROKEN:
        return above, min(above, -1 - lowest)  # up to w = -1/2: at -1 the slope has a pole
    return above, above


@inner
def fill_octave(table, segments, octave, above, kind, radius, epsilon, tau, room):
    """An octave's rows of d and its slope (with τ, of exp(-d/τ)): of w > 0 below ``above``, of w <
    0 from there on.

    ``room`` [2, DEGREE + 1] or more is scratch.
    """
    sign, power = (1.0, octave) if octave < above else (-1.0, octave - above)
    size = math.ldexp(1.0, lowest_octave(kind) + power)
    values, slopes = room[0], room[1]
    for segment in range(segments):
        for node in range(DEGREE + 1):
            w = sign * size * (1.0 + (segment + 0.5 + _NODES[node]) / segments)
            values[node], slopes[node] = dissimilarity(w, kind, radius, epsilon)
            if tau > 0.0:
                values[node] = exp(-values[node] / tau)
                slopes[node] *= values[node]
        row = table[octave * segments + segment]
        for k in range(DEGREE + 1):
            value, slope = 0.0, 0.0
            for node in range(DEGREE + 1):
                value += _COEFFICIENTS[k, node] * values[node]
                slope += _COEFFICIENTS[k, node] * slopes[node]
            row[k], row[DEGREE + 1 + k] = value, slope


@vectorized
def look_up(table, lowest, above, below, w, count, values, slopes):
    """Values and slopes at w[:count] from a table; how many lie outside it (theirs are then
    meaningless).
    """
    outside = 0
    limit_above = above << SEGMENT_BITS
    fewer = (below - above) << SEGMENT_BITS
    first = (1023 + lowest) << SEGMENT_BITS
    for j in range(count):
        word = bits(np.float64(w[j]))
        # All bits of the sign: a branch on it would be guessed wrong every other time.
        sign = word >> 63
        segment = ((word & 0x7FFFFFFFFFFFFFFF) >> (52 - SEGMENT_BITS)) - first
        # Negative as an unsigned number is large: one comparison for both ends.
        beyond = np.uint64(segment) >= np.uint64(limit_above + (fewer & sign))
        outside += beyond  # type: ignore[assignment]  # a number to numba
        place = np.uint64(0 if beyond else segment + (limit_above & sign))
        # The bits below the segment, as a number of [-1/2, 1/2).
        t = from_bits(((word << SEGMENT_BITS) & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000) - 1.5
        row = table[place]
        values[j] = fma(
            t, fma(t, fma(t, fma(t, fma(t, row[5], row[4]), row[3]), row[2]), row[1]), row[0]
        )
        slopes[j] = fma(
            t, fma(t, fma(t, fma(t, fma(t, row[11], row[10]), row[9]), row[8]), row[7]), row[6]
        )
    return outside


@vectorized
def smooth(values, slopes, count, epsilon, flat):
    """Distances (with ``flat``, squared ones) and their slopes in w into the smoothed ones, in
    place.
    """
    offset = math.sqrt(epsilon)
    for j in range(count):
        square = values[j] if flat else values[j] * values[j]
        h = math.sqrt(square * square + epsilon * epsilon)
        root = math.sqrt(h)
        slopes[j] *= (0.5 if flat else values[j]) * square / (h * root)
        values[j] = square * square / ((h + epsilon) * (root + offset))


@vectorized
def exponentials(values, count, least, rate, weights):
    """exp((least - values)·rate) into weights[:count]; the argument may not exceed 700, and ends at
    -700.
    """
    for j in range(count):
        y = (least - values[j]) * rate
        weights[j] = exp_between(y if y > -700.0 else -700.0)


# Half chords below this are made again, from differences of the points as they are stored.
_NEAR = 1e-4
# From ‖t‖‖t′‖ = 4|β| on two points are far from the pole, as for the manifolds.
_FAR = 4.0


@inner
def separations(points, level, heights, time, radius, i, start, count, w, side):
    """w of node i with ``count`` nodes from ``start`` on, without cancellation far from the pole:
    by the chord of x and ±y, both divided by their heights. ``side`` is scratch.
    """
    for j in range(count):
        w[j] = side[j] = 0.0
    for k in range(time):
        x, row = level[k, i], level[k, start : start + count]
        for j in range(count):
            side[j] += x * row[j]
    for j in range(count):
        side[j] = -1.0 if side[j] < 0.0 else 1.0
    for k in range(len(level)):
        x, row, sign = level[k, i], level[k, start : start + count], -1.0 if k < time else 1.0
        for j in range(count):
            difference = x - side[j] * row[j]
            w[j] += sign * (difference * difference)
    if time == 0:
        return
    height, others, quarter = heights[i], heights[start : start + count], 0.25 / (radius * radius)
    near = 0
    for j in range(count):
        product, difference = height * others[j], height - others[j]
        w[j] = quarter * product * w[j] + 0.25 * (difference * difference) / product
        near += abs(w[j]) < _NEAR
    if near > 0:
        for j in range(count):
            if abs(w[j]) < _NEAR:
                first, second = min(i, start + j), max(i, start + j)
                w[j] = _near_separation(points, heights, time, radius, first, second, side[j])
    for j in range(count):
        w[j] = w[j] if side[j] > 0.0 else -1.0 - w[j]


@inner
def _near_separation(points, heights, time, radius, i, j, side):
    """w of x and ±y as the manifold has it: their difference as it is stored, without the rounding
    of a division.
    """
    square = radius * radius
    f = heights[i] / heights[j]
    if heights[i] * heights[j] <= _FAR * square:
        f = 1.0
    whole = min(np.rint(f), 1.0)
    total = 0.0
    for k in range(len(points)):
        x, y = points[k, i], side * points[k, j]
        chord = (whole * y - x) + (f - whole) * y
        total += -chord * chord if k < time else chord * chord
    return (total / square + (f - 1.0) * (f - 1.0)) / (4.0 * f)
