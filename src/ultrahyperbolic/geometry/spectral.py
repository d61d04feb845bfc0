"""Functions of symmetric matrices through their eigenvalues, with first derivatives."""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable


def matrix_sign(matrix: Tensor, rank: int) -> Tensor:
    """sgn(P) of symmetric matrices P [..., d, d] of a known rank."""
    return _Spectral.apply(matrix, rank, False)  # type: ignore[no-any-return, no-untyped-call]


def matrix_root(matrix: Tensor, rank: int) -> Tensor:
    """|P|^½ of symmetric matrices P [..., d, d] of a known rank."""
    return _Spectral.apply(matrix, rank, True)  # type: ignore[no-any-return, no-untyped-call]


class _Spectral(torch.autograd.Function):
    """V f(Λ) Vᵀ of the ``rank`` largest eigenvalues; its derivative is finite where eigenvalues coincide."""

    @staticmethod
    def forward(ctx: FunctionCtx, matrix: Tensor, rank: int, root: bool) -> Tensor:
        values, vectors = torch.linalg.eigh(matrix)
        largest = values.abs().argsort(-1, descending=True)[..., :rank]
        kept = torch.zeros_like(values, dtype=torch.bool).scatter(-1, largest, True)
        signs = torch.where(kept, values.sign(), 0.0)
        images = torch.where(kept, values.abs().sqrt(), 0.0) if root else signs
        slopes = torch.where(kept, 0.5 * signs / torch.where(kept, images, 1.0), 0.0) if root else 0.0 * signs
        ctx.save_for_backward(values, vectors, images, slopes)
        with torch.autocast(matrix.device.type, enabled=False):  # which would round the product to half precision
            applied: Tensor = (vectors * images.unsqueeze(-2)) @ vectors.mT
        return applied

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None, None]:
        values, vectors, images, slopes = ctx.saved_tensors  # type: ignore[attr-defined]
        gap = values.unsqueeze(-1) - values.unsqueeze(-2)
        equal = gap.abs() <= torch.finfo(values.dtype).eps ** 0.5 * values.abs().amax(-1)[..., None, None]
        mean = 0.5 * (slopes.unsqueeze(-1) + slopes.unsqueeze(-2))
        rise = images.unsqueeze(-1) - images.unsqueeze(-2)
        ratio = torch.where(equal, mean, rise / torch.where(equal, 1.0, gap))
        return vectors @ (ratio * (vectors.mT @ gradient @ vectors)) @ vectors.mT, None, None
