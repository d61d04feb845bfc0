"""A script run by two processes that meet in a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What both scripts begin with: who they are, and how they meet.
BEGIN = """
import pathlib, sys, torch, torch.distributed as dist
sys.path[:0] = [sys.argv[3], str(pathlib.Path(sys.argv[3]).parent)]
from ultrahyperbolic.optim import PseudoRiemannianAdam
rank = int(sys.argv[1])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
"""


def numbers_of_two(script: str, tests: Path, folder: Path) -> list[float]:
    """What the first of two processes prints; ``tests`` is where the script imports from."""
    path = folder / "process.py"
    path.write_text(BEGIN + script, encoding="utf-8")
    running = [
        subprocess.Popen(
            [sys.executable, str(path), str(rank), str(folder / "meet"), str(tests)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    outputs = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    return [float(line) for line in outputs[0][0].split()]
