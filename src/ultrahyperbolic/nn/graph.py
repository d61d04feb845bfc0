"""Graph convolutions between manifolds: sums over neighbours, mapped to points by ψ⁻¹."""

import torch
from torch import Tensor
from torch.nn import functional

from ..checks import check_count
from ..geometry import Manifold
from .linear import PseudoLinear, from_coordinates


def normalized_edges(
    edge_index: Tensor,
    n_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """The edges of D^-½ (A + I) D^-½ (Kipf & Welling 2017): indices [2, m + n] and weights [m + n].

    ``edge_index`` [2, m] holds sources and targets, both directions of undirected edges and no
    self-loops: one of weight 1 is added at every node. D sums the weights that reach a node.
    """
    n_nodes = check_count("n_nodes", n_nodes, 1)
    _check_edges(edge_index, edge_weight)
    loops = torch.arange(n_nodes, dtype=edge_index.dtype, device=edge_index.device)
    edges = torch.cat((edge_index, loops.expand(2, n_nodes)), dim=1)
    if edge_weight is None:
        edge_weight = torch.ones(edge_index.shape[1], dtype=dtype, device=edge_index.device)
    weight = torch.cat((edge_weight, edge_weight.new_ones(n_nodes)))
    source, target = edges.unbind()
    degree = weight.new_zeros(n_nodes).index_add(0, target, weight)
    scale = torch.where(degree > 0, degree, 1.0).rsqrt()
    return edges, scale[source] * weight * scale[target]


class PseudoGraphConv(PseudoLinear):
    """A graph convolution: `PseudoLinear` with a sum over neighbours before the bias.

    With coordinates (t_j, s_j) of the nodes as there, and Â = D^-½ (A + I) D^-½,

        (a_i, v_i) = Σ_j Â_ij W (t_j, s_j) + b,   y_i = ψ⁻¹(a_i/‖a_i‖, v_i).

    Between flat spaces this is the graph convolution of Kipf & Welling (2017). It is called as
    PyTorch Geometric calls its layers, ``conv(x, edge_index, edge_weight)``, and can take the place
    of ``GCNConv``; PyTorch Geometric itself is not needed.

    Parameters
    ----------
    normalize : bool
        Compute Â from the edges at every call. With False they are used as they are, with weight 1
        if none is given: pass those of `normalized_edges`, computed once.
    in_manifold, out_manifold, bias, quotient, device, dtype
        As in `PseudoLinear`.

    Examples
    --------
    >>> from ultrahyperbolic import Euclidean, PseudoHyperboloid
    >>> M = PseudoHyperboloid(2, 2)
    >>> conv = PseudoGraphConv(Euclidean(10), M)
    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> M.check_point(conv(torch.randn(3, 10), edges)).ok
    True
    """

    def __init__(
        self,
        in_manifold: Manifold,
        out_manifold: Manifold,
        bias: bool = True,
        *,
        normalize: bool = True,
        quotient: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_manifold, out_manifold, bias, quotient=quotient, device=device, dtype=dtype
        )
        self.normalize = normalize

    def extra_repr(self) -> str:
        """The options, for ``repr``."""
        return f"{super().extra_repr()}, normalize={self.normalize}"

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:  # type: ignore[override]
        """Points [..., n, d'] from points [..., n, d]; edges lead from first row to second."""
        _check_edges(edge_index, edge_weight)
        z = functional.linear(self._read(x), self.weight).to(x.dtype)
        if self.normalize:
            edge_index, edge_weight = normalized_edges(
                edge_index, x.shape[-2], edge_weight, dtype=x.dtype
            )
        source, target = edge_index.unbind()
        messages = z.index_select(-2, source)
        if edge_weight is not None:
            messages = messages * edge_weight.to(z.dtype).unsqueeze(-1)
        total = torch.zeros_like(z).index_add(-2, target, messages)
        if self.bias is not None:
            total = total + self.bias
        return from_coordinates(self.out_manifold, total)


def _check_edges(edge_index: Tensor, edge_weight: Tensor | None) -> None:
    shape, dtype = tuple(edge_index.shape), edge_index.dtype
    if len(shape) != 2 or shape[0] != 2 or dtype not in (torch.int32, torch.int64):
        raise ValueError(f"edge_index must be integers [2, m], got shape {shape} and {dtype}")
    if edge_weight is not None and edge_weight.shape != shape[1:]:
        found = f"got shape {tuple(edge_weight.shape)}"
        raise ValueError(f"edge_weight must be one number for each of {shape[1]} edges, {found}")
