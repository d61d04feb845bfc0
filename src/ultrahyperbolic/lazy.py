"""torch, imported when it is first used: the commands that do not need it do not wait for it."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as torch
    import torch.distributed as dist
    from torch import Tensor as Tensor
else:

    class _Later(ModuleType):
        def __getattr__(self, name: str) -> object:
            return getattr(import_module(self.__name__), name)

    torch, dist, Tensor = _Later("torch"), _Later("torch.distributed"), "Tensor"  # which annotations alone name

__all__ = ["Tensor", "dist", "torch"]
