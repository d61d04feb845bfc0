"""The descent direction of Gao, Lim & Ye (2018), which the paper names as an alternative."""

import torch
from torch import Tensor

from ..geometry import Manifold


def orthonormal_basis(manifold: Manifold, x: Tensor, start: Tensor | None = None) -> Tensor:
    """Bases [..., m, d] of the tangent spaces at x [..., d], m their dimension, with ⟨e_i, e_j⟩ = ±δ_ij.

    Modified Gram–Schmidt on the projections of ambient vectors ``start`` [..., m, d]: each finished vector is taken out
    of all that remain, at every point at once. Nothing prevents ⟨v, v⟩ from coming near 0 when its turn comes to divide
    by it, for the metric is indefinite; the coordinate axes in the default order have no such vector, see
    `safe_axes`.
    """
    basis = manifold.proju(x.unsqueeze(-2), safe_axes(manifold, x) if start is None else start)
    signs = _metric(manifold, x)
    for k in range(basis.shape[-2]):
        vector = basis[..., k, :]
        square = (vector.square() * signs).sum(-1, keepdim=True)
        vector /= square.abs().sqrt()
        # The coefficient of e_k is the product with ε_k G e_k. Elementwise, because batched matrix–vector products pay
        # for a call at each point: they are slower up to d = 64 and save about a third beyond.
        dual = (signs * vector * square.sign()).unsqueeze(-2)
        coefficients = (basis[..., k + 1 :, :] * dual).sum(-1, keepdim=True)
        basis[..., k + 1 :, :].addcmul_(coefficients, vector.unsqueeze(-2), value=-1.0)
    return basis


def gram_schmidt_direction(manifold: Manifold, x: Tensor, u: Tensor, start: Tensor | None = None) -> Tensor:
    """ζ = Σ ⟨u, e_i⟩ e_i of a tangent vector u [..., d], the basis made by `orthonormal_basis`.

    For u = Df it ascends, ⟨Df, ζ⟩ = Σ ⟨Df, e_i⟩², and costs O(d³). It depends on the basis only through the space that
    its space-like vectors span: the default's is that of the surrogate direction, which is ζ in closed form.
    """
    basis = orthonormal_basis(manifold, x, start)
    coefficients = manifold.inner(u.unsqueeze(-2), basis, keepdim=True)
    return (coefficients * basis).sum(-2)


def safe_axes(manifold: Manifold, x: Tensor) -> Tensor:
    """Coordinate axes [..., m, d] from which Gram–Schmidt meets no null vector at x [..., d].

    First those whose sign in the metric is not that of the normal: their projections span a definite space. What is
    left of the others is definite too, and one of them is superfluous: the axis nearest the normal. The normal is the
    normal part of x, as on quadrics ⟨x, x⟩ = β and their products with flat space.
    """
    if manifold.dim < manifold.ambient_dim - 1:
        raise ValueError(
            f"Gram–Schmidt starts from axes that are known for one normal direction alone, got dimension "
            f"{manifold.dim} in {manifold.ambient_dim} coordinates: pass start, or use direction 'surrogate'"
        )
    axes = torch.eye(manifold.ambient_dim, dtype=x.dtype, device=x.device)
    signs = _metric(manifold, x)
    other = signs != manifold.sqnorm(manifold.origin(dtype=x.dtype, device=x.device)).sign()
    # By rising rank: the axes of the other sign, then by the normal's |n_k|; the last is left out where there is one.
    rank = torch.where(other, -1.0, (x - manifold.proju(x, x)).abs())
    order = rank.argsort(dim=-1, stable=True)[..., : manifold.dim]
    return axes[order]


def _metric(manifold: Manifold, x: Tensor) -> Tensor:
    """The diagonal [d] of the metric, ±1."""
    axes = torch.eye(manifold.ambient_dim, dtype=x.dtype, device=x.device)
    return manifold.inner(axes, axes)
