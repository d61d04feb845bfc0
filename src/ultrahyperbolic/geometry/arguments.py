"""Error messages for arguments: the argument, the rule it breaks and the value it has."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import chain, repeat
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import torch
from torch import Tensor

from ..checks import is_number

P = ParamSpec("P")
R = TypeVar("R")
_FLOATS, _HALF = (torch.float32, torch.float64), (torch.float16, torch.bfloat16)
_BROADCASTING = "sizes must be equal or 1, from the right"
# What methods call their points and vectors [..., d].
VECTORS = frozenset({"x", "y", "u", "v", "z", "gradient"})


class Check(NamedTuple):
    """What the ``check_*`` methods return."""

    ok: bool
    reason: str
    """Why not, naming the row and the residual; empty when ``ok``."""

    def __bool__(self) -> bool:
        return self.ok


def validate(dim: int, **tensors: Tensor) -> None:
    """Raise unless all tensors are [..., dim], of one float dtype, and broadcast."""
    seen: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{name} must be a torch.Tensor [..., {dim}], got {type(tensor).__name__}"
            )
        if tensor.dtype not in _FLOATS:
            raise TypeError(
                f"{name} must be float32 or float64, got {tensor.dtype}; .double() converts it"
            )
        if tensor.dim() == 0 or tensor.shape[-1] != dim:
            raise ValueError(
                f"{name} must have {dim} coordinates in its last dimension, got shape "
                f"{tuple(tensor.shape)}"
            )
        for earlier, other in seen.items():
            if tensor.dtype != other.dtype:
                raise TypeError(
                    f"{earlier} is {other.dtype} and {name} is {tensor.dtype}: convert one of them"
                )
            if not _broadcastable(other.shape, tensor.shape):
                shapes = f"{earlier} {tuple(other.shape)} and {name} {tuple(tensor.shape)}"
                raise ValueError(f"{shapes} do not broadcast: {_BROADCASTING}")
        seen[name] = tensor


def guarded(method: Callable[..., R], *, validates: bool) -> Callable[..., R]:
    """The method of a manifold with its points and vectors widened and, where it does not do so
    itself, validated.

    Half precision under autocast becomes float64 beside float64, else float32: distances near the
    light cone are differences of numbers that almost agree, and half precision has three digits.
    Names tell which are vectors.
    """
    names = list(inspect.signature(method).parameters)
    validates = validates and bool(VECTORS.intersection(names))

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> R:
        # Told by the dtype first: a call in full precision, as most are, is held up by nothing
        # else.
        for value in (*args, *kwargs.values()):
            if (
                isinstance(value, Tensor)
                and value.dtype in _HALF
                and torch.is_autocast_enabled(value.device.type)
            ):
                given = (*args, *kwargs.values())
                dtypes = [each.dtype for each in given if isinstance(each, Tensor)]
                dtype = torch.float64 if torch.float64 in dtypes else torch.float32
                args = tuple(_widened(each, dtype) for each in args)
                kwargs = {name: _widened(each, dtype) for name, each in kwargs.items()}
                break
        if validates:
            named = dict(zip(names, args, strict=False)) | kwargs
            vectors = {name: value for name, value in named.items() if name in VECTORS}
            validate(args[0].ambient_dim, **vectors)
        return method(*args, **kwargs)

    return call


def _widened(value: object, dtype: torch.dtype) -> object:
    return value.to(dtype) if isinstance(value, Tensor) and value.dtype in _HALF else value


def by_parts(
    method: Callable[Concatenate[Any, P], R],
    join: Callable[..., R] | None = None,
    formula: str = "",
) -> Callable[Concatenate[Any, P], R]:
    """A method of a manifold made of others, as theirs on their own coordinates, by default that of
    the only one.

    The manifold has ``_factors()``, the others, and ``_split(x)``, their coordinates of points and
    vectors x; ``join(self, *results)`` makes one result of all.
    """
    name, names = method.__name__, list(inspect.signature(method).parameters)[1:]

    @wraps(method, updated=())  # which is not abstract
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if "generator" in kwargs:
            kwargs["generator"] = as_generator(kwargs["generator"])  # type: ignore[arg-type]  # one for all
        factors, columns = list(self._factors()), []
        for key, value in (*zip(chain(names, repeat("")), args, strict=False), *kwargs.items()):
            vector = key in VECTORS and isinstance(value, Tensor)
            columns.append(self._split(value) if vector else [value] * len(factors))
        found = []
        for factor, *own in zip(factors, *columns, strict=True):
            named = dict(zip(kwargs, own[len(args) :], strict=True))
            found.append(getattr(factor, name)(*own[: len(args)], **named))
        return found[0] if join is None else join(self, *found)

    call.__doc__ = formula or f"By its parts: {method.__doc__}"
    return call


def validate_scalars(name: str, value: Tensor | float, **tensors: Tensor) -> None:
    """Raise unless value is a number or a real tensor [...] that broadcasts against the rows."""
    if not isinstance(value, Tensor):
        if not is_number(value):
            raise TypeError(f"{name} must be a number or a tensor [...], got {value!r}")
        return
    if value.dtype == torch.bool or value.is_complex():
        raise TypeError(f"{name} must be a number or a tensor [...] of reals, got {value.dtype}")
    for other, tensor in tensors.items():
        if not _broadcastable(value.shape, tensor.shape[:-1]):
            raise ValueError(
                f"{name} {tuple(value.shape)} does not broadcast against the rows of {other} "
                f"{tuple(tensor.shape)}: {_BROADCASTING}"
            )


def _broadcastable(a: torch.Size, b: torch.Size) -> bool:
    return all(m == n or m == 1 or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))


def check_finite(name: str, tensor: Tensor) -> Check:
    """The first row of a tensor [..., d] that holds NaN or infinity, if any."""
    bad = ~tensor.isfinite().all(-1)
    return check_rows(bad, lambda row: f"{name}{row} is not finite: {format_row(tensor[row.at])}")


class RowIndex(NamedTuple):
    """The index of a row of a tensor [..., d], written as [3], or as nothing for a single point."""

    at: tuple[int, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.at))}]" if self.at else ""

    def of(self, values: float | Tensor, like: Tensor | None = None) -> float:
        """The row's number among values [...], which broadcast to the shape of ``like``."""
        if not isinstance(values, Tensor):
            return values
        return (values if like is None else values.expand_as(like))[self.at].item()


def check_rows(bad: Tensor, problem: Callable[[RowIndex], str]) -> Check:
    """Ok unless a row of a boolean tensor [...] is True; else the problem of the first."""
    if not bad.any():
        return Check(True, "")
    return Check(False, problem(RowIndex(tuple(int(i) for i in bad.nonzero()[0]))))


def format_row(row: Tensor) -> str:
    """The first coordinates of a vector, for messages."""
    values = [f"{value:.6g}" for value in row.detach().flatten()[:8].tolist()]
    return f"({', '.join(values)}{', …' if row.numel() > 8 else ''})"


def as_number(name: str, value: object) -> float:
    """Value as a float; raise unless it is a real number or a tensor that holds one."""
    if isinstance(value, Tensor) and value.numel() == 1 and not value.is_complex():
        return float(value.detach())
    if not is_number(value):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)


def as_size(size: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """Size as integers: given one by one, or as one tuple; raise unless they are non-negative."""
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    counts = cast("tuple[int, ...]", size)
    for n in counts:
        if isinstance(n, bool) or not hasattr(n, "__index__") or n < 0:
            raise ValueError(f"size must be non-negative integers, got {counts}")
    return counts


def as_generator(generator: torch.Generator | int | None) -> torch.Generator | None:
    """The generator itself, or a new one with that seed."""
    if generator is None or isinstance(generator, torch.Generator):
        return generator
    if isinstance(generator, bool) or not hasattr(generator, "__index__"):
        raise TypeError(f"generator must be a torch.Generator or a seed, got {generator!r}")
    return torch.Generator().manual_seed(generator)


def check_dtype(dtype: torch.dtype) -> None:
    """Raise unless dtype is one of those supported."""
    if dtype not in _FLOATS:
        raise TypeError(f"dtype must be torch.float32 or torch.float64, got {dtype}")
