"""Quasi-Newton steps through φ: Section 4.1 of the paper with a memory of the curvature."""

import math
from collections import deque
from collections.abc import Callable, Generator
from typing import NamedTuple

import torch
from torch import Tensor

from ..geometry import Manifold
from ..geometry.primitives import Quadric
from ..rounding import dot, root

# Armijo's and Wolfe's constants, those of every textbook.
_SUFFICIENT, _FLATTER = 1e-4, 0.9
_TRIALS, _DOUBLINGS = 60, 20
_KEPT = 10
# How far a probe of the curvature goes, relative to the points.
_PROBE = 1e-6


class Reached(NamedTuple):
    """Where a step led."""

    points: Tensor
    value: float
    gradient: Tensor
    """Euclidean, in the points [..., d]."""


Step = Generator[Tensor, tuple[float, Tensor], Reached | None]
"""A step that asks for the function at points, [..., d], and is sent its value and its Euclidean gradient there."""


class PhiLBFGS:
    """Minimise f∘φ by L-BFGS, brought back onto the manifold after every step.

    φ(z) does not depend on the length of z's time part (Eq. 10), so nothing holds that length, and gradients fade as it
    grows. Steps therefore start from z = x, which φ leaves alone; what is remembered of the curvature is kept. Points
    may have ``flat`` further coordinates, after those on the manifold, that φ leaves alone.
    """

    def __init__(self, manifold: Manifold, *, flat: int = 0) -> None:
        self._manifold, self._flat = manifold, flat
        self._pairs: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=_KEPT)
        self.expected = 0.0
        """How far the last step tried was expected to decrease the function."""
        self.length = 0.0
        """How long it was."""

    def step(self, at: Reached, evaluate: Callable[[Tensor], tuple[float, Tensor]]) -> Reached | None:
        """One step; None if none decreases f. ``evaluate`` gives f and its Euclidean gradient at points [..., d]."""
        asking = self.asking(at)
        try:
            points = next(asking)
            while True:
                points = asking.send(evaluate(points))
        except StopIteration as end:
            found: Reached | None = end.value
            return found

    def asking(self, at: Reached) -> Step:
        """The same step as a generator that asks for evaluations, so that several can be answered at once."""
        gradient = self._through_phi(at.points, at.gradient)
        if not self._pairs:
            yield from self._probe(at, gradient)
        found = yield from self._search(at, gradient, self._newton(gradient))
        if found is None and self._pairs:
            expected, length = self.expected, self.length
            self._pairs.clear()
            found = yield from self._search(at, gradient, -gradient)
            self.expected, self.length = expected, length
        return found

    def _probe(self, at: Reached, gradient: Tensor) -> Generator[Tensor, tuple[float, Tensor], None]:
        """Learn the curvature from the smallest move above rounding: -∇ alone does not say how far to go."""
        length = _norm(gradient)
        if length > 0.0:
            move = -(_PROBE * _norm(at.points) / length) * gradient
            reached = yield from self._try(at.points + move)
            if reached is not None:
                self._learn(move, self._through_phi(at.points + move, reached.gradient) - gradient)

    def _through_phi(self, z: Tensor, gradient: Tensor) -> Tensor:
        """The gradient of f∘φ at z from that of f at φ(z)."""
        quadric, flat = self._manifold.quadric, z.shape[-1] - self._flat
        if quadric is not None:
            pulled = _pulled_back(z[..., :flat], gradient[..., :flat], quadric)
            return torch.cat((pulled, gradient[..., flat:]), -1) if self._flat else pulled
        z = z.detach().requires_grad_()
        with torch.enable_grad():
            (pulled,) = torch.autograd.grad(self._phi(z), z, gradient)
        return pulled

    def _phi(self, z: Tensor) -> Tensor:
        """φ(z), of a quadric in closed form (Eq. 10), and the flat coordinates as they are."""
        quadric, flat = self._manifold.quadric, z.shape[-1] - self._flat
        if quadric is None:
            return torch.cat((self._manifold.phi(z[..., :flat]), z[..., flat:]), -1)
        if quadric.time == 0:
            return z
        time, rest, space = z[..., : quadric.time], z[..., quadric.time :], z[..., quadric.time : flat]
        reach = root(-quadric.beta + _sum(space * space))
        if quadric.time > 1:
            reach = time * (reach / root(_sum(time * time)))
        return torch.cat((reach, rest), dim=-1)

    def _newton(self, gradient: Tensor) -> Tensor:
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

    def _search(self, at: Reached, gradient: Tensor, direction: Tensor) -> Step:
        """Bisect for a step that decreases f enough and after which it falls less steeply; learn from it."""
        slope = dot(gradient, direction)
        self.expected, self.length = -slope, _norm(direction)
        low, high, t, doublings = 0.0, math.inf, 1.0, 0
        best: tuple[float, Reached, Tensor] | None = None
        for _ in range(_TRIALS):
            z = at.points + t * direction
            reached = yield from self._try(z)
            if reached is None or reached.value > at.value + _SUFFICIENT * t * slope or reached.value >= at.value:
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

    def _try(self, z: Tensor) -> Step:
        """Where z leads; None where it, the function or the gradient is not finite."""
        if not z.isfinite().all():
            return None
        points = self._phi(z)
        value, gradient = yield points
        return Reached(points, value, gradient) if math.isfinite(value) and gradient.isfinite().all() else None

    def _learn(self, move: Tensor, change: Tensor) -> None:
        product = dot(move, change)
        # Only a positive curvature, told from rounding, keeps H positive definite.
        if product > math.sqrt(torch.finfo(move.dtype).eps) * _norm(move) * _norm(change):
            self._pairs.append((move, change, product))


def _pulled_back(z: Tensor, gradient: Tensor, quadric: Quadric) -> Tensor:
    """The same in closed form: φ scales the time part t to the length √(|β| + ‖s‖²), and keeps the space part s."""
    if quadric.time == 0:
        return gradient
    (time, space), (of_time, of_space) = ((v[..., : quadric.time], v[..., quadric.time :]) for v in (z, gradient))
    reach = root(-quadric.beta + _sum(space * space))
    if quadric.time == 1:  # the upper sheet, whatever t is
        return torch.cat((torch.zeros_like(time), of_space + of_time / reach * space), dim=-1)
    length = root(_sum(time * time))
    unit = time / length
    along = _sum(of_time * unit)
    return torch.cat((reach / length * (of_time - along * unit), of_space + along / reach * space), dim=-1)


def _sum(terms: Tensor) -> Tensor:
    """The sums over the last dimension [..., 1], coordinate after coordinate on every processor."""
    found = terms.new_zeros(*terms.shape[:-1], 1)
    for k in range(terms.shape[-1]):
        found = found + terms[..., k : k + 1]
    return found


def _norm(vector: Tensor) -> float:
    return math.sqrt(dot(vector, vector))
