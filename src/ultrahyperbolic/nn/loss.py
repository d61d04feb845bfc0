"""The ranking loss (Eq. 17) as a module for any training loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from ..checks import check_positive
from ..geometry import Manifold
from ..geometry.manifold import require_manifold
from ..graph import Graph
from ..objective import RankedPairs
from ..objective.ranking import Tables, check_points, distances_of, loss_of_distances
from ..spaces.dissimilarities import SMOOTHING, Dissimilarity, check_dissimilarity


class RankingLoss(nn.Module):
    """Stronger ties shorter than weaker ones (Eq. 17): points [n, d] of the nodes to a scalar.

    All pairs count: at most 10,000 nodes.

    Parameters
    ----------
    graph : Graph or RankedPairs
        Whose ties are ranked. Those of a directed graph are ordered pairs (i, j), longer by
        κ (h_i - h_j - 1)² with the heights h of ``heights`` [n].
    manifold : Manifold
        Where the points live.
    dissimilarity : str
        What is compared: ``"smoothed"`` D_γ, or another of `Manifold.pair_function`.
    temperature, epsilon, spring : float
        τ > 0, how much the light cone is smoothed, and κ of a directed graph: attributes that may
        change during training.

    Examples
    --------
    >>> import ultrahyperbolic as uh
    >>> M, graph = uh.PseudoHyperboloid(3, 1), uh.datasets.karate()
    >>> loss = RankingLoss(graph, M, temperature=0.1)
    >>> points = uh.ManifoldParameter(M.random_near_pole(graph.n_nodes, generator=0), M)
    >>> loss(points).backward()
    """

    edges: Tensor
    weaker: Tensor
    nonedges: Tensor
    heights: Tensor | None

    def __init__(
        self,
        graph: Graph | RankedPairs,
        manifold: Manifold,
        *,
        temperature: float = 0.1,
        dissimilarity: Dissimilarity = "smoothed",
        epsilon: float | None = None,
        spring: float = 0.01,
    ) -> None:
        super().__init__()
        require_manifold(manifold)
        check_positive("temperature", temperature)
        check_positive("spring", spring, zero=True)
        self.manifold, self.temperature, self.spring = manifold, temperature, spring
        self.dissimilarity = check_dissimilarity(dissimilarity)
        smoothed = self.dissimilarity == "smoothed"
        self.epsilon = SMOOTHING if epsilon is None and smoothed else epsilon
        manifold.pair_function(self.dissimilarity, self.epsilon)  # raises here, not in forward
        pairs = graph if isinstance(graph, RankedPairs) else RankedPairs.of(graph)
        self.n_nodes = pairs.n_nodes
        self._silent, *tensors = Tables.of(pairs)
        for name, tensor in zip(Tables._fields[1:], tensors, strict=True):
            self.register_buffer(name, tensor, persistent=False)

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
        """The loss of ties [m, 2] of nodes 0, …, n_nodes - 1 with weights [m], all 1 by default.

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
        check_points(points, self.n_nodes)
        tables = Tables(self._silent, self.edges, self.weaker, self.nonedges, self.heights)
        between = self.manifold.pair_function(self.dissimilarity, self.epsilon)
        lengths = distances_of(tables, points, between, self.temperature, spring=self.spring)
        return loss_of_distances(tables, *lengths, self.temperature)

    def extra_repr(self) -> str:
        """What ``repr`` shows beside the manifold."""
        return f"{self.n_nodes} nodes, temperature={self.temperature:g}"
