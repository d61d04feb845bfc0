"""Quasi-Newton steps through φ: Section 4.1 of the paper with a memory of the curvature."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import numpy as np

from ..lazy import Tensor, torch
from ..rounding import dot, root
from .named import Quadric, Space, manifold_of

# Armijo's and Wolfe's constants, those of every textbook.
_SUFFICIENT, _FLATTER = 1e-4, 0.9
_TRIALS, _DOUBLINGS = 60, 20
_KEPT = 10
# How far a probe of the curvature goes, relative to the points.
_PROBE = 1e-6


Vector = Any
"""Points or gradients [..., d]: while a step is computed, numpy's on the CPU, where it is quicker,
else torch's.
"""


class Reached(NamedTuple):
    """Where a step led."""

    points: Vector
    value: float
    gradient: Vector
    """Euclidean, in the points [..., d]."""


Step = Generator[Vector, tuple[float, Vector], Reached | None]
"""A step that asks for the function at points, [..., d], and is sent its value and its Euclidean
gradient there.
"""


class PhiLBFGS:
    """Minimise f∘φ by L-BFGS, brought back onto the manifold after every step.

    φ(z) does not depend on the length of z's time part (Eq. 10), so nothing holds that length, and
    gradients fade as it grows. Steps therefore start from z = x, which φ leaves alone; what is
    remembered of the curvature is kept. Points may have ``flat`` further coordinates, after those
    on the manifold, that φ leaves alone.
    """

    def __init__(self, space: Space, *, flat: int = 0) -> None:
        self._space, self._flat = space, flat
        self._pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=_KEPT)
        self.expected = 0.0
        """How far the last step tried was expected to decrease the function."""
        self.length = 0.0
        """How long it was."""

    def step(
        self, at: Reached, evaluate: Callable[[Tensor], tuple[float, Tensor]]
    ) -> Reached | None:
        """One step of tensors; None if none decreases f.

        ``evaluate`` gives f and its Euclidean gradient at points [..., d].
        """
        asking = self.asking(Reached(_vector(at.points), at.value, _vector(at.gradient)))
        answer: tuple[float, Vector] | None = None
        try:
            while True:
                with np.errstate(all="ignore"):
                    points = asking.send(answer)  # type: ignore[arg-type]  # None begins a generator
                value, gradient = evaluate(_tensor(points))
                answer = value, _vector(gradient)
        except StopIteration as end:
            found: Reached | None = end.value
            return found and Reached(_tensor(found.points), found.value, _tensor(found.gradient))

    def asking(self, at: Reached) -> Step:
        """The same step, of vectors, as a generator that asks for evaluations: several can be
        answered at once.
        """
        points = at.points
        gradient = self._through_phi(points, at.gradient)
        if not self._pairs and (length := _norm(gradient)) > 0.0:
            # The smallest move above rounding tells the curvature: -∇ alone does not say how far to
            # go.
            move = -(_PROBE * _norm(points) / length) * gradient
            if (reached := (yield from self._try(points + move))) is not None:
                self._learn(move, self._through_phi(points + move, reached.gradient) - gradient)
        found = yield from self._search(points, at.value, gradient, self._newton(gradient))
        if found is None and self._pairs:
            expected, length = self.expected, self.length
            self._pairs.clear()
            found = yield from self._search(points, at.value, gradient, -gradient)
            self.expected, self.length = expected, length
        return found

    def _through_phi(self, z: Vector, gradient: Vector) -> Vector:
        """The gradient of f∘φ at z from that of f at φ(z)."""
        quadric, flat = self._space.quadric, z.shape[-1] - self._flat
        if quadric is None:
            variable = _tensor(z).detach().requires_grad_()
            with torch.enable_grad():
                (pulled,) = torch.autograd.grad(self._phi(variable), variable, _tensor(gradient))
            return _vector(pulled)
        return through_phi(quadric, z, gradient, flat)

    def _phi(self, z: Vector) -> Vector:
        """φ(z), of a quadric in closed form (Eq. 10), and the flat coordinates as they are."""
        quadric, flat = self._space.quadric, z.shape[-1] - self._flat
        if quadric is None:
            z = _tensor(z)
            return torch.cat((manifold_of(self._space).phi(z[..., :flat]), z[..., flat:]), -1)
        return phi(quadric, z, flat)

    def _newton(self, gradient: Vector) -> Vector:
        """-H ∇(f∘φ), H the inverse Hessian estimated from moves and changes of the gradient."""
        direction, factors = gradient, []
        for move, change, product in reversed(self._pairs):
            factors.append(dot(move, direction) / product)
            direction = direction - factors[-1] * change
        if self._pairs:
            _, change, product = self._pairs[-1]
            direction = direction * (product / dot(change, change))
        for (move, change, product), factor in zip(self._pairs, reversed(factors), strict=True):
            direction = direction + (factor - dot(change, direction) / product) * move
        return -direction

    def _search(self, points: Vector, value: float, gradient: Vector, direction: Vector) -> Step:
        """Bisect for a step that decreases f enough and after which it falls less steeply; learn
        from it.
        """
        slope = dot(gradient, direction)
        self.expected, self.length = -slope, _norm(direction)
        low, high, t, doublings = 0.0, math.inf, 1.0, 0
        best: tuple[float, Reached, Vector] | None = None
        for _ in range(_TRIALS):
            z = points + t * direction
            reached = yield from self._try(z)
            if (
                reached is None
                or reached.value > value + _SUFFICIENT * t * slope
                or reached.value >= value
            ):
                high = t
            else:
                pulled = self._through_phi(z, reached.gradient)
                best, low = (t, reached, pulled), t
                doublings += math.isinf(high)
                if dot(pulled, direction) >= _FLATTER * slope or doublings > _DOUBLINGS:
                    break
            t = 2.0 * low if math.isinf(high) else 0.5 * (low + high)
        if best is None:
            return None
        t, reached, pulled = best
        self._learn(t * direction, pulled - gradient)
        return reached

    def _try(self, z: Vector) -> Step:
        """Where z leads; None where it, the function or the gradient is not finite."""
        if not _is_finite(z):
            return None
        points = _vector(self._phi(z))
        value, gradient = yield points
        return (
            Reached(points, value, gradient)
            if math.isfinite(value) and _is_finite(gradient)
            else None
        )

    def _learn(self, move: Vector, change: Vector) -> None:
        product = dot(move, change)
        # Only a positive curvature, told from rounding, keeps H positive definite.
        finfo = np.finfo if isinstance(move, np.ndarray) else torch.finfo
        if product > math.sqrt(finfo(move.dtype).eps) * _norm(move) * _norm(change):
            self._pairs.append((move, change, product))


def phi(quadric: Quadric, z: Vector, end: int | None = None) -> Vector:
    """φ(z) in closed form (Eq. 10): the time part t gets the length √(|β| + ‖s‖²); from ``end`` on
    nothing changes.
    """
    if quadric.time == 0:
        return z
    time, space = z[..., : quadric.time], z[..., quadric.time : end]
    reach = root(-quadric.beta + _sum(space * space))
    found = z + 0.0
    found[..., : quadric.time] = (
        reach if quadric.time == 1 else time * (reach / root(_sum(time * time)))
    )
    return found


def through_phi(quadric: Quadric, z: Vector, gradient: Vector, end: int | None = None) -> Vector:
    """The gradient of f∘φ at z from that of f at φ(z)."""
    if quadric.time == 0:
        return gradient
    found = gradient + 0.0
    (time, space), (of_time, of_space) = (
        (v[..., : quadric.time], v[..., quadric.time : end]) for v in (z, found)
    )
    reach = root(-quadric.beta + _sum(space * space))
    if quadric.time == 1:  # the upper sheet, whatever t is
        of_space += of_time / reach * space
        of_time[...] = 0.0
        return found
    length = root(_sum(time * time))
    unit = time / length
    along = _sum(of_time * unit)
    of_space += along / reach * space
    of_time[...] = reach / length * (of_time - along * unit)
    return found


def _vector(given: Vector) -> Vector:
    if isinstance(given, np.ndarray):
        return given
    return given.detach().numpy() if given.device.type == "cpu" else given.detach()


def _tensor(vector: Vector) -> Tensor:
    return torch.from_numpy(vector) if isinstance(vector, np.ndarray) else vector


def _is_finite(vector: Vector) -> bool:
    return bool(
        (np.isfinite(vector) if isinstance(vector, np.ndarray) else vector.isfinite()).all()
    )


def _sum(terms: Vector) -> Vector:
    """The sums over the last dimension [..., 1], coordinate after coordinate on every processor."""
    first = terms[..., :1] if terms.shape[-1] else terms.sum(-1)[..., None]
    return sum((terms[..., k : k + 1] for k in range(1, terms.shape[-1])), first)


def _norm(vector: Vector) -> float:
    return math.sqrt(dot(vector, vector))
