"""The ranking loss (Eq. 17) as a module for any training loop: of all pairs, or of a sample of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Self
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from ..checks import as_integer, check_choice, check_positive
from ..geometry import Manifold
from ..geometry.manifold import require_manifold
from ..graph import Graph
from ..objective import SCOPES, RankedPairs, SampledLoss, SampleSizes, Scope
from ..objective.ranking import Tables, both_stretched, loss_of_distances, stretched
from ..objective.sampled import Measure
from ..pairs.kinds import KernelSpace, kernel_space
from ..spaces.dissimilarities import SMOOTHING, Dissimilarity, check_dissimilarity

_TABLES = Tables._fields[2:]


class RankingLoss(nn.Module):
    """Stronger ties shorter than weaker ones (Eq. 17): points [n, d], in the order of the graph's
    nodes, to a scalar.

    Without ``sample`` all pairs count: at most 10,000 nodes. With it, an iteration looks at some
    ties and pairs, and the loss is an estimate. Which ones follows from the seed and from the
    buffer ``iteration``, which advances at each call in training mode only: in ``eval`` mode two
    calls see the same sample. It has first derivatives only.

    Parameters
    ----------
    graph : Graph or RankedPairs
        Whose ties are ranked; `from_ties` takes arrays. Those of a directed graph are ordered pairs
        (i, j), longer by κ (h_i - h_j - 1)² with the heights h of ``heights`` [n].
    manifold : Manifold
        Where the points live.
    temperature : float
        τ > 0. You may change the attribute during training.
    dissimilarity : str
        What is compared: ``"smoothed"`` D_γ, or another of `Manifold.pair_function`.
    epsilon : float
        How much the light cone is smoothed; you may change this attribute, too.
    scope : "graph" or "node"
        Compare a tie with all weaker pairs of the graph, or with those of its two ends.
    sample : SampleSizes, optional
        How much an iteration looks at.
    seed : int
        For the samples.
    spring : float
        κ, for a directed graph; you may change this attribute, too.

    Examples
    --------
    >>> import ultrahyperbolic as uh
    >>> M, graph = uh.PseudoHyperboloid(3, 1), uh.datasets.karate()
    >>> loss = RankingLoss(graph, M, temperature=0.1)
    >>> points = uh.ManifoldParameter(M.random_near_pole(graph.n_nodes, generator=0), M)
    >>> loss(points).backward()
    """

    iteration: Tensor
    heights: Tensor | None

    def __init__(
        self,
        graph: Graph | RankedPairs,
        manifold: Manifold,
        *,
        temperature: float = 0.1,
        dissimilarity: Dissimilarity = "smoothed",
        epsilon: float | None = None,
        scope: Scope = "graph",
        sample: SampleSizes | None = None,
        seed: int = 0,
        spring: float = 0.01,
    ) -> None:
        super().__init__()
        require_manifold(manifold)
        check_positive("temperature", temperature)
        check_choice("scope", scope, SCOPES)
        pairs = graph if isinstance(graph, RankedPairs) else RankedPairs.of(graph)
        if pairs.heights is not None and scope != "graph":
            raise ValueError("a directed graph is compared with scope 'graph'")
        check_positive("spring", spring, zero=True)
        self.manifold, self.temperature, self.scope, self.seed = (
            manifold,
            temperature,
            scope,
            as_integer("seed", seed),
        )
        self.dissimilarity = check_dissimilarity(dissimilarity)
        self.epsilon = (
            SMOOTHING if epsilon is None and self.dissimilarity == "smoothed" else epsilon
        )
        manifold.pair_function(
            self.dissimilarity, self.epsilon
        )  # raises here rather than in forward
        self.n_nodes, self._most, self._silent, self._sampler = pairs.n_nodes, 0, 0, None
        self.spring = spring
        heights = None if pairs.heights is None else torch.from_numpy(pairs.heights)
        self.register_buffer("heights", heights, persistent=False)
        if sample is not None:
            if manifold.learnable:
                raise ValueError("samples give no gradient for a learned beta: leave sample out")
            kernel_space(manifold, self.dissimilarity)
            self._sampler = _Sampler(pairs, sample, scope)
            self.register_buffer("iteration", torch.tensor(0))
            return
        tables = Tables.of(pairs)
        self._most, self._silent = tables.most, tables.silent
        for name in _TABLES:
            self.register_buffer(f"_{name}", getattr(tables, name), persistent=False)

    @classmethod
    def from_ties(
        cls,
        ties: Tensor | Sequence[tuple[int, int]],
        weights: Tensor | Sequence[float] | None,
        n_nodes: int,
        manifold: Manifold,
        *,
        directed: bool = False,
        **options: Any,
    ) -> Self:
        """The loss of ties [m, 2] between nodes 0, …, n_nodes - 1 with weights [m], all 1 where
        None.

        ``directed`` ties lead from the first node to the second.
        """
        ends = torch.as_tensor(ties, dtype=torch.int64).reshape(-1, 2).cpu()
        held = torch.ones(len(ends)) if weights is None else torch.as_tensor(weights).detach().cpu()
        first, second = ends.numpy().T
        graph = Graph.from_arrays(
            first, second, held.double().numpy(), ids=range(n_nodes), directed=directed
        )
        return cls(graph, manifold, **options)

    def forward(self, points: Tensor) -> Tensor:
        """The loss of points [n, d], a scalar."""
        if points.dim() != 2 or points.shape[0] != self.n_nodes:
            raise ValueError(f"points must be [{self.n_nodes}, d], got shape {tuple(points.shape)}")
        if self._sampler is not None:
            return self._estimate(points, self._sampler.number)
        between = self.manifold.pair_function(self.dissimilarity, self.epsilon)
        tables = Tables(self._most, self._silent, *(getattr(self, f"_{name}") for name in _TABLES))
        ends = tables.edges.unbind(1), tables.nonedges.unbind(1)
        edges, others = (between(points[i], points[j]) for i, j in ends)
        if self.heights is not None:
            steps, gaps = (self.heights[i] - self.heights[j] for i, j in ends)
            edges = edges + stretched(steps, self.spring)
            others = others + both_stretched(gaps, self.spring, self.temperature)
        return loss_of_distances(tables, edges, others, self.temperature, scope=self.scope)

    def _estimate(self, points: Tensor, sampler: int) -> Tensor:
        now = self.iteration.clone()
        if self.training:
            self.iteration += 1
        space = kernel_space(self.manifold, self.dissimilarity)
        settings = [space.radius, self.temperature, self.epsilon or SMOOTHING, self.spring]
        there, which = points.detach(), [sampler, self.seed, space.time, space.kind]
        loss, gradient = _sampled(there, now, which, settings)
        value: Tensor = loss + ((points - there) * gradient).sum()  # the loss, with this gradient
        return value

    def extra_repr(self) -> str:
        """What ``repr`` shows beside the manifold."""
        sampled = "" if self._sampler is None else f", sample={self._sampler.sizes}"
        return (
            f"{self.n_nodes} nodes, temperature={self.temperature:g}, scope={self.scope!r}{sampled}"
        )


# What is drawn has no fixed shape, so torch.compile cannot look inside: it calls an operator that
# finds the graph by its number.


class _Sampler:
    """The estimates of a graph, one for each device."""

    def __init__(self, pairs: RankedPairs, sizes: SampleSizes, scope: Scope) -> None:
        self.pairs, self.sizes, self.scope = pairs, sizes, scope
        self.number = next(_NUMBERS)
        _SAMPLERS[self.number] = self
        self._on: dict[torch.device, SampledLoss] = {}

    def __call__(
        self, points: Tensor, seed: int, iteration: int, measure: Measure
    ) -> tuple[Tensor, Tensor]:
        """The loss and its gradient [n, d] at points, of the sample of an iteration."""
        device = points.device
        if device not in self._on:
            self._on[device] = SampledLoss(self.pairs, self.sizes, self.scope, device=device)
        loss = self._on[device]
        found = loss(points.detach().double(), None, loss.draw(seed, iteration), measure)
        gradient = torch.zeros(points.shape, dtype=torch.float64, device=device)
        gradient[found.nodes] = found.gradient
        return found.loss.to(points.dtype), gradient.to(points.dtype)

    def __deepcopy__(self, memo: object) -> _Sampler:
        return self  # nothing in it changes

    def __reduce__(self) -> tuple[type[_Sampler], tuple[RankedPairs, SampleSizes, Scope]]:
        return _Sampler, (self.pairs, self.sizes, self.scope)


_NUMBERS = count()
_SAMPLERS: WeakValueDictionary[int, _Sampler] = WeakValueDictionary()


@torch.library.custom_op("ultrahyperbolic::sampled_ranking", mutates_args=())
def _sampled(
    points: Tensor, iteration: Tensor, which: list[int], settings: list[float]
) -> tuple[Tensor, Tensor]:
    """The estimate and its gradient; ``which`` is the sampler, the seed, and time and kind of the
    space.
    """
    number, seed, time, kind = which
    radius, *rest = settings
    measure = Measure(KernelSpace(time, radius, kind), *rest)
    return _SAMPLERS[number](points, seed, int(iteration), measure)


@_sampled.register_fake
def _(
    points: Tensor, iteration: Tensor, which: list[int], settings: list[float]
) -> tuple[Tensor, Tensor]:
    return points.new_empty(()), torch.empty_like(points)


@_sampled.register_vmap
def _(
    info: Any,
    dims: tuple[int | None, ...],
    points: Tensor,
    iteration: Tensor,
    which: list[int],
    settings: list[float],
) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
    """One after the other."""
    columns = [
        tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip((points, iteration), dims, strict=False)
    ]
    found = [_sampled(x, now, which, settings) for x, now in zip(*columns, strict=True)]
    losses, gradients = (torch.stack(column) for column in zip(*found, strict=True))
    return (losses, gradients), (0, 0)
