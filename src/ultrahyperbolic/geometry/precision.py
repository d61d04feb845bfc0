"""Mixed precision: what a layer computed in half precision enters the geometry in single precision, or better.

Distances near the light cone are differences of numbers that almost agree, and half precision has three digits. Under
``torch.autocast`` every method of a manifold therefore widens its arguments; elsewhere half precision is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")
_HALF = (torch.float16, torch.bfloat16)


def widening(method: Callable[P, R]) -> Callable[P, R]:
    """The method with half-precision arguments widened under autocast: to float64 beside float64, else to float32."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # Told by the dtype first: a call in full precision, as most are, is held up by nothing else.
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor) and value.dtype in _HALF and torch.is_autocast_enabled(value.device.type):
                break
        else:
            return method(*args, **kwargs)
        values = (*args, *kwargs.values())
        double = any(isinstance(value, Tensor) and value.dtype == torch.float64 for value in values)
        dtype = torch.float64 if double else torch.float32
        return method(
            *(_widened(value, dtype) for value in args),  # type: ignore[arg-type]
            **{name: _widened(value, dtype) for name, value in kwargs.items()},  # type: ignore[arg-type]
        )

    return call


def _widened(value: object, dtype: torch.dtype) -> object:
    return value.to(dtype) if isinstance(value, Tensor) and value.dtype in _HALF else value
