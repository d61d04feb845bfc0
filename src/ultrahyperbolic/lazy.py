"""torch, imported when it is first used: most commands do not need it."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as torch
    import torch.distributed as dist
    from torch import Tensor as Tensor
else:

    class _Later(ModuleType):
        def __getattr__(self, name: str) -> object:
            try:
                return getattr(import_module(self.__name__), name)
            except ModuleNotFoundError as error:
                raise explained(error) from None

    torch, dist, Tensor = (
        _Later("torch"),
        _Later("torch.distributed"),
        "Tensor",
    )  # which annotations alone name

__all__ = ["NEEDS_TORCH", "Tensor", "dist", "explained", "installed", "torch"]

NEEDS_TORCH = "needs torch, which is not installed: pip install 'ultrahyperbolic[torch]'"


def installed(package: str) -> bool:
    """Whether a package could be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def explained(error: ImportError, what: str = "this") -> ImportError:
    """The error with what to do, where it is that torch is missing; else the same."""
    return ImportError(f"{what} {NEEDS_TORCH}") if error.name == "torch" else error
