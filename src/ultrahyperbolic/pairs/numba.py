"""The ranking loss and its descent as one compiled loop on the CPU.

Pairs are visited row by row. A pair enters through its squared half chord w alone, of which every dissimilarity is a
monotone function on either side of the cone; so the nearest pair of a row is found by comparing, and a pair whose
weight exp(-(d - d_min)/τ) would vanish in the sum is left out without evaluating a transcendental function. Sums of
exponentials are kept relative to the nearest pair seen so far and rescaled when a nearer one comes.

Everything a run needs is passed in, so one compilation serves every dimension, signature and dissimilarity.
"""

from __future__ import annotations

import math

import numba
import numpy as np

# Dissimilarities, by number; the names are those of the manifold's methods.
GEODESIC, BROKEN, SMOOTHED, FLAT_SQUARED, FLAT_SMOOTHED, CONE_RULE = range(6)
# How points move: along χ, along Df, or through φ.
ALONG_CHI, ALONG_GRADIENT, THROUGH_PHI = range(3)

# exp(-46) is below the unit roundoff squared: what is pruned cannot be seen in the sum.
_CUT = 46.0
_HALF_PI = math.pi / 2
# The authors' scripts replace the distance near the cone, |1 + ⟨x, y⟩| < 1e-5, by 2|1 + ⟨x, y⟩|, which is 4|w|.
_CONE = 5e-6

_jit = numba.njit(cache=True, error_model="numpy")


@_jit
def _arc(w, radius):
    """D_γ and its derivative in w."""
    if w > 0.0:
        root = math.sqrt(w)
        return 2.0 * radius * math.asinh(root), radius / (root * math.sqrt(1.0 + w))
    if w < -0.5:
        return radius * (_HALF_PI - 1.0 - 2.0 * w), -2.0 * radius
    if w < 0.0:
        root = math.sqrt(-w)
        return 2.0 * radius * math.asin(root), -radius / (root * math.sqrt(1.0 + w))
    return 0.0, 0.0


@_jit
def _smooth(square, slope, epsilon):
    """(σ² + ε²)^¼ - √ε and its derivative, from σ and its derivative."""
    h = math.sqrt(square * square + epsilon * epsilon)
    root = math.sqrt(h)
    return square * square / ((h + epsilon) * (root + math.sqrt(epsilon))), 0.5 * square / (h * root) * slope


@_jit
def dissimilarity(w, kind, radius, epsilon):
    """The dissimilarity numbered ``kind`` and its derivative in w (for flat kinds w is the squared distance)."""
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
    if kind == CONE_RULE:
        if abs(w) < _CONE:
            return 4.0 * radius * abs(w), 4.0 * radius * (1.0 if w > 0.0 else -1.0 if w < 0.0 else 0.0)
        return _arc(w, radius)
    # The broken geodesic.
    if w >= -0.5:
        return _arc(w, radius)
    if w > -1.0:
        return radius * (math.pi - 2.0 * math.asin(math.sqrt(1.0 + w))), -radius / math.sqrt(-w * (1.0 + w))
    beyond = -1.0 - w
    if beyond == 0.0:
        return radius * math.pi, 0.0
    root = math.sqrt(beyond)
    return radius * (math.pi + 2.0 * math.asinh(root)), -radius / (root * math.sqrt(1.0 + beyond))


@_jit
def _bounds(limit, kind, radius, epsilon):
    """Values (low, high) such that the dissimilarity of w exceeds ``limit`` outside [low, high]."""
    if kind == FLAT_SQUARED:
        return -1.0, limit
    if kind in (FLAT_SMOOTHED, SMOOTHED):
        # Invert the smoothing: σ = √((limit + √ε)⁴ - ε²) is ±D².
        outer = (limit + math.sqrt(epsilon)) ** 4 - epsilon * epsilon
        square = math.sqrt(max(outer, 0.0))
        if kind == FLAT_SMOOTHED:
            return -1.0, square * 1.0000001
        limit = math.sqrt(square) * 1.0000001
    angle = limit / radius
    high = math.sinh(0.5 * min(angle, 1400.0)) ** 2 * 1.0000001
    if kind == CONE_RULE:
        high = max(high, min(0.25 * angle, _CONE))
    if kind == BROKEN:
        if angle >= math.pi:
            low = -1.0 - math.sinh(0.5 * min(angle - math.pi, 1400.0)) ** 2 * 1.0000001
        else:
            low = -(math.sin(0.5 * angle) ** 2) * 1.0000001
    elif angle > _HALF_PI:
        low = 0.5 * (_HALF_PI - 1.0 - angle) * 1.0000001
    else:
        low = -(math.sin(0.5 * angle) ** 2) * 1.0000001
    if kind == CONE_RULE:
        low = min(low, -min(0.25 * angle, _CONE))
    return low, high


@_jit
def _row(points, signs, i, scale, row):
    """w of node i with every later node, into row[i+1:]."""
    n, d = points.shape
    for j in range(i + 1, n):
        total = 0.0
        for k in range(d):
            difference = points[i, k] - points[j, k]
            total += signs[k] * difference * difference
        row[j] = total * scale


@_jit
def _nonedge_pass(points, signs, scale, kind, radius, epsilon, tau, offsets, neighbors, row, gradient):
    """Over all pairs without an edge: the least dissimilarity, Σ exp(-(d - least)/τ), and Σ exp(…) ∂d into gradient.

    The gradient is that of d in the points up to the factor 2·scale, and is relative to the least dissimilarity.
    """
    n, d = points.shape
    least, total = np.inf, 0.0
    low, high = -np.inf, np.inf
    gradient[:] = 0.0
    for i in range(n - 1):
        _row(points, signs, i, scale, row)
        for edge in range(offsets[i], offsets[i + 1]):
            row[neighbors[edge]] = np.nan  # neither above nor below anything: skipped by every comparison
        nearest_above, nearest_below = np.inf, -np.inf
        for j in range(i + 1, n):
            w = row[j]
            if w >= 0.0:
                nearest_above = min(nearest_above, w)
            elif w < 0.0:
                nearest_below = max(nearest_below, w)
        nearest = np.inf
        if nearest_above < np.inf:
            nearest = dissimilarity(nearest_above, kind, radius, epsilon)[0]
        if nearest_below > -np.inf:
            nearest = min(nearest, dissimilarity(nearest_below, kind, radius, epsilon)[0])
        if nearest < least:
            if total > 0.0:
                shrink = math.exp((nearest - least) / tau)
                total *= shrink
                gradient *= shrink
            least = nearest
            low, high = _bounds(least + _CUT * tau, kind, radius, epsilon)
        for j in range(i + 1, n):
            w = row[j]
            if w >= low and w <= high:
                value, slope = dissimilarity(w, kind, radius, epsilon)
                weight = math.exp((least - value) / tau)
                total += weight
                weight *= slope
                for k in range(d):
                    part = weight * (points[i, k] - points[j, k])
                    gradient[i, k] += part
                    gradient[j, k] -= part
    return least, total


@_jit
def _log_add(a, b):
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + math.log1p(math.exp(b - a))


@_jit
def loss_and_gradient(
    points, signs, radius, flat, kind, epsilon, tau, edges, weaker, offsets, neighbors, row, work, gradient
):
    """The loss, its Euclidean gradient (into ``gradient`` [n, d]), the longest edge and the shortest non-edge."""
    n, d = points.shape
    m = len(edges)
    scale = 1.0 if flat else 0.25 / (radius * radius)
    least, total = _nonedge_pass(points, signs, scale, kind, radius, epsilon, tau, offsets, neighbors, row, gradient)
    values, slopes, log_z = work[0], work[1], work[2]
    longest, loss = -np.inf, 0.0
    # Denominators: a running log-sum-exp over the classes, from the non-edges up; an edge adds its own term alone.
    below = -np.inf if total == 0.0 else math.log(total) - least / tau
    start = 0
    while start < m:
        stop, with_class = start, below
        while stop < m and weaker[stop] == start:
            i, j = edges[stop]
            w = 0.0
            for k in range(d):
                difference = points[i, k] - points[j, k]
                w += signs[k] * difference * difference
            values[stop], slopes[stop] = dissimilarity(w * scale, kind, radius, epsilon)
            longest = max(longest, values[stop])
            score = -values[stop] / tau
            log_z[stop] = _log_add(below, score)
            loss += _log_add(0.0, below - score)
            with_class = _log_add(with_class, score)
            stop += 1
        below, start = with_class, stop
    # Weights: the same from the top down. ``above`` is the log-sum-exp of -log Z over the stronger classes.
    above, stop = -np.inf, m
    while stop > 0:
        start = weaker[stop - 1]
        with_class = above
        for edge in range(start, stop):
            score = -values[edge] / tau
            pull = -math.expm1(score - log_z[edge]) - math.exp(score + above)
            slopes[edge] *= pull / tau
            with_class = _log_add(with_class, -log_z[edge])
        above, stop = with_class, start
    if total > 0.0:
        gradient *= -math.exp(above - least / tau) / tau
    for edge in range(m):
        i, j = edges[edge]
        for k in range(d):
            part = slopes[edge] * (points[i, k] - points[j, k])
            gradient[i, k] += part
            gradient[j, k] -= part
    for i in range(n):
        for k in range(d):
            gradient[i, k] *= 2.0 * scale * signs[k]
    return loss, longest, least


@_jit
def _onto(x, signs, radius):
    """φ in place: the time part rescaled."""
    time, space = 0.0, 0.0
    for k in range(len(x)):
        if signs[k] < 0.0:
            time += x[k] * x[k]
        else:
            space += x[k] * x[k]
    stretch = math.sqrt((radius * radius + space) / time)
    for k in range(len(x)):
        if signs[k] < 0.0:
            x[k] *= stretch


@_jit
def _move(x, g, signs, radius, step, clip, way):
    """One point along -χ or -Df by the exponential map: x and its Euclidean gradient g [d], both changed in place."""
    d = len(x)
    beta = -radius * radius
    for _ in range(2 if way == ALONG_CHI else 1):
        # Π_x(G g) = G g - (g · x / β) x.
        along = 0.0
        for k in range(d):
            along += g[k] * x[k]
        for k in range(d):
            g[k] = signs[k] * g[k] - along / beta * x[k]
    length = 0.0
    for k in range(d):
        length += g[k] * g[k]
    length = math.sqrt(length) * step
    factor = -step if length <= clip else -step * clip / length
    square = 0.0
    for k in range(d):
        g[k] *= factor
        square += signs[k] * g[k] * g[k]
    z = -square / beta
    if z > 0.0:
        angle = math.sqrt(z)
        cosh, sinhc = math.cosh(angle), (math.sinh(angle) / angle if angle > 1e-8 else 1.0)
    else:
        angle = math.sqrt(-z)
        cosh, sinhc = math.cos(angle), (math.sin(angle) / angle if angle > 1e-8 else 1.0)
    for k in range(d):
        x[k] = cosh * x[k] + sinhc * g[k]
    _onto(x, signs, radius)


@_jit
def _move_flat(x, g, step, clip):
    length = 0.0
    for k in range(len(x)):
        length += g[k] * g[k]
    length = math.sqrt(length) * step
    factor = -step if length <= clip else -step * clip / length
    for k in range(len(x)):
        x[k] += factor * g[k]


@_jit
def _pull_back(z, g, signs, radius):
    """The gradient in z of f(φ(z)) from the gradient g of f at φ(z), in place."""
    time, space, along = 0.0, 0.0, 0.0
    for k in range(len(z)):
        if signs[k] < 0.0:
            time += z[k] * z[k]
            along += g[k] * z[k]
        else:
            space += z[k] * z[k]
    time, stretch = math.sqrt(time), math.sqrt(radius * radius + space)
    along /= time
    for k in range(len(z)):
        if signs[k] < 0.0:
            g[k] = stretch / time * (g[k] - along * z[k] / time)
        else:
            g[k] += along * z[k] / stretch


@_jit
def _advance_run(
    free, points, best, record, signs, radius, flat, kind, way, schedule, drop_below, drop_factor, settled, best_every,
    stop_when_ordered, first, losses, edges, weaker, offsets, neighbors,
):  # fmt: skip
    """Iterations of one run. ``record`` holds [best loss, best iteration, dropped, done at, longest, shortest]."""
    n, d = points.shape
    row, work, gradient = np.empty(n), np.empty((3, len(edges))), np.empty((n, d))
    for step_index in range(len(losses)):
        if record[3] >= 0.0:
            losses[step_index] = np.nan
            continue
        tau, epsilon, step, clip = schedule[:, step_index]
        if way == THROUGH_PHI:
            points[:] = free
            for i in range(n):
                _onto(points[i], signs, radius)
        loss, longest, shortest = loss_and_gradient(
            points, signs, radius, flat, kind, epsilon, tau, edges, weaker, offsets, neighbors, row, work, gradient
        )
        losses[step_index] = loss
        record[4], record[5] = longest, shortest
        iteration = first + step_index
        if iteration < settled:
            record[1] = iteration
            best[:] = points
        elif iteration % best_every == 0 and loss < record[0]:
            record[0], record[1] = loss, iteration
            best[:] = points
        if stop_when_ordered and longest < shortest:
            record[0], record[1], record[3] = loss, iteration, iteration
            best[:] = points
            continue
        if loss < drop_below:
            record[2] = 1.0
        if record[2] > 0.0:
            step *= drop_factor
        for i in range(n):
            if flat:
                _move_flat(points[i], gradient[i], step, clip)
            elif way == THROUGH_PHI:
                _pull_back(free[i], gradient[i], signs, radius)
                _move_flat(free[i], gradient[i], step, clip)
            else:
                _move(points[i], gradient[i], signs, radius, step, clip, way)
    if way == THROUGH_PHI:
        points[:] = free
        for i in range(n):
            _onto(points[i], signs, radius)


@numba.njit(cache=True, error_model="numpy", parallel=True)
def advance(
    free, points, best, record, signs, radius, flat, kind, way, schedule, drop_below, drop_factor, settled, best_every,
    stop_when_ordered, first, losses, edges, weaker, offsets, neighbors,
):  # fmt: skip
    """``losses.shape[1]`` iterations of every run of a batch, each run on one thread and like that run alone."""
    for b in numba.prange(len(points)):
        _advance_run(
            free[b], points[b], best[b], record[b], signs[b], radius[b], flat[b], kind[b], way[b], schedule[b],
            drop_below[b], drop_factor[b], settled[b], best_every, stop_when_ordered, first, losses[b], edges, weaker,
            offsets, neighbors,
        )  # fmt: skip
