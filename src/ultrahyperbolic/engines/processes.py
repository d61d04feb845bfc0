"""Whether several processes compute together."""

from __future__ import annotations

import os


class ProcessesError(ValueError):
    """Processes that cannot compute a training together."""


class _Group:
    size = 1


def processes() -> int:
    """How many processes compute together: 1 unless this one has joined others, for trainings alone."""
    return _Group.size


def processes_here() -> int:
    """How many of them share this machine and its memory."""
    return min(processes(), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))) if processes() > 1 else 1


def set_processes(count: int) -> None:
    """Remember how many there are, from when they have joined until they part."""
    _Group.size = count
