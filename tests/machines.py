"""What a few tests need of the machine they run on, and why nothing can stand in for it."""

from __future__ import annotations

import sys

import pytest
import torch

# These fill disks, drop a right of root's, count memory or find processes by /proc, or write to
# /dev/full, none of which other systems have; what they test is the same code there. CI is Linux,
# so there none is skipped.
ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="limits, mounts, rights and /proc are Linux's"
)

# The same promises where the tensors lie on a GPU: a CPU tests all of the code but the moves
# between devices and NCCL, and Triton's interpreter stands in for the kernels alone.
ON_CUDA = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA device, and torch finds none"
)
ON_TWO_CUDA = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")

# What is said of a device that is not there is heard only where it is not; CI has neither, so there
# none is skipped.
WITHOUT_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
WITHOUT_MPS = pytest.mark.skipif(torch.backends.mps.is_available(), reason="there is an MPS device")
