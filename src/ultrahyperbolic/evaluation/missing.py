"""How likely it is that two nodes without a tie should have one, learnt from the graph's own ties.

A tenth of the ties is hidden, and a logistic regression learns to tell the hidden ties from the
other pairs without a tie. It starts from heat that spreads along ties, exp(3 D^-1/2 A D^-1/2), and
departs from it as far as the hidden ties give reason to: of a few ties nothing else can be learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..graph import Graph
from ..graph.heights import heights
from .links import HeldOut, hold_out_ties

if TYPE_CHECKING:
    import scipy

MISSING = 0.1  # share of the ties that is hidden, and that is taken to be missing from the graph
FEWEST_TIES = 20  # with fewer ties none can be spared
_TIME, _TERMS = 3.0, 12  # how long heat spreads, and terms of its exponential series
_FLOOR = 0.1  # is added to heat before its logarithm is taken
_ENOUGH = 500  # ties are hidden in rounds until there are so many
_ROUNDS = (5, 10)  # fewest and most: few rounds would not tell chances from luck
_RIDGE = 10.0  # how strongly a round holds the regression to heat alone
_ALL_NODES = 3000  # up to so many nodes all pairs are looked at
_SOME_NODES = 500  # of larger graphs the pairs of these, half of them with strong evidence
_HUB = 500  # a node with more ties does not make those that it ties near to each other
_KEPT = 40_000  # pairs that a round keeps: they bound the memory
_AT_ONCE = 1 << 20  # numbers that are computed at once: they bound the memory
_FIRST, _WIDER = 40, 1.5  # pairs of the first step of chances; each further one is wider
# The chances that a step can have, descending.
_CHANCES = 1.0 / (1.0 + np.exp(np.linspace(-5.0, 14.0, 77)))
_SAME = 0.3  # how likely two steps are to have the same chance before they are counted
_ODDS = 10.0  # how much likelier it is that a tenth of the ties is missing than that none is
_LISTED = 100  # up to how many suggestions the share of right ones is known

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Calibration:
    """What the hidden ties of a graph taught."""

    centre: tuple[float, ...]
    """[f] the mean of each kind of evidence."""
    spread: tuple[float, ...]
    """[f] its standard deviation."""
    slopes: tuple[float, ...]
    """[f] how much one standard deviation adds to the score."""
    steps: tuple[float, ...] = ()
    """[b] scores, descending."""
    chances: tuple[float, ...] = ()
    """[b] the share of the pairs of such a score that were hidden ties, never ascending."""
    precision: tuple[float, ...] = ()
    """[k] the share of hidden ties among the first 1, 2, …, k suggestions."""
    held_out: int = 0
    """How many ties were hidden, in all rounds together."""
    rounds: int = 0
    """How often a tenth of the ties was hidden."""
    fingerprint: str = ""
    """Of the graph."""

    def scores(self, evidence: Floats) -> Floats:
        """The scores [...] of evidence [f, ...], the larger the likelier a tie."""
        rates = np.array(self.slopes) / np.array(self.spread)
        return np.asarray(np.tensordot(rates, evidence, 1) - rates @ np.array(self.centre))

    def chance(self, scores: Floats) -> Floats:
        """The chance that pairs of such scores are missing ties, if a tenth of the ties is missing;
        NaN if unknown.
        """
        if not self.steps:
            return np.full(len(scores), math.nan)
        return np.exp(np.interp(scores, self.steps[::-1], np.log(self.chances[::-1])))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_json(cls, data: object) -> Self | None:
        """The reverse; None where it is not that."""
        if not isinstance(data, Mapping) or set(data) != {field.name for field in fields(cls)}:
            return None
        plain: dict[str, Any] = {
            name: tuple(each) if isinstance(each, list) else each for name, each in data.items()
        }
        known = cls(**plain)
        *lists, held_out, rounds, fingerprint = vars(known).values()
        sound = isinstance(held_out, int) and isinstance(rounds, int)
        for each in lists:
            sound &= isinstance(each, tuple) and all(isinstance(x, int | float) for x in each)
        if not sound or not isinstance(fingerprint, str):
            return None
        alike = len(known.centre) == len(known.spread) == len(known.slopes)
        alike &= len(known.steps) == len(known.chances)
        return known if alike and min((*known.spread, *known.chances), default=0) > 0 else None


class Evidence:
    """What the ties of a graph say of pairs of nodes. Of a directed graph a pair is a tie from one
    to the other.
    """

    def __init__(self, graph: Graph) -> None:
        n, degree = graph.n_nodes, graph.degree.astype(np.float64)
        self.graph, self.ties = graph, graph.adjacency()
        strong = self.ties.copy()
        logarithms = np.log(strong.data)  # a quotient of weights may overflow
        strong.data = 1.0 + (logarithms - logarithms.min(initial=math.inf))
        self.ties.data[:] = 1.0
        self._heat, self._three = _scaled(strong), _scaled(self.ties)
        # A common neighbour of two nodes has two ties or more.
        self._adamic = np.where(degree > 1, 1.0 / np.log(np.maximum(degree, 2.0)), 0.0)
        self._resource = 1.0 / np.maximum(degree, 1.0)
        # A node without ties says nothing: in a graph of which ties were hidden, it would betray
        # one of them.
        self._out = self._in = np.maximum(degree, 1.0)
        self.arcs = self.ties
        if graph.is_directed:
            ends, weights = graph.arcs
            self.arcs = type(self.ties)((np.ones(len(ends)), tuple(ends.T)), shape=(n, n))
            self._out, self._in = (
                np.maximum(np.bincount(side, minlength=n), 1.0) for side in ends.T
            )
            self._heights = heights(n, ends, weights)

    def of(self, rows: Ints, *, into: bool = False) -> Floats:
        """The evidence [f, n, b] for ties from these rows [b] to all nodes, or from all nodes
        ``into`` them.
        """
        ties = self.ties[:, rows].toarray()
        heat = term = np.equal.outer(np.arange(len(self._out)), rows).astype(np.float64)
        for k in range(1, _TERMS + 1):
            term = self._heat @ term * (_TIME / k)
            heat = heat + term
        there, back = (self._in, self._out) if into else (self._out, self._in)
        kinds = [
            np.log(heat + _FLOOR),
            np.log(there[rows]) + np.log(back)[:, None],
            np.log(np.minimum(there[rows], back[:, None])),
            np.log1p(10.0 * (self.ties @ (self._adamic[:, None] * ties))),
            np.log1p(100.0 * (self.ties @ (self._resource[:, None] * ties))),
            np.log1p(100.0 * (self.ties @ (self._three @ ties))),
        ]
        if self.graph.is_directed:
            arcs = self.arcs if into else self.arcs.T
            steps = (self._heights[rows] - self._heights[:, None]) * (-1.0 if into else 1.0)
            through = arcs @ (self._resource[:, None] * arcs[:, rows].toarray())
            back_again = arcs.T[:, rows].toarray()
            kinds += [back_again, steps, np.square(steps - 1.0), np.log1p(100.0 * through)]
        return np.stack(kinds)

    def parts(self, rows: Ints, *, into: bool = False) -> Iterator[tuple[Ints, Floats, Bools]]:
        """The pairs that have an end in these rows, some rows [b] at a time, with their evidence
        [f, n, b].

        The last says which are free [n, b]: each pair without a tie is once.
        """
        n = self.graph.n_nodes
        chosen, nodes = np.zeros(n, dtype=bool), np.arange(n)[:, None]
        chosen[rows] = True
        arcs, step = self.arcs if into else self.arcs.T, max(1, _AT_ONCE // max(n, 1))
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            free = (arcs[:, some].toarray() == 0.0) & (nodes != some)
            if not self.graph.is_directed:
                free &= ~chosen[:, None] | (nodes > some)
            yield some, self.of(some, into=into), free

    def rows(self, seed: int = 0) -> Ints:
        """The nodes whose pairs are looked at, ascending: all, or ``_SOME_NODES`` of a large
        graph.
        """
        n = len(self._out)
        if n <= _ALL_NODES:
            return np.arange(n)
        step, best = max(1, _AT_ONCE // _HUB), np.zeros(n)
        weights = np.where(self.graph.degree <= _HUB, self._resource, 0.0)
        for start in range(0, n, step):
            ties = self.ties[start : start + step]
            shared = (ties * weights[None, :]) @ self.ties
            shared = (shared - shared.multiply(ties)).tocoo()
            tails = shared.row + start
            np.maximum.at(best, tails, np.where(tails == shared.col, 0.0, shared.data))
        strong = np.argsort(-best, kind="stable")[: _SOME_NODES // 2]
        others = np.setdiff1d(np.arange(n), strong)
        drawn = np.random.default_rng(seed).choice(others, _SOME_NODES - len(strong), replace=False)
        return np.sort(np.concatenate((strong, drawn)))


def _scaled(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """D^-1/2 M D^-1/2 of a symmetric matrix, whose sums of rows, or 1 where they are 0, are the
    diagonal of D.
    """
    sums = np.asarray(matrix.sum(0)).ravel()
    factors = 1.0 / np.sqrt(np.where(sums > 0.0, sums, 1.0))
    return (matrix * factors[None, :] * factors[:, None]).tocsr()


def learn(graph: Graph, progress: Progress = lambda done, text: None) -> Calibration:
    """Hide ties of a graph and learn to find them; of a graph that can spare none, heat alone is
    taken.
    """
    ties = len(graph.arcs[1]) if graph.is_directed else graph.n_edges
    pairs = graph.n_nodes * (graph.n_nodes - 1) // (1 if graph.is_directed else 2)
    if ties < FEWEST_TIES or ties == pairs:
        none = (0.0,) * (9 if graph.is_directed else 5)
        return Calibration(
            (0.0, *none), (1.0,) * (1 + len(none)), (1.0, *none), fingerprint=graph.fingerprint
        )
    rounds = int(np.clip(math.ceil(_ENOUGH / (MISSING * ties)), *_ROUNDS))
    samples = []
    for seed in range(rounds):
        progress(seed / (rounds + 1), f"hiding a tenth of the ties, {seed + 1} of {rounds}")
        samples.append(_standard(_sample(graph, seed))[0])
    progress(rounds / (rounds + 1), "weighing the evidence")
    # What the other rounds taught is tried on each round.
    for k, sample in enumerate(samples):
        sample.scores[:] = _fitted(samples[:k] + samples[k + 1 :]) @ sample.evidence
    tried = _joined(samples)
    _, centre, spread = _standard(_sample(graph, None))
    precision = np.mean([_precision(sample) for sample in samples], axis=0)
    lists = (centre, spread, _fitted(samples), *_steps(tried), precision)
    names = (field.name for field in fields(Calibration))
    plain: Any = {name: tuple(each.tolist()) for name, each in zip(names, lists, strict=False)}
    return Calibration(
        **plain, held_out=int(tried.hidden.sum()), rounds=rounds, fingerprint=graph.fingerprint
    )


class _Sample(NamedTuple):
    """Pairs without a tie once ties were hidden."""

    evidence: Floats
    """[f, p]"""
    hidden: Bools
    """[p] which were hidden."""
    weights: Floats
    """[p] for how many pairs each stands."""
    scores: Floats
    """[p] by what other rounds taught."""


def _joined(samples: Sequence[_Sample]) -> _Sample:
    return _Sample(*(np.concatenate(parts, axis=-1) for parts in zip(*samples, strict=True)))


def _sample(graph: Graph, seed: int | None) -> _Sample:
    """Hide a tenth of the ties, or none without a seed; keep these pairs, those of much heat and
    some of the others.

    A hot pair that is left out, or that stands for many, would make the shares among the best pairs
    wrong.
    """
    nothing = HeldOut(graph, np.empty((0, 2), dtype=np.int64))
    visible, ties = nothing if seed is None else hold_out_ties(graph, MISSING, seed)
    evidence, rng = Evidence(visible), np.random.default_rng(seed or 0)
    rows = evidence.rows(seed or 0)
    taken = type(evidence.ties)((np.ones(len(ties)), tuple(ties.T)), shape=evidence.ties.shape)
    taken = taken.T if graph.is_directed else taken + taken.T
    share = _KEPT / (len(rows) * graph.n_nodes / (1 if graph.is_directed else 2))
    kept = []
    for some, values, free in evidence.parts(rows):
        hidden = taken[:, some].toarray() > 0.0
        heat = np.maximum(np.exp(values[0]) - _FLOOR, 1e-12)
        likely = np.minimum(1.0, share * (0.5 + 0.5 * heat / heat.mean()))
        likely[hidden] = 1.0
        here = np.nonzero(free & (rng.random(free.shape) < likely))
        weights = 1.0 / likely[here]
        kept.append(
            _Sample(values[:, here[0], here[1]], hidden[here], weights, np.zeros(len(weights)))
        )
    return _joined(kept)


def _standard(sample: _Sample) -> tuple[_Sample, Floats, Floats]:
    """The sample with evidence of mean 0 and variance 1, and the mean [f] and the standard
    deviation [f] it had.

    A graph of which ties are hidden has lower degrees, which must not count as evidence.
    """
    centre = np.average(sample.evidence, axis=1, weights=sample.weights)
    around = sample.evidence - centre[:, None]
    spread = np.sqrt(np.average(np.square(around), axis=1, weights=sample.weights)) + 1e-9
    return sample._replace(evidence=around / spread[:, None]), centre, spread


def _fitted(samples: Sequence[_Sample]) -> Floats:
    """[f] the slopes of the logistic regression of what was hidden on standard evidence, held to
    heat alone.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    sample = _joined(samples)
    columns = np.vstack((np.ones(len(sample.weights)), sample.evidence))
    heat: Floats = np.eye(len(columns))[1]
    ridge = np.full(len(columns), _RIDGE * len(samples))
    ridge[0] = 0.0
    rate = sample.hidden.sum() / sample.weights.sum()

    def loss(slopes: Floats) -> tuple[float, Floats]:
        scores, apart = slopes @ columns, slopes - heat
        value = sample.weights @ (np.logaddexp(0.0, scores) - sample.hidden * scores)
        gradient = columns @ (sample.weights * (expit(scores) - sample.hidden))
        return float(value + 0.5 * ridge @ apart**2), gradient + ridge * apart

    start = heat + np.eye(len(columns))[0] * math.log(rate / (1.0 - rate))
    slopes: Floats = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return slopes[1:]


def _precision(sample: _Sample) -> Floats:
    """[k] the share of hidden ties among the first 1, 2, …, k pairs by score."""
    order = np.argsort(-sample.scores, kind="stable")
    places, hits = np.cumsum(sample.weights[order]), np.cumsum(sample.hidden[order])
    counts = np.arange(1, _LISTED + 1)
    last = np.searchsorted(places, counts + 1e-6, side="right") - 1
    return np.asarray(np.where(last < 0, 0.0, hits[last]) / np.minimum(counts, places[-1]))


def _steps(sample: _Sample) -> tuple[Floats, Floats]:
    """Scores [b], descending, and the chance of a tie around each, in steps that grow wider."""
    order = np.argsort(-sample.scores, kind="stable")
    scores, hidden, weights = sample.scores[order], sample.hidden[order], sample.weights[order]
    which = np.floor(
        np.log1p((np.cumsum(weights) - weights) * (_WIDER - 1.0) / _FIRST) / math.log(_WIDER)
    )
    _, which = np.unique(which, return_inverse=True)
    width: Floats = np.bincount(which, weights).astype(np.float64)
    ties: Floats = np.bincount(which, hidden).astype(np.float64)
    middle = np.bincount(which, weights * scores) / width
    # If a tenth of the ties is missing, each hidden one stands for one more that counts as none: at
    # most 9 of 19 pairs are hidden ties. Where more are, few ties can be missing, and the share
    # itself is the chance.
    found = (1.0 - MISSING) * _CHANCES
    some, likely = _descending(ties, width, found / (1.0 + found))
    none, likelier = _descending(ties, width, _CHANCES)
    doubt = 1.0 / (1.0 + _ODDS * math.exp(min(likely - likelier, 700.0)))
    return middle, (1.0 - doubt) * some + doubt * none


def _descending(ties: Floats, widths: Floats, shares: Floats) -> tuple[Floats, float]:
    """The expected chances [b] of steps, which never ascend, and how likely the counted ties are
    (its logarithm).

    ``ties`` [b] of ``widths`` [b] pairs were hidden, of which each chance of ``_CHANCES`` lets one
    expect ``shares``.
    """
    n, lower = len(shares), np.arange(len(shares))[::-1, None]
    move = _SAME * np.eye(n) + np.triu(np.full((n, n), 1.0 - _SAME), 1) / np.maximum(lower, 1)
    move = np.log(move, out=np.full((n, n), -math.inf), where=move > 0.0)
    fits = np.outer(ties, np.log(shares)) + np.outer(widths - ties, np.log1p(-shares))
    before = [fits[0] - math.log(n)]
    for fit in fits[1:]:
        before.append(fit + np.logaddexp.reduce(before[-1][:, None] + move, axis=0))
    chances, after = np.empty(len(fits)), np.zeros(n)
    for k in reversed(range(len(fits))):
        mine = before[k] + after
        mine = np.exp(mine - mine.max())
        chances[k] = mine @ _CHANCES / mine.sum()
        after = np.logaddexp.reduce(move + fits[k] + after, axis=1)
    return chances, float(np.logaddexp.reduce(before[-1]))


def likeliest(
    evidence: Evidence,
    known: Calibration,
    k: int,
    node: int | None = None,
    progress: Progress = lambda done, text: None,
) -> tuple[Ints, Floats]:
    """The k pairs [k, 2] without a tie that are likeliest to have one, of all nodes or of one, and
    their scores [k].

    Of a directed graph, a pair is a tie from the first to the second.
    """
    rows = evidence.rows() if node is None else np.array([node])
    ways = (False, True) if node is not None and evidence.graph.is_directed else (False,)
    best, scores, done = np.empty((0, 2), dtype=np.int64), np.empty(0), 0
    for into in ways:
        for some, values, free in evidence.parts(rows, into=into):
            done += len(some)
            progress(done / (len(rows) * len(ways)), "comparing pairs")
            each = np.where(free, known.scores(values), -math.inf)
            cut = np.partition(each, max(0, each.size - k), axis=None)[max(0, each.size - k)]
            others, which = np.nonzero(free & (each >= cut))
            ends = (others, some[which]) if into else (some[which], others)
            best = np.concatenate((best, np.column_stack(ends)))
            scores = np.concatenate((scores, each[others, which]))
            order = np.lexsort((best[:, 1], best[:, 0], -scores))[:k]
            best, scores = best[order], scores[order]
    return best, scores
