"""What a few tests need of the machine they run on, and why nothing can stand in for it."""

from __future__ import annotations

import sys

import pytest
import torch

# These fill disks, drop a right of root's, count memory by /proc or write to /dev/full, none of which other systems
# have; what they test is the same code there. CI is Linux, so there none is skipped.
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits, mounts, rights and /proc are Linux's")

# The same promises where the tensors lie on a GPU; Triton's interpreter stands in for the kernels alone.
ON_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device, and torch finds none")
