"""What the tests share: the geometries every property runs over."""

from __future__ import annotations

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is first imported

from ultrahyperbolic import PseudoHyperboloid

SIGNATURES = [(4, 0), (0, 4), (1, 3), (3, 1), (2, 2)]
BETAS = [-0.25, -1.0, -4.0]


@pytest.fixture(params=SIGNATURES, ids=lambda s: f"p{s[0]}q{s[1]}")
def signature(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


@pytest.fixture(params=BETAS, ids=lambda b: f"beta{b:g}")
def manifold(request: pytest.FixtureRequest, signature: tuple[int, int]) -> PseudoHyperboloid:
    return PseudoHyperboloid(*signature, request.param)


@pytest.fixture(params=[torch.float64, torch.float32], ids=["float64", "float32"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)
